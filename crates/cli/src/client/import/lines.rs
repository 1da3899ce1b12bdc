//! Reads a file line by line, in bounded memory, and hashes what it has read.

use std::io::{self, BufRead, BufReader, Read};

use sha2::{Digest, Sha256};
use traffic::Progress;

/// A longer line is not a line of a log. Its view must fit into a batch.
pub(super) const MAX_LINE_BYTES: usize = 256 * 1024;
const BUFFER_BYTES: usize = 256 * 1024;

pub(super) struct Lines<R> {
    from: BufReader<R>,
    line: Vec<u8>,
    hash: Sha256,
    bytes: u64,
    /// The number of the current line, from 1.
    pub(super) number: u64,
    /// The skipped prefix ends within the current line.
    is_within_line: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum LineKind {
    Whole,
    TooLong,
    /// The last line, without a newline. It counts as read only after [`Lines::accept`].
    Unterminated,
    End,
}

/// Compares the beginning of a file with a file that was imported.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Same,
    Different,
    Shorter,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(from: R) -> Self {
        let from = BufReader::with_capacity(BUFFER_BYTES, from);
        Self { from, line: Vec::new(), hash: Sha256::new(), bytes: 0, number: 0, is_within_line: false }
    }

    pub(super) fn line(&self) -> &[u8] {
        &self.line
    }

    /// The number of bytes that were read, and their hash.
    pub(super) fn progress(&self) -> Progress {
        Progress { bytes: self.bytes, hash: hex(self.hash.clone()) }
    }

    pub(super) fn next(&mut self) -> io::Result<LineKind> {
        self.line.clear();
        self.from.by_ref().take(MAX_LINE_BYTES as u64).read_until(b'\n', &mut self.line)?;
        let continues = std::mem::take(&mut self.is_within_line);
        self.number += u64::from(!self.line.is_empty() && !continues);
        match self.line.last() {
            None => Ok(LineKind::End),
            Some(b'\n') => {
                self.accept();
                Ok(LineKind::Whole)
            }
            Some(_) if self.line.len() == MAX_LINE_BYTES => self.read_rest(),
            Some(_) => Ok(LineKind::Unterminated),
        }
    }

    /// Counts the current line as read.
    pub(super) fn accept(&mut self) {
        self.hash.update(&self.line);
        self.bytes += self.line.len() as u64;
    }

    fn read_rest(&mut self) -> io::Result<LineKind> {
        let (mut hash, mut bytes) = (self.hash.clone(), self.bytes + self.line.len() as u64);
        hash.update(&self.line);
        loop {
            let buffer = self.from.fill_buf()?;
            let newline = buffer.iter().position(|byte| *byte == b'\n');
            let length = newline.map_or(buffer.len(), |at| at + 1);
            let ends = newline.is_some() || length == 0;
            hash.update(&buffer[..length]);
            bytes += length as u64;
            self.from.consume(length);
            if ends {
                (self.hash, self.bytes) = (hash, bytes);
                return Ok(LineKind::TooLong);
            }
        }
    }

    /// Skips what an earlier import read, and compares it. It counts bytes and not lines, because a last line without a
    /// newline may have one now.
    pub(super) fn skip_prefix(&mut self, known: &Progress) -> io::Result<Comparison> {
        while self.bytes < known.bytes {
            let buffer = self.from.fill_buf()?;
            let remaining = usize::try_from(known.bytes - self.bytes).unwrap_or(usize::MAX);
            let bytes = &buffer[..buffer.len().min(remaining)];
            if bytes.is_empty() {
                return Ok(Comparison::Shorter);
            }
            self.hash.update(bytes);
            self.number += bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
            self.is_within_line = bytes.last().is_some_and(|last| *last != b'\n');
            let length = bytes.len();
            self.bytes += length as u64;
            self.from.consume(length);
        }
        self.number += u64::from(self.is_within_line);
        let is_same = known.bytes == 0 || self.progress().hash == known.hash;
        Ok(if is_same { Comparison::Same } else { Comparison::Different })
    }
}

pub(super) fn hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &[u8]) -> (Vec<(LineKind, u64)>, u64) {
        let mut lines = Lines::new(text);
        let mut lines_read = Vec::new();
        loop {
            match lines.next().unwrap() {
                LineKind::End => return (lines_read, lines.bytes),
                next => lines_read.push((next, lines.number)),
            }
        }
    }

    #[test]
    fn lines_of_any_length() {
        assert_eq!(all(b""), (vec![], 0));
        assert_eq!(
            all(b"a\n\nb"),
            (vec![(LineKind::Whole, 1), (LineKind::Whole, 2), (LineKind::Unterminated, 3)], 3)
        );
        let long = "x".repeat(10 * MAX_LINE_BYTES);
        let (lines_read, bytes) = all(format!("{long}\na\n{long}").as_bytes());
        assert_eq!(lines_read, [(LineKind::TooLong, 1), (LineKind::Whole, 2), (LineKind::TooLong, 3)]);
        assert_eq!(bytes, 20 * MAX_LINE_BYTES as u64 + 3);
    }

    #[test]
    fn an_imported_prefix_is_recognized() {
        let mut first = Lines::new(&b"one\ntwo"[..]);
        assert_eq!(first.next().unwrap(), LineKind::Whole);
        let one = first.progress();
        assert_eq!(first.next().unwrap(), LineKind::Unterminated);
        assert_eq!(first.progress(), one, "not read yet");
        first.accept();
        let both = first.progress();
        #[track_caller]
        fn check(text: &str, known: &Progress, expected: Comparison, numbers: [u64; 2]) {
            let mut lines = Lines::new(text.as_bytes());
            assert_eq!(lines.skip_prefix(known).unwrap(), expected, "{text}");
            let passed = lines.number;
            lines.next().unwrap();
            assert_eq!([passed, lines.number], numbers, "{text}");
        }
        check("one\ntwo", &both, Comparison::Same, [2, 2]);
        check("one\ntwo\nthree\n", &both, Comparison::Same, [2, 2]);
        check("one\ntwo\nthree\n", &one, Comparison::Same, [1, 2]);
        check("one\ntow\nthree\n", &both, Comparison::Different, [2, 2]);
        check("one\nt", &both, Comparison::Shorter, [1, 1]);
        check("anything", &Progress { bytes: 0, hash: String::new() }, Comparison::Same, [0, 1]);
    }
}
