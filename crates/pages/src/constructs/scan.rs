//! Reads a page warily: code is only what every renderer takes for code, and all else may hold tags, braces and
//! statements. What is read here is masked, and the rest moves to the margin, for Markdown to be read in it.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use super::code::{self, Fence, FenceLines};
use super::formulas::{has_strong_command, is_formula, looks_like_formula};
use super::overlaps::{LastPlace, NextPlace, Overlaps};
use super::statements::{is_statement, raw_components};
use super::tags::{self, MIN_TAG_BYTES};
use super::{
    Attribute, Construct, ConstructKind, Doubt, Reading, Swallow, Value, braces, columns, entities, info,
    lines, myst,
};
use crate::WordList;
use crate::kind::FileKind;
use crate::script;

/// What stands for a masked character: part of a word, so that nothing around it changes its meaning.
const MASK: u8 = 1;

/// Longer formulas are read as text, so that a file full of dollar signs stays cheap to read.
const MAX_FORMULA_BYTES: usize = 4 * 1024;

/// So much is told of a command of a formula, with what it is given.
const MAX_COMMAND_BYTES: usize = 512;
/// After so many marks that do not close, none is read.
const MAX_OPEN_MARKS: usize = 100;
/// A longer line is not looked at for titles.
const MAX_TITLES_BYTES: usize = 64 * 1024;
/// As deep as something that swallows text is looked for in others.
const MAX_NESTED: usize = 16;
/// Tags that begin a block of HTML, by the standard of CommonMark.
const HTML_BLOCKS: WordList = WordList(
    "address article aside base basefont blockquote body caption center col colgroup dd details dialog dir div dl dt \
     fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hr html iframe legend li link \
     main menu menuitem nav noframes ol optgroup option p param pre script search section style summary table tbody td \
     textarea tfoot th thead title tr track ul",
);

pub(super) struct Scanned {
    /// The text without what was read, every line at the margin.
    pub(super) text: String,
    /// For each line: where it begins here, and where in the file.
    starts: Vec<(usize, usize)>,
    pub(super) found: Vec<Construct>,
    /// Marks of templates in what keeps Vue from filling them in.
    pub(super) raw_marks: HashSet<usize>,
    swallowed: Vec<(Range<usize>, Swallow)>,
    /// The content of fences that are none to Python-Markdown.
    pub(super) fences_of_some: Vec<Range<usize>>,
    /// Where each line begins in the file, and how it was read.
    readings: Vec<(usize, Reading)>,
}

impl Scanned {
    pub(super) fn of(kind: FileKind, file: &str, body: usize) -> Self {
        let masked = file.as_bytes().to_vec();
        let mut scanner =
            Scanner { file, kind: Some(kind), masked, begins_block: true, ..Scanner::default() };
        scanner.fence_lines = FenceLines::of(file, body);
        scanner.raw_components = raw_components(file, body);
        // To some a mark at the start of the file is a character of the first line.
        let first = file[body..].lines().next().unwrap_or_default();
        scanner.has_odd_fence = file[..body].ends_with('\u{feff}') && code::fence_info(first).is_some();
        scanner.run(body);
        let (text, starts) = scanner.at_the_margin(body);
        Self {
            text,
            starts,
            found: scanner.found,
            raw_marks: scanner.raw_marks,
            swallowed: scanner.swallowed,
            fences_of_some: scanner.fences_of_some,
            readings: scanner.readings,
        }
    }

    /// How a place in the file was read.
    pub(super) fn reading_at(&self, place: usize) -> Reading {
        let next = self.readings.partition_point(|(start, _)| *start <= place);
        let line = next.checked_sub(1).map_or(Reading::Wary, |index| self.readings[index].1);
        swallowed_at(&self.swallowed, place).filter(|_| !is_odd_code(line)).unwrap_or(line)
    }

    /// The place in the file of an offset in the text.
    pub(super) fn in_file(&self, here: usize) -> usize {
        let next = self.starts.partition_point(|(start, _)| *start <= here);
        let (start, in_file) = self.starts[next.saturating_sub(1)];
        in_file + here - start
    }
}

#[derive(Default)]
struct Scanner<'a> {
    file: &'a str,
    masked: Vec<u8>,
    found: Vec<Construct>,
    /// How many elements are open. Some renderers read nothing but HTML in them.
    open_elements: usize,
    kind: Option<FileKind>,
    readings: Vec<(usize, Reading)>,
    /// Whether the line before is empty, or a statement.
    begins_block: bool,
    block: Block,
    /// How many boxes such as `:::note` are open.
    open_boxes: usize,
    /// Inside marks that keep templates from being filled in.
    is_raw: bool,
    /// Where marks of templates are that are not filled in for that.
    raw_marks: HashSet<usize>,
    /// The name of the element that does so.
    raw_element: Option<String>,
    /// Components that the page makes of an element whose content is no text.
    raw_components: HashSet<String>,
    /// Where the fences end whose content is read as a page.
    closing_fences: HashSet<usize>,
    /// What some renderers read as a comment, braces or a formula, without fences, and where the last of it ends.
    swallowed: Vec<(Range<usize>, Swallow)>,
    swallowed_end: usize,
    fences_of_some: Vec<Range<usize>>,
    /// Whether a list, a quote or a footnote may still be open.
    has_list_above: bool,
    /// Whether the last lines that are not empty are of a list.
    is_list: bool,
    fence_lines: FenceLines,
    /// Whether a fence is one to some renderers alone.
    has_odd_fence: bool,
    /// Whether a line above, up to an empty one, begins with a tag.
    is_below_tag: bool,
    /// How many tags could not be read.
    odd_tags: usize,
    /// Where the last box of colons ends whose content is drawn or run.
    active_end: usize,
    /// How many marks of templates do not close.
    open_marks: usize,
    /// Once braces do not close, none is looked for: each would cost a walk to the end.
    has_open_brace: bool,
    /// Whether a run of backticks above, in the same paragraph, has no partner on its line. Then renderers disagree about
    /// all that follow.
    has_odd_code: bool,
    /// The same of statements, and of comments.
    has_open_statement: bool,
    /// How many elements without an end had the rest for their content.
    open_contents: usize,
    has_open_comment: bool,
    /// Braces, escaped tags and directives, which are read again in each other.
    braces: Overlaps,
    escaped: Overlaps,
    directives: Overlaps,
    /// Blocks of templates that have no end further on.
    open_templates: HashSet<&'a str>,
    /// Where the destination of a link ends, or cannot be one.
    destination_end: NextPlace,
    label: LastPlace,
    paragraph_end: NextPlace,
    /// Where the last closing tag of each name is.
    closing_tags: OnceCell<HashMap<&'a str, usize>>,
    /// Where the text of the line begins, and whether the line above is empty.
    text_start: usize,
    is_below_blank: bool,
}

