//! Scans the content of a line: code spans, entities and formulas. Other modules scan tags, braces and escapes.

use std::ops::Range;

use super::super::formulas::{has_active_command, has_only_formula_braces, looks_like_formula};
use super::super::{ConstructKind, code, entities};
use super::Scanner;
use crate::kind::FileKind;

/// Longer formulas are read as text, so that a file full of dollar signs stays cheap to read.
const MAX_FORMULA_BYTES: usize = 4 * 1024;

impl Scanner<'_> {
    /// Scans from `start` to `end` of a line, and what begins there and ends further down. Returns where to continue.
    pub(super) fn scan_inline(&mut self, start: usize, end: usize) -> usize {
        let spans = self.certain_spans(start, end);
        let mut at = start;
        while at < end {
            let Some(found) = self.file[at..end].find(['`', '<', '{', '\\', '&', '$']) else { break };
            at += found;
            let span =
                spans.binary_search_by_key(&at, |span| start + span.start).ok().map(|index| &spans[index]);
            at = match self.file.as_bytes()[at] {
                b'`' => match span {
                    Some(span) => self.scan_span(start + span.start..start + span.end),
                    // Some renderers see no code here, so what follows is read as text.
                    None => self.mask(at..at + 1),
                },
                b'<' => self.scan_tag(at),
                b'{' => self.scan_brace(at),
                b'&' => self.scan_entity(at),
                b'$' => self.scan_formula(at),
                _ => self.scan_escape(at),
            };
        }
        at.max(end)
    }

    /// The code spans that all renderers recognize.
    fn certain_spans(&self, start: usize, end: usize) -> Vec<Range<usize>> {
        let line = &self.file[start..end];
        let is_uncertain = self.has_uncertain_fence
            || !self.has_certain_spans(start, line)
            || self.open_elements > 0 && !self.is_mdx();
        if is_uncertain { Vec::new() } else { code::code_spans(line, self.paragraph.is_table) }
    }

    /// A code span. Some generators run it.
    fn scan_span(&mut self, span: Range<usize>) -> usize {
        let inside = self.file[span.clone()].trim_matches('`');
        let runs =
            self.kind == Some(FileKind::Quarto) && (inside.starts_with(['{']) || inside.starts_with("r "));
        // GitLab reads `$`…`$` as a formula. A role can also make a formula of it.
        let is_formula = self.file[..span.start].ends_with(['$', '}', ':']);
        if runs
            || is_formula && has_active_command(inside)
            || inside.starts_with("$=")
            || inside.starts_with("= ")
        {
            self.push_unknown(&self.file[span.clone()], span.clone());
        }
        self.mask(span)
    }

    /// A character reference. Reported if a reader doesn't see the character.
    fn scan_entity(&mut self, at: usize) -> usize {
        let rest = &self.file[at..];
        let length = rest[1..]
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '#')
            .map_or(rest.len(), |end| end + 1);
        let is_entity = rest[length..].starts_with(';') && length > 2;
        let is_open_number = rest.starts_with("&#");
        if (is_entity || is_open_number) && !entities::is_visible(&rest[1..length]) {
            self.push_unknown(&rest[..length], at..at + length);
        }
        at + 1
    }

    /// A formula. Its braces would be code in MDX without a plugin.
    fn scan_formula(&mut self, at: usize) -> usize {
        let rest = &self.file[at..];
        let mark = if rest.starts_with("$$") { "$$" } else { "$" };
        let inside = &rest[mark.len()..rest.floor_char_boundary(MAX_FORMULA_BYTES).max(mark.len())];
        let start = at + mark.len();
        let limit = match mark {
            "$$" => self.paragraph_end.find(self.file, start, |rest| rest.find("\n\n")) - start,
            _ => inside.find('\n').unwrap_or(inside.len()),
        };
        let Some(end) = inside[..limit.min(inside.len())].find(mark).filter(|end| *end > 0) else {
            return start;
        };
        let formula = &inside[..end];
        let is_formula = match formula.contains('{') {
            true => has_only_formula_braces(formula),
            false => looks_like_formula(formula),
        };
        if !is_formula || has_active_command(formula) {
            return start;
        }
        let end = at + end + 2 * mark.len();
        self.push(ConstructKind::Math(formula.to_owned()), at..end);
        self.mask(at..end)
    }
}
