//! Compares the old and the new text word by word.

use std::hash::Hash;
use std::ops::Range;

use similar::{Algorithm, DiffTag, capture_diff_slices};

use super::lines::{is_space, lines};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// The indentation of a line.
    Indent,
    /// The end of a line.
    Break,
    /// Spaces between words. With `wrap`, also the end of a wrapped line.
    Space,
    /// Spaces at the end of a line.
    Tail,
    Word,
}

#[derive(Debug)]
pub(super) struct Token<'a> {
    pub kind: Kind,
    pub range: Range<usize>,
    pub text: &'a str,
    wrap: bool,
}

impl<'a> Token<'a> {
    /// Tokens with the same key are equal in the comparison.
    fn key(&self) -> Key<'a> {
        match self.kind {
            Kind::Break => (self.kind, "\n"),
            Kind::Space if self.wrap && !self.text.contains("  \n") => (Kind::Space, " "),
            kind => (kind, self.text),
        }
    }
}

/// Splits a text into tokens. With `wrap`, the end of a wrapped line is a space.
pub(super) fn tokens(text: &str, wrap: bool) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut push = |kind, range: Range<usize>| {
        if !range.is_empty() {
            tokens.push(Token { kind, text: &text[range.clone()], range, wrap });
        }
    };
    let mut lines = lines(text).peekable();
    let mut is_continued = false;
    while let Some(line) = lines.next() {
        if !is_continued {
            push(Kind::Indent, line.start..line.content);
        }
        for word in words(&text[line.content..line.tail]) {
            let kind = if text[line.content + word.start..].starts_with(is_space) {
                Kind::Space
            } else {
                Kind::Word
            };
            push(kind, line.content + word.start..line.content + word.end);
        }
        is_continued = wrap && line.is_wrapped && lines.peek().is_some();
        match lines.peek() {
            Some(next) if is_continued => push(Kind::Space, line.tail..next.content),
            _ => {
                push(Kind::Tail, line.tail..line.stop);
                push(Kind::Break, line.stop..line.end);
            }
        }
    }
    tokens
}

/// Splits a text into runs of letters and digits, runs of spaces, and runs of the same other character, such as `...`.
fn words(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = &text[start..];
        let first = rest.chars().next()?;
        let same = |ch: char| match first {
            _ if first.is_alphanumeric() => ch.is_alphanumeric(),
            _ if is_space(first) => is_space(ch),
            _ => ch == first,
        };
        let range = start..start + rest.find(|ch| !same(ch)).unwrap_or(rest.len());
        start = range.end;
        Some(range)
    })
}

/// A range of old tokens, and the new tokens that replace it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    pub old: Range<usize>,
    pub new: Range<usize>,
}

type Key<'a> = (Kind, &'a str);

/// Compares lines first, then the words of different lines, so that an unchanged line is never split.
pub(super) fn changes(old: &[Token], new: &[Token]) -> Vec<Change> {
    let (old, new) = (keys(old), keys(new));
    let ((old_lines, old_starts), (new_lines, new_starts)) = (split_lines(&old), split_lines(&new));
    let mut changes = Vec::new();
    for lines in diff_lines(&old_lines, &new_lines) {
        let mut old_block = old_starts[lines.old.start]..old_starts[lines.old.end];
        let mut new_block = new_starts[lines.new.start]..new_starts[lines.new.end];
        // Behind the last line, lines are added or removed with the line ending before them.
        if lines.old.start == old_lines.len() {
            new_block.start = new_block.start.saturating_sub(1);
        } else if lines.new.start == new_lines.len() {
            old_block.start = old_block.start.saturating_sub(1);
        }
        let words = diff(&old[old_block.clone()], &new[new_block.clone()], Algorithm::Myers);
        changes.extend(words.into_iter().map(|words| Change {
            old: shifted(words.old, old_block.start),
            new: shifted(words.new, new_block.start),
        }));
    }
    changes
}

/// Splits keys into lines without their endings. Also returns where each line begins, and where the last one ends.
fn split_lines<'a, 'b>(keys: &'a [Key<'b>]) -> (Vec<&'a [Key<'b>]>, Vec<usize>) {
    let lines: Vec<_> = keys.split(|(kind, _)| *kind == Kind::Break).collect();
    let starts = lines.iter().scan(0, |next, line| {
        let start = *next;
        *next += line.len() + 1;
        Some(start)
    });
    let starts = starts.chain([keys.len()]).collect();
    (lines, starts)
}

fn shifted(range: Range<usize>, by: usize) -> Range<usize> {
    range.start + by..range.end + by
}

fn keys<'a>(tokens: &[Token<'a>]) -> Vec<Key<'a>> {
    tokens.iter().map(Token::key).collect()
}

/// The time of a comparison is the product of the lengths at worst. Beyond this limit, everything between the common
/// start and the common end counts as changed.
const MAX_COMPARED: usize = 4_000_000;

/// Compares lines. Lines that occur once are compared first, so that blank lines don't separate them.
pub(super) fn diff_lines<T: Eq + Hash>(old: &[T], new: &[T]) -> Vec<Change> {
    diff(old, new, Algorithm::Patience)
}

fn diff<T: Eq + Hash>(old: &[T], new: &[T], algorithm: Algorithm) -> Vec<Change> {
    let before = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[before..], &new[before..]);
    let after = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[..old.len() - after], &new[..new.len() - after]);
    if old.len().saturating_mul(new.len()) > MAX_COMPARED || old.is_empty() || new.is_empty() {
        let change = Change { old: shifted(0..old.len(), before), new: shifted(0..new.len(), before) };
        return Vec::from_iter(Some(change).filter(|_| old.len() + new.len() > 0));
    }
    let ops = capture_diff_slices(algorithm, old, new);
    let changed = ops.into_iter().filter(|op| op.tag() != DiffTag::Equal);
    changed
        .map(|op| Change { old: shifted(op.old_range(), before), new: shifted(op.new_range(), before) })
        .collect()
}
