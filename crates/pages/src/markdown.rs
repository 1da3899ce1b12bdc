//! A page taken apart: where its prose, code, links and headings are, as byte ranges of the file.
//!
//! Edits are made on those ranges and never by writing Markdown anew, so line endings, the byte-order
//! mark and every habit of the author stay as they are.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, LinkType, OffsetIter, Options, Parser, Tag, TagEnd};

use crate::anchors::{Heading, Slugs, Spellings};
use crate::destination;
use crate::explicit;
use crate::frontmatter::FrontMatter;
use crate::html::{self, Piece};
use crate::kind::FileKind;
use crate::mdx::Source;
use crate::prose;

const MAX_NESTED_LINKS: usize = 8;

/// What a page consists of. Ranges are in order and lie within the file.
#[derive(Debug, Default)]
pub struct Page {
    pub front: FrontMatter,
    /// Text for readers, without code, addresses, tags and markup. Front matter is not in it.
    pub prose: Vec<Range<usize>>,
    /// Code spans, code blocks, and what works as code in MDX.
    pub code: Vec<Range<usize>>,
    /// Tags of HTML and JSX.
    pub tags: Vec<Range<usize>>,
    /// Addresses in running text.
    pub addresses: Vec<Range<usize>>,
    /// Texts of links that are the name of their reference too, as in `[npm]`: changed, they would lead nowhere.
    pub labels: Vec<Range<usize>>,
    pub links: Vec<Link>,
    pub headings: Vec<Heading>,
    /// Anchors that are set by hand or by a component, and other spellings of those of the headings.
    pub ids: Vec<String>,
    /// Whether the page pulls in others, so that its anchors cannot all be known.
    pub includes_pages: bool,
    /// The tags that could be read.
    pub(crate) elements: Vec<html::Tag>,
    /// Imports and exports of MDX that begin a block.
    pub(crate) statements: Vec<Range<usize>>,
    /// Where a brace of MDX opens that never closes.
    pub(crate) open_brace: Option<usize>,
    /// Where code or a comment begins that runs to the end of the page for want of an end of its own.
    pub(crate) open_block: Option<usize>,
}

/// A link, an image, a reference, or an attribute that points somewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The destination as it stands in the file.
    pub range: Range<usize>,
    /// What the link says to a reader; empty for attributes.
    pub text: String,
}

impl Page {
    /// Takes the page at `path` apart; the path tells Markdown from MDX.
    pub fn parse(path: &str, text: &str) -> Self {
        let front = FrontMatter::parse(text);
        let source = match FileKind::of(path) {
            FileKind::Mdx => Source::mdx(text, front.body),
            _ => Source::markdown(text, front.body),
        };
        let mut walker = Walker::new(text, &source);
        walker.page.front = front;
        walker.walk();
        let mut page = walker.finish();
        page.ids.extend(explicit::ids(text));
        // A page without a word of its own is filled in by the site generator.
        let is_empty = page.headings.is_empty() && page.prose.is_empty();
        page.includes_pages |= is_empty || explicit::is_made_of_parts(path, text);
        page
    }

    /// The title in the front matter, or else the first heading.
    pub fn title(&self, text: &str) -> Option<String> {
        let first = || self.headings.first().map(|heading| heading.text.clone());
        self.front.get(text, "title").map(str::to_owned).or_else(first)
    }
}

/// What is Markdown here.
pub(crate) fn options() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_HEADING_ATTRIBUTES
        | Options::ENABLE_GFM
}

struct Walker<'a> {
    file: &'a str,
    source: &'a Source<'a>,
    page: Page,
    slugs: Slugs,
    spellings: Spellings,
    /// Links that are open: where they begin, what they say, and whether their destination stands in them.
    open: Vec<OpenLink>,
    heading: Option<(String, Option<String>)>,
    in_code_block: bool,
    in_html_block: bool,
    in_address: bool,
    /// How many elements such as `<code>` are open in this paragraph.
    code_elements: usize,
}

