//! Provides edits with known results.

use std::ops::Range;

use similar::{ChangeTag, DiffTag, TextDiff};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Same,
    Removed,
    Added,
}

/// One hunk of a diff, with the text before it and after it.
#[derive(Debug, Clone)]
pub(super) struct Hunk {
    pub before: String,
    pub after: String,
    /// Each with its line ending.
    pub lines: Vec<(Kind, String)>,
    /// The range of the lines in `before`, and the number of the first line.
    pub range: Range<usize>,
    pub number: usize,
}

impl Hunk {
    /// `None` if the lines occur more than once, because such an edit is refused.
    fn new(before: &str, start: usize, lines: Vec<(Kind, String)>) -> Option<Self> {
        let side = |not: Kind| {
            lines.iter().filter(|(kind, _)| *kind != not).map(|(_, line)| line.as_str()).collect::<String>()
        };
        let (old, new) = (side(Kind::Added), side(Kind::Removed));
        let once = before.matches(&old).nth(1).is_none() && before[start..].starts_with(&old);
        let after = format!("{}{new}{}", &before[..start], &before[start + old.len()..]);
        let number = before[..start].matches('\n').count() + 1;
        (once && old != new && old.trim().len() > 20).then(|| Self {
            before: before.to_owned(),
            after,
            lines,
            range: start..start + old.len(),
            number,
        })
    }
}

/// The first hunks of the diff between two texts.
pub(super) fn diff_hunks(before: &str, after: &str, limit: usize) -> Vec<Hunk> {
    if before.contains('\r') != after.contains('\r') || !before.ends_with('\n') || !after.ends_with('\n') {
        return Vec::new();
    }
    let diff = TextDiff::from_lines(before, after);
    let mut hunks = Vec::new();
    // From 1 to 3 lines around a change, as models copy them.
    for group in diff.grouped_ops(1 + before.len() % 3) {
        let first = group[0].old_range().start;
        let start = before.split_inclusive('\n').take(first).map(str::len).sum();
        let lines = group.iter().flat_map(|op| diff.iter_changes(op)).map(|change| {
            let kind = match change.tag() {
                ChangeTag::Equal => Kind::Same,
                ChangeTag::Delete => Kind::Removed,
                ChangeTag::Insert => Kind::Added,
            };
            (kind, change.value().to_owned())
        });
        let small = group
            .iter()
            .filter(|op| op.tag() != DiffTag::Equal)
            .all(|op| op.old_range().len().max(op.new_range().len()) < 40);
        hunks.extend(Hunk::new(before, start, lines.collect()).filter(|_| small));
    }
    hunks.truncate(limit);
    hunks
}

/// Synthetic edits spread over a text: a word changes, a line is removed, or a line is added.
pub(super) fn synthetic_hunks(text: &str, count: usize) -> Vec<Hunk> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    if lines.len() < 8 || !text.ends_with('\n') {
        return Vec::new();
    }
    let at = |turn: usize| (turn * 2 + 1) * lines.len() / (2 * count);
    (0..count).filter_map(|turn| synthetic_hunk(text, &lines, at(turn), turn + lines.len())).collect()
}

fn synthetic_hunk(text: &str, lines: &[&str], middle: usize, turn: usize) -> Option<Hunk> {
    let middle = (middle..lines.len().min(middle + 5)).find(|at| words(lines[*at]) >= 3)?;
    let (from, to) = (middle.saturating_sub(1 + turn % 3), lines.len().min(middle + 2 + turn % 2));
    let own = |line: &str| line.to_owned();
    let mut hunk: Vec<_> = lines[from..to].iter().map(|line| (Kind::Same, own(line))).collect();
    let at = middle - from;
    match turn % 4 {
        0 => {
            hunk[at].0 = Kind::Removed;
            // A paragraph goes with the blank line after it.
            if [at.checked_sub(1), Some(at + 1)]
                .iter()
                .all(|at| at.is_some_and(|at| is_blank(lines, from + at)))
            {
                hunk[at + 1].0 = Kind::Removed;
            }
        }
        1 => hunk.insert(at + 1, (Kind::Added, lines[middle].replacen(char::is_alphabetic, "Another", 1))),
        _ => {
            let last =
                lines[middle].split_whitespace().rfind(|word| word.chars().all(char::is_alphabetic))?;
            hunk[at].0 = Kind::Removed;
            hunk.insert(at + 1, (Kind::Added, lines[middle].replacen(last, "quite otherwise", 1)));
        }
    }
    Hunk::new(text, lines[..from].iter().map(|line| line.len()).sum(), hunk)
}

fn is_blank(lines: &[&str], at: usize) -> bool {
    lines.get(at).is_some_and(|line| line.trim().is_empty())
}

fn words(line: &str) -> usize {
    line.split_whitespace().filter(|word| word.chars().any(char::is_alphabetic)).count()
}
