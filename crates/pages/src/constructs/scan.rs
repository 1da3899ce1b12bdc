//! Scans a page of Markdown conservatively.
//!
//! Only what every renderer takes for code counts as code. Everything else can contain tags, braces and statements. The
//! scanner reports these and masks them in the text. The masked text, without indentation, is then parsed as Markdown.

mod block_state;
mod braces;
mod enclosures;
mod escapes;
mod fences;
mod inline;
mod lines;
mod link_parts;
mod paragraph;
mod readings;
mod tags;

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use super::code::{self, FenceLines};
use super::overlaps::{LastMatch, NextMatch, Overlaps};
use super::statements::raw_components;
use super::{Construct, ConstructKind, Enclosure, Reading};
use crate::kind::FileKind;
use enclosures::enclosed_at;
use paragraph::Paragraph;
use readings::has_uncertain_code;

/// Replaces a masked byte. It counts as part of a word, so it doesn't change the meaning of what is around it.
const MASK: u8 = 1;

/// How much of a line a construct quotes that has no end of its own.
const MAX_QUOTED_BYTES: usize = 512;
/// How many nested enclosures are searched. Also limits elements whose content extends to the end of the page.
const MAX_NESTED: usize = 16;

/// The result of a scan.
pub(super) struct Scan {
    /// The masked text, without indentation.
    pub(super) text: String,
    /// For each line: its offset in `text`, and its offset in the file.
    line_starts: Vec<(usize, usize)>,
    pub(super) found: Vec<Construct>,
    /// Offsets of template marks that Vue doesn't fill in, because of an element or a block around them.
    pub(super) literal_templates: HashSet<usize>,
    enclosed: Vec<(Range<usize>, Enclosure)>,
    /// The content of fences that Python-Markdown doesn't recognize.
    pub(super) non_python_fences: Vec<Range<usize>>,
    /// The offset of each line in the file, and its reading.
    line_readings: Vec<(usize, Reading)>,
}

impl Scan {
    pub(super) fn new(kind: FileKind, file: &str, body: usize) -> Self {
        // To some renderers, a byte-order mark is a character of the first line.
        let first = file[body..].lines().next().unwrap_or_default();
        let mut scanner = Scanner {
            file,
            kind: Some(kind),
            masked: file.as_bytes().to_vec(),
            begins_block: true,
            fence_lines: FenceLines::new(file, body),
            raw_components: raw_components(file, body),
            has_uncertain_fence: file[..body].ends_with('\u{feff}') && code::fence_info(first).is_some(),
            ..Scanner::default()
        };
        let mut at = body;
        while at < file.len() {
            at = scanner.scan_line(at);
        }
        let (text, line_starts) = scanner.unindented(body);
        Self {
            text,
            line_starts,
            found: scanner.found,
            literal_templates: scanner.literal_templates,
            enclosed: scanner.enclosed,
            non_python_fences: scanner.non_python_fences,
            line_readings: scanner.line_readings,
        }
    }

    /// The reading of an offset in the file.
    pub(super) fn reading_at(&self, offset: usize) -> Reading {
        let next = self.line_readings.partition_point(|(start, _)| *start <= offset);
        let line = next.checked_sub(1).map_or(Reading::Conservative, |index| self.line_readings[index].1);
        enclosed_at(&self.enclosed, offset).filter(|_| !has_uncertain_code(line)).unwrap_or(line)
    }

    /// The offset in the file of an offset in the masked text.
    pub(super) fn file_offset(&self, offset: usize) -> usize {
        let next = self.line_starts.partition_point(|(start, _)| *start <= offset);
        let (start, in_file) = self.line_starts[next.saturating_sub(1)];
        in_file + offset - start
    }
}

