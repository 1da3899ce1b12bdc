//! Reads tags, comments and addresses in angle brackets, both of HTML and of JSX.

use std::ops::Range;

use super::attributes::{RawAttribute, RawValue, read_tag as read_raw_tag};
use super::{Attribute, Construct, ConstructKind, Element, Value};
use crate::WordList;

/// A longer tag is not read.
const MAX_TAG_BYTES: usize = 16 * 1024;
/// The limit in a file with many tags that don't end, so that it stays cheap to read.
pub(super) const MIN_TAG_BYTES: usize = 1024;
/// How many such tags are many.
const MANY_UNREADABLE_TAGS: usize = 200;
/// Elements whose content a browser shows as it is written, runs, or hides.
const RAW_ELEMENTS: WordList = WordList(
    "script style textarea title xmp iframe noembed noframes plaintext noscript select object template",
);
/// Entities of characters that have no meaning in addresses and names.
const ENTITIES: &[(&str, &str)] = &[
    ("&amp;", "&"),
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&quot;", "\""),
    ("&apos;", "'"),
    ("&#39;", "'"),
    ("&#x27;", "'"),
    ("&nbsp;", "\u{a0}"),
];

/// How far the end of a tag is searched for, after this many tags that had none.
pub(super) fn max_tag_bytes(unreadable_tags: usize) -> usize {
    if unreadable_tags < MANY_UNREADABLE_TAGS { MAX_TAG_BYTES } else { MIN_TAG_BYTES }
}

/// Reads all tags in a range of HTML.
pub(super) fn read_all(text: &str, span: Range<usize>) -> Vec<Construct> {
    let (mut found, mut at, mut unreadable_tags) = (Vec::new(), span.start, 0);
    while let Some(next) = text[at..span.end].find('<') {
        at += next;
        let Some((kind, end)) = read_at(&text[..span.end], at, max_tag_bytes(unreadable_tags)) else {
            (at, unreadable_tags) = (at + 1, unreadable_tags + 1);
            continue;
        };
        unreadable_tags += usize::from(matches!(kind, ConstructKind::Unknown(_)));
        found.push(Construct::standard(kind, at..end));
        at = end;
    }
    found
}

/// Reads what begins with the `<` at `at`. Returns the construct and its end. `None` for a plain character.
pub(super) fn read_at(text: &str, at: usize, limit: usize) -> Option<(ConstructKind, usize)> {
    let rest = &text[at..];
    if let Some(comment) = rest.strip_prefix("<!--") {
        return Some(read_comment(comment, at + 4));
    }
    let first = rest[1..].chars().next()?;
    match first {
        '!' | '?' => Some(unknown(text, at)),
        '>' => Some((ConstructKind::Component(Element::default()), at + 2)),
        '/' if rest[2..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '>') => {
            Some(read_tag(text, at, limit).unwrap_or_else(|| unknown(text, at)))
        }
        c if c.is_ascii_alphabetic() => match read_address(&rest[..rest.floor_char_boundary(limit)]) {
            Some((address, length)) => Some((ConstructKind::Link(address), at + length)),
            None => read_tag(text, at, limit)
                .map(|tag| with_element_content(text, tag))
                .or_else(|| read_unclosed(text, at, limit)),
        },
        _ => None,
    }
}

/// A tag that does not end on its line. In a sentence, all renderers show it as text, unless it ends later.
fn read_unclosed(text: &str, at: usize, limit: usize) -> Option<(ConstructKind, usize)> {
    let before = text[..at].trim_end_matches([' ', '\t', '>', '-', '*', '+']);
    let begins_line = before.is_empty() || before.ends_with('\n');
    let ends_later = || {
        let rest = &text[at..text.floor_char_boundary(at + limit)];
        let paragraph = rest.find("\n\n").map_or(rest, |end| &rest[..end]);
        paragraph.contains(['>', '='])
    };
    (begins_line || ends_later()).then(|| unknown(text, at))
}

fn read_comment(comment: &str, start: usize) -> (ConstructKind, usize) {
    let Some(end) = comment.find("-->") else {
        return (ConstructKind::Unknown(format!("<!--{comment}")), start + comment.len());
    };
    let words = &comment[..end];
    // Browsers end such a comment earlier or later.
    let is_uncertain = words.starts_with(['>', '-']) || words.contains("--!>") || words.contains("<!--");
    let kind = if is_uncertain || words.trim_start().starts_with('[') {
        ConstructKind::Unknown(format!("<!--{words}-->"))
    } else if words.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}').starts_with('@') {
        ConstructKind::Include(words.trim().to_owned())
    } else {
        ConstructKind::Comment(words.trim().to_owned())
    };
    (kind, start + end + 3)
}

