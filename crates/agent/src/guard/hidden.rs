//! Characters that a reader does not see, or that make text look like other text.
//!
//! Many are part of somebody's writing: joiners in Persian and Hindi, in families of emoji, a direction mark
//! beside Hebrew. Those pass where they belong.

use super::added::{Added, Text};
use super::{Finding, Rule};

/// So many stray characters are a slip of a keyboard; more are a message.
const MAX_STRAY: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Odd {
    /// Letters of a hidden alphabet.
    Tag,
    /// Turns the order of what is read.
    Bidi,
    /// Takes no room.
    Invisible,
    /// Chooses a form of a character that has but one.
    Variation,
    /// Means what its user says it means.
    Private,
    Control,
    /// Ends a line to some readers: a comment of YAML, code of MyST.
    LineBreak,
}

impl Odd {
    fn what(self) -> &'static str {
        match self {
            Self::Tag => "adds invisible tag characters, which can carry text",
            Self::Bidi => "adds characters that change the order in which text is shown",
            Self::Invisible => "adds invisible characters",
            Self::Variation => "adds variation selectors where they select nothing",
            Self::Private => "adds characters of a private-use area",
            Self::Control => "adds control characters",
            Self::LineBreak => "adds characters that end a line to some readers, and to others not",
        }
    }
}

pub(super) fn judge<'a>(added: &Added<'a>, found: &mut Vec<Finding<'a>>) {
    let all =
        [Odd::Tag, Odd::Bidi, Odd::LineBreak, Odd::Invisible, Odd::Variation, Odd::Private, Odd::Control];
    for odd in all {
        // An edited line keeps what it had.
        let old: usize = added.before.values().map(|text| count(text, odd)).sum();
        let now: usize = added.files().map(|(_, text)| count(&text.text, odd)).sum();
        let judged = added.texts.iter().filter(|text| text.path().is_none() || now > old);
        found.extend(judged.filter_map(|text| judge_text(text, odd)));
    }
}

fn judge_text<'a>(text: &Text<'a>, odd: Odd) -> Option<Finding<'a>> {
    let lines = text.lines.iter().map(|(number, range)| (*number, count(&text.text[range.clone()], odd)));
    let lines: Vec<(usize, usize)> = lines.filter(|(_, count)| *count > 0).collect();
    let (line, _) = *lines.first()?;
    let new: usize = lines.iter().map(|(_, count)| count).sum();
    let fatal =
        matches!(odd, Odd::Tag | Odd::Bidi | Odd::LineBreak) || new > MAX_STRAY && odd != Odd::Private;
    let (line, what) = (text.shown_line(line), odd.what().to_owned());
    Some(Finding { rule: Rule::Hidden, place: text.place, line, what, fatal })
}

fn count(text: &str, wanted: Odd) -> usize {
    if text.is_ascii() && !matches!(wanted, Odd::Control | Odd::LineBreak) {
        return 0;
    }
    let rtl = text.chars().any(is_right_to_left);
    let mut seen = Neighbours::default();
    let mut chars = text.chars().peekable();
    let mut found = 0;
    while let Some(c) = chars.next() {
        found += usize::from(odd(c, &seen, chars.peek().copied(), rtl) == Some(wanted));
        seen.step(c);
    }
    found
}

/// What stands before a character.
#[derive(Default)]
struct Neighbours {
    last: Option<char>,
    /// The last character that is seen.
    shown: Option<char>,
    /// The letters of tags behind a black flag.
    flag: Option<String>,
}

impl Neighbours {
    fn step(&mut self, c: char) {
        self.flag = match (self.flag.take(), c) {
            (_, '\u{1f3f4}') => Some(String::new()),
            (Some(mut tags), '\u{e0061}'..='\u{e007a}') if tags.len() < 5 => {
                tags.extend(char::from_u32(c as u32 - 0xe0000));
                Some(tags)
            }
            _ => None,
        };
        self.last = Some(c);
        if !is_ignorable(c) {
            self.shown = Some(c);
        }
    }

    /// England, Scotland and Wales are written as a flag with tags.
    fn is_flag(&self, c: char) -> bool {
        self.flag.as_ref().is_some_and(|tags| {
            let letter = char::from_u32((c as u32).wrapping_sub(0xe0000)).filter(char::is_ascii_lowercase);
            let so_far: String = tags.chars().chain(letter).collect();
            let known = ["gbeng", "gbsct", "gbwls"];
            if c == '\u{e007f}' {
                known.contains(&tags.as_str())
            } else {
                known.iter().any(|k| k.starts_with(&so_far))
            }
        })
    }
}