impl<'a> Scanner<'a> {
    fn run(&mut self, body: usize) {
        let mut at = body;
        while at < self.file.len() {
            at = self.line(at);
        }
    }

    /// Reads the line at `at`, and what begins on it and ends further down; returns where to go on.
    fn line(&mut self, at: usize) -> usize {
        let file = self.file;
        let end = file[at..].find('\n').map_or(file.len(), |length| at + length + 1);
        let line = &file[at..end];
        if self.block.end <= at {
            self.block = Block::at(file, at);
        }
        self.text_start = at + line.len() - line.trim_start_matches([' ', '\t']).len();
        let content = &file[self.text_start..end.max(self.text_start)];
        // Some numbers begin no list in a paragraph, and HTML goes on up to an empty line.
        let is_number = |line: &str| line.trim_start().starts_with(|c: char| c.is_ascii_digit());
        let may_be_text = !self.begins_block
            && !is_number(line_above(file, at))
            && is_number(content)
            && !content.starts_with("1.")
            || self.is_below_tag;
        let shown = code::behind_marks(line);
        self.is_below_tag = self.kind != Some(FileKind::Mdx)
            && !content.trim().is_empty()
            && (self.is_below_tag || begins_html(shown));
        // A line at the margin below an empty one ends all lists.
        self.has_list_above = code::is_list_item(content)
            || content.starts_with(['>', '['])
            || self.has_list_above && !(self.begins_block && self.text_start == at);
        self.is_below_blank = is_below_blank(file, at);
        if !line.trim().is_empty() && columns(line, 4) < 4 {
            // Python-Markdown takes comments out first.
            let shown = line.trim_start().strip_prefix("<!--").and_then(|rest| rest.split_once("-->"));
            // And what stands below a quotation, without an empty line between, is in it.
            let shown = shown
                .map_or(line, |(_, behind)| behind)
                .trim_start_matches(|c: char| c == '>' || c.is_whitespace());
            self.is_list = shown.is_empty()
                || code::is_list_item(shown)
                || ["[^", "!!!", "???", "===", ":::"].iter().any(|mark| shown.starts_with(mark))
                || shown.starts_with(": ")
                || shown.starts_with(":\t")
                || self.is_list && !self.begins_block;
        }
        self.has_odd_code &= !line.trim().is_empty();
        let reading = self.reading(at, line);
        self.readings.push((at, reading));
        let is_fence = code::fence_info(line).is_some();
        let is_odd = line.contains('`') && !is_fence && code::spans(line, false).is_empty();
        // A description or a title may go on over lines.
        if (is_odd || self.has_odd_code) && (line.contains("![") || line.contains("`](")) {
            self.push(ConstructKind::Unknown(line.trim().to_owned()), at..end);
        }
        let is_open = line.rfind("](").is_some_and(|open| !line[open..].contains(')'));
        if is_open && (line.contains("![") || self.block.has_code_and_quotes) && self.block.end > end {
            // All of the block is part of it, by its hash: there may be many in one.
            let kind = ConstructKind::Unknown(format!("{} {:x}", line.trim(), self.block.text));
            self.push(kind, at..end);
        }
        self.has_odd_code |= is_odd || is_open;
        self.formula_block(at, line);
        // Some write the address of a link into its text, and Vue fills in braces there.
        let has_braces = line.contains('%') && line.to_ascii_lowercase().contains("%7b%7b");
        if has_braces && self.kind != Some(FileKind::Mdx) {
            let kind = ConstructKind::TemplateInCode { text: "{{".to_owned(), is_fenced: false };
            self.push(kind, at..end);
        }
        if line.len() <= MAX_TITLES_BYTES && line.contains('`') {
            self.code_in_attributes(at, line);
        }
        self.titles(at, line);
        let is_in_quote = columns(line, 4) < 4 && line.trim_start().starts_with('>');
        let ends_block = line.trim().is_empty()
            || is_in_quote && line.trim_matches(|c: char| c == '>' || c.is_whitespace()).is_empty()
            || is_heading(line)
            || is_ruler(line)
            // To MDX a tag on a line of its own is no text.
            || line.trim_start().starts_with('<') && line.trim_end().ends_with('>');
        let begins_block = std::mem::replace(&mut self.begins_block, ends_block);
        match line.trim() {
            "::: v-pre" => (self.is_raw, self.open_boxes) = (true, self.open_boxes + 1),
            line if is_box_end(line) => {
                (self.is_raw, self.open_boxes) = (false, self.open_boxes.saturating_sub(1))
            }
            _ if shown.starts_with(":::") => self.open_boxes += 1,
            _ => {}
        }
        if self.closing_fences.remove(&at) {
            return self.mask(at..end);
        }
        if let Some(info) = myst::colon_fence(line) {
            self.colon_directive(info, at..end);
        }
        if let Some(info) = code::fence_info(line) {
            let is_free = self.kind == Some(FileKind::Mdx) && !self.has_list_above;
            let fence = match is_free {
                _ if self.has_odd_fence => None,
                true => code::free_fence_at(file, at),
                false => code::fence_at(file, at),
            };
            let fence = fence.filter(|fence| !may_be_text && !self.is_cut(at, fence));
            // From here on renderers disagree about what is code.
            let was_odd = self.has_odd_fence;
            self.has_odd_fence |= fence.is_none();
            if self.has_odd_fence {
                self.fence_lines.pass(line);
            }
            return match fence {
                fence if is_directive(info) => {
                    let fence = fence.filter(|_| !self.directives.is_full_at(at));
                    // Without an end it may be all of the rest, once.
                    if myst::is_active(info) && !was_odd {
                        let content = fence.as_ref().map_or(end..file.len(), |fence| fence.content.clone());
                        self.push(ConstructKind::Unknown(format!("{info}\n{}", &file[content])), at..end);
                    }
                    self.has_odd_fence |= fence.is_none();
                    if let Some(fence) = fence {
                        self.directives.push(fence.content.end);
                        self.closing_fences.insert(fence.content.end);
                    }
                    self.directive(at..end, info)
                }
                Some(fence) => self.fence(at, &fence),
                None => {
                    let marks = line.find(['`', '~']).unwrap_or_default();
                    let length = line[marks..].find(|c| c != '`' && c != '~').unwrap_or(line.len() - marks);
                    self.mask(at + marks..at + marks + length);
                    self.inline(at + marks + length, end)
                }
            };
        }
        let is_mdx = self.kind == Some(FileKind::Mdx);
        let may_be_one = (begins_block || !is_below_text(file, at))
            && is_mdx
            && ["import", "export"].iter().any(|word| {
                line.strip_prefix(word).is_some_and(|rest| rest.starts_with(char::is_whitespace))
            });
        if may_be_one || is_statement(line) {
            return self.statement(at, begins_block);
        }
        // VitePress takes in a file here, whatever tags the rest of the line may hold.
        if line.trim_start_matches([' ', '\t', '>', '-', '*']).starts_with("<<<") {
            self.push(ConstructKind::Unknown(line.trim().to_owned()), at..end);
        }
        self.inline(at, end)
    }

