//! Reads tags, comments and addresses in angle brackets, of HTML and of JSX alike.

use super::attributes::{RawAttribute, RawValue, read_tag as read_raw_tag};
use super::{Attribute, ConstructKind, Element, Value};
use crate::WordList;

/// A longer tag is not read.
const MAX_TAG_BYTES: usize = 16 * 1024;
/// The same in a file that has many open brackets: it must stay cheap to read.
pub(super) const MIN_TAG_BYTES: usize = 1024;
const MANY: usize = 200;
/// Elements whose content a browser shows as it is, runs, or does not show.
const RAW: WordList = WordList(
    "script style textarea title xmp iframe noembed noframes plaintext noscript select object template",
);
/// Entities that stand for characters without a meaning in addresses and names.
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

/// How far the end of a tag is looked for, after so many that had none.
pub(super) fn limit(odd_tags: usize) -> usize {
    if odd_tags < MANY { MAX_TAG_BYTES } else { MIN_TAG_BYTES }
}

/// Reads what begins with the `<` at `at`, and tells where it ends. `None` when it is a plain character.
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
                .map(|tag| with_content(text, tag))
                .or_else(|| read_open(text, at, limit)),
        },
        _ => None,
    }
}

/// A tag that does not end. In the middle of a sentence every renderer shows it, unless its end comes later.
fn read_open(text: &str, at: usize, limit: usize) -> Option<(ConstructKind, usize)> {
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
    // Browsers end such a comment elsewhere.
    let is_odd = words.starts_with(['>', '-']) || words.contains("--!>") || words.contains("<!--");
    let kind = if is_odd || words.trim_start().starts_with('[') {
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

/// The rest of the line, or up to the bracket that closes. A value that goes on over lines is told with it, and read as
/// text as well.
fn unknown(text: &str, at: usize) -> (ConstructKind, usize) {
    let rest = &text[at..];
    // These go on over lines, and nothing in them is text.
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

/// Where a tag ends whose values may hold angle brackets.
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
    let read = tag.attributes.into_iter().map(|raw| attribute(text, raw)).collect::<Option<Vec<_>>>();
    let attributes: Vec<Attribute> = read?.into_iter().flatten().collect();
    if is_closing && !attributes.is_empty() {
        return None;
    }
    let is_component = name.is_empty() || name.contains('.') || is_capitalized(name);
    let name = if is_component { name.to_owned() } else { name.to_ascii_lowercase() };
    let element = Element { name, is_closing, attributes };
    let kind = if is_component { ConstructKind::Component(element) } else { ConstructKind::Html(element) };
    Some((kind, end))
}

/// Whether the content of an element is no text of the page.
pub(super) fn is_raw(name: &str) -> bool {
    RAW.contains(name)
}

/// What a script, a style or another element whose content is no text of the page holds is a part of it.
fn with_content(text: &str, tag: (ConstructKind, usize)) -> (ConstructKind, usize) {
    match &tag.0 {
        ConstructKind::Html(element) if is_raw(&element.name) && !text[..tag.1].ends_with("/>") => {
            take_content(text, tag)
        }
        _ => tag,
    }
}

/// The element with what is in it.
pub(super) fn take_content(text: &str, (mut kind, end): (ConstructKind, usize)) -> (ConstructKind, usize) {
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

/// `Card`, but not `IMG`: to a browser that is an image.
fn is_capitalized(name: &str) -> bool {
    name.starts_with(char::is_uppercase) && name.contains(char::is_lowercase)
}

/// The outer `None` means that to another reader the tag may end in there; the inner one, that nothing is given.
fn attribute(text: &str, raw: RawAttribute) -> Option<Option<Attribute>> {
    let value = match raw.value {
        RawValue::None => Value::None,
        RawValue::Text(place) => {
            let is_certain = !text[place.clone()].contains('<') && !text[place.clone()].contains("\n\n");
            text_value(Some(&text[place]).filter(|_| is_certain)?)
        }
        // A comment in braces gives nothing.
        RawValue::Code(place) if raw.name.is_empty() && is_comment(&text[place.clone()]) => {
            return Some(None);
        }
        RawValue::Code(place) => Value::Expression(text[place].to_owned()),
    };
    Some(Some(Attribute { name: text[raw.name].to_owned(), value }))
}

fn is_comment(code: &str) -> bool {
    code.starts_with("{/*") && code.ends_with("*/}")
}

/// A value with entities that only a browser can read counts as code.
fn text_value(raw: &str) -> Value {
    let text = ENTITIES.iter().fold(raw.to_owned(), |text, (entity, c)| text.replace(entity, c));
    let is_entity = |part: &str| {
        part.starts_with('#')
            || part.find(';').is_some_and(|end| part[..end].chars().all(char::is_alphanumeric))
    };
    let undone =
        raw.replace("&amp;", "").split('&').skip(1).any(is_entity) && text.split('&').skip(1).any(is_entity);
    if undone { Value::Expression(raw.to_owned()) } else { Value::Text(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
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
    fn tags() {
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
            assert_eq!(shown(text), expected, "{text}");
        }
        assert_eq!(read_at("if a <b then", 5, MAX_TAG_BYTES), None);
        assert!(read_at("if a <b then\nc > d", 5, MAX_TAG_BYTES).is_some());
    }
}
