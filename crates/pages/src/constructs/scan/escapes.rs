//! Scans backslashes. Some renderers don't treat them as escapes.

use super::super::formulas::has_active_command;
use super::super::tags::{self, MIN_TAG_BYTES};
use super::super::{Ambiguity, Construct, ConstructKind, Reading};
use super::{MAX_QUOTED_BYTES, Scanner};

impl<'a> Scanner<'a> {
    pub(super) fn scan_escape(&mut self, at: usize) -> usize {
        let next = self.file[at + 1..].chars().next();
        // Docusaurus removes a comment together with the character after it.
        if self.file[..at].ends_with("-->") {
            return at + 1;
        }
        self.report_escaped_braces(at);
        self.report_active_command(at);
        // In HTML that continues over empty lines, a backslash has no meaning.
        if next == Some('<') && self.open_elements > 0 {
            return at + 1;
        }
        let is_uncertain = matches!(self.line_reading(), Reading::Ambiguous(Ambiguity::UncertainSpan(_)));
        if next == Some('<') && (!self.is_mdx() || is_uncertain) {
            self.scan_escaped_tag(at);
        }
        at + 1 + next.map_or(0, char::len_utf8)
    }

    /// The rest of the line from `at` on, up to a limit.
    fn line_from(&self, at: usize) -> &'a str {
        let near = &self.file[at..self.file.floor_char_boundary(at + MAX_QUOTED_BYTES)];
        near.lines().next().unwrap_or_default()
    }

    /// Markdown turns `\{\{ a \}\}` into braces, which Vue fills in.
    fn report_escaped_braces(&mut self, at: usize) {
        if self.is_mdx() || !self.file[at..].starts_with("\\{") || self.file[..at].ends_with('{') {
            return;
        }
        let plain = self.line_from(at).replace('\\', "");
        if let Some(text) = plain.split_inclusive("}}").next().filter(|text| text.starts_with("{{")) {
            let kind = ConstructKind::TemplateInCode { text: text.to_owned(), is_fenced: false };
            self.push(kind, at..at + 1);
        }
    }

    fn report_active_command(&mut self, at: usize) {
        let line = self.line_from(at);
        let command = &line[..line.len().min(line[1..].find('\\').map_or(line.len(), |next| next + 1))];
        if has_active_command(command) {
            self.push_unknown(line, at..at + line.len());
        }
    }

    /// Python-Markdown doesn't recognize a backslash before an angle bracket.
    fn scan_escaped_tag(&mut self, at: usize) {
        // The content of such a tag is also read as text, and can contain the next one.
        let tag = match self.escaped_tag_overlaps.is_full_at(at) {
            true => Some((ConstructKind::Unknown("<".to_owned()), at + 2)),
            false => tags::read_at(self.file, at + 1, MIN_TAG_BYTES),
        };
        if let Some((kind, end)) = tag {
            self.escaped_tag_overlaps.push(end);
            let reading = match self.line_reading() {
                Reading::Ambiguous(
                    ambiguity @ (Ambiguity::UncertainSpan(_) | Ambiguity::UncertainFence(_)),
                ) => Reading::Ambiguous(ambiguity),
                _ => Reading::Ambiguous(Ambiguity::Escaped),
            };
            self.found.push(Construct { kind, span: at..end, reading });
        }
    }
}
