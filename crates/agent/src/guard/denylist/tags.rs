//! Where a tag ends: not at a sign that stands in the value of an attribute.

use std::ops::Range;

use crate::pattern::pattern;

/// What is looked at of a tag or of one value.
pub(super) const MAX_TAG: usize = 4096;

/// Reads along and knows whether it is in a tag, and in the value of an attribute.
#[derive(Default)]
pub(super) struct Reader {
    in_tag: bool,
    quote: Option<u8>,
    braces: usize,
    last: u8,
}

impl Reader {
    pub(super) fn read(&mut self, byte: u8) {
        let is_quote = matches!(byte, b'"' | b'\'') || byte == b'`' && self.braces > 0;
        match self.quote {
            Some(quote) if byte == quote => self.quote = None,
            Some(_) => {}
            None if !self.in_tag => self.in_tag = self.last == b'<' && byte.is_ascii_alphabetic(),
            None if is_quote && (self.last == b'=' || self.braces > 0) => self.quote = Some(byte),
            None if byte == b'{' => self.braces += 1,
            None if byte == b'}' => self.braces = self.braces.saturating_sub(1),
            None if byte == b'>' && self.braces == 0 => self.in_tag = false,
            None => {}
        }
        if !self.in_tag || !byte.is_ascii_whitespace() {
            self.last = byte;
        }
    }

    /// The mark that ends the string which is the value of an attribute.
    pub(super) fn string(&self) -> Option<u8> {
        self.quote.filter(|_| self.braces == 0)
    }

    pub(super) fn leave(&mut self) {
        *self = Self::default();
    }
}

/// The length of the tag that `text` begins with, without its last sign; it ends where another one begins as well.
pub(super) fn end(text: &str) -> Option<usize> {
    let (mut reader, bytes) = (Reader::default(), text.as_bytes());
    (0..bytes.len().min(MAX_TAG)).find(|at| {
        let is_in_value = reader.quote.is_some() || reader.braces > 0;
        reader.read(bytes[*at]);
        let next = bytes.get(at + 1).is_some_and(u8::is_ascii_alphabetic);
        *at > 1 && (!reader.in_tag || bytes[*at] == b'<' && next && !is_in_value)
    })
}

/// The tag that `text` begins with, or as much of it as is looked at.
pub(super) fn tag(text: &str) -> &str {
    &text[..end(text).unwrap_or_else(|| text.floor_char_boundary(MAX_TAG))]
}

/// The tags of a page. A sign that opens one may itself stand in what only looks like a tag, so each is followed; where
/// that would take too long, everything is in one.
#[derive(Default)]
pub(super) struct Tags {
    ends: Vec<(usize, Option<usize>)>,
    covered: Vec<Range<usize>>,
}

impl Tags {
    pub(super) fn of(text: &str) -> Self {
        const MAX_STEPS: usize = 64;
        let mut tags = Self::default();
        let mut room = text.len() * MAX_STEPS;
        for open in opening().into_iter().flat_map(|pattern| pattern.find_iter(text)) {
            let start = open.start();
            let length = end(&text[start..]);
            let cut = || text[start..].floor_char_boundary(MAX_TAG);
            let Some(left) = room.checked_sub(length.unwrap_or_else(cut)) else {
                tags.covered.push(start..text.len());
                break;
            };
            room = left;
            tags.ends.push((start, length));
            tags.cover(start..start + length.unwrap_or_else(cut));
        }
        tags
    }

    fn cover(&mut self, tag: Range<usize>) {
        match self.covered.last_mut().filter(|last| last.end >= tag.start) {
            Some(last) => last.end = last.end.max(tag.end),
            None => self.covered.push(tag),
        }
    }

    /// Whether a place is in a tag.
    pub(super) fn holds(&self, at: usize) -> bool {
        let next = self.covered.partition_point(|tag| tag.start <= at);
        next.checked_sub(1).is_some_and(|before| self.covered[before].end > at)
    }

    /// The length of the tag that begins at a place, if it ends soon.
    pub(super) fn length(&self, start: usize) -> Option<usize> {
        let at = self.ends.binary_search_by_key(&start, |(start, _)| *start).ok()?;
        self.ends[at].1
    }
}

/// The value of an attribute; `None` if it is too long to be looked at.
pub(super) fn value(text: &str) -> Option<&str> {
    let near = text.as_bytes().iter().take(MAX_TAG);
    let end = match text.chars().next() {
        Some(quote @ ('"' | '\'')) => {
            near.skip(1).position(|byte| char::from(*byte) == quote).map(|at| at + 2)
        }
        Some('{') => Some(balanced(&text[..text.floor_char_boundary(MAX_TAG)])).filter(|end| *end < MAX_TAG),
        _ => near.clone().position(|byte| byte.is_ascii_whitespace() || *byte == b'>' || *byte == b'}'),
    };
    end.or((text.len() < MAX_TAG).then_some(text.len())).map(|end| &text[..end])
}

/// To where the brace is closed that `text` begins with; a brace in a string is none.
pub(super) fn balanced(text: &str) -> usize {
    let (mut depth, mut quote, mut escaped) = (0_usize, None, false);
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            _ if escaped => escaped = false,
            (Some(_), b'\\') => escaped = true,
            (Some(mark), _) if byte == mark || byte == b'\n' && mark != b'`' => quote = None,
            (None, b'"' | b'\'' | b'`') => quote = Some(byte),
            (None, b'{') => depth += 1,
            (None, b'}') if depth <= 1 => return at + 1,
            (None, b'}') => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

pattern!(opening, r"<[a-zA-Z]");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends() {
        for (text, expected) in [
            ("<a>b>", Some("<a")),
            ("<a b=\">\" c='>'>d", Some("<a b=\">\" c='>'")),
            ("<a b={() => c(\"}\")}>d", Some("<a b={() => c(\"}\")}")),
            ("<a don't>b'>", Some("<a don't")),
            ("<a b=\"c>", None),
        ] {
            assert_eq!(end(text).map(|end| &text[..end]), expected, "{text}");
        }
    }

    #[test]
    fn values() {
        let check = |text: &str, expected: &str| assert_eq!(value(text), Some(expected), "{text}");
        check("\"a>b\" c", "\"a>b\"");
        check("{() => a({b: '}'})}>c", "{() => a({b: '}'})}");
        check("a(1)>c", "a(1)");
        check("é", "é");
        assert_eq!(value(&"é".repeat(MAX_TAG)), None);
        assert_eq!(value(&format!("\"{}\"", "é".repeat(MAX_TAG))), None);
    }

    #[test]
    fn what_is_in_a_tag() {
        let text = "a <b * x=\" <img alt=\"> \" onerror=x> onclick=y";
        let tags = Tags::of(text);
        let at = |word: &str| text.find(word).unwrap_or_default();
        assert!(tags.holds(at("onerror")));
        assert!(!tags.holds(at("onclick")));
    }
}
