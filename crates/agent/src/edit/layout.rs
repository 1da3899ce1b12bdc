//! Finds the file's white space around the lines of a match.

use std::ops::Range;

use super::find::{is_at_line_end, is_at_line_start};
use super::fold::Span;
use super::lines::{Line, is_space, lines};

/// Where the bytes of the old text are in the file.
pub(super) enum Position<'a> {
    /// The old text is in the file as it is, from this byte on.
    Exact(usize),
    /// The spans of the folded bytes: of the old text, and of the file.
    Folded { old: &'a [Span], file: &'a [Span] },
}

impl Position<'_> {
    /// The first byte of the match.
    pub(super) fn first(&self) -> usize {
        match self {
            Self::Exact(start) => *start,
            Self::Folded { file, .. } => file[0].start(),
        }
    }

    /// The range of the match of the whole text `old`.
    pub(super) fn range(&self, old: &str) -> Range<usize> {
        match self {
            Self::Exact(start) => *start..start + old.len(),
            Self::Folded { file, .. } => file[0].start()..file[file.len() - 1].end(),
        }
    }

    /// Where the byte `at` of the old text begins in the file.
    fn start(&self, at: usize) -> Option<usize> {
        match self {
            Self::Exact(start) => Some(start + at),
            Self::Folded { old, file } => {
                file.get(old.partition_point(|span| span.start() < at)).map(|span| span.start())
            }
        }
    }

    /// Where the byte before the byte `at` of the old text ends in the file.
    fn end(&self, at: usize) -> Option<usize> {
        match self {
            Self::Exact(start) => Some(start + at),
            Self::Folded { old, file } => {
                let last = old.partition_point(|span| span.end() <= at).checked_sub(1)?;
                file.get(last).map(|span| span.end())
            }
        }
    }
}

/// A line of the old text, and the white space that the file has around its words.
#[derive(Debug, Clone, Copy)]
pub(super) struct FileLine<'a> {
    /// `None` if the line begins within a line of the file.
    pub indent: Option<&'a str>,
    /// The spaces at the end. `None` if the line ends within a line of the file.
    pub tail: Option<&'a str>,
    /// The file's words. They can have other characters that look the same.
    pub words: &'a str,
}

/// A match in the file, extended to whole lines where only white space is missing.
#[derive(Debug)]
pub(super) struct Layout<'a> {
    pub range: Range<usize>,
    /// One for each line of the old text.
    pub lines: Vec<FileLine<'a>>,
}

impl<'a> Layout<'a> {
    /// `old` begins and ends with a line that has words.
    pub(super) fn new(text: &'a str, old: &str, position: &Position) -> Option<Self> {
        let old_lines: Vec<Line> = lines(old).collect();
        let (first, last) = (old_lines.first()?, old_lines.last()?);
        let lines: Vec<_> =
            old_lines.iter().map(|line| file_line(text, line, position)).collect::<Option<_>>()?;
        let start = match lines.first()?.indent {
            Some(indent) => position.start(first.content)? - indent.len(),
            None => position.start(first.start)?,
        };
        let end = match lines.last()?.tail {
            Some(tail) => position.end(last.tail)? + tail.len(),
            None => position.end(last.stop)?,
        };
        Some(Self { range: start..end, lines })
    }

    pub(super) fn begins_line(&self) -> bool {
        self.lines.first().is_some_and(|line| line.indent.is_some())
    }

    pub(super) fn ends_line(&self) -> bool {
        self.lines.last().is_some_and(|line| line.tail.is_some())
    }
}

fn file_line<'a>(text: &'a str, line: &Line, position: &Position) -> Option<FileLine<'a>> {
    if line.is_blank() {
        let before = &text[..position.start(line.stop)?];
        let space = &before[before.trim_end_matches(is_space).len()..];
        return Some(FileLine { indent: Some(space), tail: Some(""), words: "" });
    }
    let (before, after) = (&text[..position.start(line.content)?], &text[position.end(line.tail)?..]);
    let indent = &before[before.trim_end_matches(is_space).len()..];
    let tail = &after[..after.len() - after.trim_start_matches(is_space).len()];
    Some(FileLine {
        indent: Some(indent).filter(|_| is_at_line_start(before)),
        tail: Some(tail).filter(|_| is_at_line_end(after)),
        words: text.get(before.len()..text.len() - after.len())?,
    })
}
