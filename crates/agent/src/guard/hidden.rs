//! Finds characters that readers don't see, or that make text look like other text.
//!
//! Many of them are part of normal text: joiners in Persian and Hindi and between emoji, direction marks next to
//! Hebrew. These pass where a script needs them.

use super::additions::{Additions, Text};
use super::ignorable::is_ignorable;
use super::refusal::{Rule, Violation};

/// Up to this many stray characters can be a typing mistake. More can be a message.
const MAX_STRAY: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HiddenChar {
    /// Letters of the invisible tag alphabet.
    Tag,
    /// Changes the direction of text.
    Bidi,
    /// Has no width.
    Invisible,
    /// Selects a variant of a character that has none.
    Variation,
    /// Has no standard meaning.
    Private,
    Control,
    /// Ends a line for some programs only, for example a comment in YAML or code in MyST.
    LineBreak,
}

impl HiddenChar {
    fn what(self) -> &'static str {
        match self {
            Self::Tag => "adds invisible tag characters, which can contain text",
            Self::Bidi => "adds characters that change the direction of text",
            Self::Invisible => "adds invisible characters",
            Self::Variation => "adds variation selectors where they select nothing",
            Self::Private => "adds private-use characters",
            Self::Control => "adds control characters",
            Self::LineBreak => "adds characters that only some programs treat as the end of a line",
        }
    }
}

pub(super) fn judge<'a>(additions: &Additions<'a>, violations: &mut Vec<Violation<'a>>) {
    let all = [
        HiddenChar::Tag,
        HiddenChar::Bidi,
        HiddenChar::LineBreak,
        HiddenChar::Invisible,
        HiddenChar::Variation,
        HiddenChar::Private,
        HiddenChar::Control,
    ];
    for kind in all {
        // An edited line can keep the characters that it had.
        let old: usize = additions.before.values().map(|text| count(text, kind)).sum();
        let new: usize = additions.files().map(|(_, text)| count(&text.text, kind)).sum();
        let judged = additions.texts.iter().filter(|text| text.path().is_none() || new > old);
        violations.extend(judged.filter_map(|text| judge_text(text, kind)));
    }
}

fn judge_text<'a>(text: &Text<'a>, kind: HiddenChar) -> Option<Violation<'a>> {
    let lines = text.lines.iter().map(|(number, range)| (*number, count(&text.text[range.clone()], kind)));
    let lines: Vec<(usize, usize)> = lines.filter(|(_, count)| *count > 0).collect();
    let (line, _) = *lines.first()?;
    let new: usize = lines.iter().map(|(_, count)| count).sum();
    let fatal = matches!(kind, HiddenChar::Tag | HiddenChar::Bidi | HiddenChar::LineBreak)
        || new > MAX_STRAY && kind != HiddenChar::Private;
    let (line, what) = (text.reported_line(line), kind.what().to_owned());
    Some(Violation { rule: Rule::Hidden, location: text.location, line, what, fatal })
}

fn count(text: &str, wanted: HiddenChar) -> usize {
    if text.is_ascii() && !matches!(wanted, HiddenChar::Control | HiddenChar::LineBreak) {
        return 0;
    }
    let rtl = text.chars().any(is_right_to_left);
    let mut before = Preceding::default();
    let mut chars = text.chars().peekable();
    let mut found = 0;
    while let Some(c) = chars.next() {
        found += usize::from(classify(c, &before, chars.peek().copied(), rtl) == Some(wanted));
        before.push(c);
    }
    found
}

/// The characters before a character.
#[derive(Default)]
struct Preceding {
    last: Option<char>,
    /// The last visible character.
    visible: Option<char>,
    /// The tag letters after a black flag.
    flag: Option<String>,
}

