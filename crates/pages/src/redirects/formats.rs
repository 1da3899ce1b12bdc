//! Reads and extends the files in which sites keep their redirects.
//!
//! A format has two pure functions: `read` returns the redirects of a file, and `add` returns its text with more of
//! them. Both return `None` for a file that they can't parse. `add` only inserts text, in the style of the file.

pub(crate) mod docusaurus;
pub(crate) mod front_matter;
mod json;
pub(crate) mod json_file;
pub(crate) mod lines_file;
pub(crate) mod mkdocs;
pub(crate) mod netlify;
pub(crate) mod snippet;

/// The line ending of a text.
pub(crate) fn line_ending(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// The spaces in front of the line at `at`.
pub(crate) fn indent_at(text: &str, at: usize) -> &str {
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let line = &text[start..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}
