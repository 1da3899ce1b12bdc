//! Decodes text as a browser, a shell or a patient reader would, and tracks the origin of each byte.

use super::ignorable::is_ignorable;

/// A decoded text with the offset in the source of each byte.
pub(super) struct DecodedText {
    pub(super) text: String,
    origin: Vec<u32>,
}

impl DecodedText {
    fn with_capacity(bytes: usize) -> Self {
        Self { text: String::with_capacity(bytes), origin: Vec::with_capacity(bytes) }
    }

    fn push(&mut self, c: char, at: usize) {
        self.text.push(c);
        self.origin.resize(self.text.len(), u32::try_from(at).unwrap_or(u32::MAX));
    }

    /// The offset in the source of the byte at `offset`.
    pub(super) fn origin(&self, offset: usize) -> usize {
        self.origin.get(offset).or(self.origin.last()).map_or(0, |at| *at as usize)
    }
}

/// Resolves entities, percent encoding and backslash escapes, and drops invisible characters.
pub(super) fn unescape(text: &str) -> DecodedText {
    let mut view = DecodedText::with_capacity(text.len());
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let escaped = match c {
            '&' => entity(rest),
            '%' => hex(rest, 1, 2),
            '\\' if rest.starts_with("\\x") => hex(rest, 2, 2),
            '\\' if rest.starts_with("\\u{") => braced(rest),
            '\\' if rest.starts_with("\\u") => hex(rest, 2, 4),
            _ => None,
        };
        let (c, length) = escaped.unwrap_or((c, c.len_utf8()));
        if !is_ignorable(c) {
            view.push(narrow(c), at);
        }
        at += length;
    }
    view
}

/// Joins the pieces of a text: drops white space, markers of lists and quotes, and quotes and operators between
/// strings.
pub(super) fn join_pieces(view: &DecodedText) -> DecodedText {
    let mut joined = DecodedText::with_capacity(view.text.len());
    let mut line_starts = true;
    for (at, c) in view.text.char_indices() {
        let is_marker = line_starts && matches!(c, '-' | '*' | '>' | '|' | '#' | '+');
        line_starts = c == '\n' || line_starts && (is_marker || c.is_whitespace());
        let is_joint = matches!(c, '"' | '\'' | '`' | ',' | '\\' | '|' | '(' | ')' | ';')
            || is_plus_between(view, at, c);
        if !is_marker && !is_joint && !c.is_whitespace() {
            joined.push(c, view.origin(at));
        }
    }
    joined
}

/// Whether a plus sign joins two strings. Otherwise, it can be a digit of base64.
fn is_plus_between(view: &DecodedText, at: usize, c: char) -> bool {
    let edge = |c: Option<char>| c.is_none_or(|c| c.is_whitespace() || "\"'`".contains(c));
    c == '+' && (edge(view.text[..at].chars().next_back()) || edge(view.text[at + 1..].chars().next()))
}

/// Maps full-width characters to ASCII.
pub(super) fn narrow(c: char) -> char {
    match c {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(c as u32 - 0xfee0).unwrap_or(c),
        _ => c,
    }
}

fn entity(text: &str) -> Option<(char, usize)> {
    let body = text.get(1..)?;
    if let Some(number) = body.strip_prefix('#') {
        let (digits, radix, skip) = match number.strip_prefix(['x', 'X']) {
            Some(digits) => (digits, 16, 3),
            None => (number, 10, 2),
        };
        let length = digits.bytes().take(9).take_while(|b| char::from(*b).is_digit(radix)).count();
        let c = u32::from_str_radix(&digits[..length], radix).ok().and_then(char::from_u32)?;
        let semicolon = usize::from(digits[length..].starts_with(';'));
        return Some((c, skip + length + semicolon));
    }
    let known = NAMED.iter().find(|(name, _)| body.starts_with(name))?;
    Some((known.1, 1 + known.0.len()))
}

/// The names of characters that an address or a key can contain.
const NAMED: &[(&str, char)] = &[
    ("amp;", '&'),
    ("lt;", '<'),
    ("gt;", '>'),
    ("quot;", '"'),
    ("apos;", '\''),
    ("colon;", ':'),
    ("sol;", '/'),
    ("bsol;", '\\'),
    ("period;", '.'),
    ("lowbar;", '_'),
    ("hyphen;", '-'),
    ("dash;", '-'),
    ("plus;", '+'),
    ("equals;", '='),
    ("quest;", '?'),
    ("num;", '#'),
    ("commat;", '@'),
    ("Tab;", '\t'),
    ("NewLine;", '\n'),
    ("ZeroWidthSpace;", '\u{200b}'),
    ("zwj;", '\u{200d}'),
    ("zwnj;", '\u{200c}'),
    ("shy;", '\u{ad}'),
];

