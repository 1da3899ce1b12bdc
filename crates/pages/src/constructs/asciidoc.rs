//! Reads AsciiDoc: prose, headings, lists, links, tables and listings. A line with anything else is reported as unknown.

mod blocks;
mod lines;
mod macros;
mod paragraph;
mod quotes;
mod styles;
mod unknown;

use std::collections::{HashMap, HashSet};

use super::overlaps::Overlaps;
use super::references::{PageAttributes, Resolution};
use super::{Ambiguity, Construct, ConstructKind, Enclosure, MAX_LINE_BYTES, Reading, front, templates};
use blocks::{contains_blocks, is_comment_delimiter};
use lines::{CONDITIONALS, attribute_entry, is_preprocessed, last_passthroughs, stripped, title_index};
use macros::{addresses, inline};
use paragraph::Paragraph;
use quotes::{has_uncertain_attributes, has_uncertain_quote, has_unclosed_address, unclosed_reference};
use styles::is_style_line;
use unknown::is_unknown;

pub(super) fn read(text: &str) -> Vec<Construct> {
    let (found, body) = front::read_block(text);
    let lines: Vec<(usize, &str)> = super::lines(text, body).collect();
    let title = title_index(&lines);
    let mut reader = Reader {
        text,
        lines: &lines,
        index: 0,
        found,
        attributes: PageAttributes::new(text),
        passthroughs: last_passthroughs(&lines),
        title,
        is_header: title.is_some(),
        in_comment: false,
        comment_overlaps: Overlaps::default(),
        has_uncertain_listing: false,
        open_blocks: HashSet::new(),
        paragraph: Paragraph::default(),
        is_below_style: false,
        is_below_indented: false,
    };
    while reader.index < lines.len() {
        reader.read_line();
    }
    reader.found
}

struct Reader<'t> {
    text: &'t str,
    /// The lines of the page and their offsets.
    lines: &'t [(usize, &'t str)],
    /// The current line.
    index: usize,
    found: Vec<Construct>,
    attributes: PageAttributes,
    /// The last line of each delimiter of a passthrough block.
    passthroughs: HashMap<&'t str, usize>,
    /// The line with the title of the page.
    title: Option<usize>,
    /// Whether the line belongs to the header of the page.
    is_header: bool,
    in_comment: bool,
    comment_overlaps: Overlaps,
    /// Whether readers disagree about a listing above. Then no listing below is skipped.
    has_uncertain_listing: bool,
    /// The delimiters of the open blocks that contain other blocks.
    open_blocks: HashSet<&'t str>,
    paragraph: Paragraph,
    /// Whether the line is in a paragraph below a style. Some styles show the paragraph as it is written.
    is_below_style: bool,
    /// Whether a line of the paragraph so far is indented. In a list, all of it is then shown as it is written.
    is_below_indented: bool,
}

/// The current line, as Asciidoctor compares it, and the line above.
struct Line<'t> {
    at: usize,
    content: &'t str,
    above: &'t str,
}

impl<'t> Reader<'t> {
    fn read_line(&mut self) {
        let (at, line) = self.lines[self.index];
        let above = self.index.checked_sub(1).map_or("", |above| stripped(self.lines[above].1));
        let line = Line { at, content: stripped(line), above };
        if line.content.len() > MAX_LINE_BYTES {
            self.push_unknown(line.content, &line);
            self.index += 1;
            return;
        }
        self.read_comment_delimiter(&line);
        // A line that some readers drop can be the end of a listing to others.
        self.has_uncertain_listing |= CONDITIONALS.iter().any(|mark| line.content.starts_with(mark));
        let first = self.found.len();
        self.update_blocks(&line);
        if self.skip_listing(&line) || self.skip_passthrough(&line) {
            return;
        }
        self.read_block_line(&line);
        self.report_uncertain_quotes(&line);
        for kind in templates::in_line(line.content) {
            self.push(kind, &line);
        }
        self.read_inline(&line);
        self.mark_ambiguous(first, &line);
        // Asciidoctor skips blank lines between a style and its paragraph.
        let awaits_paragraph =
            line.content.is_empty() && (line.above.is_empty() || line.above.starts_with('['));
        self.is_below_style = is_style_line(line.content)
            || self.is_below_style && (!line.content.is_empty() || awaits_paragraph);
        self.index += 1;
    }

    /// Four slashes begin or end a block comment.
    fn read_comment_delimiter(&mut self, line: &Line<'t>) {
        if !is_comment_delimiter(line.content) {
            return;
        }
        self.in_comment = !self.in_comment;
        if self.in_comment {
            // A comment inside of many others is reported with those.
            let below = &self.lines[self.index + 1..];
            let inside = if self.comment_overlaps.is_full_at(self.index) { &[] } else { below };
            let inside = inside.iter().map(|(_, line)| *line);
            let inside: Vec<&str> = inside.take_while(|below| stripped(below) != line.content).collect();
            self.comment_overlaps.push(self.index + 1 + inside.len());
            let comment = format!("a block: {}", inside.concat().trim());
            self.push(ConstructKind::Comment(comment), line);
        }
    }

    /// Reads a line that is a comment, an include, an attribute entry or a style.
    fn read_block_line(&mut self, line: &Line<'t>) {
        let content = line.content;
        if content.starts_with("//") && !content.starts_with("///") {
            self.push(ConstructKind::Comment(content.to_owned()), line);
        } else if is_preprocessed(content) || content.starts_with("include::") {
            self.push(ConstructKind::Include(content.trim().to_owned()), line);
            if let Resolution::Line(resolved) = self.attributes.resolve(content) {
                self.push(ConstructKind::Include(resolved.trim().to_owned()), line);
            }
        } else if let Some((name, value)) = attribute_entry(content.trim_start_matches([' ', '\t', '>'])) {
            self.attributes.set(&name, value);
            let kind = ConstructKind::Directive { name: format!(":{name}:"), arguments: value.to_owned() };
            self.push(kind, line);
        } else if is_unknown(content) || self.is_below_title() && content.contains(['<', '"']) {
            self.push_unknown(self.with_styled_paragraph(content), line);
        }
    }

