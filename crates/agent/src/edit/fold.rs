//! Folds a text: removes differences that a search ignores, and records the source of each remaining byte.

use std::ops::Range;

use super::lines::{is_space, lines};
use super::lookalikes::{entity, is_invisible, lookalikes};

/// The differences that are ignored besides line endings.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Tolerance {
    /// Spaces at line ends.
    pub tails: bool,
    pub indent: bool,
    pub lookalikes: bool,
    pub blank_lines: bool,
    /// Any run of spaces, and the end of a wrapped line, is one space.
    pub wrap: bool,
}

impl Tolerance {
    /// The same without ignoring indentation, spaces at line ends and blank lines.
    pub(super) fn with_white_space(self) -> Self {
        Self { tails: false, indent: false, blank_lines: false, ..self }
    }
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
    let mut is_continued = false;
    while let Some(line) = lines.next() {
        let is_joined = tolerance.wrap && line.is_wrapped && lines.peek().is_some();
        let start = if tolerance.indent || is_continued { line.content } else { line.start };
        let end = if tolerance.tails || is_joined { line.tail } else { line.stop };
        if start < end && !(line.is_blank() && tolerance.tails) {
            folded.push_words(source, start..end, tolerance);
        }
        is_continued = is_joined;
        match lines.peek() {
            Some(next) if is_joined => folded.push(' ', line.tail, next.content),
            _ if line.end > line.stop => folded.push('\n', line.stop, line.end),
            _ => {}
        }
    }
    folded
}

impl Folded {
    fn push_words(&mut self, source: &str, words: Range<usize>, tolerance: Tolerance) {
        let mut at = words.start;
        while let Some(ch) = source[at..words.end].chars().next() {
            let (len, ch) = match ch {
                '&' if tolerance.lookalikes => entity(&source[at..words.end]).unwrap_or((1, '&')),
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
