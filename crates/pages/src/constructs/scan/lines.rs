//! Scans one line: updates the block state, reports what depends on the whole line, and reads what begins on it.

use std::ops::Range;

use super::super::statements::is_statement;
use super::super::{ConstructKind, code, myst};
use super::Scanner;
use super::paragraph::{is_below_text, line_above};
use crate::script;

/// A line of the page, with its line end.
#[derive(Clone, Copy)]
pub(super) struct Line<'a> {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) text: &'a str,
}

impl Line<'_> {
    pub(super) fn span(&self) -> Range<usize> {
        self.start..self.end
    }
}

impl<'a> Scanner<'a> {
    /// Scans the line at `at`, and what begins on it and ends further down. Returns where to continue.
    pub(super) fn scan_line(&mut self, at: usize) -> usize {
        let file = self.file;
        let end = file[at..].find('\n').map_or(file.len(), |length| at + length + 1);
        let line = Line { start: at, end, text: &file[at..end] };
        let fence_may_be_text = self.enter_line(&line);
        let reading = self.determine_reading(at, line.text);
        self.line_readings.push((at, reading));
        self.report_split_links(&line);
        self.enclose_formula_block(at, line.text);
        self.report_encoded_braces(&line);
        self.report_code_in_attributes(at, line.text);
        self.enclose_link_attributes(at, line.text);
        let begins_block = self.leave_blocks(&line);
        self.scan_content(&line, begins_block, fence_may_be_text)
    }

    /// Reads the content of a line, by what it begins with.
    fn scan_content(&mut self, line: &Line<'a>, begins_block: bool, fence_may_be_text: bool) -> usize {
        if self.closing_fences.remove(&line.start) {
            return self.mask(line.span());
        }
        if let Some(info) = myst::colon_fence(line.text) {
            self.scan_colon_directive(info, line.span());
        }
        if let Some(info) = code::fence_info(line.text) {
            return self.scan_fence_line(line, info, fence_may_be_text);
        }
        if self.may_be_mdx_statement(line, begins_block) || is_statement(line.text) {
            return self.scan_statement(line.start, begins_block);
        }
        // VitePress includes a file here, whatever tags the rest of the line contains.
        if line.text.trim_start_matches([' ', '\t', '>', '-', '*']).starts_with("<<<") {
            self.push_unknown(line.text.trim(), line.span());
        }
        self.scan_inline(line.start, line.end)
    }

    fn may_be_mdx_statement(&self, line: &Line<'_>, begins_block: bool) -> bool {
        (begins_block || !is_below_text(self.file, line.start))
            && self.is_mdx()
            && ["import", "export"].iter().any(|word| {
                line.text.strip_prefix(word).is_some_and(|rest| rest.starts_with(char::is_whitespace))
            })
    }

    /// In MDX a statement begins a block. In other formats, the same words are text.
    fn scan_statement(&mut self, at: usize, begins_block: bool) -> usize {
        let file = self.file;
        // A statement without an end is an error in MDX. In other formats, the paragraph is text.
        let end = (!self.has_unclosed_statement).then(|| script::statement_end(file, at)).flatten();
        self.has_unclosed_statement |= end.is_none();
        let paragraph_end = || file[at..].find("\n\n").map_or(file.len(), |length| at + length + 1);
        let end = end.unwrap_or_else(paragraph_end);
        let text = file[at..end].trim().to_owned();
        // Below text it continues the paragraph. Below another line, such as a list item, some renderers read a
        // statement and others text. The line above decides, so it is part of the construct.
        let kind = match begins_block {
            true => ConstructKind::Esm(text),
            false if is_below_text(file, at) => ConstructKind::Unknown(text),
            false => ConstructKind::Unknown(format!("{}\n{text}", line_above(file, at))),
        };
        self.push(kind, at..end);
        self.begins_block = true;
        self.mask(at..end)
    }
}
