//! Splits HTML and JSX into tags and text, and finds the attributes of tags.

use std::ops::Range;

use crate::constructs::attributes::{RawAttribute, RawValue, read_tag};
use crate::constructs::lines;

/// A longer text is not read as a tag, so that a file full of open brackets stays cheap to read.
const MAX_TAG_BYTES: usize = 8 * 1024;
/// Elements whose content is code, or no text at all.
const CODE_ELEMENTS: &[&str] = &["code", "pre", "kbd", "samp", "var", "tt", "script", "style", "textarea"];

/// An opening or closing tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tag {
    pub(crate) range: Range<usize>,
    pub(crate) name: String,
    pub(crate) closing: bool,
    pub(crate) self_closing: bool,
    pub(crate) attributes: Vec<Attribute>,
}

/// An attribute whose value is a plain string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Attribute {
    pub(crate) name: String,
    pub(crate) value: Range<usize>,
}

impl Tag {
    pub(crate) fn is_code(&self) -> bool {
        CODE_ELEMENTS.contains(&self.name.to_ascii_lowercase().as_str())
    }

    pub(crate) fn is_opening(&self) -> bool {
        !self.closing && !self.self_closing
    }
}

/// A part of HTML.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Tag(Tag),
    Text(Range<usize>),
    /// The content of an element such as `<pre>`.
    Code(Range<usize>),
    Comment,
}

/// Splits the HTML in `range` of `text` into its parts.
pub(crate) fn pieces(text: &str, range: Range<usize>) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut at = range.start;
    while at < range.end {
        let (piece, end) = next_piece(text, at, range.end);
        let code = match &piece {
            Piece::Tag(tag) if tag.is_opening() && tag.is_code() => {
                Some(code_end(text, &tag.name, end, range.end))
            }
            _ => None,
        };
        pieces.push(piece);
        at = end;
        if let Some(code_end) = code {
            pieces.push(Piece::Code(at..code_end));
            at = code_end;
        }
    }
    pieces
}

fn next_piece(text: &str, at: usize, end: usize) -> (Piece, usize) {
    let rest = &text[at..end];
    if rest.starts_with("<!--") {
        return (Piece::Comment, rest.find("-->").map_or(end, |found| at + found + 3));
    }
    if let Some(tag) = tag_at(&text[..end], at).or_else(|| malformed_tag_at(&text[..end], at)) {
        let end = tag.range.end;
        return (Piece::Tag(tag), end);
    }
    let first = rest.chars().next().map_or(1, char::len_utf8);
    let stop = rest[first..].find('<').map_or(end, |found| at + first + found);
    (Piece::Text(at..stop), stop)
}

/// Where the closing tag of a code element begins. `end` when there is none.
pub(crate) fn code_end(text: &str, name: &str, from: usize, end: usize) -> usize {
    let wanted = name.as_bytes();
    let bytes = &text.as_bytes()[..end];
    (from..end)
        .find(|&at| {
            bytes[at..].starts_with(b"</")
                && bytes
                    .get(at + 2..at + 2 + wanted.len())
                    .is_some_and(|found| found.eq_ignore_ascii_case(wanted))
        })
        .unwrap_or(end)
}

/// A text at `at` that begins like a tag, but is not a valid one. Nothing of it up to the next blank line is text.
pub(crate) fn malformed_tag_at(text: &str, at: usize) -> Option<Tag> {
    let rest = text.get(at..)?.strip_prefix('<')?;
    let name = rest.strip_prefix('/').unwrap_or(rest);
    let length = name.find(|c: char| !c.is_ascii_alphanumeric() && !"_.-".contains(c)).unwrap_or(name.len());
    // A colon or an at sign in angle brackets means an address.
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || name[length..].starts_with([':', '@']) {
        return None;
    }
    let end = paragraph_end(text, at);
    Some(Tag {
        range: at..end,
        name: String::new(),
        closing: false,
        self_closing: true,
        attributes: Vec::new(),
    })
}

/// The start of the first blank line after `at`.
pub(crate) fn paragraph_end(text: &str, at: usize) -> usize {
    let mut blank = lines(text, at).skip(1).filter(|(_, line)| line.trim().is_empty());
    blank.next().map_or(text.len(), |(start, _)| start)
}

