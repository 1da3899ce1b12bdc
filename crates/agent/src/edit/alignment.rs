//! Applies the difference between old and new to the match in the file. Unchanged words keep the file's characters.

use std::ops::Range;

use super::fold::{Span, Tolerance, fold};
use super::token_diff::{Kind, Token, changes, tokens};

/// A range of the file, and its replacement.
pub(super) type Splice = (Range<usize>, String);

/// The difference between an old and a new text, which have the white space of the file.
pub(super) struct Plan {
    /// The old text without the differences that the search ignores, except white space. See [`super::fold`].
    folded: Vec<u8>,
    tolerance: Tolerance,
    /// Ranges of `folded`, and their replacements. With `wrap`, the second ones have no line breaks in paragraphs.
    changes: Vec<(Range<usize>, String, String)>,
}

impl Plan {
    pub(super) fn new(old: &str, new: &str, tolerance: Tolerance) -> Self {
        let tolerance = tolerance.with_white_space();
        let folded = fold(old, tolerance);
        let (old, new) = (tokens(old, tolerance.wrap), tokens(new, tolerance.wrap));
        let range = |tokens: Range<usize>| {
            let begin = old.get(tokens.start).map_or(usize::MAX, |token| token.range.start);
            let end = if tokens.is_empty() { begin } else { old[tokens.end - 1].range.end };
            let first = folded.spans.partition_point(|span| span.start() < begin);
            first..folded.spans.partition_point(|span| span.end() <= end).max(first)
        };
        let changes = changes(&old, &new);
        let changes = changes.into_iter().map(|change| {
            let new = &new[change.new];
            (range(change.old), render(new, false), render(new, true))
        });
        Self { changes: changes.collect(), folded: folded.text, tolerance }
    }

    /// The changes of a match in the file. `None` if the file has another text there.
    pub(super) fn splices(&self, text: &str, range: &Range<usize>, ending: &str) -> Option<Vec<Splice>> {
        let file = fold(&text[range.clone()], self.tolerance);
        if file.text != self.folded {
            return None;
        }
        let start = |at: usize| range.start + file.spans.get(at).map_or(range.len(), |span| span.start());
        let end = |at: usize| range.start + file.spans[at - 1].end();
        // A file that doesn't wrap its paragraphs gets no wrapped ones.
        let is_break =
            |span: &Span| text[range.start + span.start()..range.start + span.end()].contains('\n');
        let is_wrapped =
            file.text.iter().zip(&file.spans).any(|(byte, span)| *byte == b' ' && is_break(span));
        let splice = |(changed, wrapped, unwrapped): &(Range<usize>, String, String)| {
            let new = if is_wrapped { wrapped } else { unwrapped };
            let start = start(changed.start);
            let end = if changed.is_empty() { start } else { end(changed.end).max(start) };
            (start..end, new.replace('\n', ending))
        };
        Some(self.changes.iter().map(splice).collect())
    }
}

fn render(tokens: &[Token], unwraps: bool) -> String {
    let mut text = String::new();
    for token in tokens {
        match (token.kind, token.text.split_once('\n')) {
            (Kind::Break, _) => text.push('\n'),
            (_, Some((before, _))) if unwraps && !before.starts_with("  ") => text.push(' '),
            (_, Some((before, indent))) => {
                // Two spaces before a line ending are a hard break in Markdown. One space is a mistake.
                text.push_str(if before.starts_with("  ") { "  " } else { "" });
                text.push('\n');
                text.push_str(indent);
            }
            (_, None) => text.push_str(token.text),
        }
    }
    text
}
