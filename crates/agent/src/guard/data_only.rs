//! Files that hold the navigation of a site and can also run code: data may be added to them, and no more.
//!
//! Such a file is held against itself as it was, and not against the other files of the change: a line of a page that
//! shows how hooks are set is no hook until it stands in the settings.

pub(super) mod script;

use std::collections::HashSet;

use super::added::Added;
use super::paths::fold;
use crate::pattern::pattern;

const MORE_THAN_DATA: &str =
    "what was added to it is more than plain entries of the navigation and could run";

/// Whether `path` is such a file, and if so, why its change is more than data.
pub(super) fn refusal(path: &str, added: &Added<'_>) -> Option<Option<&'static str>> {
    let folded = fold(path);
    let name = folded.rsplit('/').next()?;
    let is_data = kind(name)?;
    let before = added.before.get(path).map_or("", String::as_str);
    let is_more = added.files().any(|(file, text)| file == path && !is_data(before, &text.text));
    Some(is_more.then_some(MORE_THAN_DATA))
}

/// Tells from a file as it was and as it is whether only data was changed.
type IsData = fn(&str, &str) -> bool;

fn kind(name: &str) -> Option<IsData> {
    let (start, ending) = name.rsplit_once('.')?;
    let is_script = ["js", "jsx", "cjs", "mjs", "ts", "tsx", "cts", "mts"].contains(&ending);
    match start {
        "sidebars" | "_meta" | "_meta.global" if is_script => Some(script::is_data),
        _ if ending == "json" && start.ends_with("sidebars") => Some(script::is_data),
        "zensical" if ending == "toml" => Some(are_plain_settings),
        _ if start.starts_with("mkdocs") && ["yml", "yaml"].contains(&ending) => Some(is_navigation),
        _ => None,
    }
}

/// A line, and the line at the margin that it stands below.
type Placed<'a> = (&'a str, &'a str);

/// The lines of a file with what they stand below; `begins` tells whether a line begins a section.
fn placed(text: &str, begins: fn(&str) -> bool) -> impl Iterator<Item = Placed<'_>> {
    text.lines().scan("", move |section, line| {
        let line = line.trim_end();
        if begins(line) {
            *section = line;
        }
        Some((*section, line))
    })
}

/// Whether all that was changed in MkDocs' settings is plain entries below `nav`, or remarks. Its YAML can do more than
/// it seems to: it knows tags that run, what is written twice counts as it is written last, and a line that is gone
/// can leave those below it to another.
fn is_navigation(before: &str, after: &str) -> bool {
    let begins = |line: &str| !line.is_empty() && !line.starts_with([' ', '\t', '#', '-']);
    let is_rest = |(section, line): &Placed<'_>| {
        !is_nav(section) && !line.trim_start().is_empty() && !line.starts_with('#')
    };
    let rest_is_same = placed(before, begins).filter(is_rest).eq(placed(after, begins).filter(is_rest));
    let known: HashSet<Placed<'_>> = placed(before, begins).collect();
    let mut nav = placed(after, begins).filter(|(section, _)| is_nav(section));
    rest_is_same && nav.all(|line| known.contains(&line) || is_plain(line.1))
}

fn is_nav(section: &str) -> bool {
    section.strip_prefix("nav:").is_some_and(|rest| rest.is_empty() || rest.starts_with(" #"))
}

fn is_plain(line: &str) -> bool {
    let is_entry = || entry().is_some_and(|pattern| pattern.is_match(line)) && is_harmless(line);
    is_nav(line) || line.trim_start().starts_with('#') || line.is_empty() || is_entry()
}

/// Titles are shown as they are, markup and all, and so are addresses.
fn is_harmless(text: &str) -> bool {
    let solid = text.chars().filter(|c| !c.is_whitespace() && !c.is_control());
    let solid: String = solid.flat_map(char::to_lowercase).collect();
    !solid.contains('<') && !solid.contains("script:") && !solid.contains("data:")
}

/// Of a title and of a page, each bare or in quotes without an escape; no tag, anchor or list of its own.
const TITLE: &str =
    r#"(?:"[^"\\]*"|'(?:[^']|'')*'|(?:[^\s!&*?|>%@`"'{}\[\],#:-]|-[^\s:{}\[\]-])[^:{}\[\]]*)"#;
const PAGE: &str =
    r#"(?:"[^"\\]*"|'(?:[^']|'')*'|(?:[^\s!&*?|>%@`"'{}\[\],#:-]|-[^\s:{}\[\]-])[^\s{}\[\]]*)"#;

pattern!(entry = format!(r"^\s*-\s+(?:{TITLE}\s*:(?:\s+{PAGE})?|{PAGE})(?:\s+#.*)?$"));

/// Whether no line of Zensical's settings that is new, or new in its table, does more than show pages.
fn are_plain_settings(before: &str, after: &str) -> bool {
    let begins = |line: &str| line.starts_with('[');
    let known: HashSet<Placed<'_>> = placed(before, begins).collect();
    let new = placed(after, begins).filter(|line| !known.contains(line));
    let new: String = new.flat_map(|(_, line)| [line, "\n"]).collect();
    settings().is_some_and(|pattern| !pattern.is_match(&new))
}

pattern!(
    settings,
    r"\b(?:hooks|plugins|theme|custom_dir|markdown_extensions|watch|INHERIT)[\x22']?\s*[:=.\]]",
    r"|\bextra_(?:javascript|css|templates)\b|\.py\b|\.js\b|https?:|\\",
);
