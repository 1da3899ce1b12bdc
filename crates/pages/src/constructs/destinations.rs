//! Finds the addresses of links and images that any renderer finds.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use super::{ConstructKind, lines};

/// Everything in the position of a link destination, even where the standard sees none. With the offset of the link.
pub(super) fn destinations(text: &str) -> Vec<(ConstructKind, usize)> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("](") {
        let is_image = match opening_bracket(text, at) {
            Some(open) => text[..open].ends_with('!'),
            // Unpaired brackets can belong to any link.
            None => {
                text[text.ceil_char_boundary(at.saturating_sub(MAX_DESTINATION_BYTES))..at].contains("![")
            }
        };
        found.extend(addresses(&text[at + 2..]).into_iter().map(|address| (kind_of(address, is_image), at)));
    }
    // In the standard, a definition can't interrupt a paragraph.
    let folded = OnceCell::new();
    let mut defined = HashSet::new();
    for (at, line) in lines(text, 0) {
        let Some((label, _)) = without_block_markers(line)
            .trim_start_matches([':', ' '])
            .strip_prefix('[')
            .and_then(|rest| rest.split_once("]:"))
        else {
            continue;
        };
        let labels = folded.get_or_init(|| Labels::new(text));
        let label = fold_label(label);
        let is_image = labels.is_image(&label);
        let start = at + line.find("]:").unwrap_or_default() + 2;
        if ["# ", "<> ", "<#> "].iter().any(|empty| text[start..].trim_start().starts_with(empty)) {
            found.push((ConstructKind::Comment(line.trim().to_owned()), at));
        }
        for address in addresses(&text[start..]) {
            found.push((kind_of(address.clone(), false), at));
            found.extend(match is_image {
                Some(true) => Some((kind_of(address, true), at)),
                Some(false) => None,
                None => Some((ConstructKind::Definition { label: label.clone(), address }, at)),
            });
        }
        defined.insert(label);
    }
    // A label without a definition can have one in an included file.
    if text.contains("![") {
        let images = folded.get_or_init(|| Labels::new(text)).images();
        let undefined = images.filter(|label| !defined.contains(*label));
        found.extend(undefined.map(|label| (ConstructKind::Unknown(format!("![{label}]")), 0)));
    }
    found
}

/// Labels are compared in lower case, with one space for each run of blanks. Renderers differ on what a blank is.
fn fold_label(text: &str) -> String {
    let is_blank =
        |c: char| c.is_whitespace() || c.is_control() || matches!(c, '\u{200b}'..='\u{200f}' | '\u{feff}');
    let words: Vec<&str> = text.split(is_blank).filter(|word| !word.is_empty()).collect();
    words.join(" ").to_lowercase()
}

/// The labels that a text refers to, and whether an image does.
struct Labels(HashMap<String, bool>);

impl Labels {
    fn new(text: &str) -> Self {
        let mut labels = HashMap::new();
        let mut text_before = None;
        for (close, _) in text.match_indices(']') {
            let start = text.ceil_char_boundary(close.saturating_sub(MAX_DESTINATION_BYTES));
            let Some(open) = text[start..close].rfind('[').map(|at| start + at) else { continue };
            // Both `![words][label]` and `![label]` are images.
            let before = text[..open].trim_end();
            let is_after_text = text_before == before.len().checked_sub(1).filter(|_| before.ends_with(']'));
            let first = if is_after_text && before.ends_with(']') {
                opening_bracket(text, before.len() - 1)
            } else {
                Some(open)
            };
            let is_image = first.is_none_or(|first| text[..first].ends_with('!'));
            text_before = Some(close);
            let after = &text[close + 1..];
            // A colon follows the label of a definition, and a parenthesis begins an address.
            let is_reference = !after.starts_with([':', '(']);
            if is_reference {
                *labels.entry(fold_label(&text[open + 1..close])).or_default() |= is_image;
            }
        }
        Self(labels)
    }

    /// Whether a label is that of an image. `None` when nothing refers to it.
    fn is_image(&self, label: &str) -> Option<bool> {
        self.0.get(label).copied()
    }

    fn images(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter(|(_, is_image)| **is_image).map(|(label, _)| label.as_str())
    }
}

