//! Brings the change from old to new onto the place in the file, which differs from old in what was folded
//! away. What the change leaves alone keeps the file's own characters.

use std::ops::Range;

use super::change::{Change, Kind, Token, changes, tokens};
use super::find::at_line_start;
use super::fold::{Folded, Span};
use super::indent::Indents;
use super::lines::is_space;

/// The old and new text, cut up and compared. The same for every place.
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

/// A place in the file, and which folded byte of the old text is which of the file.
pub(super) struct Place<'a> {
    text: &'a str,
    /// Of the old text; those in `aligned` have a partner in the file.
    old: &'a [Span],
    aligned: Range<usize>,
    /// The partners.
    file: &'a [Span],
    /// The folded byte of the file after the last partner.
    pub end: usize,
}

/// Lines were added whose indentation the place does not tell.
#[derive(Debug)]
pub(super) struct UnclearIndent;

/// Some bytes of the file, and what comes in their place.
pub(super) type Splice = (Range<usize>, String);

impl<'a> Place<'a> {
    /// The old text's `core` stands at `at` in the file. Line endings around it are taken along where both
    /// have them, but none before the folded byte `from`.
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
        Self { text, old: &old.spans, aligned, file: &file.spans[at - before..end], end }
    }

    /// The old text without the line endings around it that the file has not, and the new one without as many.
    pub(super) fn without_surplus<'b>(&self, old: &'b str, mut new: &'b str) -> (&'b str, &'b str) {
        for _ in 0..self.aligned.start {
            let rest = new.trim_start_matches(is_space);
            new = rest.strip_prefix('\n').or_else(|| rest.strip_prefix("\r\n")).unwrap_or(new);
        }
        for _ in self.aligned.end..self.old.len() {
            let rest = new.trim_end_matches(is_space);
            new = rest.strip_suffix("\r\n").or_else(|| rest.strip_suffix('\n')).unwrap_or(new);
        }
        let start = self.aligned.start.checked_sub(1).map_or(0, |before| self.old[before].end());
        let end = self.old.get(self.aligned.end).map_or(old.len(), |after| after.start());
        (&old[start..end], new)
    }

    fn range(&self) -> Range<usize> {
        self.file[0].start()..self.file[self.file.len() - 1].end()
    }

    pub(super) fn splices(&self, plan: &Plan, ending: &str) -> Result<Vec<Splice>, UnclearIndent> {
        let indents = Indents::new(self.indents(&plan.old));
        let splice = |change: &Change| {
            let range = self.file_range(&plan.old, &change.old);
            let text = written(&plan.new, &change.new, &indents, ending)?;
            Ok((range, text))
        };
        plan.changes.iter().map(splice).collect()
    }

    /// The file's bytes that answer to some tokens of the old text. Indentation counts with the words after it.
    fn file_range(&self, old: &[Token], tokens: &Range<usize>) -> Range<usize> {
        let begin = old.get(tokens.start).map_or(usize::MAX, |token| token.range.start);
        let end = match tokens.is_empty() {
            true => begin,
            false => old[tokens.end - 1].range.end,
        };
        let first = self.partner(self.old.partition_point(|span| span.start() < begin));
        let last = self.partner(self.old.partition_point(|span| span.end() <= end)).max(first);
        let kind = |at: Option<usize>| at.and_then(|at| old.get(at)).map(|token| token.kind);
        let before = kind(tokens.start.checked_sub(1));
        let begins_line = matches!(before, None | Some(Kind::Break));
        let start = match first < last {
            _ if begins_line => self.line_start(first),
            true => self.file[first].start(),
            false if before == Some(Kind::Indent) => self.start(first),
            false => self.end(first),
        };
        let ends_indent = !tokens.is_empty() && kind(Some(tokens.end - 1)) == Some(Kind::Indent);
        let end = match first < last {
            _ if ends_indent => self.start(last),
            true => self.end(last),
            false => start,
        };
        start..end.max(start)
    }

    /// The index in `file` of a folded byte of the old text, or of the nearest that has one.
    fn partner(&self, old: usize) -> usize {
        old.clamp(self.aligned.start, self.aligned.end) - self.aligned.start
    }

    /// Where the folded byte `at` begins, or the place ends.
    fn start(&self, at: usize) -> usize {
        self.file.get(at).map_or(self.range().end, |span| span.start())
    }

    /// Where the folded byte before `at` ends.
    fn end(&self, at: usize) -> usize {
        at.checked_sub(1).map_or(self.range().start, |before| self.file[before].end())
    }

    /// Where the line of the folded byte `at` begins, when only indentation is before it.
    fn line_start(&self, at: usize) -> usize {
        let start = self.start(at);
        let before = &self.text[..start];
        match at < self.file.len() && at_line_start(before) {
            true => before.trim_end_matches(is_space).len(),
            false => start,
        }
    }

    /// For each line of the old text that is a line of the file too: the indentation of both.
    fn indents<'b>(&self, old: &[Token<'b>]) -> Vec<(&'b str, &'b str)>
    where
        'a: 'b,
    {
        let starts = old.windows(2).filter(|pair| pair[0].kind == Kind::Indent && pair[1].kind == Kind::Word);
        let pair = |pair: &[Token<'b>]| {
            let at = self.old.partition_point(|span| span.start() < pair[1].range.start);
            let at = self.aligned.contains(&at).then(|| self.file[at - self.aligned.start].start())?;
            let line = self.text[..at].trim_end_matches(is_space).len();
            at_line_start(&self.text[..at]).then(|| (pair[0].text, &self.text[line..at]))
        };
        starts.filter_map(pair).collect()
    }
}

/// Tokens of the new text as the file would have them.
fn written(
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
            Kind::Indent => text.push_str(&indents.of(token.text).ok_or(UnclearIndent)?),
            Kind::Space | Kind::Tail | Kind::Word => match token.text.split_once('\n') {
                Some((before, indent)) => {
                    // Two spaces before a line ending mean something, one is a slip.
                    text.push_str(if before.starts_with("  ") { "  " } else { "" });
                    text.push_str(ending);
                    text.push_str(&indents.of(indent).ok_or(UnclearIndent)?);
                }
                None => text.push_str(token.text),
            },
        }
    }
    Ok(text)
}
