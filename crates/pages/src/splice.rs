//! Changes of a text by byte ranges: what is not named stays as it is, to the last byte.

use std::ops::Range;

/// Puts each replacement in the place of its range. Ranges may come in any order; one that
/// overlaps an earlier one, or does not fit the text, is left out.
pub fn splice(text: &str, mut replacements: Vec<(Range<usize>, String)>) -> String {
    replacements.sort_by_key(|(range, _)| (range.start, range.end));
    let mut result = String::with_capacity(text.len());
    let mut done = 0;
    for (range, replacement) in replacements {
        let Some(kept) = text.get(done..range.start) else { continue };
        if range.start > range.end || !text.is_char_boundary(range.end) {
            continue;
        }
        result.push_str(kept);
        result.push_str(&replacement);
        done = range.end;
    }
    result.push_str(&text[done..]);
    result
}

/// The number of the line that `offset` is in, counted from 1.
pub fn line_of(text: &str, offset: usize) -> usize {
    let before = &text.as_bytes()[..offset.min(text.len())];
    before.iter().filter(|byte| **byte == b'\n').count() + 1
}

/// Where the lines of a text end, to number many places of it.
pub(crate) struct LineIndex(Vec<usize>);

impl LineIndex {
    pub(crate) fn new(text: &str) -> Self {
        Self(text.match_indices('\n').map(|(at, _)| at).collect())
    }

    /// As [`line_of`].
    pub(crate) fn line(&self, offset: usize) -> usize {
        self.0.partition_point(|end| *end < offset) + 1
    }
}
