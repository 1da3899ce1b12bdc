//! A text with some differences folded away, and where each byte of what is left came from.

use std::ops::Range;

use super::alike::{alike, entity, unseen};
use super::lines::{Line, is_space, lines};

/// What is folded away besides line endings and the spaces before them.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Loose {
    pub indent: bool,
    pub alike: bool,
    pub blank: bool,
    /// Any run of spaces, and the end of a full line, is one space. Needs `indent`.
    pub wrap: bool,
}

/// Where in the source a folded byte came from.
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
    /// One for each byte of `text`, in order. Characters of several bytes share one.
    pub spans: Vec<Span>,
}

/// Folds a text of less than 4 GiB.
pub(super) fn fold(source: &str, loose: Loose) -> Folded {
    let mut folded = Folded::default();
    let mut lines = lines(source).filter(|line| !(loose.blank && line.is_blank())).peekable();
    while let Some(line) = lines.next() {
        if !line.is_blank() {
            folded.words(source, &line, loose);
        }
        match lines.peek() {
            Some(next) if loose.wrap && line.soft => folded.push(' ', line.tail, next.content),
            _ if line.end > line.stop => folded.push('\n', line.stop, line.end),
            _ => {}
        }
    }
    folded
}

impl Folded {
    /// What is left without the line endings around it.
    pub(super) fn core(&self) -> Range<usize> {
        let solid = |byte: &u8| *byte != b'\n';
        let start = self.text.iter().position(solid).unwrap_or(0);
        start..self.text.iter().rposition(solid).map_or(0, |last| last + 1)
    }

    fn words(&mut self, source: &str, line: &Line, loose: Loose) {
        let mut at = if loose.indent { line.content } else { line.start };
        while let Some(ch) = source[at..line.tail].chars().next() {
            let (len, ch) = match ch {
                '&' if loose.alike => entity(&source[at..line.tail]).unwrap_or((1, '&')),
                _ => (ch.len_utf8(), ch),
            };
            let like = if loose.alike { alike(ch) } else { &[] };
            let space = is_space(ch) || like == [' '];
            match like {
                _ if loose.wrap && space => self.space(at, at + len),
                _ if loose.alike && unseen(ch) => {}
                [] => self.push(ch, at, at + len),
                _ => like.iter().for_each(|ch| self.push(*ch, at, at + len)),
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

    /// Another space of a run, which is one space.
    fn space(&mut self, start: usize, end: usize) {
        match (self.text.last(), self.spans.last_mut()) {
            (Some(b' '), Some(run)) if run.end() == start => run.end = end as u32,
            _ => self.push(' ', start, end),
        }
    }
}