fn odd(c: char, before: &Neighbours, next: Option<char>, rtl: bool) -> Option<Odd> {
    let beside = |test: fn(char) -> bool| before.shown.is_some_and(test) || next.is_some_and(test);
    let between = |test: fn(char) -> bool| before.shown.is_some_and(test) && next.is_some_and(test);
    match c {
        '\r' if next != Some('\n') && next.is_some() => Some(Odd::LineBreak),
        '\t' | '\n' | '\r' => None,
        '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}' => Some(Odd::LineBreak),
        '\u{e0000}'..='\u{e007f}' => (!before.is_flag(c)).then_some(Odd::Tag),
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => Some(Odd::Bidi),
        '\u{200e}' | '\u{200f}' | '\u{61c}' => (!rtl).then_some(Odd::Bidi),
        '\u{200d}' if between(is_emoji) || before.shown.is_some_and(is_joining) => None,
        '\u{200c}' if before.shown.is_some_and(is_joining) => None,
        '\u{200b}' if beside(is_unspaced) => None,
        '\u{ad}' if between(char::is_alphabetic) && before.last != Some('\u{ad}') => None,
        // A mark of the byte order, where the file begins.
        '\u{feff}' if before.last.is_none() => None,
        '\u{fe0e}' | '\u{fe0f}' if before.last.is_some_and(has_forms) => None,
        '\u{fe00}'..='\u{fe0d}' if before.last.is_some_and(|c| c >= '\u{2200}' && !is_ignorable(c)) => None,
        '\u{e0100}'..='\u{e01ef}' if before.last.is_some_and(is_ideograph) => None,
        '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => Some(Odd::Variation),
        '\u{180b}'..='\u{180f}' if before.last.is_some_and(|c| matches!(c, '\u{1800}'..='\u{18af}')) => None,
        '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}' => Some(Odd::Private),
        _ if is_ignorable(c) || matches!(c, '\u{fff9}'..='\u{fffb}') => Some(Odd::Invisible),
        _ if c.is_control() => Some(Odd::Control),
        _ => None,
    }
}

/// Takes no room on a screen.
pub(super) fn is_ignorable(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

fn is_right_to_left(c: char) -> bool {
    matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}')
        || matches!(c, '\u{10800}'..='\u{10fff}')
}

/// Scripts whose letters join, or do not, by such a mark: Arabic, those of India and its neighbours.
fn is_joining(c: char) -> bool {
    matches!(c, '\u{600}'..='\u{dff}' | '\u{f00}'..='\u{109f}' | '\u{1780}'..='\u{18af}')
        || matches!(c, '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}')
}

/// Scripts that put no space between words.
fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}')
        || matches!(c, '\u{1780}'..='\u{17ff}' | '\u{3000}'..='\u{9fff}')
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

fn is_emoji(c: char) -> bool {
    matches!(c, '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
}

/// Characters that are drawn as text or as a picture.
fn has_forms(c: char) -> bool {
    is_emoji(c)
        || matches!(c, '0'..='9' | '#' | '*' | '©' | '®' | '‼' | '⁉' | '™' | 'ℹ' | '〰' | '〽' | '㊗' | '㊙')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<Odd>) {
        let all = [Odd::Tag, Odd::Bidi, Odd::Invisible, Odd::Variation, Odd::Private, Odd::Control];
        assert_eq!(all.into_iter().find(|odd| count(text, *odd) > 0), expected, "{text:?}");
    }

    #[test]
    fn odd_characters() {
        check("a\u{200b}b", Some(Odd::Invisible));
        check("a\u{200d}b", Some(Odd::Invisible));
        check("x\u{feff}y", Some(Odd::Invisible));
        check("\u{3164}", Some(Odd::Invisible));
        check("abc\u{202e}def", Some(Odd::Bidi));
        check("a\u{200f}b", Some(Odd::Bidi));
        check("\u{e0041}", Some(Odd::Tag));
        check("\u{1f3f4}\u{e0068}\u{e0069}\u{e007f}", Some(Odd::Tag));
        check("a\u{fe0f}", Some(Odd::Variation));
        check("\u{1f600}\u{fe0f}\u{fe0f}", Some(Odd::Variation));
        check("\u{1f600}\u{e0101}", Some(Odd::Variation));
        check("\u{e0b0}", Some(Odd::Private));
        check("a\u{1b}[31mb", Some(Odd::Control));
    }

    #[test]
    fn characters_where_they_belong() {
        check("\u{feff}# Title", None);
        check("👨\u{200d}👩\u{200d}👧 ❤\u{fe0f}\u{200d}🔥 1\u{fe0f}\u{20e3} ©\u{fe0f}", None);
        check("👩🏽\u{200d}💻 ⚠\u{fe0f} ✔\u{fe0e}", None);
        check("\u{1f3f4}\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}", None);
        check("می\u{200c}خواهم क्\u{200d}ष", None);
        check("שלום\u{200f}!", None);
        check("ภาษา\u{200b}ไทย", None);
        check("Donau\u{ad}dampf\u{ad}schiff", None);
        check("葛\u{e0100}", None);
        check("naïve café — 日本語 ½ “quoted” \u{a0}\u{202f}5", None);
    }
}