/// `<https://…>` and `<name@host>`.
fn read_address(rest: &str) -> Option<(String, usize)> {
    let end =
        rest.find(|c: char| c == '>' || c.is_whitespace()).filter(|end| rest[*end..].starts_with('>'))?;
    let address = &rest[1..end];
    let length = address.find([':', '@', '/', '<', '"', '\''])?;
    match address[length..].chars().next()? {
        ':' if length >= 2 => Some((address.to_owned(), end + 1)),
        '@' => Some((format!("mailto:{address}"), end + 1)),
        _ => None,
    }
}

/// The text up to the closing bracket or the end of the line. A value that continues over lines is part of the construct,
/// and is also read as text.
fn unknown(text: &str, at: usize) -> (ConstructKind, usize) {
    let rest = &text[at..];
    // These continue over lines, and contain no text.
    let raw = [("<![CDATA[", "]]>"), ("<?", "?>")].iter().find(|(open, _)| rest.starts_with(open));
    let end = match raw {
        Some((_, close)) => rest.find(close).map_or(rest.len(), |end| end + close.len()),
        None => {
            rest.find(['>', '\n']).map_or(rest.len(), |end| end + usize::from(rest[end..].starts_with('>')))
        }
    };
    let whole = if raw.is_none() { end.max(quoted_end(rest)) } else { end };
    (ConstructKind::Unknown(rest[..whole].to_owned()), at + end)
}

/// Where a tag ends whose values can contain angle brackets.
fn quoted_end(tag: &str) -> usize {
    let near = &tag[..tag.floor_char_boundary(MIN_TAG_BYTES)];
    let mut at = 0;
    let is_mark = |byte: &u8| matches!(byte, b'"' | b'\'' | b'>');
    while let Some(next) = near.as_bytes()[at..].iter().position(is_mark).map(|length| at + length) {
        let mark = char::from(near.as_bytes()[next]);
        at = next + 1;
        if mark == '>' {
            return at;
        }
        if near[..next].trim_end().ends_with('=') {
            let Some(length) = near[at..].find(mark) else { return near.len() };
            at += length + 1;
        }
    }
    0
}

fn read_tag(text: &str, at: usize, limit: usize) -> Option<(ConstructKind, usize)> {
    let text = &text[..text.floor_char_boundary(at + limit)];
    let tag = read_raw_tag(text, at)?;
    let is_closing = tag.is_closing;
    let (name, end) = (&text[tag.name], tag.end);
    let mut attributes = Vec::new();
    for raw in tag.attributes {
        match read_attribute(text, raw) {
            AttributeRead::Attribute(attribute) => attributes.push(attribute),
            AttributeRead::Comment => {}
            AttributeRead::Uncertain => return None,
        }
    }
    if is_closing && !attributes.is_empty() {
        return None;
    }
    let is_component = name.is_empty() || name.contains('.') || is_capitalized(name);
    let name = if is_component { name.to_owned() } else { name.to_ascii_lowercase() };
    let element = Element { name, is_closing, attributes };
    let kind = if is_component { ConstructKind::Component(element) } else { ConstructKind::Html(element) };
    Some((kind, end))
}

/// Whether the content of an element is not text.
pub(super) fn is_raw(name: &str) -> bool {
    RAW_ELEMENTS.contains(name)
}

/// Adds the content of a script, a style or another element whose content is not text.
fn with_element_content(text: &str, tag: (ConstructKind, usize)) -> (ConstructKind, usize) {
    match &tag.0 {
        ConstructKind::Html(element) if is_raw(&element.name) && !text[..tag.1].ends_with("/>") => {
            with_raw_content(text, tag)
        }
        _ => tag,
    }
}

/// Adds the content of an element, as an attribute without a name.
pub(super) fn with_raw_content(
    text: &str,
    (mut kind, end): (ConstructKind, usize),
) -> (ConstructKind, usize) {
    let (ConstructKind::Html(element) | ConstructKind::Component(element)) = &mut kind else {
        return (kind, end);
    };
    if element.is_closing {
        return (kind, end);
    }
    if text[..end].ends_with("/>") {
        element.attributes.push(Attribute { name: String::new(), value: Value::Expression(String::new()) });
        return (kind, end);
    }
    let is_close = |at: &usize| {
        let name = text.get(at + 2..at + 2 + element.name.len());
        name.is_some_and(|name| name.eq_ignore_ascii_case(&element.name))
    };
    let close = text[end..].match_indices("</").map(|(at, _)| end + at).find(is_close).unwrap_or(text.len());
    let value = Value::Expression(text[end..close].to_owned());
    element.attributes.push(Attribute { name: String::new(), value });
    (kind, close)
}