fn kind_of(address: String, is_image: bool) -> ConstructKind {
    if is_image { ConstructKind::Image(address) } else { ConstructKind::Link(address) }
}

/// How far a destination, and the opening bracket of its text, are searched for.
const MAX_DESTINATION_BYTES: usize = 600;

/// The opening bracket for the closing bracket at `close`.
fn opening_bracket(text: &str, close: usize) -> Option<usize> {
    let start = text.ceil_char_boundary(close.saturating_sub(MAX_DESTINATION_BYTES));
    let mut depth = 0_usize;
    for (at, byte) in text.as_bytes()[start..close].iter().enumerate().rev() {
        match byte {
            b']' => depth += 1,
            b'[' if depth == 0 => return Some(start + at),
            b'[' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The address at the beginning of a text, alone and with its continuation on further lines. Only addresses with a
/// scheme or a host matter here: the others are on this site.
fn addresses(rest: &str) -> Vec<String> {
    let rest = &rest[..rest.floor_char_boundary(MAX_DESTINATION_BYTES)];
    let rest = rest.trim_start().trim_start_matches('<');
    // Most addresses are on this site, and one pass over the bytes is enough to see that.
    let may_be_external = |byte: u8| matches!(byte, b':' | b'&' | b'\\');
    if !rest.starts_with('/') && !rest.bytes().any(may_be_external) {
        return Vec::new();
    }
    let first =
        &rest[..rest.find(|c: char| c.is_whitespace() || matches!(c, ')' | '>')).unwrap_or(rest.len())];
    let whole = &rest[..rest.find("\n\n").unwrap_or(rest.len())];
    let whole = &whole[..whole.find(')').unwrap_or(0)];
    let whole: String = whole.chars().filter(|c| !c.is_whitespace()).collect();
    let is_external = |address: &String| address.contains([':', '&', '\\']) || address.starts_with("//");
    let raw = [first.to_owned(), whole];
    let mut found: Vec<String> = raw
        .into_iter()
        .flat_map(|address| [address.replace('\\', ""), address.replace('\\', "/")])
        .filter(is_external)
        .collect();
    found.dedup();
    found
}

/// Addresses in prose, which some renderers turn into links.
pub(super) fn bare_addresses(line: &str) -> impl Iterator<Item = &str> {
    let mut last = 0;
    line.match_indices("://").filter_map(move |(at, _)| {
        // An address inside of another is part of it.
        if at < last {
            return None;
        }
        let start = line[..at].rfind(|c: char| !c.is_ascii_alphanumeric()).map_or(0, |before| before + 1);
        let start = if line.is_char_boundary(start) { start } else { at };
        let end = line[at..]
            .find(|c: char| c.is_whitespace() || matches!(c, '<' | '>' | '"' | ')' | ']' | '\''))
            .map_or(line.len(), |length| at + length);
        last = end;
        let is_web = ["http", "https", "ftp", "javascript", "vbscript", "data"]
            .contains(&line[start..at].to_ascii_lowercase().as_str());
        is_web.then(|| line[start..end].trim_end_matches(['.', ',', ';', ':', '!', '?', '*', '_']))
    })
}

/// A line without the markers of lists, quotes and headings.
pub(super) fn without_block_markers(line: &str) -> &str {
    let mut rest = line;
    loop {
        let trimmed = rest.trim_start_matches([' ', '\t']);
        let number = trimmed.trim_start_matches(|c: char| c.is_ascii_digit());
        let content = match trimmed.chars().next() {
            Some('>') => trimmed.strip_prefix('>'),
            Some('-' | '*' | '+') => trimmed[1..].starts_with([' ', '\t']).then(|| &trimmed[1..]),
            Some('#') => trimmed
                .trim_start_matches('#')
                .starts_with([' ', '\t'])
                .then(|| trimmed.trim_start_matches('#')),
            _ if number.len() < trimmed.len() => {
                number.strip_prefix(['.', ')']).filter(|rest| rest.starts_with([' ', '\t']))
            }
            _ => None,
        };
        match content {
            Some(content) => rest = content,
            None => return trimmed,
        }
    }
}
