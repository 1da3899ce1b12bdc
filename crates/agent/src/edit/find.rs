//! Where a folded text stands in another: every place, in linear time, none in the middle of a word.

use std::ops::Range;

use super::fold::Folded;
use super::lines::is_space;

/// Every place of `needle` in `hay`, overlapping ones too (Knuth, Morris and Pratt).
pub(super) fn occurrences<'a>(hay: &'a [u8], needle: &'a [u8]) -> impl Iterator<Item = usize> + 'a {
    let borders = borders(needle);
    let mut matched = 0;
    let found = hay.iter().enumerate().filter_map(move |(at, byte)| {
        while matched > 0 && (matched == needle.len() || needle[matched] != *byte) {
            matched = borders[matched - 1];
        }
        matched += usize::from(needle.get(matched) == Some(byte));
        (matched == needle.len()).then(|| at + 1 - needle.len())
    });
    found.filter(|_| !needle.is_empty())
}

/// For each prefix of `needle`, how long its longest proper prefix is that is also its suffix.
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

/// What is looked for: the folded old text without the line endings around it.
pub(super) struct Wanted<'a> {
    pub folded: &'a Folded,
    /// The part of `folded` that must be found.
    pub core: Range<usize>,
    /// The old text begins with a whole line, or ends with one.
    begins_line: bool,
    ends_line: bool,
}

impl<'a> Wanted<'a> {
    pub(super) fn new(old: &str, folded: &'a Folded, whole_lines: bool) -> Self {
        let begins_line = whole_lines || old.starts_with(char::is_whitespace);
        let ends_line = whole_lines || old.ends_with('\n');
        Self { folded, core: folded.core(), begins_line, ends_line }
    }

    /// The places in `file`, as the index of the first folded byte of the core.
    pub(super) fn places<'b>(&'b self, text: &'b str, file: &'b Folded) -> impl Iterator<Item = usize> + 'b {
        let core = &self.folded.text[self.core.clone()];
        occurrences(&file.text, core).filter(|at| self.fits(text, file, *at..*at + core.len()))
    }

    fn fits(&self, text: &str, file: &Folded, place: Range<usize>) -> bool {
        let before = &text[..file.spans[place.start].start()];
        let after = &text[file.spans[place.end - 1].end()..];
        !cuts(file, place.start)
            && !cuts(file, place.end)
            && (!self.begins_line || at_line_start(before))
            && (!self.ends_line || at_line_end(after))
    }
}

/// Whether a place that begins or ends at `at` would cut a word or a character in two.
fn cuts(file: &Folded, at: usize) -> bool {
    let in_word = |byte: u8| byte.is_ascii_alphanumeric() || byte >= 0x80;
    at > 0
        && at < file.text.len()
        && (file.spans[at - 1] == file.spans[at] || (in_word(file.text[at - 1]) && in_word(file.text[at])))
}

/// Whether nothing but indentation stands between the start of a line and here.
pub(super) fn at_line_start(before: &str) -> bool {
    let rest = before.trim_end_matches(is_space);
    rest.is_empty() || rest.ends_with('\n')
}

fn at_line_end(after: &str) -> bool {
    let rest = after.trim_start_matches(is_space);
    rest.is_empty() || rest.starts_with('\n') || rest.starts_with("\r\n")
}
