//! Finds out which lines of the new text correspond to which lines of the old one.

use super::lines::{Line, lines};
use super::token_diff::diff_lines;

/// A text, split into lines.
pub(super) struct Lines<'a> {
    text: &'a str,
    lines: Vec<Line>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, lines: lines(text).collect() }
    }

    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    pub(super) fn is_blank(&self, at: usize) -> bool {
        self.lines[at].is_blank()
    }

    pub(super) fn indent(&self, at: usize) -> &'a str {
        &self.text[self.lines[at].start..self.lines[at].content]
    }

    pub(super) fn words(&self, at: usize) -> &'a str {
        &self.text[self.lines[at].content..self.lines[at].tail]
    }

    pub(super) fn tail(&self, at: usize) -> &'a str {
        &self.text[self.lines[at].tail..self.lines[at].stop]
    }

    fn all_words(&self) -> Vec<&'a str> {
        (0..self.len()).map(|at| self.words(at)).collect()
    }

    /// The lines that aren't blank, from `first` on.
    pub(super) fn full(&self, first: usize) -> impl DoubleEndedIterator<Item = usize> + '_ {
        (first..self.len()).filter(|at| !self.is_blank(*at))
    }
}

/// The old line that a new line corresponds to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counterpart {
    /// The words are the same.
    Same(usize),
    /// The words were replaced.
    Replaced(usize),
    /// No old line. Contains the index of the next one.
    None(usize),
}

impl Counterpart {
    pub(super) fn line(self) -> Option<usize> {
        match self {
            Self::Same(line) | Self::Replaced(line) => Some(line),
            Self::None(_) => None,
        }
    }

    pub(super) fn nearest_line(self) -> usize {
        match self {
            Self::Same(line) | Self::Replaced(line) | Self::None(line) => line,
        }
    }
}

/// Compares the words of lines. Returns the counterpart of each new line.
pub(super) fn counterparts(old: &Lines, new: &Lines) -> Vec<Counterpart> {
    let (old, new) = (old.all_words(), new.all_words());
    let mut counterparts = Vec::with_capacity(new.len());
    let mut next = 0;
    for change in diff_lines(&old, &new) {
        counterparts.extend((next..change.old.start).map(Counterpart::Same));
        let first = |lines: &[&str]| lines.iter().position(|words| !words.is_empty());
        let firsts = first(&new[change.new.clone()]).zip(first(&old[change.old.clone()]));
        let is_same_length = change.old.len() == change.new.len();
        counterparts.extend((0..change.new.len()).map(|at| match firsts {
            _ if is_same_length => Counterpart::Replaced(change.old.start + at),
            Some((new, old)) if new == at => Counterpart::Replaced(change.old.start + old),
            _ => Counterpart::None(change.old.end),
        }));
        next = change.old.end;
    }
    counterparts.extend((next..old.len()).map(Counterpart::Same));
    counterparts
}