    /// Whether the line is in the header, below the title.
    fn is_below_title(&self) -> bool {
        self.title.is_some_and(|title| self.index > title) && self.is_header
    }

    /// A line with the paragraph below it, if the line is a style for that paragraph.
    fn with_styled_paragraph(&self, content: &str) -> String {
        let next = self.lines.get(self.index + 1);
        let is_style = content.starts_with('[') && !next.is_some_and(|(_, next)| contains_blocks(next));
        let below = if is_style { &self.lines[self.index + 1..] } else { &[] };
        let below = below
            .iter()
            .map(|(_, line)| *line)
            .take_while(|line| !line.trim().is_empty() && !line.starts_with('['));
        std::iter::once(content.trim()).chain(below).collect()
    }

    fn report_uncertain_quotes(&mut self, line: &Line<'t>) {
        let content = line.content;
        if has_uncertain_quote(content) || has_uncertain_attributes(content) {
            self.push_unknown(content, line);
        }
        if let Some(reference) = unclosed_reference(&self.lines[self.index..]) {
            self.push_unknown(reference, line);
        }
        let next = self.lines.get(self.index + 1);
        if let Some((_, next)) = next.filter(|_| has_unclosed_address(content)) {
            self.push_unknown(format!("{content}\n{}", stripped(next)), line);
        }
    }

    fn read_inline(&mut self, line: &Line<'t>) {
        let resolved = match self.attributes.resolve(line.content) {
            Resolution::Unchanged => Some(Vec::new()),
            Resolution::Line(resolved) => addresses(&resolved),
            Resolution::TooLong => None,
        };
        match inline(line.content).zip(resolved) {
            Some((kinds, more)) => kinds.into_iter().chain(more).for_each(|kind| self.push(kind, line)),
            None => self.push_unknown(line.content, line),
        }
    }

    /// Marks what was found on a line, from `first` on, where readers disagree about the line.
    fn mark_ambiguous(&mut self, first: usize, line: &Line<'t>) {
        // Markup that is escaped in a paragraph is live in the same paragraph without the escapes.
        if self.index >= self.paragraph.end {
            self.paragraph = Paragraph::at(self.index, self.lines);
        }
        let content = line.content;
        let ambiguity = match content.starts_with([' ', '\t']) {
            _ if self.in_comment || content.starts_with("//") => {
                Some(Ambiguity::Enclosed(Enclosure::Comment))
            }
            true => Some(Ambiguity::Indented {
                in_list: false,
                in_html: false,
                after_blank: line.above.is_empty(),
            }),
            false if self.is_below_style && !content.starts_with('[') => Some(Ambiguity::Nested),
            false => self.paragraph.ambiguity,
        };
        let Some(ambiguity) = ambiguity else { return };
        let is_escaping = Some(ambiguity) == self.paragraph.ambiguity;
        for construct in &mut self.found[first..] {
            if !(is_escaping && self.paragraph.is_certain(construct, content)) {
                construct.reading = Reading::Ambiguous(ambiguity);
            }
        }
    }

    fn push(&mut self, kind: ConstructKind, line: &Line<'t>) {
        self.found.push(Construct::standard(kind, line.at..line.at + line.content.len()));
    }

    fn push_unknown(&mut self, text: impl Into<String>, line: &Line<'t>) {
        self.push(ConstructKind::Unknown(text.into()), line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let show = |construct: &Construct| match &construct.kind {
            ConstructKind::Unknown(text) => format!("? {text}"),
            ConstructKind::Include(text) => format!("+ {text}"),
            ConstructKind::Link(url) => format!("> {url}"),
            ConstructKind::Image(url) => format!("! {url}"),
            ConstructKind::Directive { name, arguments } => format!("{name} ({arguments})"),
            ConstructKind::Comment(text) => format!("# {text}"),
            other => format!("{other:?}"),
        };
        assert_eq!(read(text).iter().map(show).collect::<Vec<_>>(), expected, "{text}");
    }

    #[test]
    fn plain_markup_is_understood() {
        check("= Title\n\nText: with *stress* and {version}.\n\n* one\n** two\n", &[]);
        check("[source,js]\n----\nimage::https://e.example[]\n----\n", &[]);
        check("See https://a.example[docs] and xref:a.adoc[b].\n", &["> https://a.example"]);
        check("[NOTE]\n====\nText.\n====\n|===\n| a | b\n|===\n", &[]);
        check("// a comment\n", &["# // a comment"]);
    }

    #[test]
    fn markup_with_a_meaning_is_reported() {
        check(
            "image::https://e.example/p.png[]\n",
            &["! https://e.example/p.png", "> https://e.example/p.png"],
        );
        check(":imagesdir: x\n", &[":imagesdir: (x)"]);
        check("----\ninclude::/etc/passwd[]\n----\n", &["+ include::/etc/passwd[]"]);
        check("----\nvideo::x[]\n", &["video: (x)"]);
        check("a pass:[<b>] c\n", &["? a pass:[<b>] c", "pass: ()"]);
        check("++++\n<b>\n++++\n", &["? ++++\n<b>\n"]);
        check("[source,subs=\"+macros\"]\n", &["? [source,subs=\"+macros\"]"]);
        check("[.hidden]#x#\n", &["[.hidden] ()", "[.hidden] ()"]);
    }
}
