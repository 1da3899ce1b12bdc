//! Finds a folded text in another, in linear time. A match never begins or ends within a word.

use std::ops::Range;

use super::fold::Folded;
use super::lines::is_space;

/// Finds every occurrence of `needle` in `haystack`, including overlapping ones (Knuth-Morris-Pratt).
pub(super) fn occurrences<'a>(haystack: &'a [u8], needle: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    let borders = borders(needle);
    let mut matched = 0;
    let found = haystack.iter().enumerate().filter_map(move |(at, byte)| {
        while matched > 0 && (matched == needle.len() || needle[matched] != *byte) {
            matched = borders[matched - 1];
        }
        matched += usize::from(needle.get(matched) == Some(byte));
        (matched == needle.len()).then(|| at + 1 - needle.len())
    });
    found.filter(|_| !needle.is_empty())
}

/// For each prefix of `needle`, the length of its longest proper prefix that is also its suffix.
fn borders(needle: &[u8]) -> Vec<usize> {
    let mut borders = vec![0; needle.len()];
    for at in 1..needle.len() {
        let mut length = borders[at - 1];
        while length > 0 && needle[length] != needle[at] {
            length = borders[length - 1];
        }
        borders[at] = length + usize::from(needle[length] == needle[at]);
    }
    borders
}

/// The search pattern.
pub(super) struct Pattern<'a> {
    /// The folded old text without the blank lines around it.
    pub core: &'a Folded,
    /// The old text begins with a whole line, or ends with one.
    begins_line: bool,
    ends_line: bool,
}

impl<'a> Pattern<'a> {
    pub(super) fn new(old: &str, core: &'a Folded, whole_lines: bool) -> Self {
        let begins_line = whole_lines || old.starts_with(char::is_whitespace);
        let ends_line = whole_lines || old.ends_with('\n');
        Self { core, begins_line, ends_line }
    }

    /// The matches in `file`, as ranges of folded bytes.
    pub(super) fn matches<'b>(
        &'b self,
        text: &'b str,
        file: &'b Folded,
    ) -> impl Iterator<Item = Range<usize>> + 'b {
        let core = &self.core.text;
        let ranges = occurrences(&file.text, core).map(|at| at..at + core.len());
        ranges.filter(|range| self.is_match(text, file, range.clone()))
    }

    fn is_match(&self, text: &str, file: &Folded, range: Range<usize>) -> bool {
        let before = &text[..file.spans[range.start].start()];
        let after = &text[file.spans[range.end - 1].end()..];
        !splits_word(file, range.start)
            && !splits_word(file, range.end)
            && (!self.begins_line || is_at_line_start(before))
            && (!self.ends_line || is_at_line_end(after))
    }
}

/// Whether a match that begins or ends at `at` would split a word or a character.
fn splits_word(file: &Folded, at: usize) -> bool {
    let in_word = |byte: u8| byte.is_ascii_alphanumeric() || byte >= 0x80;
    at > 0
        && at < file.text.len()
        && (file.spans[at - 1] == file.spans[at] || (in_word(file.text[at - 1]) && in_word(file.text[at])))
}

/// Whether only indentation is between the start of the line and the end of `before`.
pub(super) fn is_at_line_start(before: &str) -> bool {
    let rest = before.trim_end_matches(is_space);
    rest.is_empty() || rest.ends_with('\n')
}

/// Whether only spaces are between the start of `after` and the end of the line.
pub(super) fn is_at_line_end(after: &str) -> bool {
    let rest = after.trim_start_matches(is_space);
    rest.is_empty() || rest.starts_with('\n') || rest.starts_with("\r\n")
}
