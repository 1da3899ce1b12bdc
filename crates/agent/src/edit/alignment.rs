//! Aligns the old text with its match in the file, and applies the difference between old and new to the file.
//! Unchanged parts keep the file's own characters.

use std::ops::Range;

use super::find::is_at_line_start;
use super::fold::{Folded, Span};
use super::indent::Indents;
use super::lines::is_space;
use super::token_diff::{Change, Kind, Token, changes, tokens};

/// The tokens of the old and the new text, and their difference. The same for every match.
pub(super) struct Plan<'a> {
    old: Vec<Token<'a>>,
    new: Vec<Token<'a>>,
    changes: Vec<Change>,
}

impl<'a> Plan<'a> {
    pub(super) fn new(old: &'a str, new: &'a str, wrap: bool) -> Self {
        let (old, new) = (tokens(old, wrap), tokens(new, wrap));
        Self { changes: changes(&old, &new), old, new }
    }
}

/// A match in the file: which folded byte of the old text corresponds to which of the file.
///
/// A folded text is a text without the differences that the search ignores, such as spaces at line ends. See
/// [`super::fold`]. Each of its bytes has a span: the range of the original text that it stands for.
pub(super) struct Alignment<'a> {
    /// The whole file.
    text: &'a str,
    /// The spans of all folded bytes of the old text.
    old_spans: &'a [Span],
    /// Which of `old_spans` have a counterpart in the file.
    aligned: Range<usize>,
    /// The spans of these counterparts, in the same order.
    file_spans: &'a [Span],
    /// The folded byte of the file after the last counterpart.
    pub end: usize,
}

/// The indentation of a new line can't be derived from the match.
#[derive(Debug)]
pub(super) struct UnclearIndent;

/// A range of the file, and its replacement.
pub(super) type Splice = (Range<usize>, String);