    /// Whether some renderer ends a comment before its end: in a line it does not go on over empty ones, and in a list, a
    /// quote or a box it does not go on behind that.
    fn is_cut_comment(&self, comment: Range<usize>) -> bool {
        let comment_start = comment.start;
        let (before, inside) =
            (&self.file[self.text_start.min(comment_start)..comment_start], &self.file[comment]);
        let is_marked = before.starts_with('>') || code::is_list_item(before);
        let line = &self.file[self.file[..comment_start].rfind('\n').map_or(0, |end| end + 1)..];
        (is_marked || before.contains('`') || columns(line, 4) >= 4) && inside.contains('\n')
            || !before.is_empty() && inside.lines().skip(1).any(ends_paragraph)
            || self.open_boxes > 0 && inside.lines().any(|line| is_box_end(line.trim()))
    }

    /// A comment without an end: all that follows is part of it to some, and text to others.
    fn open_comment(&mut self, at: usize) -> usize {
        if !self.has_open_comment {
            self.swallow(at..self.file.len(), Swallow::Comment);
        }
        self.has_open_comment = true;
        let near = &self.file[at..self.file.floor_char_boundary(at + MAX_COMMAND_BYTES)];
        let first = near.lines().next().unwrap_or_default().to_owned();
        self.push(ConstructKind::Unknown(first), at..at + 4);
        self.mask(at..at + 4)
    }

