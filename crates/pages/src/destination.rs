//! Finds the destination of a link in the source, and parses it.

use std::fmt::Write as _;
use std::ops::Range;

use percent_encoding::percent_decode_str;

use crate::WordList;
use crate::path;

/// The destination of an inline link in `range`, which begins after the link's text: `](here "title")`.
pub(crate) fn find_inline(text: &str, range: Range<usize>) -> Option<Range<usize>> {
    let part = text.get(range.clone())?;
    let open = part.find("](")? + 2;
    find_destination(text, range.start + open..range.end)
}

/// The destination of a reference definition: `[label]: here "title"`.
pub(crate) fn find_in_definition(text: &str, range: Range<usize>) -> Option<Range<usize>> {
    let part = text.get(range.clone())?;
    let open = part.find("]:")? + 2;
    find_destination(text, range.start + open..range.end)
}

fn find_destination(text: &str, range: Range<usize>) -> Option<Range<usize>> {
    let part = text.get(range.clone())?;
    let start = range.start + part.len() - part.trim_start().len();
    let rest = &text[start..range.end];
    if let Some(bracketed) = rest.strip_prefix('<') {
        return Some(start + 1..start + 1 + bracketed.find('>')?);
    }
    let mut depth = 0_usize;
    let mut escaped = false;
    for (at, c) in rest.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '(' => depth += 1,
            ')' if depth == 0 => return Some(start..start + at),
            ')' => depth -= 1,
            c if c.is_whitespace() => return Some(start..start + at),
            _ => {}
        }
    }
    Some(start..range.end)
}

/// A longer destination names no file.
const MAX_BYTES: usize = 4 * 1024;
/// Prefixes of the pages that rustdoc generates.
const RUSTDOC_ITEMS: WordList =
    WordList("struct enum trait fn macro type constant static union primitive attr derive keyword");

/// The parts of a destination within the site. They are decoded, except `query`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Destination {
    pub(crate) path: String,
    /// With its question mark, or empty.
    pub(crate) query: String,
    pub(crate) fragment: Option<String>,
}

impl Destination {
    /// `None` when it is outside of the site, or when only the site generator knows its meaning: a placeholder, an alias such
    /// as `@site` or `~`, or a page that rustdoc generates.
    pub(crate) fn parse(raw: &str) -> Option<Self> {
        let raw = raw.trim();
        if raw.is_empty()
            || raw.len() > MAX_BYTES
            || raw.starts_with("//")
            || has_scheme(raw)
            || raw.starts_with('~')
            || raw.contains(['{', '}', '<', '>', '$', '@'])
        {
            return None;
        }
        let (rest, fragment) = match raw.split_once('#') {
            Some((rest, fragment)) => (rest, Some(decode(fragment))),
            None => (raw, None),
        };
        let (path, query) = rest.split_at(rest.find('?').unwrap_or(rest.len()));
        if is_placeholder(path) || is_rustdoc_item(path) {
            return None;
        }
        Some(Self { path: decode(path), query: query.to_owned(), fragment })
    }
}

/// `...` and `path/to/page.md` are placeholders in examples.
fn is_placeholder(path: &str) -> bool {
    let only_dots = path.len() > 2 && path.chars().all(|c| c == '.');
    only_dots || path.contains('…') || path.trim_start_matches(['.', '/']).starts_with("path/to/")
}

/// `struct.Foo.html`, `acme::Foo`
fn is_rustdoc_item(path: &str) -> bool {
    if path.contains("::") {
        return true;
    }
    let name = path::name(path).strip_suffix(".html").and_then(|name| name.split_once('.'));
    name.is_some_and(|(kind, _)| RUSTDOC_ITEMS.contains(kind))
}

/// Whether a destination has a scheme or a host: another site, a mail address.
pub fn is_external(raw: &str) -> bool {
    raw.starts_with("//") || has_scheme(raw)
}

fn has_scheme(raw: &str) -> bool {
    let Some((scheme, _)) = raw.split_once(':') else { return false };
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

/// Decodes percent-encoding. A part that is not valid UTF-8 when decoded is returned unchanged.
pub(crate) fn decode(part: &str) -> String {
    percent_decode_str(part).decode_utf8().map_or_else(|_| part.to_owned(), |decoded| decoded.into_owned())
}

/// Encodes only characters that would end or change a destination. Other letters stay readable.
pub(crate) fn encode(part: &str) -> String {
    let mut encoded = String::with_capacity(part.len());
    for c in part.chars() {
        if c.is_ascii_control() || " <>()\"'`#?%[]\\".contains(c) {
            let _ = write!(encoded, "%{:02X}", u32::from(c));
        } else {
            encoded.push(c);
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn destinations_in_the_source() {
        #[track_caller]
        fn check(link: &str, expected: &str) {
            let found = find_inline(link, 0..link.len()).unwrap();
            assert_eq!(&link[found], expected);
        }
        check("](a.md)", "a.md");
        check("]( <a b.md> 'x')", "a b.md");
        check("](a(1).md \"t\")", "a(1).md");
        check("](a\\).md)", "a\\).md");
        check("]()", "");
        let definition = "[x]: <a.md> \"t\"";
        assert_eq!(find_in_definition(definition, 0..definition.len()), Some(6..10));
    }

    #[test]
    fn destinations_are_parsed() {
        #[track_caller]
        fn check(raw: &str, expected: Option<(&str, &str, Option<&str>)>) {
            let found = Destination::parse(raw);
            let found = found.as_ref().map(|d| (d.path.as_str(), d.query.as_str(), d.fragment.as_deref()));
            assert_eq!(found, expected, "{raw}");
        }
        check("a%20b.md?x=1#C%C3%A9", Some(("a b.md", "?x=1", Some("Cé"))));
        check("#top", Some(("", "", Some("top"))));
        check("/a/", Some(("/a/", "", None)));
        check("%ff", Some(("%ff", "", None)));
        check("type.html", Some(("type.html", "", None)));
        for outside in [
            "https://a.b",
            "mailto:a@b.c",
            "//cdn.x/y",
            "tel:1",
            "data:image/png;base64,x",
            "",
            "{url}",
            "{{ x }}",
            "${base}/x",
            "<%= x %>",
            "~/x",
            "~docs/x",
            "@site/docs/x.md",
            "@/x",
            "...",
            "path/to/file.md",
            "../path/to/file.md",
            "struct.Foo.html",
            "tower_http::trace",
            "`acme::Foo`",
            "../acme/fn.run.html#examples",
        ] {
            check(outside, None);
        }
    }

    #[test]
    fn encoding_keeps_readable_letters() {
        assert_eq!(encode("a b/é(1)#x.md"), "a%20b/é%281%29%23x.md");
    }
}
