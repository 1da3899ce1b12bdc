//! Parses a page: the byte ranges of its prose, code, links and headings.
//!
//! Edits replace these ranges. Markdown is never written anew, so line endings, the byte-order mark and the author's style
//! stay the same.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, LinkType, OffsetIter, Parser, Tag, TagEnd};

use crate::anchors::{Heading, Slugs, Spellings};
use crate::commonmark;
use crate::destination;
use crate::explicit_ids;
use crate::frontmatter::FrontMatter;
use crate::html::{self, Piece};
use crate::kind::FileKind;
use crate::mdx::MarkdownText;
use crate::prose;

/// Text in a link is added to at most this many links around it.
const MAX_NESTED_LINKS: usize = 8;

/// The parts of a page. Ranges are in order and within the file.
#[derive(Debug, Default)]
pub struct Page {
    pub front: FrontMatter,
    /// Text for readers, without code, addresses, tags and markup. Front matter is not in it.
    pub prose: Vec<Range<usize>>,
    /// Code spans, code blocks, and the code of MDX.
    pub code: Vec<Range<usize>>,
    /// Tags of HTML and JSX.
    pub tags: Vec<Range<usize>>,
    /// Addresses in prose.
    pub addresses: Vec<Range<usize>>,
    /// Texts of links that are also the name of their reference, as in `[npm]`. A change would break the link.
    pub labels: Vec<Range<usize>>,
    pub links: Vec<Link>,
    pub headings: Vec<Heading>,
    /// Anchors that are set explicitly or by a component, and other spellings of the anchors of headings.
    pub ids: Vec<String>,
    /// Whether the page includes others, so that not all of its anchors are known.
    pub includes_pages: bool,
    /// The tags with their attributes.
    pub(crate) elements: Vec<html::Tag>,
    /// Imports and exports of MDX that begin a block.
    pub(crate) statements: Vec<Range<usize>>,
    /// Where a brace of MDX opens that is never closed.
    pub(crate) open_brace: Option<usize>,
    /// Where code or a comment begins that is never closed, and so extends to the end of the page.
    pub(crate) open_block: Option<usize>,
}

/// A link, an image, a reference, or an attribute with a destination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The range of the destination in the file.
    pub range: Range<usize>,
    /// The text of the link. Empty for attributes.
    pub text: String,
}

impl Page {
    /// Parses the page at `path`. The path decides between Markdown and MDX.
    pub fn parse(path: &str, text: &str) -> Self {
        let front = FrontMatter::parse(text);
        let source = match FileKind::of(path) {
            FileKind::Mdx => MarkdownText::from_mdx(text, front.body_start),
            _ => MarkdownText::from_markdown(text, front.body_start),
        };
        let mut walker = Walker::new(text, &source);
        walker.page.front = front;
        walker.walk();
        let mut page = walker.finish();
        page.ids.extend(explicit_ids::explicit_ids(text));
        // The site generator fills in a page without text of its own.
        let is_empty = page.headings.is_empty() && page.prose.is_empty();
        page.includes_pages |= is_empty || explicit_ids::uses_includes(path, text);
        page
    }

    /// The title in the front matter, or the first heading.
    pub fn title(&self, text: &str) -> Option<String> {
        let first = || self.headings.first().map(|heading| heading.text.clone());
        self.front.get(text, "title").map(str::to_owned).or_else(first)
    }
}

struct Walker<'a> {
    file: &'a str,
    source: &'a MarkdownText<'a>,
    page: Page,
    slugs: Slugs,
    spellings: Spellings,
    open_links: Vec<OpenLink>,
    /// The text of the open heading, and its explicit anchor.
    heading: Option<(String, Option<String>)>,
    in_code_block: bool,
    in_html_block: bool,
    in_address: bool,
    /// The number of elements such as `<code>` that are open in this paragraph.
    code_elements: usize,
}

struct OpenLink {
    text: String,
    /// The end of the link's content so far. Its destination follows.
    content_end: usize,
    /// Whether the destination is part of the link.
    inline: bool,
    /// Whether the text is the name of a reference.
    is_label: bool,
}

impl<'a> Walker<'a> {
    fn new(file: &'a str, source: &'a MarkdownText<'a>) -> Self {
        Self {
            file,
            source,
            page: Page {
                includes_pages: source.includes_pages,
                statements: source.statements.clone(),
                open_brace: source.open_brace,
                open_block: source.open_fence,
                ..Page::default()
            },
            slugs: Slugs::default(),
            spellings: Spellings::default(),
            open_links: Vec::new(),
            heading: None,
            in_code_block: false,
            in_html_block: false,
            in_address: false,
            code_elements: 0,
        }
    }