    /// What may be code, such as `<script>` in backticks, has all of the rest in it if it has no end. Then the rest is read
    /// as text, and is no part of it.
    fn without_open_content(&mut self, kind: &mut ConstructKind, at: usize, end: usize) -> usize {
        let is_doubtful = matches!(self.reading_of(at), Reading::Doubtful(_));
        match kind {
            ConstructKind::Html(element)
                if is_doubtful && end == self.file.len() && self.open_contents < MAX_NESTED =>
            {
                // Each costs a walk to the end.
                self.open_contents += 1;
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

    /// Whether a fence begins in what some renderers take for a comment, braces or a formula, and goes on behind it; or
    /// whether it begins in a box or a block of a template and goes on behind that.
    fn is_cut(&self, at: usize, fence: &Fence<'_>) -> bool {
        let content = &self.file[fence.content.clone()];
        at < self.swallowed_end && self.swallowed_end < fence.end
            || self.open_boxes > 0 && content.lines().any(|line| is_box_end(line.trim()))
            || self.kind != Some(FileKind::Mdx) && ends_block(&self.file[fence.content.clone()])
    }

    /// Whether the code spans of a line are some to every renderer.
    fn has_certain_spans(&self, at: usize, line: &str) -> bool {
        // What began above may take their marks.
        let is_taken =
            self.has_odd_code || at < self.swallowed_end && swallowed_at(&self.swallowed, at).is_some();
        !is_taken && code::has_certain_spans(line)
    }

    fn reading(&mut self, at: usize, line: &str) -> Reading {
        let is_mdx = self.kind == Some(FileKind::Mdx);
        let has_code = line.contains('`') && code::fence_info(line).is_none();
        let is_odd = has_code && !self.has_certain_spans(at, line);
        let in_html = self.open_elements > 0 && !is_mdx && line.contains('`');
        let doubt = if self.has_odd_fence {
            Doubt::OddFence(self.fence_lines.hash_at(at))
        } else if is_odd || in_html && self.block.begins_with_tag {
            // Up to an empty line it is HTML to all.
            Doubt::OddSpan(self.block.signs)
        } else if in_html {
            Doubt::InHtml
        } else if !is_mdx && columns(line, 4) >= 4 {
            Doubt::Indented {
                in_list: self.is_list,
                in_html: self.open_elements > 0,
                after_blank: self.is_below_blank,
            }
        } else {
            return Reading::Wary;
        };
        Reading::Doubtful(doubt)
    }

    fn push(&mut self, kind: ConstructKind, span: Range<usize>) {
        let reading = match kind {
            ConstructKind::Comment(_) => self.reading_of_line(),
            _ => self.reading_of(span.start),
        };
        self.found.push(Construct { kind, span, reading });
    }

    fn reading_of_line(&self) -> Reading {
        self.readings.last().map_or(Reading::Wary, |(_, reading)| *reading)
    }

    /// How a place in the line is read.
    fn reading_of(&self, place: usize) -> Reading {
        let line = self.reading_of_line();
        // Code may begin before what swallows it.
        match place < self.swallowed_end && !is_odd_code(line) {
            true => swallowed_at(&self.swallowed, place).unwrap_or(line),
            false => line,
        }
    }

    fn swallow(&mut self, range: Range<usize>, by: Swallow) {
        self.swallowed_end = self.swallowed_end.max(range.end);
        self.swallowed.push((range, by));
    }

    /// To MDX a statement begins a block; elsewhere the same words are text.
    fn statement(&mut self, at: usize, begins_block: bool) -> usize {
        let file = self.file;
        // One that does not end is an error to MDX; elsewhere the block is text.
        let end = (!self.has_open_statement).then(|| script::statement_end(file, at)).flatten();
        self.has_open_statement |= end.is_none();
        let block = || file[at..].find("\n\n").map_or(file.len(), |length| at + length + 1);
        let end = end.unwrap_or_else(block);
        let text = file[at..end].trim().to_owned();
        // Below text it goes on with the paragraph; below anything else that depends.
        let kind = match begins_block {
            true => ConstructKind::Esm(text),
            false if is_below_text(file, at) => ConstructKind::Unknown(text),
            false => ConstructKind::Unknown(format!("{}\n{text}", line_above(file, at))),
        };
        self.push(kind, at..end);
        self.begins_block = true;
        self.mask(at..end)
    }

    /// A fence of MyST whose content is a page, and not code.
    fn directive(&mut self, line: Range<usize>, info: &str) -> usize {
        let (name, arguments) = info.split_once('}').unwrap_or((info, ""));
        let kind =
            ConstructKind::Directive { name: format!("{name}}}"), arguments: arguments.trim().to_owned() };
        // Docusaurus takes such a fence away and reads the rest as MDX.
        if info != "mdx-code-block" {
            self.push(kind, line.clone());
        }
        self.options(line.end);
        self.mask(line)
    }

    fn options(&mut self, start: usize) {
        if self.kind != Some(FileKind::Mdx) {
            let options = myst::options(self.file, start);
            options.into_iter().for_each(|(kind, span)| self.push(kind, span));
        }
    }

    /// A box of colons that is a directive of MyST. Its first line is read as prose.
    fn colon_directive(&mut self, info: &str, line: Range<usize>) {
        // What is in another such box belongs to that.
        if myst::is_active(info) && line.start >= self.active_end {
            self.active_end = myst::colon_end(self.file, line.end);
            let content = &self.file[line.end..self.active_end];
            self.push(ConstructKind::Unknown(format!("{info}\n{content}")), line.clone());
        }
        self.options(line.end);
    }

    fn fence(&mut self, at: usize, fence: &Fence<'_>) -> usize {
        let content = &self.file[fence.content.clone()];
        let kind = ConstructKind::Code { info: fence.info.to_owned(), text: content.to_owned() };
        self.push(kind, at..fence.end);
        if self.kind != Some(FileKind::Mdx) && (fence.is_in_list || info::has_words(fence.info)) {
            self.fences_of_some.push(fence.content.clone());
        }
        self.mask(at..fence.end);
        fence.end
    }

    fn inline(&mut self, start: usize, end: usize) -> usize {
        let spans = if self.has_odd_fence
            || !self.has_certain_spans(start, &self.file[start..end])
            || self.open_elements > 0 && self.kind != Some(FileKind::Mdx)
        {
            Vec::new()
        } else {
            code::spans(&self.file[start..end], self.block.is_table)
        };
        let mut at = start;
        while at < end {
            let Some(found) = self.file[at..end].find(['`', '<', '{', '\\', '&', '$']) else { break };
            at += found;
            let span =
                spans.binary_search_by_key(&at, |span| start + span.start).ok().map(|index| &spans[index]);
            at = match self.file.as_bytes()[at] {
                b'`' => match span {
                    Some(span) => self.span(start + span.start..start + span.end),
                    // To some renderers it is no code: what follows is read as text.
                    None => self.mask(at..at + 1),
                },
                b'<' => self.tag(at),
                b'{' => self.brace(at),
                b'&' => self.entity(at),
                b'$' => self.math(at),
                _ => self.escape(at),
            };
        }
        at.max(end)
    }

    /// A code span, which runs in some pages.
    fn span(&mut self, span: Range<usize>) -> usize {
        let inside = self.file[span.clone()].trim_matches('`');
        let runs =
            self.kind == Some(FileKind::Quarto) && (inside.starts_with(['{']) || inside.starts_with("r "));
        // `$`…`$` is a formula to GitLab, and so is a role.
        let is_formula = self.file[..span.start].ends_with(['$', '}', ':']);
        if runs
            || is_formula && has_strong_command(inside)
            || inside.starts_with("$=")
            || inside.starts_with("= ")
        {
            let kind = ConstructKind::Unknown(self.file[span.clone()].to_owned());
            self.push(kind, span.clone());
        }
        self.mask(span)
    }

    /// A character that is written by its name or number.
    fn entity(&mut self, at: usize) -> usize {
        let rest = &self.file[at..];
        let length = rest[1..]
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '#')
            .map_or(rest.len(), |end| end + 1);
        let is_entity = rest[length..].starts_with(';') && length > 2;
        let is_open_number = rest.starts_with("&#");
        if (is_entity || is_open_number) && !entities::is_visible(&rest[1..length]) {
            let kind = ConstructKind::Unknown(rest[..length].to_owned());
            self.push(kind, at..at + length);
        }
        at + 1
    }

    /// A formula that needs braces: to MDX without a plugin they would be code.
    fn math(&mut self, at: usize) -> usize {
        let rest = &self.file[at..];
        let mark = if rest.starts_with("$$") { "$$" } else { "$" };
        let inside = &rest[mark.len()..rest.floor_char_boundary(MAX_FORMULA_BYTES).max(mark.len())];
        let start = at + mark.len();
        let limit = match mark {
            "$$" => self.paragraph_end.find(self.file, start, |rest| rest.find("\n\n")) - start,
            _ => inside.find('\n').unwrap_or(inside.len()),
        };
        let Some(end) = inside[..limit.min(inside.len())].find(mark).filter(|end| *end > 0) else {
            return at + mark.len();
        };
        let formula = &inside[..end];
        let is_one = if formula.contains('{') { is_formula(formula) } else { looks_like_formula(formula) };
        if !is_one || has_strong_command(formula) {
            return at + mark.len();
        }
        let end = at + end + 2 * mark.len();
        self.push(ConstructKind::Math(formula.to_owned()), at..end);
        self.mask(at..end)
    }

    /// Dollar signs that begin a line begin a formula of many lines, which may have empty ones.
    fn formula_block(&mut self, at: usize, line: &str) {
        if at >= self.swallowed_end && line.trim_start_matches([' ', '\t', '>', '-', '*']).starts_with("$$") {
            let behind = at + line.find("$$").unwrap_or_default() + 2;
            if let Some(length) = self.file[behind..].find("$$") {
                self.swallow(at..behind + length + 2, Swallow::Formula);
            }
        }
    }

    /// Backticks in what becomes an attribute are read in many ways, and quotes in code are not escaped by all.
    fn code_in_attributes(&mut self, at: usize, line: &str) {
        let mut from = 0;
        while let Some(start) = line[from..].find("](").map(|start| from + start) {
            let end = line[start..].find(')').map_or(line.len(), |length| start + length);
            let first = line[from..start].rfind("![").map_or(start, |image| from + image);
            let description = &line[first..start];
            if line[start..end].contains('`') || description.contains('`') && description.contains(['"', '<'])
            {
                self.push(ConstructKind::Unknown(line[first..end].to_owned()), at + first..at + end);
            }
            from = end;
        }
    }

    /// What a link is given beside its text, and what stands behind a label, is no text of the page.
    fn titles(&mut self, at: usize, line: &str) {
        if at < self.swallowed_end || line.len() > MAX_TITLES_BYTES {
            return;
        }
        let content = line.trim_start_matches([' ', '\t', '>']);
        let label = content.strip_prefix('[').and_then(|label| label.split_once("]:"));
        let is_definition = label.is_some_and(|(label, _)| !label.starts_with('^') && !label.contains('['));
        if let Some(start) = is_definition.then(|| line.find("]:")).flatten() {
            let is_plain =
                |c: char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_' | '.' | ':' | '/' | '`');
            let by =
                match label.is_some_and(|(label, given)| label.chars().all(is_plain) && is_address(given)) {
                    true => Swallow::Attribute,
                    false => Swallow::OddAttribute(code::hash(line.trim_end())),
                };
            return self.swallow(at + start..at + line.len(), by);
        }
        let mut from = 0;
        while let Some(start) = line[from..].find("](").map(|start| from + start) {
            let Some(length) = line[start..].find(')') else { return };
            // The description of an image is one, too, and so is an image in it.
            let text = line[from..start].rfind(']').map_or(from, |end| from + end + 1);
            let first = line[text..start].find("![").map_or(start, |image| text + image);
            let by = match is_address(&line[start + 2..start + length]) {
                true => Swallow::Attribute,
                false => Swallow::OddAttribute(code::hash(line.trim_end())),
            };
            self.swallow(at + first..at + start + length, by);
            from = start + length;
        }
    }

    /// A backslash has no meaning in HTML that goes on over empty lines.
    fn escape(&mut self, at: usize) -> usize {
        let next = self.file[at + 1..].chars().next();
        // Docusaurus takes a comment away with the character behind it.
        if self.file[..at].ends_with("-->") {
            return at + 1;
        }
        // Vue fills in what Markdown leaves of `\{\{ a \}\}`.
        if self.kind != Some(FileKind::Mdx)
            && self.file[at..].starts_with("\\{")
            && !self.file[..at].ends_with('{')
        {
            let near = &self.file[at..self.file.floor_char_boundary(at + MAX_COMMAND_BYTES)];
            let plain = near.lines().next().unwrap_or_default().replace('\\', "");
            if let Some(text) = plain.split_inclusive("}}").next().filter(|text| text.starts_with("{{")) {
                let kind = ConstructKind::TemplateInCode { text: text.to_owned(), is_fenced: false };
                self.push(kind, at..at + 1);
            }
        }
        let near = &self.file[at..self.file.floor_char_boundary(at + MAX_COMMAND_BYTES)];
        let near = near.lines().next().unwrap_or_default();
        if has_strong_command(
            &near[..near.len().min(near[1..].find('\\').map_or(near.len(), |next| next + 1))],
        ) {
            self.push(ConstructKind::Unknown(near.to_owned()), at..at + near.len());
        }
        let is_read_as_tag = next == Some('<') && self.open_elements > 0;
        if is_read_as_tag {
            return at + 1;
        }
        let is_odd = matches!(self.reading_of_line(), Reading::Doubtful(Doubt::OddSpan(_)));
        if next == Some('<') && (self.kind != Some(FileKind::Mdx) || is_odd) {
            self.escaped_tag(at);
        }
        at + 1 + next.map_or(0, char::len_utf8)
    }

    /// Python-Markdown knows no backslash before an angle bracket.
    fn escaped_tag(&mut self, at: usize) {
        // What such a tag holds is read as text as well, with the next one in it.
        let tag = match self.escaped.is_full_at(at) {
            true => Some((ConstructKind::Unknown("<".to_owned()), at + 2)),
            false => tags::read_at(self.file, at + 1, MIN_TAG_BYTES),
        };
        if let Some((kind, end)) = tag {
            self.escaped.push(end);
            let reading = match self.reading_of_line() {
                Reading::Doubtful(doubt @ (Doubt::OddSpan(_) | Doubt::OddFence(_))) => {
                    Reading::Doubtful(doubt)
                }
                _ => Reading::Doubtful(Doubt::Escaped),
            };
            self.found.push(Construct { kind, span: at..end, reading });
        }
    }

    fn tag(&mut self, at: usize) -> usize {
        if self.is_destination(at) {
            return at + 1;
        }
        // To MDX there may be a blank before the name, and some blanks are not seen.
        let rest = &self.file[at + 1..];
        let name = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        let is_blank =
            name.len() < rest.len() && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
        if is_blank && (self.kind == Some(FileKind::Mdx) || !rest.starts_with([' ', '\n', '\t'])) {
            let line = rest.find('\n').map_or(self.file.len(), |end| at + 1 + end);
            self.push(ConstructKind::Unknown(self.file[at..line].to_owned()), at..line);
            return self.mask(at..line);
        }
        if rest.starts_with("!--") && (self.has_open_comment || !rest.contains("-->")) {
            return self.open_comment(at);
        }
        let Some((mut kind, end)) = tags::read_at(self.file, at, tags::limit(self.odd_tags)) else {
            self.odd_tags += 1;
            return at + 1;
        };
        let end = self.without_open_content(&mut kind, at, end);
        self.odd_tags += usize::from(matches!(kind, ConstructKind::Unknown(_)));
        if let ConstructKind::Unknown(text) = &kind {
            let end = (at + text.len()).min(self.file.len());
            self.swallow(at..end, Swallow::Attribute);
        }
        let mut end = end;
        let name = &self.file[at + 1..end];
        let name = &name[..name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len())];
        if self.raw_components.contains(name) {
            (kind, end) = tags::take_content(self.file, (kind, end));
        }
        // The marks of a quote are part of no tag.
        let is_quote = self.text_start < at && self.file[self.text_start..].starts_with('>');
        if is_quote && self.file[at..end].contains('\n') {
            kind = ConstructKind::Unknown(self.file[at..end].to_owned());
        }
        self.count(&kind, at..end);
        // MDX has no such comments, and in a formula or the title of a link one begins nothing.
        if matches!(kind, ConstructKind::Comment(_)) {
            self.push(kind, at..end);
            let is_escaped = self.file[..at].ends_with('\\') || self.is_cut_comment(at..end);
            self.swallow(at..end, if is_escaped { Swallow::EscapedComment } else { Swallow::Comment });
            self.mask(end - 3..end);
            return self.mask(at..at + 4);
        }
        // Vue takes a script out of the page wherever it stands, but for one in another element.
        let is_wary = self.readings.last().is_none_or(|(_, reading)| *reading == Reading::Wary);
        let begins_block = self.text_start >= at && self.is_below_blank;
        let is_nested = is_wary
            && !begins_block
            && self.open_elements > 0
            && matches!(&kind, ConstructKind::Html(element) if matches!(element.name.as_str(), "script" | "style"));
        if is_nested {
            self.found.push(Construct { kind, span: at..end, reading: Reading::Doubtful(Doubt::Nested) });
        } else {
            self.push(kind, at..end);
        }
        self.mask(at..end)
    }

    /// Whether an angle bracket begins the destination of a link.
    fn is_destination(&mut self, at: usize) -> bool {
        let before = self.file[..at].trim_end_matches([' ', '\t']);
        let label = before.strip_suffix("]:").and_then(|before| {
            let open = self.label.find(self.file, before.len(), |part| part.rfind('['))?;
            Some(&before[open..])
        });
        let is_definition = label.is_some_and(|label| !label.starts_with("[^"));
        if !before.ends_with("](") && !is_definition {
            return false;
        }
        // The brackets may hold anything but what an attribute is written with.
        let end = self.destination_end.find(self.file, at, |rest| rest.find(['>', '\n', '=', '"', '\'']));
        self.file.as_bytes().get(end) == Some(&b'>')
    }

    fn count(&mut self, kind: &ConstructKind, span: Range<usize>) {
        let (ConstructKind::Html(element) | ConstructKind::Component(element)) = kind else { return };
        let (tag, end) = (&self.file[span.clone()], span.end);
        let begins_line = self.text_start >= span.start;
        let is_void =
            matches!(element.name.as_str(), "br" | "hr" | "img" | "input" | "wbr" | "col" | "source");
        if element.is_closing {
            self.open_elements = self.open_elements.saturating_sub(1);
            // The first of its name: others may not close what they seem to.
            self.raw_element.take_if(|name| *name == element.name);
        } else if !is_void && !tag.ends_with("/>") {
            self.open_elements += 1;
            let is_raw = begins_line
                && element.attributes.iter().any(|attribute| attribute.name == "v-pre")
                && self.is_closed_behind(end, &element.name);
            if is_raw && self.raw_element.is_none() {
                self.raw_element = Some(element.name.clone());
            }
        }
    }

    /// Whether there is a closing tag of this name at or behind `place`.
    fn is_closed_behind(&self, place: usize, name: &str) -> bool {
        let closing = self.closing_tags.get_or_init(|| closing_tags(self.file));
        closing.get(name).is_some_and(|last| *last >= place)
    }

    /// How far it is from `from` to the end of a block of a template.
    fn template_end(&mut self, from: usize, word: &'a str) -> Option<usize> {
        if self.open_templates.contains(word) {
            return None;
        }
        let length = self.file[from..].find(&format!("end{word}"));
        if length.is_none() {
            self.open_templates.insert(word);
        }
        length
    }

    fn brace(&mut self, at: usize) -> usize {
        if self.has_open_brace || self.open_marks > MAX_OPEN_MARKS || self.braces.is_full_at(at) {
            let (kind, end) = (ConstructKind::Unknown("{".to_owned()), at + 1);
            self.push(kind, at..end);
            return end;
        }
        let (kind, end) = braces::read_at(self.file, at, self.kind == Some(FileKind::Mdx));
        if self.file[at..].starts_with("{::comment}") && at >= self.swallowed_end {
            let length = self.file[end..].find("{:/").unwrap_or(0);
            self.swallow(end..end + length, Swallow::Comment);
        }
        let Some(kind) = kind else { return end };
        if let Some(token) = braces::joined(self.file, at, end) {
            self.push(ConstructKind::Unknown(token), at..end);
        }
        self.open_marks += usize::from(!self.file[at..end].ends_with('}'));
        if matches!(kind, ConstructKind::Template(_) | ConstructKind::Component(_)) {
            match braces::first_word(&self.file[at..end]) {
                word @ ("raw" | "verbatim" | "comment") => {
                    self.push(kind, at..end);
                    // Another one in it ends with it.
                    let is_first = at >= self.swallowed_end;
                    let length = is_first.then(|| self.template_end(end, word)).flatten();
                    self.is_raw |= word != "comment" && length.is_some();
                    self.swallow(at..end + length.unwrap_or(0), Swallow::Template);
                    return self.mask(at..end);
                }
                "endraw" | "endverbatim" => self.is_raw = false,
                _ if self.is_raw || self.raw_element.is_some() => {
                    self.raw_marks.insert(at);
                    return self.mask(at..end);
                }
                _ => {}
            }
        }
        self.has_open_brace |= matches!(kind, ConstructKind::Unknown(_));
        let is_whole = matches!(
            kind,
            ConstructKind::Attributes(_) | ConstructKind::Component(_) | ConstructKind::Directive { .. }
        );
        let marks =
            if self.file[at..].starts_with("{{") || self.file[at..].starts_with("{%") { 2 } else { 1 };
        self.push(kind, at..end);
        // To a renderer without braces or templates the rest is text.
        if !is_whole {
            self.braces.push(end);
            self.swallow(at..end, Swallow::Braces);
            self.mask(end.saturating_sub(marks).max(at)..end);
            return self.mask(at..at + marks);
        }
        self.mask(at..end)
    }

    fn mask(&mut self, range: Range<usize>) -> usize {
        for byte in &mut self.masked[range.clone()] {
            if *byte != b'\n' {
                *byte = MASK;
            }
        }
        range.end
    }

    fn at_the_margin(&self, body: usize) -> (String, Vec<(usize, usize)>) {
        let masked = String::from_utf8_lossy(&self.masked);
        let (mut text, mut starts) = (String::with_capacity(masked.len()), Vec::new());
        for (at, line) in lines(&masked, body) {
            let kept = line.trim_start_matches([' ', '\t']);
            starts.push((text.len(), at + line.len() - kept.len()));
            text.push_str(kept);
        }
        starts.push((text.len(), self.file.len()));
        (text, starts)
    }
}

/// Whether code may begin on a line before what swallows it.
fn is_odd_code(line: Reading) -> bool {
    matches!(line, Reading::Doubtful(Doubt::InHtml | Doubt::OddSpan(_) | Doubt::OddFence(_)))
}

/// How a place is read that something swallows.
fn swallowed_at(swallowed: &[(Range<usize>, Swallow)], place: usize) -> Option<Reading> {
    let next = swallowed.partition_point(|(range, _)| range.start <= place);
    let near = swallowed[..next].iter().rev().take(MAX_NESTED);
    let by = near.into_iter().find(|(range, _)| range.contains(&place) && range.start < place);
    by.map(|(_, by)| Reading::Doubtful(Doubt::Swallowed(*by)))
}

/// Lines up to an empty one.
#[derive(Default)]
struct Block {
    end: usize,
    is_table: bool,
    /// A hash of the signs in it: what they mean does not depend on the words between them.
    signs: u64,
    /// A hash of all of it.
    text: u64,
    has_code_and_quotes: bool,
    begins_with_tag: bool,
}

impl Block {
    fn at(file: &str, at: usize) -> Self {
        let (mut end, mut is_table) = (at, false);
        for (start, line) in lines(file, at) {
            if line.trim().is_empty() && start > at {
                break;
            }
            end = start + line.len();
            is_table |= code::is_table_ruler(line);
        }
        let mut hash = DefaultHasher::new();
        for line in file[at..end].split_inclusive('\n') {
            let content = line.trim_start_matches([' ', '\t', '>']);
            (&line[..line.len() - content.len()], code::is_list_item(content)).hash(&mut hash);
            let signs = content.chars().filter(|c| !c.is_alphanumeric() && !matches!(c, ' ' | ',' | '.'));
            signs.for_each(|c| c.hash(&mut hash));
        }
        let text = &file[at..end];
        let begins_with_tag =
            text.trim_start_matches([' ', '\t', '\r', '\n', '>', '-', '*']).starts_with('<');
        Self {
            end: end.max(at + 1),
            is_table,
            signs: hash.finish(),
            text: code::hash(text),
            has_code_and_quotes: text.contains('`') && text.contains('"'),
            begins_with_tag,
        }
    }
}

/// `# Title`, behind a blank that is one to all.
fn is_heading(line: &str) -> bool {
    line.starts_with('#') && line.trim_start_matches('#').starts_with([' ', '\t', '\r', '\n'])
}

/// Whether the line above the one at `line` is empty, or there is none.
fn is_below_blank(file: &str, line: usize) -> bool {
    let above = file[..line].trim_end_matches([' ', '\t', '\r']).strip_suffix('\n');
    above.is_none_or(|above| above.trim_end_matches([' ', '\t', '\r']).ends_with('\n'))
}

/// Where the last closing tag of each name begins.
fn closing_tags(file: &str) -> HashMap<&str, usize> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    let tags = file.match_indices("</").filter_map(|(at, _)| {
        let rest = &file[at + 2..];
        let name = &rest[..rest.find(|c| !is_plain(c))?];
        rest[name.len()..].starts_with('>').then_some((name, at))
    });
    tags.collect()
}

fn line_above(file: &str, at: usize) -> &str {
    file[..at].lines().next_back().unwrap_or_default()
}

/// Whether the line above is of a paragraph to every renderer.
fn is_below_text(file: &str, at: usize) -> bool {
    line_above(file, at).starts_with(char::is_alphabetic)
}

/// Whether a line begins HTML that goes on up to an empty line: by a tag of a block, or by one that is all of the line.
fn begins_html(line: &str) -> bool {
    let Some(tag) = line.trim().strip_prefix('<') else { return false };
    let name = tag.strip_prefix('/').unwrap_or(tag);
    let (name, rest) = name.split_at(name.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(name.len()));
    let is_tag = !name.is_empty() && (rest.is_empty() || rest.starts_with([' ', '\t', '>', '/']));
    let is_whole = tag.ends_with('>') && !tag.contains('<');
    is_tag && (HTML_BLOCKS.contains(&name.to_ascii_lowercase()) || is_whole)
}

/// Whether a paragraph may end above a line.
fn ends_paragraph(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with(['>', '#', '`', '~', '=', '_', '|', ':']) || code::is_list_item(line)
}

/// Whether a text is an address and perhaps a title, to every renderer that fills in the variable it may begin with.
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

/// The end of a box such as `:::note`.
fn is_box_end(line: &str) -> bool {
    line.len() > 2 && line.bytes().all(|byte| byte == b':')
}

/// A line between two sections.
fn is_ruler(line: &str) -> bool {
    let solid = line.chars().filter(|c| !c.is_whitespace());
    line.trim().len() > 2 && solid.into_iter().all(|c| matches!(c, '-' | '*' | '_' | '='))
}

/// `{name}` behind a fence, but not a list of lines or classes.
pub(super) fn is_directive(info: &str) -> bool {
    let name = info.strip_prefix('{').and_then(|rest| rest.split_once('}')).map_or("", |(name, _)| name);
    name.starts_with(|c: char| c.is_ascii_alphabetic()) && !name.contains([' ', '=', '"'])
}

/// Whether a text ends a block of a template that begins before it, such as `{% comment %}`.
fn ends_block(text: &str) -> bool {
    let words = text.match_indices("{%").map(|(at, _)| {
        let word = text[at + 2..].trim_start_matches(['-', ' ']);
        &word[..word.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(word.len())]
    });
    let mut begun = HashSet::new();
    words.into_iter().any(|word| match word.strip_prefix("end") {
        Some(name) => !begun.contains(name),
        None => {
            begun.insert(word);
            false
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(kind: FileKind, file: &str, text: &str, expected: &[&str]) {
        let scanned = Scanned::of(kind, file, 0);
        let found: Vec<_> = scanned.found.iter().map(|construct| &file[construct.span.clone()]).collect();
        let masked = scanned.text.replace(char::from(MASK), "x");
        assert_eq!((masked.as_str(), found.as_slice()), (text, expected), "{file}");
    }

    #[test]
    fn what_is_masked() {
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
