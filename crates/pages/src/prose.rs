//! What in a run of text is not prose after all: addresses, templates, directives, and tags that
//! Markdown does not take for tags.

use std::ops::Range;

use crate::html;
use crate::pattern;

/// With so many tags that do not end, the rest is looked for in its own paragraph only, which is cheap.
const MAX_UNREADABLE: usize = 32;

pattern!(
    /// Addresses, mail addresses, and the placeholders of template languages.
    not_prose,
    r"(?i)\b[a-z][a-z0-9+.-]*://[^\s<>\x22]*|\bwww\.[^\s<>\x22]+|\bmailto:\S+",
    r"|[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[a-z][\w-]+|\{\{.*?\}\}|\{%.*?%\}|\{[^{}\n]*\}|\[\[[^\[\]\n]*\]\]|:[\w+-]+:",
);

pattern!(
    /// The names of directives and their options at the head of a line, targets, and lines that pull in files.
    directive,
    r"(?m)^[ \t>]*(?:::: \w+\.[\w.]+[^\n]*(?:\n[ \t]+\S[^\n]*)*|(?::{3,}|!!!|\?\?\?\+?)[ \t]*\{?[\w.:+-]*\}?|:[\w-]+:|\([^()\s]+\)=[ \t]*\r?$",
    r"|--8<--.*|<<<.*|\{!.*)",
);

/// The marks in the text from `body` on that tell a site generator what to do.
pub(crate) fn directives(text: &str, body: usize) -> Vec<Range<usize>> {
    let found = directive().into_iter().flat_map(|pattern| pattern.find_iter(&text[body..]));
    found.map(|mark| body + mark.start()..body + mark.end()).collect()
}

/// Tags that stand in what Markdown takes for text, such as those of components.
pub(crate) fn tags_in(text: &str, ranges: &[Range<usize>]) -> Vec<Range<usize>> {
    let (mut tags, mut behind, mut unreadable) = (Vec::new(), 0, 0_usize);
    for range in ranges {
        for (found, _) in text[range.clone()].match_indices('<') {
            let at = range.start + found;
            if at < behind || text[..at].ends_with('\\') {
                continue;
            }
            let Some(unread) = html::unreadable_at(text, at) else { continue };
            let end = if unreadable < MAX_UNREADABLE { text.len() } else { unread.range.end };
            let tag = html::tag_at(&text[..end], at);
            unreadable += usize::from(tag.is_none());
            let tag = tag.unwrap_or(unread);
            behind = tag.range.end;
            tags.push(tag.range);
        }
    }
    tags
}

/// The parts of `range` that are prose, and those that were cut out of it.
pub(crate) fn carve(text: &str, range: Range<usize>) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
    let (mut prose, mut cut, mut at) = (Vec::new(), Vec::new(), range.start);
    let found = not_prose().into_iter().flat_map(|pattern| pattern.find_iter(&text[range.clone()]));
    for address in found {
        let start = range.start + address.start();
        // The full stop or comma behind an address belongs to the sentence.
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
    fn holes_are_left_out() {
        assert_eq!(without(vec![0..10, 12..20], &[2..3, 9..13, 19..25]), [0..2, 3..9, 13..19]);
        assert!(without(vec![5..6, 7..8], &[0..6, 6..9]).is_empty());
    }

    #[test]
    fn touching_ranges_are_joined() {
        assert_eq!(merge(vec![4..6, 0..2, 2..3, 7..8, 5..7]), [0..3, 4..8]);
    }
}
