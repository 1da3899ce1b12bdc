//! Folds a text: removes differences that a search ignores, and records the source of each remaining byte.

use std::ops::Range;

use super::lines::{Line, is_space, lines};
use super::lookalikes::{entity, is_invisible, lookalikes};

/// The differences that are ignored besides line endings and the spaces before them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tolerance {
    pub indent: bool,
    pub lookalikes: bool,
    pub blank_lines: bool,
    /// Any run of spaces, and the end of a wrapped line, is one space. Requires `indent`.
    pub wrap: bool,
}

/// The source of a folded byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    start: u32,
    end: u32,
}

impl Span {
    pub(super) fn start(self) -> usize {
        self.start as usize
    }

    pub(super) fn end(self) -> usize {
        self.end as usize
    }
}

#[derive(Debug, Default)]
pub(super) struct Folded {
    pub text: Vec<u8>,
    /// One for each byte of `text`, in order. The bytes of one character have the same span.
    pub spans: Vec<Span>,
}

/// Folds a text of less than 4 GiB.
pub(super) fn fold(source: &str, tolerance: Tolerance) -> Folded {
    let mut folded = Folded::default();
    let mut lines = lines(source).filter(|line| !(tolerance.blank_lines && line.is_blank())).peekable();
    while let Some(line) = lines.next() {
        if !line.is_blank() {
            folded.push_words(source, &line, tolerance);
        }
        match lines.peek() {
            Some(next) if tolerance.wrap && line.is_wrapped => folded.push(' ', line.tail, next.content),
            _ if line.end > line.stop => folded.push('\n', line.stop, line.end),
            _ => {}
        }
    }
    folded
}

impl Folded {
    /// The range without the line endings around it.
    pub(super) fn core(&self) -> Range<usize> {
        let is_content = |byte: &u8| *byte != b'\n';
        let start = self.text.iter().position(is_content).unwrap_or(0);
        start..self.text.iter().rposition(is_content).map_or(0, |last| last + 1)
    }

    fn push_words(&mut self, source: &str, line: &Line, tolerance: Tolerance) {
        let mut at = if tolerance.indent { line.content } else { line.start };
        while let Some(ch) = source[at..line.tail].chars().next() {
            let (len, ch) = match ch {
                '&' if tolerance.lookalikes => entity(&source[at..line.tail]).unwrap_or((1, '&')),
                _ => (ch.len_utf8(), ch),
            };
            let ascii = if tolerance.lookalikes { lookalikes(ch) } else { &[] };
            let is_space = is_space(ch) || ascii == [' '];
            match ascii {
                _ if tolerance.wrap && is_space => self.push_space(at, at + len),
                _ if tolerance.lookalikes && is_invisible(ch) => {}
                [] => self.push(ch, at, at + len),
                _ => ascii.iter().for_each(|ch| self.push(*ch, at, at + len)),
            }
            at += len;
        }
    }

    fn push(&mut self, ch: char, start: usize, end: usize) {
        let mut bytes = [0; 4];
        let bytes = ch.encode_utf8(&mut bytes).as_bytes();
        let span = Span { start: start as u32, end: end as u32 };
        self.text.extend_from_slice(bytes);
        self.spans.extend(bytes.iter().map(|_| span));
    }

    /// Adds a space, or extends the span of the last one.
    fn push_space(&mut self, start: usize, end: usize) {
        match (self.text.last(), self.spans.last_mut()) {
            (Some(b' '), Some(run)) if run.end() == start => run.end = end as u32,
            _ => self.push(' ', start, end),
        }
    }
}
