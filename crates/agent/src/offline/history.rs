//! Recognizes mentions of a version that stay true after a new release, such as "added in 1.4.2".

use std::ops::Range;

use pages::{WordList, pattern};
use regex::Regex;

const CONTEXT_BYTES: usize = 100;

/// Names, and prefixes of names, of files and folders about past versions.
const HISTORY_NAMES: WordList = WordList("news changes release blog");
const HISTORY_PREFIXES: WordList = WordList(
    "changelog history release-notes releases relnotes whats-new upgrading upgrade-guide migrat \
     versioned-docs",
);

/// Whether a file describes past versions, or belongs to the docs of the old version.
pub(super) fn is_history_file(file: &str, old: &str) -> bool {
    let of_old = [old.to_owned(), format!("v{old}"), format!("version-{old}")];
    file.to_ascii_lowercase().replace(['_', ' '], "-").split('/').any(|part| {
        let stem = part.rsplit_once('.').map_or(part, |(stem, _)| stem);
        HISTORY_NAMES.contains(stem)
            || HISTORY_PREFIXES.iter().any(|name| part.starts_with(name))
            || of_old.iter().any(|name| name == part)
    })
}

/// Whether the text must keep this version after a release, because it stays true: "since 1.4.2", "1.4.2 and later",
/// "1.4.2 to 1.4.3", or the version alone in a heading or table cell. Also `true` for numbers of sections, which are no
/// versions.
pub(super) fn must_keep_version(text: &str, version: &Range<usize>) -> bool {
    let (before, after) = context(text, version);
    let line = before.rsplit('\n').next().unwrap_or_default();
    let is_alone_in_cell =
        line.trim_end_matches(['v', ' ']).ends_with('|') && after.trim_start().starts_with('|');
    let is_heading = matches(heading(), line);
    let before = before.replace(['\n', '\r'], " ");
    let after = after.replace(['\n', '\r'], " ");
    is_alone_in_cell || is_heading || matches(history_before(), &before) || matches(history_after(), &after)
}

fn matches(pattern: Option<&Regex>, text: &str) -> bool {
    pattern.is_some_and(|pattern| pattern.is_match(text))
}

pattern!(
    history_before,
    r"(?i)(?:\b(?:in|by|from|since|starting|starting (?:with|from|in|at)|at least|minimum|after|before|until|till|up to",
    r"|through|prior to|earlier than|older than|newer than|later than|than|as of|versionadded|versionchanged",
    r"|requires?(?: \S+)?|needs?(?: \S+)?|depends on(?: \S+)?",
    r"|(?:added|introduced|new|available|deprecated|removed|changed|fixed|released)(?: (?:in|since|with|by))?)",
    r"|>=|≥|<=|≤|<|\b\d[\w.]*\s*(?:to|–|—|-|\.\.+|→|->)|\b(?:section|figure|fig\.|chapter|appendix|iso|rfc)|§)",
    r"[\s:(\x22'`*}]*(?:the\s+)?(?:versions?\s+|releases?\s+)?[`*\x22']*v?$",
);

pattern!(
    history_after,
    r"(?i)^[`*\x22')\]]*(?:\+|\s*(?:onwards?\b|(?:and|or) (?:later|newer|above|up|higher|older|earlier|below)\b",
    r"|(?:to|–|—|\.\.+|→|->)\s*v?\d|was (?:released|removed|added|introduced)\b|adds?\b|added\b|introduce[sd]\b",
    r"|removed?s?\b|deprecate[sd]\b|fixe[sd]\b))",
);

pattern!(
    /// A heading such as `## 1.4.2` is about the changes of that version.
    heading,
    r"(?i)^\s*#+\s*\[?(?:version\s+|release\s+)?v?$",
);

/// The text before and after a version: on its line, and on the line before or after it.
fn context<'a>(text: &'a str, version: &Range<usize>) -> (&'a str, &'a str) {
    let from = text.floor_char_boundary(version.start.saturating_sub(CONTEXT_BYTES));
    let to = text.ceil_char_boundary(text.len().min(version.end + CONTEXT_BYTES));
    let (before, after) = (&text[from..version.start], &text[version.end..to]);
    let first = before.rmatch_indices('\n').nth(1).map_or(0, |(at, _)| at + 1);
    let last = after.match_indices('\n').nth(1).map_or(after.len(), |(at, _)| at);
    // A blank line ends the sentence.
    let first = before.rfind("\n\n").map_or(first, |at| first.max(at + 2));
    let last = after.find("\n\n").map_or(last, |at| last.min(at));
    (&before[first..], &after[..last])
}
