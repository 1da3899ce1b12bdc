//! Files that hold the navigation of a site and can also run code: data may be added to them, and no more.

use super::added::{Added, Text};
use super::paths::fold;
use crate::pattern::pattern;

const MORE_THAN_DATA: &str =
    "what was added to it is more than plain entries of the navigation and could run";

/// Why the change of `path` is more than data, if it is such a file.
pub(super) fn refusal(path: &str, added: &Added<'_>) -> Option<&'static str> {
    let folded = fold(path);
    let name = folded.rsplit('/').next()?;
    let (_, text) = added.files().find(|(file, _)| *file == path)?;
    let runs = match name {
        "sidebars.js" | "sidebars.ts" | "sidebars.cjs" | "sidebars.mjs" => {
            script()?.is_match(&text.added().text)
        }
        "zensical.toml" => settings()?.is_match(&text.added().text),
        _ if name.starts_with("mkdocs") && [".yml", ".yaml"].iter().any(|end| name.ends_with(end)) => {
            !is_navigation(text)
        }
        _ => return None,
    };
    runs.then_some(MORE_THAN_DATA)
}

/// Whether the added lines of MkDocs' settings are plain entries below `nav`, or remarks. Its YAML can do more than it
/// seems to: it knows tags that run, and what is written twice counts as it is written last.
fn is_navigation(text: &Text<'_>) -> bool {
    let mut added = text.lines.iter().map(|(_, range)| range.start).peekable();
    let (mut section, mut at) = ("", 0);
    for line in text.text.split_inclusive('\n') {
        if added.next_if_eq(&at).is_some() && !is_plain(section, line.trim_end()) {
            return false;
        }
        if !line.starts_with([' ', '\t', '#', '-', '\r', '\n']) {
            section = line.trim_end();
        }
        at += line.len();
    }
    true
}

fn is_plain(section: &str, line: &str) -> bool {
    let is_entry = section == "nav:" && entry().is_some_and(|pattern| pattern.is_match(line));
    is_entry || line == "nav:" || line.trim_start().starts_with('#') || line.is_empty()
}

/// Of a title and of a page, each bare or in quotes without an escape; no tag, anchor or list of its own.
const TITLE: &str = r#"(?:"[^"\\]*"|'(?:[^']|'')*'|[^\s!&*?|>%@`"'{}\[\],#:-][^:{}\[\]]*)"#;
const PAGE: &str = r#"(?:"[^"\\]*"|'(?:[^']|'')*'|[^\s!&*?|>%@`"'{}\[\],#:-][^\s{}\[\]]*)"#;

pattern!(entry = format!(r"^\s*-\s+(?:{TITLE}\s*:(?:\s+{PAGE})?|{PAGE})$"));

pattern!(
    /// Calls, templates, assignments and modules; what is left is strings, lists and objects.
    script,
    r"[(`$;\\=]|\b(?:import|export|require|new|get|set|async|await|delete|function)\b",
);

pattern!(
    settings,
    r"\b(?:hooks|plugins|theme|custom_dir|markdown_extensions|watch|INHERIT)[\x22']?\s*[:=.\]]",
    r"|\bextra_(?:javascript|css|templates)\b|\.py\b|\.js\b|https?:|\\",
);
