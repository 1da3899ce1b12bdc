//! Records ranges that some renderers read as a comment, a formula, braces or an attribute.

use std::ops::Range;

use super::super::{Ambiguity, Enclosure, Reading};
use super::{MAX_NESTED, Scanner};

impl Scanner<'_> {
    pub(super) fn enclose(&mut self, range: Range<usize>, by: Enclosure) {
        self.enclosed_end = self.enclosed_end.max(range.end);
        self.enclosed.push((range, by));
    }

    /// Dollar signs at the beginning of a line begin a formula of many lines, which can contain empty ones.
    pub(super) fn enclose_formula_block(&mut self, at: usize, line: &str) {
        if at >= self.enclosed_end && line.trim_start_matches([' ', '\t', '>', '-', '*']).starts_with("$$") {
            let content = at + line.find("$$").unwrap_or_default() + 2;
            if let Some(length) = self.file[content..].find("$$") {
                self.enclose(at..content + length + 2, Enclosure::Formula);
            }
        }
    }
}

/// The reading of an offset in an enclosure. `None` outside of enclosures.
pub(super) fn enclosed_at(enclosed: &[(Range<usize>, Enclosure)], offset: usize) -> Option<Reading> {
    let next = enclosed.partition_point(|(range, _)| range.start <= offset);
    let near = enclosed[..next].iter().rev().take(MAX_NESTED);
    let by = near.into_iter().find(|(range, _)| range.contains(&offset) && range.start < offset);
    by.map(|(_, by)| Reading::Ambiguous(Ambiguity::Enclosed(*by)))
}