impl Preceding {
    fn push(&mut self, c: char) {
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
            self.visible = Some(c);
        }
    }

    /// Whether a tag character continues the flag of England, Scotland or Wales.
    fn continues_flag(&self, c: char) -> bool {
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

/// The kind of a hidden character. `None` if the character is visible or belongs where it is.
fn classify(c: char, before: &Preceding, next: Option<char>, rtl: bool) -> Option<HiddenChar> {
    let beside = |test: fn(char) -> bool| before.visible.is_some_and(test) || next.is_some_and(test);
    let between = |test: fn(char) -> bool| before.visible.is_some_and(test) && next.is_some_and(test);
    match c {
        '\r' if next != Some('\n') && next.is_some() => Some(HiddenChar::LineBreak),
        '\t' | '\n' | '\r' => None,
        '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}' => {
            Some(HiddenChar::LineBreak)
        }
        '\u{e0000}'..='\u{e007f}' => (!before.continues_flag(c)).then_some(HiddenChar::Tag),
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => Some(HiddenChar::Bidi),
        '\u{200e}' | '\u{200f}' | '\u{61c}' => (!rtl).then_some(HiddenChar::Bidi),
        '\u{200d}' if between(is_emoji) || before.visible.is_some_and(is_joining) => None,
        '\u{200c}' if before.visible.is_some_and(is_joining) => None,
        '\u{200b}' if beside(is_unspaced) => None,
        '\u{ad}' if between(char::is_alphabetic) && before.last != Some('\u{ad}') => None,
        // A byte-order mark at the start of the file.
        '\u{feff}' if before.last.is_none() => None,
        '\u{fe0e}' | '\u{fe0f}' if before.last.is_some_and(has_variants) => None,
        '\u{fe00}'..='\u{fe0d}' if before.last.is_some_and(|c| c >= '\u{2200}' && !is_ignorable(c)) => None,
        '\u{e0100}'..='\u{e01ef}' if before.last.is_some_and(is_ideograph) => None,
        '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => Some(HiddenChar::Variation),
        '\u{180b}'..='\u{180f}' if before.last.is_some_and(|c| matches!(c, '\u{1800}'..='\u{18af}')) => None,
        '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}' => Some(HiddenChar::Private),
        _ if is_ignorable(c) || matches!(c, '\u{fff9}'..='\u{fffb}') => Some(HiddenChar::Invisible),
        _ if c.is_control() => Some(HiddenChar::Control),
        _ => None,
    }
}

fn is_right_to_left(c: char) -> bool {
    matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}')
        || matches!(c, '\u{10800}'..='\u{10fff}')
}

/// Whether a character belongs to a script with joiners: Arabic, and scripts of India and its neighbors.
fn is_joining(c: char) -> bool {
    matches!(c, '\u{600}'..='\u{dff}' | '\u{f00}'..='\u{109f}' | '\u{1780}'..='\u{18af}')
        || matches!(c, '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}')
}

/// Whether a character belongs to a script without spaces between words.
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

/// Whether a character has a text variant and an emoji variant.
fn has_variants(c: char) -> bool {
    is_emoji(c)
        || matches!(c, '0'..='9' | '#' | '*' | '©' | '®' | '‼' | '⁉' | '™' | 'ℹ' | '〰' | '〽' | '㊗' | '㊙')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<HiddenChar>) {
        let all = [
            HiddenChar::Tag,
            HiddenChar::Bidi,
            HiddenChar::Invisible,
            HiddenChar::Variation,
            HiddenChar::Private,
            HiddenChar::Control,
        ];
        assert_eq!(all.into_iter().find(|kind| count(text, *kind) > 0), expected, "{text:?}");
    }

    #[test]
    fn hidden_characters_are_found() {
        check("a\u{200b}b", Some(HiddenChar::Invisible));
        check("a\u{200d}b", Some(HiddenChar::Invisible));
        check("x\u{feff}y", Some(HiddenChar::Invisible));
        check("\u{3164}", Some(HiddenChar::Invisible));
        check("abc\u{202e}def", Some(HiddenChar::Bidi));
        check("a\u{200f}b", Some(HiddenChar::Bidi));
        check("\u{e0041}", Some(HiddenChar::Tag));
        check("\u{1f3f4}\u{e0068}\u{e0069}\u{e007f}", Some(HiddenChar::Tag));
        check("a\u{fe0f}", Some(HiddenChar::Variation));
        check("\u{1f600}\u{fe0f}\u{fe0f}", Some(HiddenChar::Variation));
        check("\u{1f600}\u{e0101}", Some(HiddenChar::Variation));
        check("\u{e0b0}", Some(HiddenChar::Private));
        check("a\u{1b}[31mb", Some(HiddenChar::Control));
    }

    #[test]
    fn characters_pass_where_they_belong() {
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
