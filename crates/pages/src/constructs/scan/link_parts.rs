//! Reports links whose parts renderers read differently, and records the ranges that become attributes.

use super::super::{ConstructKind, Enclosure, code};
use super::Scanner;
use super::lines::Line;

/// Titles and descriptions are not searched for in a longer line.
const MAX_TITLES_BYTES: usize = 64 * 1024;

impl Scanner<'_> {
    /// A description or a title can continue over several lines.
    pub(super) fn report_split_links(&mut self, line: &Line<'_>) {
        let text = line.text;
        let is_fence = code::fence_info(text).is_some();
        let is_uncertain = text.contains('`') && !is_fence && code::code_spans(text, false).is_empty();
        if (is_uncertain || self.has_uncertain_code) && (text.contains("![") || text.contains("`](")) {
            self.push_unknown(text.trim(), line.span());
        }
        let is_open = text.rfind("](").is_some_and(|open| !text[open..].contains(')'));
        if is_open
            && (text.contains("![") || self.paragraph.has_code_and_quotes)
            && self.paragraph.end > line.end
        {
            // The whole paragraph is part of it, as a hash: one paragraph can have many of them.
            let unknown = format!("{} {:x}", text.trim(), self.paragraph.text_hash);
            self.push_unknown(unknown, line.span());
        }
        self.has_uncertain_code |= is_uncertain || is_open;
    }

    /// Some renderers write the address of a link into its text, where Vue fills in braces.
    pub(super) fn report_encoded_braces(&mut self, line: &Line<'_>) {
        let has_braces = line.text.contains('%') && line.text.to_ascii_lowercase().contains("%7b%7b");
        if has_braces && !self.is_mdx() {
            let kind = ConstructKind::TemplateInCode { text: "{{".to_owned(), is_fenced: false };
            self.push(kind, line.span());
        }
    }

    /// Renderers read backticks in an attribute differently, and some don't escape quotes in code.
    pub(super) fn report_code_in_attributes(&mut self, at: usize, line: &str) {
        if line.len() > MAX_TITLES_BYTES || !line.contains('`') {
            return;
        }
        let mut from = 0;
        while let Some(start) = line[from..].find("](").map(|start| from + start) {
            let end = line[start..].find(')').map_or(line.len(), |length| start + length);
            let first = line[from..start].rfind("![").map_or(start, |image| from + image);
            let description = &line[first..start];
            if line[start..end].contains('`') || description.contains('`') && description.contains(['"', '<'])
            {
                self.push_unknown(&line[first..end], at + first..at + end);
            }
            from = end;
        }
    }

    /// Addresses, titles, descriptions of images, and definitions of labels become attributes. They are not text.
    pub(super) fn enclose_link_attributes(&mut self, at: usize, line: &str) {
        if at < self.enclosed_end || line.len() > MAX_TITLES_BYTES {
            return;
        }
        if self.enclose_definition(at, line) {
            return;
        }
        let mut from = 0;
        while let Some(start) = line[from..].find("](").map(|start| from + start) {
            let Some(length) = line[start..].find(')') else { return };
            // The description of an image is an attribute too, and so is an image in it.
            let text = line[from..start].rfind(']').map_or(from, |end| from + end + 1);
            let first = line[text..start].find("![").map_or(start, |image| text + image);
            let by = attribute(line, is_address(&line[start + 2..start + length]));
            self.enclose(at + first..at + start + length, by);
            from = start + length;
        }
    }

    fn enclose_definition(&mut self, at: usize, line: &str) -> bool {
        let content = line.trim_start_matches([' ', '\t', '>']);
        let label = content.strip_prefix('[').and_then(|label| label.split_once("]:"));
        let is_definition = label.is_some_and(|(label, _)| !label.starts_with('^') && !label.contains('['));
        let Some(start) = is_definition.then(|| line.find("]:")).flatten() else { return false };
        let is_plain = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_' | '.' | ':' | '/' | '`');
        let is_certain = label.is_some_and(|(label, rest)| label.chars().all(is_plain) && is_address(rest));
        self.enclose(at + start..at + line.len(), attribute(line, is_certain));
        true
    }
}

fn attribute(line: &str, is_certain: bool) -> Enclosure {
    match is_certain {
        true => Enclosure::Attribute,
        false => Enclosure::UncertainAttribute(code::hash_text(line.trim_end())),
    }
}

/// Whether a text is an address and perhaps a title, to every renderer that fills in the variable it can begin with.
fn is_address(text: &str) -> bool {
    let variable = text.strip_prefix("{{").and_then(|rest| rest.split_once("}}"));
    let is_plain = |c: char| c.is_alphanumeric() || " ._-/|:'\"".contains(c);
    let text = variable.filter(|(name, _)| name.chars().all(is_plain)).map_or(text, |(_, rest)| rest);
    let (address, title) = text.trim().split_once([' ', '\t']).unwrap_or((text.trim(), "\"\""));
    let title = title.trim().strip_prefix('"').and_then(|title| title.strip_suffix('"'));
    !address.is_empty()
        && !address.contains(['<', '\\', '{', '"', '(', ')'])
        && title.is_some_and(|title| !title.contains(['"', '\\']))
}
