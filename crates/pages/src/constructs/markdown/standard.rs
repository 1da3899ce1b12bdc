//! Reads Markdown by the standard: CommonMark with GitHub's extensions, and HTML as it is written.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag};

use super::super::{Ambiguity, Construct, ConstructKind, Reading, info, myst, tags};
use super::events::{construct, definition_kind};
use crate::commonmark;

pub(super) fn read_standard(text: &str, body: usize) -> Vec<Construct> {
    let mut reader = Reader { text, ..Reader::default() };
    let mut parser = Parser::new_ext(&text[body..], commonmark::options()).into_offset_iter();
    for (event, range) in parser.by_ref() {
        reader.read(event, body + range.start..body + range.end);
    }
    let mut found = reader.found;
    let definitions = parser.reference_definitions().iter();
    found.extend(definitions.map(|(_, definition)| {
        let span = body + definition.span.start..body + definition.span.end;
        Construct::standard(definition_kind(&definition.dest, definition.title.as_deref()), span)
    }));
    found.iter_mut().for_each(info::clear_plain_code);
    found
}

#[derive(Default)]
struct Reader<'t> {
    text: &'t str,
    found: Vec<Construct>,
    /// The name of an open element whose content is not text, and the number of constructs before its content.
    raw_element: Option<(String, usize)>,
    /// Where the last footnote ends.
    footnote_end: usize,
    /// Where the description of the last image ends. It is not text.
    description_end: usize,
}

impl Reader<'_> {
    fn read(&mut self, event: Event<'_>, span: Range<usize>) {
        let nested = Reading::Ambiguous(Ambiguity::Nested);
        match event {
            Event::Start(Tag::HtmlBlock) => self.found.extend(tags::read_all(self.text, span)),
            Event::InlineHtml(_) if span.start < self.description_end => {
                let tags = tags::read_all(self.text, span).into_iter();
                self.found.extend(tags.map(|tag| Construct { reading: nested, ..tag }));
            }
            Event::InlineHtml(tag) => self.read_inline_html(&tag, span),
            // The conservative reading reads its content as a page.
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) if myst::is_directive(&info) => {}
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                let text = self.text[span.clone()].to_owned();
                let kind = ConstructKind::Code { info: info.trim().to_owned(), text };
                // Renderers without footnotes see indented code here.
                let reading = if span.start < self.footnote_end { nested } else { Reading::Standard };
                self.found.push(Construct { kind, span, reading });
            }
            Event::Start(Tag::FootnoteDefinition(_)) => self.footnote_end = span.end,
            event if span.start < self.description_end => {
                let kind = construct(event);
                self.found.extend(kind.map(|kind| Construct { kind, span, reading: nested }));
            }
            event => {
                if matches!(event, Event::Start(Tag::Image { .. })) {
                    self.description_end = span.end;
                }
                self.found.extend(construct(event).map(|kind| Construct::standard(kind, span)));
            }
        }
    }

    /// Follows elements whose content is not text: what is in them is ambiguous once they are closed.
    fn read_inline_html(&mut self, tag: &str, span: Range<usize>) {
        let tags = tags::read_all(self.text, span);
        match &self.raw_element {
            Some((name, from)) if tag.to_ascii_lowercase().starts_with(&format!("</{name}")) => {
                let nested = Reading::Ambiguous(Ambiguity::Nested);
                self.found[*from..].iter_mut().for_each(|construct| construct.reading = nested);
                self.raw_element = None;
            }
            None => {
                let content = self.found.len() + tags.len();
                self.raw_element = tags.iter().find_map(raw_element).map(|name| (name, content));
            }
            Some(_) => {}
        }
        self.found.extend(tags);
    }
}

/// The name of an element that begins, and whose content is not text.
fn raw_element(tag: &Construct) -> Option<String> {
    match &tag.kind {
        ConstructKind::Html(element) if tags::is_raw(&element.name) && !element.is_closing => {
            Some(element.name.clone())
        }
        _ => None,
    }
}