fn hex(text: &str, skip: usize, digits: usize) -> Option<(char, usize)> {
    let value = text.get(skip..skip + digits)?;
    let c = u32::from_str_radix(value, 16).ok().and_then(char::from_u32)?;
    (value.bytes().all(|b| b.is_ascii_hexdigit()) && c.is_ascii_graphic()).then_some((c, skip + digits))
}

fn braced(text: &str) -> Option<(char, usize)> {
    let length = text.get(3..)?.bytes().take(6).take_while(u8::is_ascii_hexdigit).count();
    let c = u32::from_str_radix(text.get(3..3 + length)?, 16).ok().and_then(char::from_u32)?;
    text[3 + length..].starts_with('}').then_some((c, 4 + length))
}

/// Decodes base64 from the digit `skip` on, ignoring other characters.
pub(super) fn from_base64(text: &str, skip: usize) -> DecodedText {
    let digits = text.char_indices().filter_map(|(at, c)| Some((at, base64_digit(c)?)));
    let digits: Vec<(usize, u32)> = digits.skip(skip).collect();
    let mut view = DecodedText::with_capacity(digits.len() / 4 * 3);
    for four in digits.chunks(4).filter(|four| four.len() > 1) {
        let bits = four.iter().fold(0, |bits, (_, digit)| bits << 6 | digit) << (6 * (4 - four.len()));
        for byte in 0..four.len() - 1 {
            let value = (bits >> (16 - 8 * byte)) as u8;
            view.push(ascii_or_mark(value), four[0].0);
        }
    }
    view
}

/// Replaces bytes that are not ASCII with a character that neither text nor keys have.
fn ascii_or_mark(byte: u8) -> char {
    if byte.is_ascii() { char::from(byte) } else { '\u{1}' }
}

fn base64_digit(c: char) -> Option<u32> {
    match c {
        'A'..='Z' => Some(c as u32 - 'A' as u32),
        'a'..='z' => Some(c as u32 - 'a' as u32 + 26),
        '0'..='9' => Some(c as u32 - '0' as u32 + 52),
        '+' | '-' => Some(62),
        '/' | '_' => Some(63),
        _ => None,
    }
}

/// Decodes each long run of hexadecimal digits, with a line feed between the runs.
pub(super) fn from_hex(text: &str) -> DecodedText {
    const MIN_DIGITS: usize = 32;
    let mut view = DecodedText::with_capacity(64);
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let length = bytes[at..].iter().take_while(|b| b.is_ascii_hexdigit()).count();
        if length >= MIN_DIGITS {
            // A letter before the run can be a hexadecimal digit by chance.
            for skip in 0..2 {
                push_hex_run(&text[at + skip..at + length], at, &mut view);
            }
        }
        at += length.max(1);
    }
    view
}

fn push_hex_run(run: &str, at: usize, view: &mut DecodedText) {
    for pair in 0..run.len() / 2 {
        let value = u8::from_str_radix(&run[2 * pair..2 * pair + 2], 16).unwrap_or_default();
        view.push(ascii_or_mark(value), at + 2 * pair);
    }
    view.push('\n', at);
}

/// Reverses a text.
pub(super) fn reversed(view: &DecodedText) -> DecodedText {
    let mut back = DecodedText::with_capacity(view.text.len());
    for (at, c) in view.text.char_indices().rev() {
        back.push(c, view.origin(at));
    }
    back
}

/// Maps the offsets of `inner`, which was decoded from `outer`, to the source of `outer`.
pub(super) fn compose(outer: &DecodedText, mut inner: DecodedText) -> DecodedText {
    for at in &mut inner.origin {
        *at = u32::try_from(outer.origin(*at as usize)).unwrap_or(u32::MAX);
    }
    inner
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(unescape(text).text, expected);
    }

    #[test]
    fn escapes() {
        check("a&#x62;c&#100;&amp;", "abcd&");
        check("%61b%zz%0a", "ab%zz%0a");
        check(r"\x61\u0062\u{63}\n", r"abc\n");
        check("a\u{200b}b\u{ad}&ZeroWidthSpace;c", "abc");
        check("ｇｈｐ＿", "ghp_");
        check("&#99999999999; &# &#x; & \\u{110000}", "&#99999999999; &# &#x; & \\u{110000}");
    }

    #[test]
    fn pieces_are_joined() {
        let text = "- \"ab\" +\n- 'c+d'\n> e";
        let view = join_pieces(&unescape(text));
        assert_eq!(view.text, "abc+de");
        assert_eq!(view.origin(5), text.len() - 1);
    }

    #[test]
    fn base64_and_hex() {
        assert_eq!(from_base64("xaGVsbG8=", 1).text, "hello");
        assert_eq!(from_base64("aGVsbG8_", 0).text, "hello?");
        let hex: String = "sixteen or more.".bytes().map(|b| format!("{b:02x}")).collect();
        assert!(from_hex(&format!("x{hex} ")).text.starts_with("sixteen or more.\n"));
        assert_eq!(from_hex("abcd").text, "");
        assert_eq!(from_base64("____", 0).text, "\u{1}\u{1}\u{1}");
    }
}
