//! A file line by line, in bounded memory, with the hash of all that was passed.

use std::io::{self, BufRead, BufReader, Read};

use sha2::{Digest, Sha256};
use traffic::Progress;

/// Longer ones are no lines of a log. What may be made of one must fit into a batch.
pub(super) const MAX_LINE: usize = 256 * 1024;
const BUFFER: usize = 256 * 1024;

pub(super) struct Lines<R> {
    from: BufReader<R>,
    line: Vec<u8>,
    hash: Sha256,
    bytes: u64,
    /// Of the line, from 1.
    pub(super) number: u64,
    /// What was passed ended within that line.
    within: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    Line,
    TooLong,
    /// The file ends with it, and no newline; it is passed if somebody says so.
    Last,
    End,
}

/// What a file is, up to where one that began like it was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Compared {
    Same,
    Different,
    Shorter,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(from: R) -> Self {
        let from = BufReader::with_capacity(BUFFER, from);
        Self { from, line: Vec::new(), hash: Sha256::new(), bytes: 0, number: 0, within: false }
    }

    pub(super) fn line(&self) -> &[u8] {
        &self.line
    }

    /// How far it is read, and what it is up to there.
    pub(super) fn place(&self) -> Progress {
        Progress { bytes: self.bytes, hash: hex(self.hash.clone()) }
    }

    pub(super) fn next(&mut self) -> io::Result<Next> {
        self.line.clear();
        self.from.by_ref().take(MAX_LINE as u64).read_until(b'\n', &mut self.line)?;
        let goes_on = std::mem::take(&mut self.within);
        self.number += u64::from(!self.line.is_empty() && !goes_on);
        match self.line.last() {
            None => Ok(Next::End),
            Some(b'\n') => {
                self.pass();
                Ok(Next::Line)
            }
            Some(_) if self.line.len() == MAX_LINE => self.pass_the_rest(),
            Some(_) => Ok(Next::Last),
        }
    }

    pub(super) fn pass(&mut self) {
        self.hash.update(&self.line);
        self.bytes += self.line.len() as u64;
    }

    fn pass_the_rest(&mut self) -> io::Result<Next> {
        let (mut hash, mut bytes) = (self.hash.clone(), self.bytes + self.line.len() as u64);
        hash.update(&self.line);
        loop {
            let some = self.from.fill_buf()?;
            let newline = some.iter().position(|byte| *byte == b'\n');
            let length = newline.map_or(some.len(), |at| at + 1);
            let ends = newline.is_some() || length == 0;
            hash.update(&some[..length]);
            bytes += length as u64;
            self.from.consume(length);
            if ends {
                (self.hash, self.bytes) = (hash, bytes);
                return Ok(Next::TooLong);
            }
        }
    }

    /// Passes what was read before, if it is the same. By bytes and not by lines: a last line that
    /// had no newline then may have one now.
    pub(super) fn pass_until(&mut self, known: &Progress) -> io::Result<Compared> {
        while self.bytes < known.bytes {
            let some = self.from.fill_buf()?;
            let left = usize::try_from(known.bytes - self.bytes).unwrap_or(usize::MAX);
            let some = &some[..some.len().min(left)];
            if some.is_empty() {
                return Ok(Compared::Shorter);
            }
            self.hash.update(some);
            self.number += some.iter().filter(|byte| **byte == b'\n').count() as u64;
            self.within = some.last().is_some_and(|last| *last != b'\n');
            let length = some.len();
            self.bytes += length as u64;
            self.from.consume(length);
        }
        self.number += u64::from(self.within);
        let same = known.bytes == 0 || self.place().hash == known.hash;
        Ok(if same { Compared::Same } else { Compared::Different })
    }
}

pub(super) fn hex(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &[u8]) -> (Vec<(Next, u64)>, u64) {
        let mut lines = Lines::new(text);
        let mut seen = Vec::new();
        loop {
            match lines.next().unwrap() {
                Next::End => return (seen, lines.bytes),
                next => seen.push((next, lines.number)),
            }
        }
    }

    #[test]
    fn lines_of_any_length() {
        assert_eq!(all(b""), (vec![], 0));
        assert_eq!(all(b"a\n\nb"), (vec![(Next::Line, 1), (Next::Line, 2), (Next::Last, 3)], 3));
        let long = "x".repeat(10 * MAX_LINE);
        let (seen, bytes) = all(format!("{long}\na\n{long}").as_bytes());
        assert_eq!(seen, [(Next::TooLong, 1), (Next::Line, 2), (Next::TooLong, 3)]);
        assert_eq!(bytes, 20 * MAX_LINE as u64 + 3);
    }

    #[test]
    fn what_was_read_is_known_again() {
        let mut first = Lines::new(&b"one\ntwo"[..]);
        assert_eq!(first.next().unwrap(), Next::Line);
        let one = first.place();
        assert_eq!(first.next().unwrap(), Next::Last);
        assert_eq!(first.place(), one, "not passed yet");
        first.pass();
        let both = first.place();
        #[track_caller]
        fn check(text: &str, known: &Progress, expected: Compared, numbers: [u64; 2]) {
            let mut lines = Lines::new(text.as_bytes());
            assert_eq!(lines.pass_until(known).unwrap(), expected, "{text}");
            let passed = lines.number;
            lines.next().unwrap();
            assert_eq!([passed, lines.number], numbers, "{text}");
        }
        check("one\ntwo", &both, Compared::Same, [2, 2]);
        check("one\ntwo\nthree\n", &both, Compared::Same, [2, 2]);
        check("one\ntwo\nthree\n", &one, Compared::Same, [1, 2]);
        check("one\ntow\nthree\n", &both, Compared::Different, [2, 2]);
        check("one\nt", &both, Compared::Shorter, [1, 1]);
        check("anything", &Progress { bytes: 0, hash: String::new() }, Compared::Same, [0, 1]);
    }
}
