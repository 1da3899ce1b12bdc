//! Decides how certain the reading of a line is.

use super::super::{Ambiguity, Reading, code, columns};
use super::Scanner;
use super::enclosures::enclosed_at;

impl Scanner<'_> {
    /// Whether all renderers recognize the code spans of a line.
    pub(super) fn has_certain_spans(&self, at: usize, line: &str) -> bool {
        // A construct that began above can use up their backticks.
        let is_used =
            self.has_uncertain_code || at < self.enclosed_end && enclosed_at(&self.enclosed, at).is_some();
        !is_used && code::has_certain_spans(line)
    }

    /// Determines the reading of the line at `at`.
    pub(super) fn determine_reading(&mut self, at: usize, line: &str) -> Reading {
        let has_code = line.contains('`') && code::fence_info(line).is_none();
        let is_uncertain = has_code && !self.has_certain_spans(at, line);
        let in_html = self.open_elements > 0 && !self.is_mdx() && line.contains('`');
        let ambiguity = if self.has_uncertain_fence {
            Ambiguity::UncertainFence(self.fence_lines.hash_at(at))
        } else if is_uncertain || in_html && self.paragraph.begins_with_tag {
            // All renderers read HTML up to an empty line.
            Ambiguity::UncertainSpan(self.paragraph.punctuation_hash)
        } else if in_html {
            Ambiguity::InHtml
        } else if !self.is_mdx() && columns(line, 4) >= 4 {
            Ambiguity::Indented {
                in_list: self.is_list,
                in_html: self.open_elements > 0,
                after_blank: self.is_below_blank,
            }
        } else {
            return Reading::Conservative;
        };
        Reading::Ambiguous(ambiguity)
    }

    /// The reading of the current line.
    pub(super) fn line_reading(&self) -> Reading {
        self.line_readings.last().map_or(Reading::Conservative, |(_, reading)| *reading)
    }

    /// The reading of an offset in the current line.
    pub(super) fn reading_of(&self, offset: usize) -> Reading {
        let line = self.line_reading();
        // Code can begin before its enclosure.
        match offset < self.enclosed_end && !has_uncertain_code(line) {
            true => enclosed_at(&self.enclosed, offset).unwrap_or(line),
            false => line,
        }
    }
}

/// Whether code on a line can begin before an enclosure.
pub(super) fn has_uncertain_code(line: Reading) -> bool {
    matches!(
        line,
        Reading::Ambiguous(Ambiguity::InHtml | Ambiguity::UncertainSpan(_) | Ambiguity::UncertainFence(_))
    )
}
