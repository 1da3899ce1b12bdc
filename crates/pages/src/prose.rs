//! What in a run of text is not prose after all: addresses, mail addresses, templates.

use std::ops::Range;
use std::sync::OnceLock;

use regex::Regex;

/// Addresses, mail addresses, and the placeholders of template languages.
fn not_prose() -> Option<&'static Regex> {
    static PATTERN: OnceLock<Option<Regex>> = OnceLock::new();
    let build = || {
        Regex::new(concat!(
            r"(?i)\b[a-z][a-z0-9+.-]*://[^\s<>\x22]*|\bwww\.[^\s<>\x22]+|\bmailto:\S+",
            r"|[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[a-z][\w-]+|\{\{.*?\}\}|\{%.*?%\}",
        ))
        .ok()
    };
    PATTERN.get_or_init(build).as_ref()
}

/// The parts of `range` that are prose, and those that were cut out of it.
pub(crate) fn carve(text: &str, range: Range<usize>) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
    let (mut prose, mut cut, mut at) = (Vec::new(), Vec::new(), range.start);
    let found = not_prose().into_iter().flat_map(|pattern| pattern.find_iter(&text[range.clone()]));
    for address in found {
        let start = range.start + address.start();
        // The full stop or comma behind an address belongs to the sentence.
        let length = address.as_str().trim_end_matches(['.', ',', ';', ':', '!', '?', ')', '\'']).len();
        prose.push(at..start);
        cut.push(start..start + length);
        at = start + length;
    }
    prose.push(at..range.end);
    prose.retain(|range| !range.is_empty());
    (prose, cut)
}

/// Joins ranges that touch, so that a phrase is not split where the parser only looked for markup.
pub(crate) fn merge(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| (range.start, range.end));
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

/// What is left of `ranges` without `holes`; both are in order and do not overlap among themselves.
pub(crate) fn without(ranges: Vec<Range<usize>>, holes: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut left = Vec::with_capacity(ranges.len());
    for range in ranges {
        let first = holes.partition_point(|hole| hole.end <= range.start);
        let mut at = range.start;
        for hole in holes[first..].iter().take_while(|hole| hole.start < range.end) {
            left.push(at..hole.start.max(at));
            at = hole.end;
        }
        left.push(at..range.end.max(at));
    }
    left.retain(|range| !range.is_empty());
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_cut_out() {
        #[track_caller]
        fn check(text: &str, prose: &[&str]) {
            let found: Vec<_> = carve(text, 0..text.len()).0.into_iter().map(|range| &text[range]).collect();
            assert_eq!(found, prose);
        }
        check("just text", &["just text"]);
        check("at https://npm.dev/x, or", &["at ", ", or"]);
        check("write to me@acme.dev.", &["write to ", "."]);
        check("www.npm.dev", &[]);
        check("hello {{ name }} and {% if %}", &["hello ", " and "]);
        check("a@b and c", &["a@b and c"]);
        check("acme@1.4.2", &["acme@1.4.2"]);
    }

    #[test]
    fn holes_are_left_out() {
        assert_eq!(without(vec![0..10, 12..20], &[2..3, 9..13, 19..25]), [0..2, 3..9, 13..19]);
        assert!(without(vec![5..6, 7..8], &[0..6, 6..9]).is_empty());
    }

    #[test]
    fn touching_ranges_are_joined() {
        assert_eq!(merge(vec![4..6, 0..2, 2..3, 7..8, 5..7]), [0..3, 4..8]);
    }
}