struct OpenLink {
    text: String,
    /// The end of what was last seen in the link; its destination is behind that.
    seen: usize,
    inline: bool,
    /// Whether its text names its reference.
    is_label: bool,
}

impl<'a> Walker<'a> {
    fn new(file: &'a str, source: &'a Source<'a>) -> Self {
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
            open: Vec::new(),
            heading: None,
            in_code_block: false,
            in_html_block: false,
            in_address: false,
            code_elements: 0,
        }
    }

    fn walk(&mut self) {
        let mut events = Parser::new_ext(&self.source.text, options()).into_offset_iter();
        for (event, range) in events.by_ref() {
            self.event(event, range);
        }
        self.definitions(&events);
        self.source.tags.iter().for_each(|tag| self.tag(tag.clone()));
        self.page.code.extend(self.source.code.iter().cloned());
    }

    fn event(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag, range),
            Event::End(tag) => self.end(tag, range),
            Event::Text(text) => self.text(&text, range),
            Event::Code(code) => {
                self.say(&code, range.end);
                self.page.code.push(self.source.in_file(range));
            }
            Event::InlineHtml(_) => self.inline_html(range),
            Event::SoftBreak | Event::HardBreak => self.say(" ", range.end),
            Event::FootnoteReference(_) => self.say("", range.end),
            _ => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>, range: Range<usize>) {
        match tag {
            Tag::Link { link_type, .. } | Tag::Image { link_type, .. } => {
                self.in_address = matches!(link_type, LinkType::Autolink | LinkType::Email);
                let inline = link_type == LinkType::Inline;
                let is_label = matches!(link_type, LinkType::Collapsed | LinkType::Shortcut);
                self.open.push(OpenLink { text: String::new(), seen: range.start + 1, inline, is_label });
            }
            Tag::Heading { id, .. } => self.heading = Some((String::new(), id.map(|id| id.to_string()))),
            Tag::CodeBlock(kind) => {
                self.in_code_block = true;
                self.note_open_block(&range, matches!(kind, CodeBlockKind::Fenced(_)), is_closed);
                self.page.code.push(self.source.in_file(range));
            }
            Tag::HtmlBlock => {
                self.in_html_block = true;
                self.note_open_block(&range, true, |block| {
                    !block.trim_start().starts_with("<!--") || block.contains("-->")
                });
                self.html_block(self.source.in_file(range));
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

    fn note_open_block(&mut self, range: &Range<usize>, may_be_open: bool, is_closed: fn(&str) -> bool) {
        let text = &self.source.text;
        if may_be_open && range.end >= text.trim_end().len() && !is_closed(&text[range.clone()]) {
            self.page.open_block = Some(self.source.in_file(range.clone()).start);
        }
    }

    fn text(&mut self, text: &str, range: Range<usize>) {
        if self.in_code_block || self.in_html_block {
            return;
        }
        self.say(text, range.end);
        let in_file = self.source.in_file(range.clone());
        if self.in_address {
            self.page.addresses.push(in_file);
        } else if self.open.iter().any(|link| link.is_label) {
            self.page.labels.push(in_file);
        } else if self.code_elements > 0 {
            self.page.code.push(in_file);
        } else if self.source.text.get(range) == Some(text) {
            // An entity such as `&amp;` reads otherwise than it is written, and stays as it is.
            self.page.prose.push(in_file);
        }
    }

    /// Adds to what the open links and the open heading say.
    fn say(&mut self, text: &str, seen: usize) {
        // Links do not nest and images hardly do; a page made of nothing else must not cost its square.
        for link in self.open.iter_mut().rev().take(MAX_NESTED_LINKS) {
            link.text.push_str(text);
            link.seen = link.seen.max(seen);
        }
        if let Some((heading, _)) = &mut self.heading {
            heading.push_str(text);
        }
    }

    fn inline_html(&mut self, range: Range<usize>) {
        self.say("", range.end);
        let in_file = self.source.in_file(range);
        let Some(tag) = html::tag_at(self.file, in_file.start) else {
            self.page.tags.push(in_file);
            return;
        };
        if tag.is_code() && !tag.self_closing {
            self.code_elements =
                if tag.closing { self.code_elements.saturating_sub(1) } else { self.code_elements + 1 };
        } else if self.code_elements > 0 {
            self.page.code.push(in_file);
            return;
        }
        self.tag(tag);
    }

    fn html_block(&mut self, range: Range<usize>) {
        for piece in html::pieces(self.file, range) {
            match piece {
                Piece::Tag(tag) => self.tag(tag),
                Piece::Text(range) => self.page.prose.push(range),
                Piece::Code(range) => self.page.code.push(range),
                Piece::Comment => {}
            }
        }
    }

    fn tag(&mut self, tag: html::Tag) {
        self.page.tags.push(tag.range.clone());
        let is_component = tag.name.starts_with(|c: char| c.is_ascii_uppercase());
        for attribute in &tag.attributes {
            let value = &self.file[attribute.value.clone()];
            match attribute.name.as_str() {
                "id" | "name" => self.page.ids.push(value.to_owned()),
                // Tabs, steps and accordions are given an anchor by their title.
                "title" | "label" if is_component => self.page.ids.push(Slugs::slug(value)),
                "href" | "src" => self.link(attribute.value.clone(), String::new()),
                "to" if value.starts_with(['/', '.', '#']) => {
                    self.link(attribute.value.clone(), String::new())
                }
                _ => {}
            }
        }
        self.page.elements.push(tag);
    }

    fn close_link(&mut self, range: Range<usize>) {
        self.in_address = false;
        let Some(link) = self.open.pop() else { return };
        if let Some(outer) = self.open.last_mut() {
            outer.seen = outer.seen.max(range.end);
        }
        let found =
            link.inline.then(|| destination::find_inline(&self.source.text, link.seen..range.end)).flatten();
        if let Some(found) = found {
            self.link(self.source.in_file(found), link.text);
        }
    }

    fn close_heading(&mut self, range: Range<usize>) {
        let Some((text, id)) = self.heading.take() else { return };
        if id.is_none() {
            self.page.ids.extend(self.spellings.anchors(&text));
        }
        let anchor = self.slugs.anchor(&text, id.as_deref());
        let (is_set, range) = (id.is_some(), self.source.in_file(range));
        self.page.headings.push(Heading { text: text.trim().to_owned(), anchor, is_set, range });
    }

    fn definitions(&mut self, events: &OffsetIter<'_>) {
        for (_, definition) in events.reference_definitions().iter() {
            let found = destination::find_in_definition(&self.source.text, definition.span.clone());
            if let Some(found) = found {
                // Its label is a name for authors, and says nothing to a reader.
                self.link(self.source.in_file(found), String::new());
            }
        }
    }

    fn link(&mut self, range: Range<usize>, text: String) {
        if !range.is_empty() {
            self.page.links.push(Link { range, text: text.trim().to_owned() });
        }
    }

    fn finish(mut self) -> Page {
        self.page.code = prose::merge(self.page.code);
        self.page.tags = prose::merge(self.page.tags);
        // In MDX the parser saw blanks where code and tags are, and took them for text.
        let text = prose::merge(std::mem::take(&mut self.page.prose));
        let text = prose::without(prose::without(text, &self.page.code), &self.page.tags);
        let mut tags = std::mem::take(&mut self.page.tags);
        let marks = prose::directives(self.file, self.page.front.body);
        let marks = prose::merge([prose::tags_in(self.file, &text), marks].concat());
        let text = prose::without(text, &marks);
        tags.extend(prose::without(marks, &self.page.code));
        let mut addresses = std::mem::take(&mut self.page.addresses);
        for range in text {
            let (kept, cut) = prose::carve(self.file, range);
            self.page.prose.extend(kept);
            // Templates and wiki links are marks too.
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

/// Whether a block of code has a fence at its end that is as long as the one at its head.
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
