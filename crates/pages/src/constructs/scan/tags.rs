//! Scans tags and comments, and follows the elements that are open.

use std::collections::HashMap;
use std::ops::Range;

use super::super::{
    Ambiguity, Attribute, Construct, ConstructKind, Element, Enclosure, Reading, Value, code, columns, tags,
};
use super::paragraph::{ends_paragraph, is_container_end};
use super::{MAX_NESTED, MAX_QUOTED_BYTES, Scanner};

impl<'a> Scanner<'a> {
    pub(super) fn scan_tag(&mut self, at: usize) -> usize {
        if self.is_destination(at) {
            return at + 1;
        }
        if let Some(end) = self.scan_spaced_tag(at) {
            return end;
        }
        let rest = &self.file[at + 1..];
        if rest.starts_with("!--") && (self.has_unclosed_comment || !rest.contains("-->")) {
            return self.scan_unclosed_comment(at);
        }
        let Some((kind, end)) = self.read_tag(at) else {
            self.unreadable_tags += 1;
            return at + 1;
        };
        self.count_element(&kind, at..end);
        if matches!(kind, ConstructKind::Comment(_)) {
            return self.push_comment(kind, at..end);
        }
        match self.is_nested_script(&kind, at) {
            true => {
                let reading = Reading::Ambiguous(Ambiguity::Nested);
                self.found.push(Construct { kind, span: at..end, reading });
            }
            false => self.push(kind, at..end),
        }
        self.mask(at..end)
    }

    /// MDX allows a blank before the name of a tag, and some blanks are invisible.
    fn scan_spaced_tag(&mut self, at: usize) -> Option<usize> {
        let rest = &self.file[at + 1..];
        let name = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        let is_spaced =
            name.len() < rest.len() && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
        if !is_spaced || !self.is_mdx() && rest.starts_with([' ', '\n', '\t']) {
            return None;
        }
        let line_end = rest.find('\n').map_or(self.file.len(), |end| at + 1 + end);
        self.push_unknown(&self.file[at..line_end], at..line_end);
        Some(self.mask(at..line_end))
    }

