//! Files that hold the navigation of a site and can also run code: data may be added to them, and no more.

use std::sync::OnceLock;

use regex::Regex;

use super::added::Added;
use super::paths::fold;

const MORE_THAN_DATA: &str =
    "what was added to it is more than plain entries of the navigation and could run";

/// Why the change of `path` is more than data, if it is such a file.
pub(super) fn refusal(path: &str, added: &Added<'_>) -> Option<&'static str> {
    let folded = fold(path);
    let name = folded.rsplit('/').next()?;
    let code = match name {
        "sidebars.js" | "sidebars.ts" | "sidebars.cjs" | "sidebars.mjs" => script()?,
        "mkdocs.yml" | "mkdocs.yaml" | "zensical.toml" => settings()?,
        _ => return None,
    };
    let (_, text) = added.files().find(|(file, _)| *file == path)?;
    code.is_match(&text.added().text).then_some(MORE_THAN_DATA)
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
            r"!!python|!ENV|!relative|\b(?:hooks|plugins|theme|custom_dir|markdown_extensions|watch|INHERIT)",
            r"\s*[:=\]]|\bextra_(?:javascript|css|templates)\b|\.py\b|\.js\b|https?:"
        ))
        .ok()
    };
    PATTERN.get_or_init(pattern).as_ref()
}
