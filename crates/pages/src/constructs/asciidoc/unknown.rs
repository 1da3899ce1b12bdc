//! Decides which lines of AsciiDoc have markup that is not understood.

use super::super::overlaps::NextMatch;
use super::macros::has_uncertain_macro;
use super::styles::is_plain_style;
use crate::WordList;

/// Attributes that stand for a character of markup, or for none.
const CHARACTERS: WordList =
    WordList("lt gt amp empty blank zwsp wj backslash two-colons quot startsb endsb");
/// No name in [`CHARACTERS`] is longer, in any case mapping.
const MAX_CHARACTER_BYTES: usize = 64;

/// Whether a line has markup that is not understood.
pub(super) fn is_unknown(content: &str) -> bool {
    let trimmed = content.trim_start_matches([' ', '\t', '>', '*', '.', '-']);
    trimmed.starts_with("++++")
        || trimmed.starts_with('[') && !is_plain_style(trimmed)
        || ["+++", "++", "pass:", "$$", "{set:", "{counter"].iter().any(|mark| trimmed.contains(mark))
        || has_uncertain_braces(trimmed)
        || has_uncertain_macro(trimmed)
}

/// Whether braces contain more than the name of an attribute.
fn has_uncertain_braces(content: &str) -> bool {
    let (mut ends, mut signs) = (NextMatch::default(), NextMatch::default());
    content.match_indices('{').any(|(at, _)| {
        let start = at + 1;
        let end = ends.find(content, start, |rest| rest.find('}'));
        let has_sign = signs.find(content, start, |rest| rest.find([':', '!', '=', '?', '@'])) < end;
        let is_character =
            || end - start <= MAX_CHARACTER_BYTES && CHARACTERS.contains(&content[start..end].to_lowercase());
        end < content.len() && (has_sign || is_character())
    })
}