    fn walk(&mut self) {
        let mut events = Parser::new_ext(&self.source.text, commonmark::options()).into_offset_iter();
        for (event, range) in events.by_ref() {
            self.read_event(event, range);
        }
        self.add_definitions(&events);
        self.source.tags.iter().for_each(|tag| self.add_tag(tag.clone()));
        self.page.code.extend(self.source.code.iter().cloned());
    }

    fn read_event(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag, range),
            Event::End(tag) => self.end(tag, range),
            Event::Text(text) => self.read_text(&text, range),
            Event::Code(code) => {
                self.append_text(&code, range.end);
                self.page.code.push(self.source.file_range(range));
            }
            Event::InlineHtml(_) => self.read_inline_html(range),
            Event::SoftBreak | Event::HardBreak => self.append_text(" ", range.end),
            Event::FootnoteReference(_) => self.append_text("", range.end),
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>, range: Range<usize>) {
        match tag {
            Tag::Link { link_type, .. } | Tag::Image { link_type, .. } => {
                self.in_address = matches!(link_type, LinkType::Autolink | LinkType::Email);
                let inline = link_type == LinkType::Inline;
                let is_label = matches!(link_type, LinkType::Collapsed | LinkType::Shortcut);
                self.open_links.push(OpenLink {
                    text: String::new(),
                    content_end: range.start + 1,
                    inline,
                    is_label,
                });
            }
            Tag::Heading { id, .. } => self.heading = Some((String::new(), id.map(|id| id.to_string()))),
            Tag::CodeBlock(kind) => {
                self.in_code_block = true;
                self.record_unclosed(&range, matches!(kind, CodeBlockKind::Fenced(_)), is_closed);
                self.page.code.push(self.source.file_range(range));
            }
            Tag::HtmlBlock => {
                self.in_html_block = true;
                self.record_unclosed(&range, true, |block| {
                    !block.trim_start().starts_with("<!--") || block.contains("-->")
                });
                self.read_html_block(self.source.file_range(range));
            }
            Tag::Paragraph => self.code_elements = 0,
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd, range: Range<usize>) {
        match tag {
            TagEnd::Link | TagEnd::Image => self.close_link(range),
            TagEnd::Heading(_) => self.close_heading(range),
            TagEnd::CodeBlock => self.in_code_block = false,
            TagEnd::HtmlBlock => self.in_html_block = false,
            TagEnd::TableCell | TagEnd::Item => self.code_elements = 0,
            _ => {}
        }
    }

    fn record_unclosed(&mut self, range: &Range<usize>, can_be_open: bool, is_closed: fn(&str) -> bool) {
        let text = &self.source.text;
        if can_be_open && range.end >= text.trim_end().len() && !is_closed(&text[range.clone()]) {
            self.page.open_block = Some(self.source.file_range(range.clone()).start);
        }
    }

    fn read_text(&mut self, text: &str, range: Range<usize>) {
        if self.in_code_block || self.in_html_block {
            return;
        }
        self.append_text(text, range.end);
        let file_range = self.source.file_range(range.clone());
        if self.in_address {
            self.page.addresses.push(file_range);
        } else if self.open_links.iter().any(|link| link.is_label) {
            self.page.labels.push(file_range);
        } else if self.code_elements > 0 {
            self.page.code.push(file_range);
        } else if self.source.text.get(range) == Some(text) {
            // An entity such as `&amp;` differs from its source text, so it is not editable prose.
            self.page.prose.push(file_range);
        }
    }

    /// Adds text to the open links and the open heading.
    fn append_text(&mut self, text: &str, end: usize) {
        // Links don't nest, and images rarely do. The limit keeps a page of nested images linear.
        for link in self.open_links.iter_mut().rev().take(MAX_NESTED_LINKS) {
            link.text.push_str(text);
            link.content_end = link.content_end.max(end);
        }
        if let Some((heading, _)) = &mut self.heading {
            heading.push_str(text);
        }
    }

    fn read_inline_html(&mut self, range: Range<usize>) {
        self.append_text("", range.end);
        let file_range = self.source.file_range(range);
        let Some(tag) = html::tag_at(self.file, file_range.start) else {
            self.page.tags.push(file_range);
            return;
        };
        if tag.is_code() && !tag.self_closing {
            self.code_elements =
                if tag.closing { self.code_elements.saturating_sub(1) } else { self.code_elements + 1 };
        } else if self.code_elements > 0 {
            self.page.code.push(file_range);
            return;
        }
        self.add_tag(tag);
    }

    fn read_html_block(&mut self, range: Range<usize>) {
        for piece in html::pieces(self.file, range) {
            match piece {
                Piece::Tag(tag) => self.add_tag(tag),
                Piece::Text(range) => self.page.prose.push(range),
                Piece::Code(range) => self.page.code.push(range),
                Piece::Comment => {}
            }
        }
    }

    fn add_tag(&mut self, tag: html::Tag) {
        self.page.tags.push(tag.range.clone());
        let is_component = tag.name.starts_with(|c: char| c.is_ascii_uppercase());
        for attribute in &tag.attributes {
            let value = &self.file[attribute.value.clone()];
            match attribute.name.as_str() {
                "id" | "name" => self.page.ids.push(value.to_owned()),
                // Tabs, steps and accordions have an anchor made from their title.
                "title" | "label" if is_component => self.page.ids.push(Slugs::slug(value)),
                "href" | "src" => self.add_link(attribute.value.clone(), String::new()),
                "to" if value.starts_with(['/', '.', '#']) => {
                    self.add_link(attribute.value.clone(), String::new())
                }
                _ => {}
            }
        }
        self.page.elements.push(tag);
    }

    fn close_link(&mut self, range: Range<usize>) {
        self.in_address = false;
        let Some(link) = self.open_links.pop() else { return };
        if let Some(outer) = self.open_links.last_mut() {
            outer.content_end = outer.content_end.max(range.end);
        }
        let found = link
            .inline
            .then(|| destination::find_inline(&self.source.text, link.content_end..range.end))
            .flatten();
        if let Some(found) = found {
            self.add_link(self.source.file_range(found), link.text);
        }
    }

    fn close_heading(&mut self, range: Range<usize>) {
        let Some((text, id)) = self.heading.take() else { return };
        if id.is_none() {
            self.page.ids.extend(self.spellings.anchors(&text));
        }
        let anchor = self.slugs.anchor(&text, id.as_deref());
        let (is_explicit, range) = (id.is_some(), self.source.file_range(range));
        self.page.headings.push(Heading { text: text.trim().to_owned(), anchor, is_explicit, range });
    }

    fn add_definitions(&mut self, events: &OffsetIter<'_>) {
        for (_, definition) in events.reference_definitions().iter() {
            let found = destination::find_in_definition(&self.source.text, definition.span.clone());
            if let Some(found) = found {
                // Its label is a name for authors. Readers don't see it.
                self.add_link(self.source.file_range(found), String::new());
            }
        }
    }

    fn add_link(&mut self, range: Range<usize>, text: String) {
        if !range.is_empty() {
            self.page.links.push(Link { range, text: text.trim().to_owned() });
        }
    }

    fn finish(mut self) -> Page {
        self.page.code = prose::merge(self.page.code);
        self.page.tags = prose::merge(self.page.tags);
        // In MDX the parser sees blanks instead of code and tags, and takes them for text.
        let text = prose::merge(std::mem::take(&mut self.page.prose));
        let text = prose::subtract(prose::subtract(text, &self.page.code), &self.page.tags);
        let mut tags = std::mem::take(&mut self.page.tags);
        let marks = prose::directives(self.file, self.page.front.body_start);
        let marks = prose::merge([prose::tags_in(self.file, &text), marks].concat());
        let text = prose::subtract(text, &marks);
        tags.extend(prose::subtract(marks, &self.page.code));
        let mut addresses = std::mem::take(&mut self.page.addresses);
        for range in text {
            let (prose, cut) = prose::split_prose(self.file, range);
            self.page.prose.extend(prose);
            // Templates and wiki links are marks.
            let (marks, cut): (Vec<_>, Vec<_>) =
                cut.into_iter().partition(|cut| self.file[cut.clone()].starts_with(['{', '[', ':']));
            tags.extend(marks);
            addresses.extend(cut);
        }
        self.page.tags = prose::merge(tags);
        self.page.addresses = prose::merge(addresses);
        self.page.links.sort_by_key(|link| link.range.start);
        self.page.links.dedup_by_key(|link| link.range.clone());
        self.page
    }
}

/// Whether a block of code ends with a fence that is as long as its first one.
fn is_closed(block: &str) -> bool {
    let bare = |line: &str| line.trim_matches([' ', '\t', '>', '\r']).to_owned();
    let mut lines = block.trim_end().lines();
    let opening = lines.next().map(bare).unwrap_or_default();
    let opening = opening.trim_start_matches(['-', '*', '+', ' ']);
    let Some(mark) = opening.chars().next() else { return true };
    let length = opening.chars().take_while(|c| *c == mark).count();
    let last = lines.next_back().map(bare).unwrap_or_default();
    last.len() >= length && last.chars().all(|c| c == mark)
}
