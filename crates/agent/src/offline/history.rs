//! Which versions tell of the past, or of something else, and stay true when a new one comes out.

use std::ops::Range;

use pages::WordList;
use regex::Regex;

use crate::pattern::pattern;

const CONTEXT_BYTES: usize = 100;

/// Files and folders that tell of past versions by their name, or by the beginning of it.
const NAMES: WordList = WordList("news changes release blog");
const BEGINNINGS: WordList = WordList(
    "changelog history release-notes releases relnotes whats-new upgrading upgrade-guide migrat \
     versioned-docs",
);

/// Whether a file tells of past versions, or is kept for the old one.
pub(super) fn is_history(file: &str, old: &str) -> bool {
    let of_old = [old.to_owned(), format!("v{old}"), format!("version-{old}")];
    file.to_ascii_lowercase().replace(['_', ' '], "-").split('/').any(|part| {
        let stem = part.rsplit_once('.').map_or(part, |(stem, _)| stem);
        NAMES.contains(stem)
            || BEGINNINGS.iter().any(|name| part.starts_with(name))
            || of_old.iter().any(|name| name == part)
    })
}

/// Whether the words around a version say that it is no longer about the newest: "since 1.4.2", "1.4.2 and
/// later", "1.4.2 to 1.4.3", a heading or a cell of its own. Numbers of sections are no versions at all.
pub(super) fn tells_of_the_past(text: &str, place: &Range<usize>) -> bool {
    let (before, after) = around(text, place);
    let line = before.rsplit('\n').next().unwrap_or_default();
    let alone_in_cell =
        line.trim_end_matches(['v', ' ']).ends_with('|') && after.trim_start().starts_with('|');
    let is_title = matches(title(), line);
    let before = before.replace(['\n', '\r'], " ");
    let after = after.replace(['\n', '\r'], " ");
    alone_in_cell || is_title || matches(in_front(), &before) || matches(behind(), &after)
}

fn matches(pattern: Option<&Regex>, text: &str) -> bool {
    pattern.is_some_and(|pattern| pattern.is_match(text))
}

pattern!(
    in_front,
    r"(?i)(?:\b(?:in|by|from|since|starting|starting (?:with|from|in|at)|at least|minimum|after|before|until|till|up to",
    r"|through|prior to|earlier than|older than|newer than|later than|than|as of|versionadded|versionchanged",
    r"|requires?(?: \S+)?|needs?(?: \S+)?|depends on(?: \S+)?",
    r"|(?:added|introduced|new|available|deprecated|removed|changed|fixed|released)(?: (?:in|since|with|by))?)",
    r"|>=|≥|<=|≤|<|\b\d[\w.]*\s*(?:to|–|—|-|\.\.+|→|->)|\b(?:section|figure|fig\.|chapter|appendix|iso|rfc)|§)",
    r"[\s:(\x22'`*}]*(?:the\s+)?(?:versions?\s+|releases?\s+)?[`*\x22']*v?$",
);

pattern!(
    behind,
    r"(?i)^[`*\x22')\]]*(?:\+|\s*(?:onwards?\b|(?:and|or) (?:later|newer|above|up|higher|older|earlier|below)\b",
    r"|(?:to|–|—|\.\.+|→|->)\s*v?\d|was (?:released|removed|added|introduced)\b|adds?\b|added\b|introduce[sd]\b",
    r"|removed?s?\b|deprecate[sd]\b|fixe[sd]\b))",
);

pattern!(
    /// `## 1.4.2` heads what that version brought.
    title,
    r"(?i)^\s*#+\s*\[?(?:version\s+|release\s+)?v?$",
);

/// What stands around a place: this line, and the one before or behind it.
fn around<'a>(text: &'a str, place: &Range<usize>) -> (&'a str, &'a str) {
    let from = text.floor_char_boundary(place.start.saturating_sub(CONTEXT_BYTES));
    let to = text.ceil_char_boundary(text.len().min(place.end + CONTEXT_BYTES));
    let (before, after) = (&text[from..place.start], &text[place.end..to]);
    let first = before.rmatch_indices('\n').nth(1).map_or(0, |(at, _)| at + 1);
    let last = after.match_indices('\n').nth(1).map_or(after.len(), |(at, _)| at);
    // A blank line ends the sentence.
    let first = before.rfind("\n\n").map_or(first, |at| first.max(at + 2));
    let last = after.find("\n\n").map_or(last, |at| last.min(at));
    (&before[first..], &after[..last])
}
