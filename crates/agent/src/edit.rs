//! Replaces an old text with a new one, even if the old text was not copied exactly.
//!
//! The old text is searched for at several levels ([`MatchLevel`]), from exact to tolerant. A level is tried only if
//! the previous levels found nothing, and its match is edited only if it is the only one. Text that is merely similar
//! is shown ([`EditError::NotFound`]), never edited.
//!
//! Old and new get the white space of the file ([`rebase`], [`borders`], [`blank_lines`]). Then their difference is
//! applied to the file's own text ([`alignment`]). So what old and new have in common keeps the file's characters,
//! indentation and wrapping. The file always keeps its line endings, its byte-order mark and its final newline.

mod alignment;
mod blank_lines;
mod borders;
mod copy_artifacts;
mod counterparts;
mod error;
mod find;
mod fold;
mod indent;
mod layout;
mod lines;
mod lookalikes;
mod nearest;
mod rebase;
mod rewrite;
mod token_diff;

use std::ops::Range;

use borders::Borders;
use copy_artifacts::Reading;
use find::Pattern;
use fold::{Folded, Tolerance, fold};
use layout::Position;
use rewrite::{Replacement, lines_at};

pub use error::{EditError, NearMatch};

/// An edited text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    pub text: String,
    /// The line, from 1, in which each match began before the edit.
    pub lines: Vec<usize>,
    /// The level at which the old text was found.
    pub level: MatchLevel,
}

/// Which differences between the old text and the file a search ignores. Each level also ignores the differences of the
/// previous levels, except that `Wrapping` doesn't ignore blank lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MatchLevel {
    Exact,
    /// Ignores line endings and spaces before them, and blank lines around the text.
    LineEnds,
    /// Ignores indentation. New lines get the indentation of the file.
    Indentation,
    /// Ignores the difference between quotes, dashes, spaces, ellipses and full-width letters that look the same.
    LookAlikes,
    /// Ignores blank lines between others. With `all`, the other matches must have the blank lines of the first one.
    BlankLines,
    /// Ignores where the lines of a paragraph end, and the number of spaces between words.
    Wrapping,
    /// Removes line numbers, a code fence, escapes or entities first, then tries all of the above.
    CopyArtifacts,
}

const LEVELS: [(MatchLevel, Tolerance); 6] = {
    let none = Tolerance { tails: true, indent: false, lookalikes: false, blank_lines: false, wrap: false };
    let both = Tolerance { indent: true, lookalikes: true, ..none };
    [
        (MatchLevel::LineEnds, none),
        (MatchLevel::Indentation, Tolerance { indent: true, ..none }),
        (MatchLevel::LookAlikes, Tolerance { lookalikes: true, ..none }),
        (MatchLevel::LookAlikes, both),
        (MatchLevel::BlankLines, Tolerance { blank_lines: true, ..both }),
        (MatchLevel::Wrapping, Tolerance { wrap: true, ..both }),
    ]
};

/// For longer texts, only exact matches are searched for.
const MAX_TEXT_BYTES: usize = 2 << 20;
const MAX_OLD_BYTES: usize = 100_000;
/// Many matches and a long new text can multiply the size.
const MAX_RESULT_BYTES: usize = 8 << 20;
const MAX_LINES_LISTED: usize = 8;

/// Replaces the only match of `old` in `text` with `new`, or every match with `all`.
pub fn edit(text: &str, old: &str, new: &str, all: bool) -> Result<Edited, EditError> {
    const BYTE_ORDER_MARK: char = '\u{feff}';
    let body = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let old = old.strip_prefix(BYTE_ORDER_MARK).unwrap_or(old);
    let new = new.strip_prefix(BYTE_ORDER_MARK).unwrap_or(new);
    if old.is_empty() {
        return Err(EditError::Empty);
    }
    if old == new {
        return Err(EditError::SameText);
    }
    let mut edited = find_and_edit(body, old, &new.replace("\r\n", "\n"), all)?;
    edited.text.insert_str(0, &text[..text.len() - body.len()]);
    Ok(edited)
}