#[derive(Default)]
struct Scanner<'a> {
    file: &'a str,
    kind: Option<FileKind>,
    masked: Vec<u8>,
    found: Vec<Construct>,
    line_readings: Vec<(usize, Reading)>,
    paragraph: Paragraph,
    /// Where the text of the current line begins.
    text_start: usize,
    /// Whether the line above is empty.
    is_below_blank: bool,
    /// Whether the line above ends a block: it is empty, a heading, a rule or a statement.
    begins_block: bool,
    /// Whether a line of the same paragraph above begins with a tag.
    is_below_tag: bool,
    /// Whether a list, a quote or a footnote can still be open.
    has_list_above: bool,
    /// Whether the last lines that are not empty belong to a list.
    is_list: bool,
    /// The number of open elements. Some renderers read only HTML in them.
    open_elements: usize,
    /// The number of open containers such as `:::note`.
    open_containers: usize,

    fence_lines: FenceLines,
    /// Whether only some renderers recognize a fence above.
    has_uncertain_fence: bool,
    /// Whether a run of backticks above, in the same paragraph, has no partner on its line. Renderers then disagree about
    /// all runs that follow.
    has_uncertain_code: bool,
    /// Where fences end whose content is a page.
    closing_fences: HashSet<usize>,
    non_python_fences: Vec<Range<usize>>,
    /// Where the last directive of colons ends whose content is rendered or run.
    active_directive_end: usize,

    /// Whether a block around the line keeps templates from being filled in.
    is_raw: bool,
    /// The name of an element that does so.
    raw_element: Option<String>,
    /// Template marks that are not filled in because of these.
    literal_templates: HashSet<usize>,
    /// Components that the page creates from an element whose content is not text.
    raw_components: HashSet<String>,
    /// Names of template blocks that have no end further on.
    endless_templates: HashSet<&'a str>,

    /// Ranges without fences that some renderers read as a comment, braces or a formula.
    enclosed: Vec<(Range<usize>, Enclosure)>,
    /// Where the last of these ends.
    enclosed_end: usize,

    // The rest bounds the cost of a page with many marks that never close.
    unreadable_tags: usize,
    /// The number of template marks that don't close.
    unclosed_templates: usize,
    /// After a brace that never closes, no other is read: each would cost a search to the end.
    has_unclosed_brace: bool,
    has_unclosed_statement: bool,
    has_unclosed_comment: bool,
    /// The number of elements without an end whose content was the rest of the page.
    unclosed_contents: usize,
    /// Braces, escaped tags and directives can contain each other, and are read again in each other.
    brace_overlaps: Overlaps,
    escaped_tag_overlaps: Overlaps,
    directive_overlaps: Overlaps,
    /// Where the destination of a link ends, or stops being one.
    destination_end: NextMatch,
    label_start: LastMatch,
    paragraph_end: NextMatch,
    /// The offset of the last closing tag of each name.
    closing_tags: OnceCell<HashMap<&'a str, usize>>,
}

impl Scanner<'_> {
    fn is_mdx(&self) -> bool {
        self.kind == Some(FileKind::Mdx)
    }

    fn push(&mut self, kind: ConstructKind, span: Range<usize>) {
        let reading = match kind {
            ConstructKind::Comment(_) => self.line_reading(),
            _ => self.reading_of(span.start),
        };
        self.found.push(Construct { kind, span, reading });
    }

    fn push_unknown(&mut self, text: impl Into<String>, span: Range<usize>) {
        self.push(ConstructKind::Unknown(text.into()), span);
    }

    /// Masks a range and returns its end.
    fn mask(&mut self, range: Range<usize>) -> usize {
        for byte in &mut self.masked[range.clone()] {
            if *byte != b'\n' {
                *byte = MASK;
            }
        }
        range.end
    }

    /// The masked text without indentation, and the start of each line in it and in the file.
    fn unindented(&self, body: usize) -> (String, Vec<(usize, usize)>) {
        let masked = String::from_utf8_lossy(&self.masked);
        let (mut text, mut starts) = (String::with_capacity(masked.len()), Vec::new());
        for (at, line) in super::lines(&masked, body) {
            let content = line.trim_start_matches([' ', '\t']);
            starts.push((text.len(), at + line.len() - content.len()));
            text.push_str(content);
        }
        starts.push((text.len(), self.file.len()));
        (text, starts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(kind: FileKind, file: &str, text: &str, expected: &[&str]) {
        let scan = Scan::new(kind, file, 0);
        let found: Vec<_> = scan.found.iter().map(|construct| &file[construct.span.clone()]).collect();
        let masked = scan.text.replace(char::from(MASK), "x");
        assert_eq!((masked.as_str(), found.as_slice()), (text, expected), "{file}");
    }

    #[test]
    fn constructs_are_masked() {
        check(FileKind::Mdx, "a <B c={d}/> e", "a xxxxxxxxxx e", &["<B c={d}/>"]);
        check(FileKind::Mdx, "    a {b.c}\n", "a xb.cx\n", &["{b.c}"]);
        check(FileKind::Markdown, "`<b>` and `<c>", "xxxxx and xxxx", &["<b>", "<c>"]);
        check(FileKind::Markdown, "[a](<b c>)", "[a](<b c>)", &[]);
        check(FileKind::Mdx, "\\<b> c", "\\<b> c", &[]);
        check(FileKind::Markdown, "\\<b> c", "\\<b> c", &["\\<b>"]);
        check(
            FileKind::Markdown,
            "import a from 'b'\n\nc",
            "xxxxxxxxxxxxxxxxx\n\nc",
            &["import a from 'b'\n"],
        );
        check(FileKind::Markdown, "import the data\n", "import the data\n", &[]);
        check(FileKind::Markdown, "```js\n<b>\n```\nc", "xxxxx\nxxx\nxxx\nc", &["```js\n<b>\n```\n"]);
    }

    #[test]
    fn uncertain_code_is_text() {
        check(FileKind::Markdown, "```js\n<b>\n````\n", "xxxjs\nxxx\nxxxx\n", &["<b>"]);
        check(FileKind::Markdown, "    <b>\n", "xxx\n", &["<b>"]);
        check(FileKind::Markdown, "<div>\n`<b>`\n", "xxxxx\nxxxxx\n", &["<div>", "<b>"]);
    }
}
