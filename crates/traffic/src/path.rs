//! Normalizes the URL of a page view to a path, so that every spelling of a URL counts as one page.

use std::borrow::Cow;

/// The longest stored path, in bytes.
const MAX_PATH: usize = 1024;
/// The longest path that is parsed: every byte may be percent-encoded.
const MAX_RAW_PATH: usize = 4 * MAX_PATH;

/// A normalized page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    pub path: String,
    /// The extension asks for the page as Markdown.
    pub markdown: bool,
}

/// Why a URL or path is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadPath {
    #[error("a page is a path that begins with `/`, or an http or https URL")]
    NoSlash,
    #[error("the path of a page must be at most 1,024 bytes long")]
    TooLong,
    #[error("the path of a page must not contain control characters")]
    Control,
}

/// The page of a URL or path: no scheme, host, query or fragment, no trailing slash, no
/// `index.html`, no `.md`. Case is kept, because docs hosts serve `/API` and `/api` as two pages,
/// and so is every other extension.
///
/// Percent-encoding is normalized: readable characters are decoded; separators, spaces and invisible
/// characters are encoded. An invalid escape is kept unchanged.
pub fn normalize_page(url_or_path: &str) -> Result<Page, BadPath> {
    let end = url_or_path.find(['?', '#']).unwrap_or(url_or_path.len());
    let raw = strip_host(url_or_path[..end].trim())?;
    if raw.len() > MAX_RAW_PATH {
        return Err(BadPath::TooLong);
    }
    if raw.contains(char::is_control) {
        return Err(BadPath::Control);
    }
    let text = normalize_encoding(raw);
    let mut segments = resolve_segments(&text);
    let markdown = strip_file_name(&mut segments);
    let path = format!("/{}", segments.join("/"));
    if path.len() > MAX_PATH {
        return Err(BadPath::TooLong);
    }
    Ok(Page { path, markdown })
}

/// Treats `//a/b` as a path with an extra slash, as it occurs in logs, and not as a host.
fn strip_host(text: &str) -> Result<&str, BadPath> {
    if text.starts_with('/') {
        return Ok(text);
    }
    let (scheme, rest) = text.split_once("://").ok_or(BadPath::NoSlash)?;
    if !["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
        return Err(BadPath::NoSlash);
    }
    Ok(rest.find('/').map_or("/", |slash| &rest[slash..]))
}

/// Drops empty and `.` segments and resolves `..`, never above the root.
fn resolve_segments(path: &str) -> Vec<&str> {
    let mut segments = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => drop(segments.pop()),
            name => segments.push(name),
        }
    }
    segments
}

/// Strips `index`, `index.html` and a Markdown extension from the end, in any order: the llms.txt convention
/// names the Markdown version of a page `index.html.md`.
fn strip_file_name(segments: &mut Vec<&str>) -> bool {
    let mut markdown = false;
    while let Some(last) = segments.last_mut() {
        if let Some(name) = markdown_name(last) {
            *last = name;
            markdown = true;
        } else if ["index", "index.html"].contains(last) {
            segments.pop();
        } else {
            break;
        }
    }
    markdown
}

fn markdown_name(file: &str) -> Option<&str> {
    let (name, extension) = file.rsplit_once('.')?;
    let markdown = ["md", "mdx"].iter().any(|known| extension.eq_ignore_ascii_case(known));
    (markdown && !name.is_empty()).then_some(name)
}

fn normalize_encoding(path: &str) -> Cow<'_, str> {
    let plain = |byte: u8| byte.is_ascii_graphic() && byte != b'%';
    if path.bytes().all(plain) {
        return Cow::Borrowed(path);
    }
    let mut out = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(at) = rest.find('%') {
        rest[..at].chars().for_each(|char| push(&mut out, char, true));
        let bytes = leading_escapes(&rest[at..]);
        if bytes.is_empty() {
            rest = keep_stray_percent(&mut out, &rest[at..]);
        } else {
            push_bytes(&mut out, &bytes);
            rest = &rest[at + 3 * bytes.len()..];
        }
    }
    rest.chars().for_each(|char| push(&mut out, char, true));
    Cow::Owned(out)
}

/// Decodes the `%XX` escapes at the start of `text`.
fn leading_escapes(text: &str) -> Vec<u8> {
    let escape = |chunk: &[u8]| match chunk {
        [b'%', high, low] => Some(hex(*high)? << 4 | hex(*low)?),
        _ => None,
    };
    text.as_bytes().chunks(3).map_while(escape).collect()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

/// Copies a stray `%` unchanged, with any escape that would complete it once decoded: normalizing must be
/// idempotent.
fn keep_stray_percent<'a>(out: &mut String, text: &'a str) -> &'a str {
    let mut end = 1;
    let bytes = text.as_bytes();
    if bytes.get(end).is_some_and(u8::is_ascii_hexdigit) {
        end += 1;
    }
    if !leading_escapes(&text[end..]).is_empty() {
        end += 3;
    }
    out.push_str(&text[..end]);
    &text[end..]
}

fn push_bytes(out: &mut String, bytes: &[u8]) {
    for chunk in bytes.utf8_chunks() {
        chunk.valid().chars().for_each(|char| push(out, char, false));
        chunk.invalid().iter().for_each(|byte| push_escape(out, *byte));
    }
}

/// Appends a character, encoded if needed. A `/` stays only if it was not encoded.
fn push(out: &mut String, char: char, raw: bool) {
    let separator = matches!(char, '%' | '?' | '#') || (char == '/' && !raw);
    if separator || char.is_whitespace() || is_invisible(char) {
        let mut buffer = [0; 4];
        char.encode_utf8(&mut buffer).bytes().for_each(|byte| push_escape(out, byte));
    } else {
        out.push(char);
    }
}

fn push_escape(out: &mut String, byte: u8) {
    let digit = |value: u8| char::from_digit(value.into(), 16).unwrap_or('0').to_ascii_uppercase();
    out.extend(['%', digit(byte >> 4), digit(byte & 15)]);
}

/// Control, formatting and direction characters, which make different paths look the same.
fn is_invisible(char: char) -> bool {
    char.is_control()
        || matches!(char, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}')
        || ('\u{200b}'..='\u{200f}').contains(&char)
        || ('\u{2028}'..='\u{202e}').contains(&char)
        || ('\u{2060}'..='\u{206f}').contains(&char)
        || ('\u{fff9}'..='\u{fffb}').contains(&char)
        || ('\u{e0000}'..='\u{e0fff}').contains(&char)
}

#[cfg(test)]
#[path = "path_tests.rs"]
mod tests;