fn find_and_edit(text: &str, old: &str, new: &str, all: bool) -> Result<Edited, EditError> {
    if let Some(edited) = edit_exact(text, old, new, all)? {
        return Ok(edited);
    }
    if text.len() > MAX_TEXT_BYTES || old.len() > MAX_OLD_BYTES || new.len() > MAX_TEXT_BYTES {
        return Err(EditError::TooLarge);
    }
    if let Some(edited) = edit_at_levels(text, old, new, false, all, &LEVELS)? {
        return Ok(edited);
    }
    for Reading { old, new, whole_lines } in copy_artifacts::readings(old, new)? {
        if let Some(edited) = edit_at_levels(text, &old, &new, whole_lines, all, &LEVELS)? {
            return Ok(Edited { level: MatchLevel::CopyArtifacts, ..edited });
        }
    }
    Err(EditError::NotFound { nearest: nearest::nearest(text, old) })
}

fn edit_exact(text: &str, old: &str, new: &str, all: bool) -> Result<Option<Edited>, EditError> {
    let find = || find::occurrences(text.as_bytes(), old.as_bytes()).map(|at| at..at + old.len());
    let matches = select_matches(find, all, |at| at, text)?;
    if matches.is_empty() {
        return Ok(None);
    }
    if matches.len().saturating_mul(new.len()) > MAX_RESULT_BYTES {
        return Err(EditError::TooLarge);
    }
    let replacement =
        Replacement { text, old, new, tolerance: Tolerance::default(), level: MatchLevel::Exact };
    let positions = matches.into_iter().map(|range| Position::Exact(range.start));
    replacement.apply(positions.collect()).map(Some)
}

fn edit_at_levels(
    text: &str,
    old: &str,
    new: &str,
    whole_lines: bool,
    all: bool,
    levels: &[(MatchLevel, Tolerance)],
) -> Result<Option<Edited>, EditError> {
    let core = Borders::new(old).core;
    for &(level, tolerance) in levels {
        let folded = fold(core, tolerance);
        if folded.text.is_empty() {
            break;
        }
        let pattern = Pattern::new(old, &folded, whole_lines);
        let file = fold(text, tolerance);
        let matches =
            select_matches(|| pattern.matches(text, &file), all, |at| file.spans[at].start(), text)?;
        let Some(first) = matches.first() else { continue };
        if tolerance.blank_lines {
            return edit_with_blank_lines(text, source_range(&file, first), (old, new), tolerance, all)
                .map(Some);
        }
        let position = |range| Position::Folded { old: &folded.spans, file: &file.spans[range] };
        let replacement = Replacement { text, old, new, tolerance, level };
        return replacement.apply(matches.into_iter().map(position).collect()).map(Some);
    }
    Ok(None)
}

/// The source of a range of folded bytes.
fn source_range(file: &Folded, run: &Range<usize>) -> Range<usize> {
    file.spans[run.start].start()..file.spans[run.end - 1].end()
}

/// Gives the old text the blank lines of the match, so that every line has a counterpart, and edits again.
fn edit_with_blank_lines(
    text: &str,
    matched: Range<usize>,
    (old, new): (&str, &str),
    tolerance: Tolerance,
    all: bool,
) -> Result<Edited, EditError> {
    let not_found = || EditError::NotFound { nearest: nearest::nearest(text, old) };
    let (old, new) = blank_lines::align_blank_lines(&text[matched], old, new).ok_or_else(not_found)?;
    let levels = [(MatchLevel::BlankLines, Tolerance { blank_lines: false, ..tolerance })];
    edit_at_levels(text, &old, &new, false, all, &levels)?.ok_or_else(not_found)
}

/// Returns the only match, or with `all` those that do not overlap.
fn select_matches<I: Iterator<Item = Range<usize>>>(
    find: impl Fn() -> I,
    all: bool,
    offset: impl Fn(usize) -> usize,
    text: &str,
) -> Result<Vec<Range<usize>>, EditError> {
    if !all && find().nth(1).is_some() {
        let starts = find().take(MAX_LINES_LISTED).map(|range| offset(range.start));
        let mut lines: Vec<_> = lines_at(text, starts).iter().map(|line| line.number).collect();
        lines.dedup();
        return Err(EditError::Ambiguous { lines, more: find().nth(MAX_LINES_LISTED).is_some() });
    }
    let mut end = 0;
    let is_separate = |range: &Range<usize>| {
        let is_separate = range.start >= end;
        end = if is_separate { range.end } else { end };
        is_separate
    };
    Ok(find().filter(is_separate).collect())
}