    /// Reads the tag at `at`, with its content if that is not text.
    fn read_tag(&mut self, at: usize) -> Option<(ConstructKind, usize)> {
        let limit = tags::max_tag_bytes(self.unreadable_tags);
        let (mut kind, end) = tags::read_at(self.file, at, limit)?;
        let mut end = self.without_unclosed_content(&mut kind, at, end);
        self.unreadable_tags += usize::from(matches!(kind, ConstructKind::Unknown(_)));
        if let ConstructKind::Unknown(text) = &kind {
            let end = (at + text.len()).min(self.file.len());
            self.enclose(at..end, Enclosure::Attribute);
        }
        let name = &self.file[at + 1..end];
        let name = &name[..name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len())];
        if self.raw_components.contains(name) {
            (kind, end) = tags::with_raw_content(self.file, (kind, end));
        }
        // The markers of a quote are not part of a tag.
        let is_quote = self.text_start < at && self.file[self.text_start..].starts_with('>');
        if is_quote && self.file[at..end].contains('\n') {
            kind = ConstructKind::Unknown(self.file[at..end].to_owned());
        }
        Some((kind, end))
    }

    /// An element that can be code, such as `<script>` in backticks, contains the whole rest if it has no end. The rest
    /// is then read as text, and is no part of the element.
    fn without_unclosed_content(&mut self, kind: &mut ConstructKind, at: usize, end: usize) -> usize {
        let is_ambiguous = matches!(self.reading_of(at), Reading::Ambiguous(_));
        match kind {
            ConstructKind::Html(element)
                if is_ambiguous && end == self.file.len() && self.unclosed_contents < MAX_NESTED =>
            {
                // Each costs a search to the end.
                self.unclosed_contents += 1;
                match element.attributes.last_mut() {
                    Some(Attribute { name, value: Value::Expression(content) }) if name.is_empty() => {
                        end - std::mem::take(content).len()
                    }
                    _ => end,
                }
            }
            _ => end,
        }
    }

    /// MDX has no such comments. In a formula or in the title of a link, a comment begins nothing.
    fn push_comment(&mut self, kind: ConstructKind, span: Range<usize>) -> usize {
        let Range { start, end } = span;
        self.push(kind, start..end);
        let is_escaped = self.file[..start].ends_with('\\') || self.is_cut_comment(start..end);
        self.enclose(start..end, if is_escaped { Enclosure::EscapedComment } else { Enclosure::Comment });
        self.mask(end - 3..end);
        self.mask(start..start + 4)
    }

    /// Whether some renderer ends a comment early. Inside a line, a comment doesn't continue over empty lines. In a list, a
    /// quote or a container, it ends with that block.
    fn is_cut_comment(&self, comment: Range<usize>) -> bool {
        let start = comment.start;
        let (before, inside) = (&self.file[self.text_start.min(start)..start], &self.file[comment]);
        let is_in_block = before.starts_with('>') || code::is_list_item(before);
        let line = &self.file[self.file[..start].rfind('\n').map_or(0, |end| end + 1)..];
        (is_in_block || before.contains('`') || columns(line, 4) >= 4) && inside.contains('\n')
            || !before.is_empty() && inside.lines().skip(1).any(ends_paragraph)
            || self.open_containers > 0 && inside.lines().any(|line| is_container_end(line.trim()))
    }

    /// A comment without an end. Some renderers take the whole rest for the comment, others for text.
    fn scan_unclosed_comment(&mut self, at: usize) -> usize {
        if !self.has_unclosed_comment {
            self.enclose(at..self.file.len(), Enclosure::Comment);
        }
        self.has_unclosed_comment = true;
        let near = &self.file[at..self.file.floor_char_boundary(at + MAX_QUOTED_BYTES)];
        self.push_unknown(near.lines().next().unwrap_or_default(), at..at + 4);
        self.mask(at..at + 4)
    }

    /// Vue takes a script out of the page wherever it is, unless it is in another element.
    fn is_nested_script(&self, kind: &ConstructKind, at: usize) -> bool {
        let begins_block = self.text_start >= at && self.is_below_blank;
        self.line_reading() == Reading::Conservative
            && !begins_block
            && self.open_elements > 0
            && matches!(kind, ConstructKind::Html(element) if matches!(element.name.as_str(), "script" | "style"))
    }

    /// Whether an angle bracket begins the destination of a link.
    fn is_destination(&mut self, at: usize) -> bool {
        let before = self.file[..at].trim_end_matches([' ', '\t']);
        let label = before.strip_suffix("]:").and_then(|before| {
            let open = self.label_start.find(self.file, before.len(), |part| part.rfind('['))?;
            Some(&before[open..])
        });
        let is_definition = label.is_some_and(|label| !label.starts_with("[^"));
        if !before.ends_with("](") && !is_definition {
            return false;
        }
        // The brackets can contain anything except what an attribute is written with.
        let end = self.destination_end.find(self.file, at, |rest| rest.find(['>', '\n', '=', '"', '\'']));
        self.file.as_bytes().get(end) == Some(&b'>')
    }

    fn count_element(&mut self, kind: &ConstructKind, span: Range<usize>) {
        let (ConstructKind::Html(element) | ConstructKind::Component(element)) = kind else { return };
        let is_void =
            matches!(element.name.as_str(), "br" | "hr" | "img" | "input" | "wbr" | "col" | "source");
        if element.is_closing {
            self.open_elements = self.open_elements.saturating_sub(1);
            // The first closing tag of its name: others don't always close what they seem to.
            self.raw_element.take_if(|name| *name == element.name);
        } else if !is_void && !self.file[span.clone()].ends_with("/>") {
            self.open_elements += 1;
            if self.is_raw_element(element, span) && self.raw_element.is_none() {
                self.raw_element = Some(element.name.clone());
            }
        }
    }

    fn is_raw_element(&self, element: &Element, span: Range<usize>) -> bool {
        let begins_line = self.text_start >= span.start;
        begins_line
            && element.attributes.iter().any(|attribute| attribute.name == "v-pre")
            && self.is_closed_after(span.end, &element.name)
    }

    /// Whether a closing tag of this name is at or after `offset`.
    fn is_closed_after(&self, offset: usize, name: &str) -> bool {
        let closing = self.closing_tags.get_or_init(|| last_closing_tags(self.file));
        closing.get(name).is_some_and(|last| *last >= offset)
    }
}

/// The offset of the last closing tag of each name.
fn last_closing_tags(file: &str) -> HashMap<&str, usize> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    let tags = file.match_indices("</").filter_map(|(at, _)| {
        let rest = &file[at + 2..];
        let name = &rest[..rest.find(|c| !is_plain(c))?];
        rest[name.len()..].starts_with('>').then_some((name, at))
    });
    tags.collect()
}
