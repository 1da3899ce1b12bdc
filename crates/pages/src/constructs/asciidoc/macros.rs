//! Reads inline markup of AsciiDoc: macros, roles, images and links.

use super::super::ConstructKind;
use super::super::overlaps::{LastMatch, NextMatch, Overlaps};
use super::lines::is_preprocessed;
use crate::WordList;

/// Macros that are links or text.
const LINKS: WordList = WordList("link xref mailto http https footnote kbd btn menu");
/// How many roles can begin at the same bracket.
const MAX_ROLES: usize = 16;

/// `name:target[…]` or `name::target[…]`.
pub(super) struct Macro<'t> {
    name: &'t str,
    pub(super) target: &'t str,
    /// What follows the target.
    rest: &'t str,
}

/// The macros, roles, images and links of a line. `None` when too many of them begin inside of each other.
pub(super) fn inline(content: &str) -> Option<Vec<ConstructKind>> {
    let directive =
        |name: String, arguments: &str| ConstructKind::Directive { name, arguments: arguments.to_owned() };
    let mut kinds = Vec::new();
    let macros = other_macros(content)?.filter(|_| !is_preprocessed(content));
    kinds.extend(macros.map(|found| directive(format!("{}:", found.name), found.target)));
    kinds.extend(roles(content)?.into_iter().map(|role| directive(role.to_owned(), "")));
    kinds.extend(addresses(content)?);
    Some(kinds)
}

/// Macros that are neither links nor images.
fn other_macros(content: &str) -> Option<impl Iterator<Item = Macro<'_>>> {
    let is_other =
        |found: &Macro<'_>| found.name != "image" && !LINKS.contains(&found.name.to_ascii_lowercase());
    Some(all_macros(content)?.into_iter().filter(is_other))
}

/// All macros of a line. `None` when too many begin inside of each other's target.
pub(super) fn all_macros(content: &str) -> Option<Vec<Macro<'_>>> {
    let (mut found, mut overlaps) = (Vec::new(), Overlaps::default());
    let (mut brackets, mut blanks, mut words) =
        (NextMatch::default(), NextMatch::default(), LastMatch::default());
    for (at, _) in content.match_indices(':') {
        let before =
            content[..at].trim_end_matches(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-').len();
        let name = &content[before..at];
        let start = content.len() - content[at + 1..].trim_start_matches(':').len();
        // The target of a block macro can contain blanks.
        let is_block = before == 0 && content[at..].starts_with("::");
        let end = brackets.find(content, start, |rest| rest.find('['));
        let blank = blanks.find(content, start, |rest| rest.find(|c: char| c.is_ascii_whitespace()));
        if name.is_empty() || end == content.len() || !is_block && blank < end {
            continue;
        }
        let word = words.find(content, before, |part| part.rfind(char::is_whitespace));
        if is_in_address(&content[..before], word) {
            continue;
        }
        if overlaps.is_full_at(start) {
            return None;
        }
        overlaps.push(end);
        found.push(Macro { name, target: &content[start..end], rest: &content[end..] });
    }
    Some(found)
}

/// Whether the colon after `before` is inside of an address, such as that of `xref:1.0@a:b:c.adoc[]`. `blank` is the
/// offset of the last blank.
fn is_in_address(before: &str, blank: Option<usize>) -> bool {
    let word = before.get(blank.map_or(0, |blank| blank + 1)..).unwrap_or_default();
    let word = word.trim_start_matches(['(', '*', '_', '|', '"', '`']);
    LINKS.iter().any(|link| word.strip_prefix(link).is_some_and(|rest| rest.starts_with(':')))
}

/// Whether the arguments of a macro do more than change its appearance.
pub(super) fn has_uncertain_macro(content: &str) -> bool {
    all_macros(content).is_some_and(|all| all.iter().any(|found| !has_plain_arguments(found.rest)))
}

/// Whether the arguments of an image or a link only change its appearance.
fn has_plain_arguments(rest: &str) -> bool {
    let inside = rest.strip_prefix('[').map_or("", |rest| rest.split(']').next().unwrap_or_default());
    let is_plain = inside
        .chars()
        .all(|c| c.is_alphanumeric() || !c.is_ascii() || " ,=\".-_%()'`*+/:^#!?<>{}~@;&".contains(c));
    is_plain
        && !inside.to_lowercase().contains("script:")
        && !inside.contains("&#")
        && !["link=", "role=", "opts=", "options=", "window=", "onclick", "<"]
            .iter()
            .any(|word| inside.replace(' ', "").contains(word))
}

/// Roles of words, such as `[.path]`.
fn roles(content: &str) -> Option<Vec<&str>> {
    let (mut roles, mut overlaps, mut ends) = (Vec::new(), Overlaps::default(), NextMatch::default());
    for (at, _) in content.match_indices("[.") {
        let end = ends.find(content, at, |rest| rest.find(']'));
        if end == content.len() {
            break;
        }
        if overlaps.is_full_at(at) {
            return None;
        }
        overlaps.push(end);
        roles.push(&content[at..=end]);
    }
    let (mut starts, mut same) = (LastMatch::default(), (0, 0));
    for (at, _) in content.match_indices("]#") {
        let start = starts.find(content, at, |part| part.rfind('[')).unwrap_or(at);
        same = if same.0 == start { (start, same.1 + 1) } else { (start, 1) };
        if same.1 > MAX_ROLES {
            return None;
        }
        roles.push(&content[start..=at]);
    }
    Some(roles)
}

/// The images and links of a line. `None` when too many images begin inside of each other.
pub(super) fn addresses(line: &str) -> Option<Vec<ConstructKind>> {
    let images = images(line)?.into_iter().map(|target| ConstructKind::Image(target.to_owned()));
    Some(images.chain(links(line).into_iter().map(|target| ConstructKind::Link(target.to_owned()))).collect())
}

/// The targets of images.
fn images(content: &str) -> Option<Vec<&str>> {
    let (mut found, mut overlaps, mut ends) = (Vec::new(), Overlaps::default(), NextMatch::default());
    for (at, _) in content.match_indices("image:") {
        let start = content.len() - content[at + 6..].trim_start_matches(':').len();
        let end = ends.find(content, start, |rest| rest.find('['));
        if end == content.len() {
            break;
        }
        if overlaps.is_full_at(start) {
            return None;
        }
        overlaps.push(end);
        found.push(content[start..end].trim());
    }
    Some(found)
}

/// The addresses of links.
fn links(content: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let lower = content.to_ascii_lowercase();
    for start in ["link:", "https://", "http://", "mailto:", "javascript:", "data:"] {
        let mut last = 0;
        for (at, _) in lower.match_indices(start) {
            // An address inside of another is part of it.
            if at < last {
                continue;
            }
            // `metadata:` is a word.
            if content[..at].ends_with(|c: char| c.is_alphanumeric()) && !start.starts_with("http") {
                continue;
            }
            let at = if start == "link:" { at + start.len() } else { at };
            let rest = &content[at..];
            let end = rest
                .find(|c: char| c == '[' || c.is_whitespace() || matches!(c, '<' | '>' | '"' | '`'))
                .unwrap_or(rest.len());
            last = at + end;
            found.push(rest[..end].trim_end_matches(['.', ',', ';', ')']));
        }
    }
    found
}
