//! Replaces byte ranges of a text, and numbers its lines. Everything outside of the ranges stays the same.

use std::ops::Range;

/// Replaces each range with its text. The ranges can be in any order. A range is skipped if it overlaps one that
/// starts before it, or a shorter one with the same start. A range that does not fit the text is skipped, too.
pub fn splice(text: &str, mut replacements: Vec<(Range<usize>, String)>) -> String {
    replacements.sort_by_key(|(range, _)| (range.start, range.end));
    let mut result = String::with_capacity(text.len());
    let mut copied = 0;
    for (range, replacement) in replacements {
        let Some(unchanged) = text.get(copied..range.start) else { continue };
        if range.start > range.end || !text.is_char_boundary(range.end) {
            continue;
        }
        result.push_str(unchanged);
        result.push_str(&replacement);
        copied = range.end;
    }
    result.push_str(&text[copied..]);
    result
}

/// The number of the line at `offset`, counted from 1.
pub fn line_of(text: &str, offset: usize) -> usize {
    let before = &text.as_bytes()[..offset.min(text.len())];
    before.iter().filter(|byte| **byte == b'\n').count() + 1
}

/// The ends of the lines of a text, to look up many line numbers.
pub(crate) struct LineIndex(Vec<usize>);

impl LineIndex {
    pub(crate) fn new(text: &str) -> Self {
        Self(text.match_indices('\n').map(|(at, _)| at).collect())
    }

    /// Like [`line_of`].
    pub(crate) fn line(&self, offset: usize) -> usize {
        self.0.partition_point(|end| *end < offset) + 1
    }
}
