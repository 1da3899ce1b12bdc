//! Files that hold the navigation of a site and can also run code: data may be added to them, and no more.

use std::sync::OnceLock;

use regex::Regex;

use super::added::{Added, Text};
use super::paths::fold;

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

fn entry() -> Option<&'static Regex> {
    static PATTERN: OnceLock<Option<Regex>> = OnceLock::new();
    // A title, a page, or both, each bare or in quotes without an escape; no tag, anchor or list of its own.
    let (title, page) = (
        r#"(?:"[^"\\]*"|'(?:[^']|'')*'|[^\s!&*?|>%@`"'{}\[\],#:-][^:{}\[\]]*)"#,
        r#"(?:"[^"\\]*"|'(?:[^']|'')*'|[^\s!&*?|>%@`"'{}\[\],#:-][^\s{}\[\]]*)"#,
    );
    PATTERN
        .get_or_init(|| Regex::new(&format!(r"^\s*-\s+(?:{title}\s*:(?:\s+{page})?|{page})$")).ok())
        .as_ref()
}

/// Calls, templates, assignments and modules; what is left is strings, lists and objects.
fn script() -> Option<&'static Regex> {
    static PATTERN: OnceLock<Option<Regex>> = OnceLock::new();
    let pattern = || {
        Regex::new(r"[(`$;\\=]|\b(?:import|export|require|new|get|set|async|await|delete|function)\b").ok()
    };
    PATTERN.get_or_init(pattern).as_ref()
}

fn settings() -> Option<&'static Regex> {
    static PATTERN: OnceLock<Option<Regex>> = OnceLock::new();
    let pattern = || {
        Regex::new(concat!(
            r"\b(?:hooks|plugins|theme|custom_dir|markdown_extensions|watch|INHERIT)[\x22']?\s*[:=.\]]",
            r"|\bextra_(?:javascript|css|templates)\b|\.py\b|\.js\b|https?:|\\"
        ))
        .ok()
    };
    PATTERN.get_or_init(pattern).as_ref()
}
