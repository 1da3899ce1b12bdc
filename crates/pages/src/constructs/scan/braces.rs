//! Scans braces: expressions, attribute lists and template marks.

use super::super::{ConstructKind, Enclosure, braces};
use super::Scanner;

/// After so many template marks that don't close, no braces are read.
const MAX_UNCLOSED_TEMPLATES: usize = 100;

impl<'a> Scanner<'a> {
    pub(super) fn scan_brace(&mut self, at: usize) -> usize {
        if self.has_unclosed_brace
            || self.unclosed_templates > MAX_UNCLOSED_TEMPLATES
            || self.brace_overlaps.is_full_at(at)
        {
            self.push_unknown("{", at..at + 1);
            return at + 1;
        }
        let (kind, end) = braces::read_at(self.file, at, self.is_mdx());
        if self.file[at..].starts_with("{::comment}") && at >= self.enclosed_end {
            let length = self.file[end..].find("{:/").unwrap_or(0);
            self.enclose(end..end + length, Enclosure::Comment);
        }
        let Some(kind) = kind else { return end };
        if let Some(token) = braces::joined_token(self.file, at, end) {
            self.push_unknown(token, at..end);
        }
        self.unclosed_templates += usize::from(!self.file[at..end].ends_with('}'));
        match kind {
            ConstructKind::Template(_) | ConstructKind::Component(_) => self.scan_template(kind, at, end),
            kind => self.push_braces(kind, at, end),
        }
    }

    /// A template mark. Some begin or end a block in which templates are not filled in.
    fn scan_template(&mut self, kind: ConstructKind, at: usize, end: usize) -> usize {
        match braces::first_word(&self.file[at..end]) {
            word @ ("raw" | "verbatim" | "comment") => {
                self.push(kind, at..end);
                // Another such mark inside ends with the first one.
                let is_first = at >= self.enclosed_end;
                let length = is_first.then(|| self.template_end(end, word)).flatten();
                self.is_raw |= word != "comment" && length.is_some();
                self.enclose(at..end + length.unwrap_or(0), Enclosure::Template);
                return self.mask(at..end);
            }
            "endraw" | "endverbatim" => self.is_raw = false,
            _ if self.is_raw || self.raw_element.is_some() => {
                self.literal_templates.insert(at);
                return self.mask(at..end);
            }
            _ => {}
        }
        self.push_braces(kind, at, end)
    }

    fn push_braces(&mut self, kind: ConstructKind, at: usize, end: usize) -> usize {
        self.has_unclosed_brace |= matches!(kind, ConstructKind::Unknown(_));
        let is_whole = matches!(
            kind,
            ConstructKind::Attributes(_) | ConstructKind::Component(_) | ConstructKind::Directive { .. }
        );
        let is_double = self.file[at..].starts_with("{{") || self.file[at..].starts_with("{%");
        let marks = if is_double { 2 } else { 1 };
        self.push(kind, at..end);
        // To a renderer without braces or templates, the content is text.
        if !is_whole {
            self.brace_overlaps.push(end);
            self.enclose(at..end, Enclosure::Braces);
            self.mask(end.saturating_sub(marks).max(at)..end);
            return self.mask(at..at + marks);
        }
        self.mask(at..end)
    }

    /// The distance from `from` to the end of a template block.
    fn template_end(&mut self, from: usize, word: &'a str) -> Option<usize> {
        if self.endless_templates.contains(word) {
            return None;
        }
        let length = self.file[from..].find(&format!("end{word}"));
        if length.is_none() {
            self.endless_templates.insert(word);
        }
        length
    }
}