impl<'a> Alignment<'a> {
    /// Aligns the old text's `core` with the folded byte `at` of the file. Line endings around it are included where
    /// both have them, but none before the folded byte `from`.
    pub(super) fn new(
        text: &'a str,
        (file, at): (&'a Folded, usize),
        (old, core): (&'a Folded, Range<usize>),
        from: usize,
    ) -> Self {
        let breaks = |(old, file): &(&u8, &u8)| old == file && **old == b'\n';
        let before = old.text[..core.start].iter().rev().zip(file.text[from..at].iter().rev());
        let before = before.take_while(breaks).count();
        let end = at + core.len();
        let after = old.text[core.end..].iter().zip(&file.text[end..]).take_while(breaks).count();
        let (aligned, end) = (core.start - before..core.end + after, end + after);
        Self { text, old_spans: &old.spans, aligned, file_spans: &file.spans[at - before..end], end }
    }

    /// Removes the line endings around the old text that the file doesn't have, and as many from the new text.
    pub(super) fn without_surplus<'b>(&self, old: &'b str, mut new: &'b str) -> (&'b str, &'b str) {
        for _ in 0..self.aligned.start {
            let rest = new.trim_start_matches(is_space);
            new = rest.strip_prefix('\n').or_else(|| rest.strip_prefix("\r\n")).unwrap_or(new);
        }
        for _ in self.aligned.end..self.old_spans.len() {
            let rest = new.trim_end_matches(is_space);
            new = rest.strip_suffix("\r\n").or_else(|| rest.strip_suffix('\n')).unwrap_or(new);
        }
        let start = self.aligned.start.checked_sub(1).map_or(0, |before| self.old_spans[before].end());
        let end = self.old_spans.get(self.aligned.end).map_or(old.len(), |after| after.start());
        (&old[start..end], new)
    }

    fn range(&self) -> Range<usize> {
        self.file_spans[0].start()..self.file_spans[self.file_spans.len() - 1].end()
    }

    pub(super) fn splices(&self, plan: &Plan, ending: &str) -> Result<Vec<Splice>, UnclearIndent> {
        let indents = Indents::new(self.indents(&plan.old));
        let splice = |change: &Change| {
            let range = self.file_range(&plan.old, &change.old);
            let text = render(&plan.new, &change.new, &indents, ending)?;
            Ok((range, text))
        };
        plan.changes.iter().map(splice).collect()
    }

    /// Where the given tokens of the old text are in the file. For an insertion, the range of tokens is empty, and so is
    /// the result. Folding can remove the indentation of a line, so its range is derived from the words after it.
    fn file_range(&self, old: &[Token], tokens: &Range<usize>) -> Range<usize> {
        let begin = old.get(tokens.start).map_or(usize::MAX, |token| token.range.start);
        let end = match tokens.is_empty() {
            true => begin,
            false => old[tokens.end - 1].range.end,
        };
        let first = self.counterpart(self.old_spans.partition_point(|span| span.start() < begin));
        let last = self.counterpart(self.old_spans.partition_point(|span| span.end() <= end)).max(first);
        let kind = |at: Option<usize>| at.and_then(|at| old.get(at)).map(|token| token.kind);
        let before = kind(tokens.start.checked_sub(1));
        let begins_line = matches!(before, None | Some(Kind::Break));
        let has_counterpart = first < last;
        let start = if begins_line {
            // The range begins before the indentation.
            self.line_start(first)
        } else if has_counterpart {
            // The range begins with the counterpart of the first token.
            self.file_spans[first].start()
        } else if before == Some(Kind::Indent) {
            // An insertion between the indentation and the words after it.
            self.start(first)
        } else {
            // An insertion directly after the text above or to the left.
            self.end_before(first)
        };
        let ends_indent = !tokens.is_empty() && kind(Some(tokens.end - 1)) == Some(Kind::Indent);
        let end = if ends_indent {
            // The range ends with the indentation, before the words after it.
            self.start(last)
        } else if has_counterpart {
            // The range ends with the counterpart of the last token.
            self.end_before(last)
        } else {
            // An insertion.
            start
        };
        start..end.max(start)
    }

    /// The index in `file_spans` of a folded byte of the old text, or of the nearest byte that has a counterpart.
    fn counterpart(&self, old: usize) -> usize {
        old.clamp(self.aligned.start, self.aligned.end) - self.aligned.start
    }

    /// Where the folded byte `at` begins, or where the match ends.
    fn start(&self, at: usize) -> usize {
        self.file_spans.get(at).map_or(self.range().end, |span| span.start())
    }

    /// Where the folded byte before `at` ends.
    fn end_before(&self, at: usize) -> usize {
        at.checked_sub(1).map_or(self.range().start, |before| self.file_spans[before].end())
    }

    /// Where the line of the folded byte `at` begins, if only indentation is before the byte.
    fn line_start(&self, at: usize) -> usize {
        let start = self.start(at);
        let before = &self.text[..start];
        match at < self.file_spans.len() && is_at_line_start(before) {
            true => before.trim_end_matches(is_space).len(),
            false => start,
        }
    }

    /// The indentation in the old text and in the file, for each line that both have.
    fn indents<'b>(&self, old: &[Token<'b>]) -> Vec<(&'b str, &'b str)>
    where
        'a: 'b,
    {
        let starts = old.windows(2).filter(|pair| pair[0].kind == Kind::Indent && pair[1].kind == Kind::Word);
        let pair = |pair: &[Token<'b>]| {
            let at = self.old_spans.partition_point(|span| span.start() < pair[1].range.start);
            let at = self.aligned.contains(&at).then(|| self.file_spans[at - self.aligned.start].start())?;
            let line = self.text[..at].trim_end_matches(is_space).len();
            is_at_line_start(&self.text[..at]).then(|| (pair[0].text, &self.text[line..at]))
        };
        starts.filter_map(pair).collect()
    }
}

/// Renders tokens of the new text with the file's indentation and line endings.
fn render(
    new: &[Token],
    tokens: &Range<usize>,
    indents: &Indents,
    ending: &str,
) -> Result<String, UnclearIndent> {
    let mut text = String::new();
    for at in tokens.clone() {
        let token = &new[at];
        match token.kind {
            Kind::Break => text.push_str(ending),
            Kind::Indent
                if new.get(at + 1).is_none_or(|next| matches!(next.kind, Kind::Break | Kind::Tail)) => {}
            Kind::Tail if at == 0 || new[at - 1].kind == Kind::Indent => {}
            Kind::Indent => text.push_str(&indents.map(token.text).ok_or(UnclearIndent)?),
            Kind::Space | Kind::Tail | Kind::Word => match token.text.split_once('\n') {
                Some((before, indent)) => {
                    // Two spaces before a line ending are a hard break in Markdown. One space is a mistake.
                    text.push_str(if before.starts_with("  ") { "  " } else { "" });
                    text.push_str(ending);
                    text.push_str(&indents.map(indent).ok_or(UnclearIndent)?);
                }
                None => text.push_str(token.text),
            },
        }
    }
    Ok(text)
}
