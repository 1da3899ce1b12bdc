//! Finds the parts of a text that are not prose: addresses, templates, directives, and tags that Markdown doesn't
//! recognize.

use std::ops::Range;

use crate::html;
use crate::pattern;

/// After this many malformed tags, the end of a tag is searched only in its own paragraph, which is cheap.
const MAX_MALFORMED: usize = 32;

pattern!(
    /// Addresses, mail addresses, and placeholders of template languages.
    non_prose,
    r"(?i)\b[a-z][a-z0-9+.-]*://[^\s<>\x22]*|\bwww\.[^\s<>\x22]+|\bmailto:\S+",
    r"|[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[a-z][\w-]+|\{\{.*?\}\}|\{%.*?%\}|\{[^{}\n]*\}|\[\[[^\[\]\n]*\]\]|:[\w+-]+:",
);

pattern!(
    /// Directives and their options at the beginning of a line, targets, and includes.
    directive,
    r"(?m)^[ \t>]*(?:::: \w+\.[\w.]+[^\n]*(?:\n[ \t]+\S[^\n]*)*|(?::{3,}|!!!|\?\?\?\+?)[ \t]*\{?[\w.:+-]*\}?|:[\w-]+:|\([^()\s]+\)=[ \t]*\r?$",
    r"|--8<--.*|<<<.*|\{!.*)",
);

/// The directives for the site generator in the text from `body` on.
pub(crate) fn directives(text: &str, body: usize) -> Vec<Range<usize>> {
    let found = directive().into_iter().flat_map(|pattern| pattern.find_iter(&text[body..]));
    found.map(|mark| body + mark.start()..body + mark.end()).collect()
}

/// Tags in ranges that Markdown takes for text, such as those of components.
pub(crate) fn tags_in(text: &str, ranges: &[Range<usize>]) -> Vec<Range<usize>> {
    let (mut tags, mut last_end, mut malformed_count) = (Vec::new(), 0, 0_usize);
    for range in ranges {
        for (found, _) in text[range.clone()].match_indices('<') {
            let at = range.start + found;
            if at < last_end || text[..at].ends_with('\\') {
                continue;
            }
            let Some(malformed) = html::malformed_tag_at(text, at) else { continue };
            let end = if malformed_count < MAX_MALFORMED { text.len() } else { malformed.range.end };
            let tag = html::tag_at(&text[..end], at);
            malformed_count += usize::from(tag.is_none());
            let tag = tag.unwrap_or(malformed);
            last_end = tag.range.end;
            tags.push(tag.range);
        }
    }
    tags
}

/// The parts of `range` that are prose, and the other parts.
pub(crate) fn split_prose(text: &str, range: Range<usize>) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
    let (mut prose, mut cut, mut at) = (Vec::new(), Vec::new(), range.start);
    let found = non_prose().into_iter().flat_map(|pattern| pattern.find_iter(&text[range.clone()]));
    for address in found {
        let start = range.start + address.start();
        // The full stop or comma after an address belongs to the sentence.
        let found = address.as_str();
        let ends = if found.starts_with(':') { &[][..] } else { &['.', ',', ';', ':', '!', '?', ')', '\''] };
        let length = found.trim_end_matches(ends).len();
        prose.push(at..start);
        cut.push(start..start + length);
        at = start + length;
    }
    prose.push(at..range.end);
    prose.retain(|range| !range.is_empty());
    (prose, cut)
}

/// Joins ranges that touch. The parser splits text where it searches for markup, which must not split a phrase.
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

/// The parts of `ranges` outside of `holes`. Both are in order, and have no overlaps among themselves.
pub(crate) fn subtract(ranges: Vec<Range<usize>>, holes: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut rest = Vec::with_capacity(ranges.len());
    for range in ranges {
        let first = holes.partition_point(|hole| hole.end <= range.start);
        let mut at = range.start;
        for hole in holes[first..].iter().take_while(|hole| hole.start < range.end) {
            rest.push(at..hole.start.max(at));
            at = hole.end;
        }
        rest.push(at..range.end.max(at));
    }
    rest.retain(|range| !range.is_empty());
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_are_subtracted() {
        assert_eq!(subtract(vec![0..10, 12..20], &[2..3, 9..13, 19..25]), [0..2, 3..9, 13..19]);
        assert!(subtract(vec![5..6, 7..8], &[0..6, 6..9]).is_empty());
    }

    #[test]
    fn touching_ranges_are_joined() {
        assert_eq!(merge(vec![4..6, 0..2, 2..3, 7..8, 5..7]), [0..3, 4..8]);
    }
}