/// The tag that begins at `at`.
pub(crate) fn tag_at(text: &str, at: usize) -> Option<Tag> {
    tag_of_any_length(&text[..text.floor_char_boundary(at + MAX_TAG_BYTES)], at)
}

/// The tag that begins at `at`, with any length. This can read the text to its end.
pub(crate) fn tag_of_any_length(text: &str, at: usize) -> Option<Tag> {
    let tag = read_tag(text, text.get(at..)?.starts_with('<').then_some(at)?)?;
    let name = &text[tag.name.clone()];
    let named = name.starts_with(|c: char| c.is_ascii_alphabetic());
    // `<>` and `</>` are fragments of JSX. A colon means an address in angle brackets.
    if !named && (!name.is_empty() || !tag.attributes.is_empty() || tag.is_self_closing)
        || name.ends_with(':')
    {
        return None;
    }
    let plain = |attribute: RawAttribute| match attribute.value {
        RawValue::Text(value) => Some(Attribute { name: text[attribute.name].to_owned(), value }),
        RawValue::None | RawValue::Code(_) => None,
    };
    Some(Tag {
        range: at..tag.end,
        name: name.to_owned(),
        closing: tag.is_closing,
        self_closing: tag.is_self_closing,
        attributes: tag.attributes.into_iter().filter_map(plain).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<(&str, &[(&str, &str)])>) {
        let tag = tag_at(text, 0);
        let attributes: Vec<_> = tag.iter().flat_map(|tag| &tag.attributes).collect();
        let found: Vec<_> = attributes.iter().map(|a| (a.name.as_str(), &text[a.value.clone()])).collect();
        assert_eq!(tag.as_ref().map(|tag| (&text[tag.range.clone()], found.as_slice())), expected);
    }

    #[test]
    fn tags_and_attributes() {
        check("<a href=\"/x\">y", Some(("<a href=\"/x\">", &[("href", "/x")])));
        check(
            "<img src='a.png' width=9>",
            Some(("<img src='a.png' width=9>", &[("src", "a.png"), ("width", "9")])),
        );
        check("</Card>", Some(("</Card>", &[])));
        check("<>", Some(("<>", &[])));
        check(
            "<Tab on={() => { x > 1 }} {...rest} open>",
            Some(("<Tab on={() => { x > 1 }} {...rest} open>", &[])),
        );
        check("<template #npm v-slot:x>", Some(("<template #npm v-slot:x>", &[])));
        check(
            "<Card href=\"/x\" s={[{ text: 'function npm() {' }]} />",
            Some(("<Card href=\"/x\" s={[{ text: 'function npm() {' }]} />", &[("href", "/x")])),
        );
        check("<https://a.b>", None);
        check("< b", None);
        check("<a <b>", None);
        check("<a href=\"", None);
        check("<3", None);
        check("<é>", None);
    }

    #[test]
    fn malformed_tags() {
        #[track_caller]
        fn check(text: &str, expected: Option<&str>) {
            assert_eq!(malformed_tag_at(text, 0).map(|tag| &text[tag.range]), expected);
        }
        check("<a b={\nc\n\nd", Some("<a b={\nc\n"));
        check("<Card x=\"y", Some("<Card x=\"y"));
        check("<https://a.b", None);
        check("<me@a.b", None);
        check("< b", None);
        check("<3", None);
    }

    #[test]
    fn text_between_tags() {
        let text = "<p>one <code>two</code> <!-- three --> four</p>";
        let mut found = Vec::new();
        for piece in pieces(text, 0..text.len()) {
            match piece {
                Piece::Text(range) => found.push(("text", text[range].trim().to_owned())),
                Piece::Code(range) => found.push(("code", text[range].to_owned())),
                Piece::Tag(_) | Piece::Comment => {}
            }
        }
        let expected = [("text", "one"), ("code", "two"), ("text", ""), ("text", "four")];
        assert_eq!(found, expected.map(|(kind, text)| (kind, text.to_owned())));
    }
}
