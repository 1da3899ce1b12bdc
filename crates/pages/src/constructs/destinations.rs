//! Finds the addresses of links and images, wherever some renderer may.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use super::{ConstructKind, lines};

/// What stands where the destination of a link does, whether or not the standard takes it for one.
pub(super) fn destinations(text: &str) -> Vec<(ConstructKind, usize)> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("](") {
        let is_image = match opening_bracket(text, at) {
            Some(open) => text[..open].ends_with('!'),
            // Brackets that do not pair off may belong to any.
            None => text[text.ceil_char_boundary(at.saturating_sub(MAX_DESTINATION))..at].contains("!["),
        };
        found.extend(addresses(&text[at + 2..]).into_iter().map(|address| (kind_of(address, is_image), at)));
    }
    // The standard has no definition in the middle of a paragraph.
    let folded = OnceCell::new();
    let mut defined = HashSet::new();
    for (at, line) in lines(text, 0) {
        let Some((label, _)) = without_marks(line)
            .trim_start_matches([':', ' '])
            .strip_prefix('[')
            .and_then(|rest| rest.split_once("]:"))
        else {
            continue;
        };
        let labels = folded.get_or_init(|| Labels::of(text));
        let label = fold_blanks(label);
        let is_image = labels.is_image(&label);
        let behind = at + line.find("]:").unwrap_or_default() + 2;
        if ["# ", "<> ", "<#> "].iter().any(|nowhere| text[behind..].trim_start().starts_with(nowhere)) {
            found.push((ConstructKind::Comment(line.trim().to_owned()), at));
        }
        for address in addresses(&text[behind..]) {
            found.push((kind_of(address.clone(), false), at));
            found.extend(match is_image {
                Some(true) => Some((kind_of(address, true), at)),
                Some(false) => None,
                None => Some((ConstructKind::Definition { label: label.clone(), address }, at)),
            });
        }
        defined.insert(label);
    }
    // What has no definition here may have one in a file that is taken in.
    if text.contains("![") {
        let images = folded.get_or_init(|| Labels::of(text)).images();
        let undefined = images.filter(|label| !defined.contains(*label));
        found.extend(undefined.map(|label| (ConstructKind::Unknown(format!("![{label}]")), 0)));
    }
    found
}

/// In small letters, with one space for all blanks: labels are compared like that, and renderers differ on what a blank
/// is.
fn fold_blanks(text: &str) -> String {
    let is_blank =
        |c: char| c.is_whitespace() || c.is_control() || matches!(c, '\u{200b}'..='\u{200f}' | '\u{feff}');
    let words: Vec<&str> = text.split(is_blank).filter(|word| !word.is_empty()).collect();
    words.join(" ").to_lowercase()
}

/// What stands in brackets in a text, as labels are compared.
struct Labels(HashMap<String, bool>);

impl Labels {
    fn of(text: &str) -> Self {
        let mut labels = HashMap::new();
        let mut text_before = None;
        for (close, _) in text.match_indices(']') {
            let start = text.ceil_char_boundary(close.saturating_sub(MAX_DESTINATION));
            let Some(open) = text[start..close].rfind('[').map(|at| start + at) else { continue };
            // `![words][label]` is as much of an image as `![label]`.
            let before = text[..open].trim_end();
            let is_behind_text = text_before == before.len().checked_sub(1).filter(|_| before.ends_with(']'));
            let first = if is_behind_text && before.ends_with(']') {
                opening_bracket(text, before.len() - 1)
            } else {
                Some(open)
            };
            let is_image = first.is_none_or(|first| text[..first].ends_with('!'));
            text_before = Some(close);
            let behind = &text[close + 1..];
            // With a colon it is a definition, and with a parenthesis it has an address.
            let is_reference = !behind.starts_with([':', '(']);
            if is_reference {
                *labels.entry(fold_blanks(&text[open + 1..close])).or_default() |= is_image;
            }
        }
        Self(labels)
    }

    /// Whether a label is that of an image; `None` when nothing refers to it.
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

/// As far as a destination is looked for, and the bracket that its text begins with.
const MAX_DESTINATION: usize = 600;

/// The bracket that the one at `close` closes.
fn opening_bracket(text: &str, close: usize) -> Option<usize> {
    let start = text.ceil_char_boundary(close.saturating_sub(MAX_DESTINATION));
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

/// The address that a text begins with, alone and with what follows on further lines. Only one with a scheme or a host
/// matters here: the rest is on this site.
fn addresses(rest: &str) -> Vec<String> {
    let rest = &rest[..rest.floor_char_boundary(MAX_DESTINATION)];
    let rest = rest.trim_start().trim_start_matches('<');
    // Most are on this site, which one look at the bytes tells.
    let may_be_away = |byte: u8| matches!(byte, b':' | b'&' | b'\\');
    if !rest.starts_with('/') && !rest.bytes().any(may_be_away) {
        return Vec::new();
    }
    let first =
        &rest[..rest.find(|c: char| c.is_whitespace() || matches!(c, ')' | '>')).unwrap_or(rest.len())];
    let whole = &rest[..rest.find("\n\n").unwrap_or(rest.len())];
    let whole = &whole[..whole.find(')').unwrap_or(0)];
    let whole: String = whole.chars().filter(|c| !c.is_whitespace()).collect();
    let is_away = |address: &String| address.contains([':', '&', '\\']) || address.starts_with("//");
    let raw = [first.to_owned(), whole];
    let mut found: Vec<String> = raw
        .into_iter()
        .flat_map(|address| [address.replace('\\', ""), address.replace('\\', "/")])
        .filter(is_away)
        .collect();
    found.dedup();
    found
}

/// Addresses in running text, which some renderers make links of.
pub(super) fn bare_addresses(line: &str) -> impl Iterator<Item = &str> {
    let mut last = 0;
    line.match_indices("://").filter_map(move |(at, _)| {
        // An address in another is a part of it.
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

/// Without the marks of lists, quotes and headings.
pub(super) fn without_marks(line: &str) -> &str {
    let mut rest = line;
    loop {
        let trimmed = rest.trim_start_matches([' ', '\t']);
        let number = trimmed.trim_start_matches(|c: char| c.is_ascii_digit());
        let behind = match trimmed.chars().next() {
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
        match behind {
            Some(behind) => rest = behind,
            None => return trimmed,
        }
    }
}
