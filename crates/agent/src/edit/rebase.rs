//! Gives the old and the new text the white space of the file, line by line.
//!
//! This is a three-way merge of white space. A line that old and new have in common keeps the file's indentation and the
//! file's spaces at its end. Other lines of the new text are shifted like the lines around them.

use std::collections::{BTreeMap, BTreeSet};

use super::counterparts::{Counterpart, Lines, counterparts};
use super::indent::{Indents, Pair};
use super::layout::Layout;

/// The indentation of a new line can't be derived from the match.
#[derive(Debug)]
pub(super) struct UnclearIndent;

/// Whose indentation the new text has.
enum Frame<'a> {
    /// That of the file.
    File,
    /// That of the old text.
    Old(Indents<'a>),
    /// Its own: all lines are shifted, unlike those of the old text.
    Own(Indents<'a>),
}

pub(super) struct Rebase<'a, 'b> {
    old: Lines<'a>,
    new: Lines<'a>,
    file: &'b Layout<'a>,
    counterparts: Vec<Counterpart>,
    /// The words of lines that old and new have in common, wherever they are, and the first such old line.
    copies: BTreeMap<&'a str, usize>,
    /// Only white space changes, so the new text's white space is kept.
    is_same_words: bool,
    /// The old text begins after the indentation of its first line, unlike its other lines.
    is_old_cut: bool,
    is_new_cut: bool,
}

impl<'a, 'b> Rebase<'a, 'b> {
    pub(super) fn new(old: &'a str, new: &'a str, file: &'b Layout<'a>) -> Self {
        let (old, new) = (Lines::new(old), Lines::new(new));
        let is_same_words = old.full(0).map(|at| old.words(at)).eq(new.full(0).map(|at| new.words(at)));
        let counterparts = counterparts(&old, &new);
        let new_words: BTreeSet<&str> = new.full(0).map(|at| new.words(at)).collect();
        let common = old.full(0).filter(|at| new_words.contains(old.words(*at)));
        let copies = common.map(|at| (old.words(at), at)).rev().collect();
        let (is_old_cut, is_new_cut) = (false, false);
        let mut rebase = Self { old, new, file, counterparts, copies, is_same_words, is_old_cut, is_new_cut };
        rebase.is_old_cut = rebase.is_old_cut();
        rebase.is_new_cut = rebase.is_new_cut();
        rebase
    }

    /// The old text with the file's white space.
    pub(super) fn old_text(&self) -> String {
        let line = |at: usize| {
            let file = &self.file.lines[at];
            let (indent, tail) = (file.indent.unwrap_or(self.old.indent(at)), file.tail);
            let words = self.copied_words(self.old.words(at), Some(at));
            [indent, words, tail.unwrap_or(self.old.tail(at))].concat()
        };
        (0..self.old.len()).map(line).collect::<Vec<_>>().join("\n")
    }

    /// The new text with the file's white space.
    pub(super) fn new_text(&self) -> Result<String, UnclearIndent> {
        let (frame, spaces) = (self.frame(), self.copied_spaces());
        let line = |at: usize| {
            if self.new.is_blank(at) {
                return Ok(self.file_spaces(at, Lines::indent, &spaces).to_owned());
            }
            let indent = self.new_indent(at, &frame).ok_or(UnclearIndent)?;
            let words = self.copied_words(self.new.words(at), self.counterparts[at].line());
            Ok(indent + words + self.file_spaces(at, Lines::tail, &spaces))
        };
        Ok((0..self.new.len()).map(line).collect::<Result<Vec<_>, _>>()?.join("\n"))
    }

    /// The file's words of a line that old and new have in common, preferably at the old line `line`. Otherwise the same
    /// words.
    fn copied_words(&self, words: &'a str, line: Option<usize>) -> &'a str {
        let Some(first) = self.copies.get(words) else { return words };
        let line = line.filter(|line| self.old.words(*line) == words).unwrap_or(*first);
        Some(self.file.lines[line].words).filter(|words| !words.contains('\n')).unwrap_or(words)
    }

    /// The spaces at the end of a line, or those of a blank line. `part` gets them from a text.
    fn file_spaces(
        &self,
        at: usize,
        part: fn(&Lines<'a>, usize) -> &'a str,
        copied: &BTreeMap<&'a str, Option<&'a str>>,
    ) -> &'a str {
        let own = part(&self.new, at);
        let is_copied =
            |line: &usize| self.old.is_blank(*line) == self.new.is_blank(at) && part(&self.old, *line) == own;
        let file = |line: usize| match self.old.is_blank(line) {
            true => self.file.lines[line].indent,
            false => self.file.lines[line].tail,
        };
        let counterpart = self.counterparts[at].line().filter(is_copied).and_then(file);
        counterpart.or_else(|| copied.get(own).copied().flatten()).unwrap_or(own)
    }

    /// Spaces at the ends of old lines, and what the file has instead, if it is always the same.
    fn copied_spaces(&self) -> BTreeMap<&'a str, Option<&'a str>> {
        let mut spaces = BTreeMap::new();
        for (at, file) in self.file.lines.iter().enumerate() {
            let (own, file) = match self.old.is_blank(at) {
                true => (self.old.indent(at), file.indent),
                false => (self.old.tail(at), file.tail),
            };
            let known = spaces.entry(own).or_insert(file);
            *known = known.filter(|known| Some(*known) == file && !own.is_empty());
        }
        spaces
    }

    fn file_indent(&self, line: usize) -> Option<&'a str> {
        self.file.lines[line].indent
    }

    fn new_indent(&self, at: usize, frame: &Frame) -> Option<String> {
        let (own, counterpart) = (self.new.indent(at), self.counterparts[at]);
        let file = counterpart.line().and_then(|line| self.file_indent(line));
        if at == 0 && !self.file.begins_line() {
            return Some(own.to_owned());
        }
        if at < self.first_uncut() {
            return file.or(self.file_indent(0)).map(str::to_owned);
        }
        match (frame, counterpart.line().zip(file)) {
            (Frame::File, _) => Some(own.to_owned()),
            (Frame::Old(_), Some((line, file))) if own == self.old.indent(line) => Some(file.to_owned()),
            (Frame::Old(indents) | Frame::Own(indents), _) => {
                indents.map(own, self.new.words(at), counterpart.nearest_line())
            }
        }
    }

    /// The first line of the new text of which the indentation isn't cut off.
    fn first_uncut(&self) -> usize {
        usize::from((self.is_old_cut || self.is_new_cut) && self.new.indent(0).is_empty())
    }

    /// Lines of which the indentation isn't cut off: the new line, the old line, and the file's indentation. All lines
    /// with the same words, or the first one that was replaced.
    fn kept_lines(&self) -> Vec<(usize, usize, &'a str)> {
        let first = usize::from(self.is_old_cut);
        let kept = |at: usize| {
            let line = self.counterparts[at].line().filter(|line| *line >= first)?;
            Some((at, line, self.file_indent(line)?))
        };
        let lines = || self.new.full(self.first_uncut());
        let is_same = |at: &usize| matches!(self.counterparts[*at], Counterpart::Same(_));
        let same: Vec<_> = lines().filter(is_same).filter_map(kept).collect();
        if same.is_empty() { lines().find_map(kept).into_iter().collect() } else { same }
    }

    fn frame(&self) -> Frame<'a> {
        let kept = self.kept_lines();
        let pair = |&(at, line, file): &(usize, usize, &'a str)| {
            let (words, from) = (self.new.words(at), self.new.indent(at));
            Pair { line, words, from, file }
        };
        let pairs: Vec<_> = kept.iter().map(pair).collect();
        let of_old =
            kept.iter().filter(|(at, line, _)| self.new.indent(*at) == self.old.indent(*line)).count();
        let of_file = pairs.iter().filter(|pair| pair.from == pair.file).count();
        if of_file > of_old {
            Frame::File
        } else if of_old == 0 && !self.is_same_words && self.is_shifted(&pairs) {
            Frame::Own(Indents::new(pairs))
        } else {
            Frame::Old(self.old_indents())
        }
    }

    /// Whether all lines of the new text are shifted by the same indentation, and no line contradicts it.
    fn is_shifted(&self, pairs: &[Pair]) -> bool {
        let Some(shift) = pairs.first().and_then(|pair| Shift::new(pair.from, pair.file)) else {
            return false;
        };
        let new = self.new.full(self.first_uncut()).map(|at| self.new.indent(at).len()).min();
        let file = self.old.full(0).filter_map(|line| self.file_indent(line)).map(str::len).min();
        let is_possible = match shift {
            Shift::Less(indent) => new == Some(0) && file >= Some(indent.len()),
            Shift::More(indent) => new >= Some(indent.len()),
        };
        is_possible && pairs.iter().all(|pair| Shift::new(pair.from, pair.file) == Some(shift))
    }

    /// How the old text's indentation differs from the file's.
    fn old_indents(&self) -> Indents<'a> {
        let pair = |line| {
            let (words, from) = (self.old.words(line), self.old.indent(line));
            Some(Pair { line, words, from, file: self.file_indent(line)? })
        };
        Indents::new(self.old.full(usize::from(self.is_old_cut)).filter_map(pair).collect())
    }

    fn is_old_cut(&self) -> bool {
        let Some(file) = self.file_indent(0).filter(|file| !file.is_empty()) else { return false };
        if !self.old.indent(0).is_empty() {
            return false;
        }
        let is_shifted = |indent: &str, whole: &str| whole.strip_prefix(file) == Some(indent);
        match self.old.full(1).next() {
            Some(_) => !self.old.full(1).all(|line| {
                self.file_indent(line).is_none_or(|whole| is_shifted(self.old.indent(line), whole))
            }),
            None => self.new.full(1).all(|at| self.new.indent(at).starts_with(file)),
        }
    }

    /// Whether the new text begins after the indentation of its first line, unlike the old text. Another line has the
    /// indentation of the old text.
    fn is_new_cut(&self) -> bool {
        let is_cut = |line: usize| self.new.indent(0).is_empty() && !self.old.indent(line).is_empty();
        let is_kept = |at: usize| {
            let line = self.counterparts[at].line();
            line.is_some_and(|line| self.new.indent(at) == self.old.indent(line))
        };
        !self.is_same_words
            && self.counterparts[0].line().is_some_and(is_cut)
            && self.new.full(1).any(is_kept)
    }
}

/// The indentation that a copy of a line has less or more than the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shift<'a> {
    Less(&'a str),
    More(&'a str),
}

impl<'a> Shift<'a> {
    fn new(copy: &'a str, file: &'a str) -> Option<Self> {
        match copy.len() < file.len() {
            true => file.strip_suffix(copy).map(Self::Less),
            false => copy.strip_suffix(file).map(Self::More),
        }
    }
}
