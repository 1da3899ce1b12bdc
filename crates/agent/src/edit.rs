//! Replaces an old text with a new one, even if the old text was not copied exactly.
//!
//! The old text is searched for at several levels ([`MatchLevel`]), from exact to tolerant. A level is tried only if
//! the previous levels found nothing, and its match is edited only if it is the only one. Text that is merely similar
//! is shown ([`EditError::NotFound`]), never edited. The difference between old and new is applied to the file's own
//! text. So what old and new have in common keeps the file's characters, indentation and wrapping. The file always
//! keeps its line endings, its byte-order mark and its final newline.

mod alignment;
mod blank_lines;
mod copy_artifacts;
mod error;
mod find;
mod fold;
mod indent;
mod lines;
mod lookalikes;
mod nearest;
mod token_diff;

use std::ops::Range;

use alignment::{Alignment, Plan, Splice};
use copy_artifacts::Reading;
use find::Pattern;
use fold::{Folded, Tolerance, fold};

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
    let none = Tolerance { indent: false, lookalikes: false, blank_lines: false, wrap: false };
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
    let mut edited = find_and_edit(body, old, new, all)?;
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
    if old.contains('\r') && text.len() <= MAX_TEXT_BYTES {
        return edit_exact_keeping_endings(text, old, new, matches).map(Some);
    }
    if matches.len().saturating_mul(new.len()) > MAX_RESULT_BYTES {
        return Err(EditError::TooLarge);
    }
    let new = new.replace("\r\n", "\n");
    let lines = lines_at(text, matches.iter().map(|range| range.start));
    let splices =
        matches.into_iter().zip(&lines).map(|(range, line)| (range, new.replace('\n', line.ending)));
    apply_splices(text, splices.collect(), &lines, MatchLevel::Exact).map(Some)
}

/// Edits exact matches of an old text that contains carriage returns. Unchanged line endings stay as they are.
fn edit_exact_keeping_endings(
    text: &str,
    old: &str,
    new: &str,
    matches: Vec<Range<usize>>,
) -> Result<Edited, EditError> {
    let (file, folded) = (fold(text, Tolerance::default()), fold(old, Tolerance::default()));
    let core = folded.core();
    let first = folded.spans.get(core.start).map_or(0, |span| span.start());
    let at = |range: Range<usize>| file.spans.partition_point(|span| span.start() < range.start + first);
    let starts = matches.into_iter().map(at).collect();
    rewrite(text, &file, (&folded, core), starts, &Plan::new(old, new, false), MatchLevel::Exact)
}

fn edit_at_levels(
    text: &str,
    old: &str,
    new: &str,
    whole_lines: bool,
    all: bool,
    levels: &[(MatchLevel, Tolerance)],
) -> Result<Option<Edited>, EditError> {
    for &(level, tolerance) in levels {
        let folded = fold(old, tolerance);
        let pattern = Pattern::new(old, &folded, whole_lines);
        if pattern.core.is_empty() {
            break;
        }
        let file = fold(text, tolerance);
        let find = || pattern.matches(text, &file).map(|at| at..at + pattern.core.len());
        let matches = select_matches(find, all, |at| file.spans[at].start(), text)?;
        let Some(first) = matches.first() else { continue };
        if tolerance.blank_lines {
            return edit_with_blank_lines(text, source_range(&file, first), (old, new), tolerance, all)
                .map(Some);
        }
        let first = Alignment::new(text, (&file, first.start), (&folded, pattern.core.clone()), 0);
        let (old, new) = first.without_surplus(old, new);
        let folded = fold(old, tolerance);
        let starts = matches.into_iter().map(|range| range.start).collect();
        let plan = Plan::new(old, new, tolerance.wrap);
        return rewrite(text, &file, (&folded, folded.core()), starts, &plan, level).map(Some);
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

/// Applies the plan to every match. `starts` are the folded bytes at which the core of the old text begins.
fn rewrite(
    text: &str,
    file: &Folded,
    (old, core): (&Folded, Range<usize>),
    starts: Vec<usize>,
    plan: &Plan,
    level: MatchLevel,
) -> Result<Edited, EditError> {
    let lines = lines_at(text, starts.iter().map(|at| file.spans[*at].start()));
    let (mut splices, mut from, mut size) = (Vec::new(), 0, 0);
    for (at, line) in starts.into_iter().zip(&lines) {
        let alignment = Alignment::new(text, (file, at), (old, core.clone()), from);
        let new =
            alignment.splices(plan, line.ending).map_err(|_| EditError::Indentation { line: line.number })?;
        from = alignment.end;
        size += new.iter().map(|(_, text)| text.len()).sum::<usize>();
        if size > MAX_RESULT_BYTES {
            return Err(EditError::TooLarge);
        }
        splices.extend(new);
    }
    apply_splices(text, splices, &lines, level)
}

fn apply_splices(
    text: &str,
    splices: Vec<Splice>,
    lines: &[LineAt],
    level: MatchLevel,
) -> Result<Edited, EditError> {
    let mut edited = String::with_capacity(text.len());
    let mut done = 0;
    for (range, new) in splices {
        // Two changes can overlap in white space that was folded away.
        edited.push_str(text.get(done..range.start).unwrap_or_default());
        edited.push_str(&new);
        done = done.max(range.end);
    }
    edited.push_str(&text[done..]);
    if let Some(last) = lines.last()
        && text.ends_with('\n')
        && !edited.is_empty()
        && !edited.ends_with('\n')
    {
        edited.push_str(last.ending);
    }
    match lines.first() {
        Some(line) if edited == text => Err(EditError::AlreadyApplied { line: line.number }),
        _ => Ok(Edited { text: edited, lines: lines.iter().map(|line| line.number).collect(), level }),
    }
}

/// A line of the file, and the line ending for new lines next to it.
struct LineAt {
    number: usize,
    ending: &'static str,
}

/// The lines of some offsets, which must be in order.
fn lines_at(text: &str, offsets: impl Iterator<Item = usize>) -> Vec<LineAt> {
    let mut lines = text.split_inclusive('\n');
    let (mut number, mut end, mut ending) = (0, 0, "\n");
    let mut found = Vec::new();
    for offset in offsets {
        while offset >= end || number == 0 {
            let Some(line) = lines.next() else { break };
            number += 1;
            end += line.len();
            // If the last line has no ending, the ending of the previous line counts.
            if line.ends_with('\n') {
                ending = if line.ends_with("\r\n") { "\r\n" } else { "\n" };
            }
        }
        found.push(LineAt { number: number.max(1), ending });
    }
    found
}