/// `Card`, but not `IMG`, which is an image to a browser.
fn is_capitalized(name: &str) -> bool {
    name.starts_with(char::is_uppercase) && name.contains(char::is_lowercase)
}

/// The result of reading an attribute.
enum AttributeRead {
    Attribute(Attribute),
    /// A comment in braces, which sets nothing.
    Comment,
    /// To another reader, the tag can end inside of the value.
    Uncertain,
}

fn read_attribute(text: &str, raw: RawAttribute) -> AttributeRead {
    let value = match raw.value {
        RawValue::None => Value::None,
        RawValue::Text(range) => {
            let value = &text[range];
            if value.contains('<') || value.contains("\n\n") {
                return AttributeRead::Uncertain;
            }
            text_value(value)
        }
        RawValue::Code(range) if raw.name.is_empty() && is_comment(&text[range.clone()]) => {
            return AttributeRead::Comment;
        }
        RawValue::Code(range) => Value::Expression(text[range].to_owned()),
    };
    AttributeRead::Attribute(Attribute { name: text[raw.name].to_owned(), value })
}

fn is_comment(code: &str) -> bool {
    code.starts_with("{/*") && code.ends_with("*/}")
}

/// A value with entities that only a browser can decode counts as code.
fn text_value(raw: &str) -> Value {
    let text = ENTITIES.iter().fold(raw.to_owned(), |text, (entity, c)| text.replace(entity, c));
    let is_entity = |part: &str| {
        part.starts_with('#')
            || part.find(';').is_some_and(|end| part[..end].chars().all(char::is_alphanumeric))
    };
    let has_entities =
        raw.replace("&amp;", "").split('&').skip(1).any(is_entity) && text.split('&').skip(1).any(is_entity);
    if has_entities { Value::Expression(raw.to_owned()) } else { Value::Text(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formatted(text: &str) -> String {
        let Some((kind, end)) = read_at(text, 0, MAX_TAG_BYTES) else { return "text".to_owned() };
        let rest = &text[end..];
        let tag = |element: &Element| {
            let attribute = |a: &Attribute| match &a.value {
                Value::None => format!(" {}", a.name),
                Value::Text(text) => format!(" {}={text:?}", a.name),
                Value::Expression(code) => format!(" {}={code}", a.name),
            };
            let attributes: String = element.attributes.iter().map(attribute).collect();
            format!("{}{}{attributes}", if element.is_closing { "/" } else { "" }, element.name)
        };
        let read = match &kind {
            ConstructKind::Html(element) => format!("html {}", tag(element)),
            ConstructKind::Component(element) => format!("component {}", tag(element)),
            other => format!("{other:?}"),
        };
        format!("{read} | {rest}")
    }

    #[test]
    fn tags_comments_and_addresses() {
        for (text, expected) in [
            ("<IMG SRC='a' alt>b", "html img SRC=\"a\" alt | b"),
            ("<img/src=a/onerror=b>", "Unknown(\"<img/src=a/onerror=b>\") | "),
            ("<Card {...x} y={{a: '>'}} />", "component Card ={...x} y={{a: '>'}} | "),
            ("</Tabs.Tab >", "component /Tabs.Tab | "),
            ("<a title=\"a > b\">", "html a title=\"a > b\" | "),
            ("<a title=\"<b>\">", "Unknown(\"<a title=\\\"<b>\\\">\") | \">"),
            ("<a href='&#106;x'>", "html a href=&#106;x | "),
            ("<a href='?a=1&amp;b=2&c=3'>", "html a href=\"?a=1&b=2&c=3\" | "),
            ("<https://a.example/x>.", "Link(\"https://a.example/x\") | ."),
            ("<me@a.example>", "Link(\"mailto:me@a.example\") | "),
            ("<!-- a -->b", "Comment(\"a\") | b"),
            ("<!--> <b> -->", "Unknown(\"<!--> <b> -->\") | "),
            ("<!-- @include: x -->", "Include(\"@include: x\") | "),
            ("<!DOCTYPE html>", "Unknown(\"<!DOCTYPE html>\") | "),
            ("<3 and", "text"),
            ("< b>", "text"),
            ("<>a", "component  | a"),
        ] {
            assert_eq!(formatted(text), expected, "{text}");
        }
        assert_eq!(read_at("if a <b then", 5, MAX_TAG_BYTES), None);
        assert!(read_at("if a <b then\nc > d", 5, MAX_TAG_BYTES).is_some());
    }
}
