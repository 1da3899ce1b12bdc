//! Converts MDX into plain Markdown, and maps ranges back to the file.
//!
//! MDX is Markdown in which tags, `{expressions}` and `import` lines can be anywhere, and indentation has no meaning. These
//! parts, code blocks and the content of code elements are blanked: each byte but a line end becomes a space. Then
//! indentation is removed.

use std::borrow::Cow;
use std::ops::Range;

use crate::html::{self, Tag, paragraph_end};
use crate::kind::FileKind;
use crate::script;

/// Text for the Markdown parser, with a mapping back to the file.
#[derive(Default)]
pub(crate) struct MarkdownText<'a> {
    pub(crate) text: Cow<'a, str>,
    /// For each piece: its offset here, and its offset in the file.
    starts: Vec<(usize, usize)>,
    /// Parts of the file that were blanked as code: code blocks, the content of code elements, expressions, imports and
    /// exports.
    pub(crate) code: Vec<Range<usize>>,
    /// Tags that were blanked.
    pub(crate) tags: Vec<Tag>,
    /// Whether the page imports other pages.
    pub(crate) includes_pages: bool,
    /// Where a brace opens that is never closed.
    pub(crate) open_brace: Option<usize>,
    /// Where a code block begins that is never closed.
    pub(crate) open_fence: Option<usize>,
    /// The imports and exports that begin a block. Others are masked too, but not listed.
    pub(crate) statements: Vec<Range<usize>>,
}

impl<'a> MarkdownText<'a> {
    /// Plain Markdown, from `body` to the end of the file.
    pub(crate) fn from_markdown(file: &'a str, body: usize) -> Self {
        Self { text: Cow::Borrowed(&file[body..]), starts: vec![(0, body)], ..Self::default() }
    }

    /// MDX, from `body` to the end of the file.
    pub(crate) fn from_mdx(file: &'a str, body: usize) -> Self {
        let mut masker = Masker { file, ..Masker::default() };
        masker.run(body);
        let (text, starts) = masker.unindented(body);
        let includes_pages = masker.code.iter().any(|code| imports_a_page(&file[code.clone()]));
        let Masker { code, tags, open_brace, open_fence, statements, .. } = masker;
        Self {
            text: Cow::Owned(text),
            starts,
            code,
            tags,
            includes_pages,
            open_brace,
            open_fence,
            statements,
        }
    }

    /// The range in the file of a range of this text.
    pub(crate) fn file_range(&self, range: Range<usize>) -> Range<usize> {
        if range.is_empty() {
            let at = self.file_offset(range.start);
            return at..at;
        }
        self.file_offset(range.start)..self.file_offset(range.end - 1) + 1
    }

    fn file_offset(&self, offset: usize) -> usize {
        let next = self.starts.partition_point(|(start, _)| *start <= offset);
        let (start, in_file) = self.starts[next.saturating_sub(1)];
        in_file + offset - start
    }
}

fn imports_a_page(code: &str) -> bool {
    code.starts_with("import") && code.split(['"', '\'']).any(|part| FileKind::of(part).is_markdown())
}

#[derive(Default)]
struct Masker<'a> {
    file: &'a str,
    /// Ranges to blank, in order.
    masks: Vec<Range<usize>>,
    code: Vec<Range<usize>>,
    tags: Vec<Tag>,
    /// After a brace that is never closed, no other is read: each would cost a search to the end.
    open_brace: Option<usize>,
    /// The same for brackets of statements.
    has_open_bracket: bool,
    open_fence: Option<usize>,
    statements: Vec<Range<usize>>,
    paragraph: Paragraph,
}

/// The current paragraph. Its end is computed once, and not again for each backtick.
#[derive(Default)]
struct Paragraph {
    end: usize,
    /// Lengths of backtick runs that don't occur again in the paragraph.
    unclosed: Vec<usize>,
}

impl<'a> Masker<'a> {
    fn run(&mut self, body: usize) {
        let mut at = body;
        while at < self.file.len() {
            at = self.mask_line(at, body);
        }
    }

    /// Masks the line at `at`, and what begins on it and ends further down. Returns where to continue.
    fn mask_line(&mut self, at: usize, body: usize) -> usize {
        let end = line_end(self.file, at);
        let line = &self.file[at..end];
        if let Some((end, is_closed)) = fence_end(self.file, at, line) {
            self.open_fence = (!is_closed).then_some(at);
            self.mask_code(at..end);
            return end;
        }
        if line.starts_with("import ") || line.starts_with("export ") {
            let end = self.statement_end(at);
            if self.is_block_start(at, body) {
                self.statements.push(at..end);
            }
            self.mask_code(at..end);
            return end;
        }
        self.mask_inline(at, end)
    }

    /// Whether the line at `at` begins a block: only blank lines precede it in the body, or a blank line or code ends
    /// just before it.
    fn is_block_start(&self, at: usize, body: usize) -> bool {
        let text_end = self.file[..at].trim_end_matches([' ', '\t', '\r', '\n']).len();
        let follows_blank_line = self.file[text_end..at].matches('\n').nth(1).is_some();
        let follows_code = self.code.last().is_some_and(|code| code.end == at);
        text_end <= body || follows_blank_line || follows_code
    }

    /// The end of the statement at `at`: the first blank line outside of brackets. After a bracket that is never
    /// closed, this statement and all later ones end with their paragraph.
    fn statement_end(&mut self, at: usize) -> usize {
        let end = (!self.has_open_bracket).then(|| script::statement_end(self.file, at)).flatten();
        self.has_open_bracket = end.is_none();
        end.unwrap_or_else(|| paragraph_end(self.file, at))
    }

    fn mask_inline(&mut self, start: usize, end: usize) -> usize {
        let mut at = start;
        while at < end {
            let Some(found) = self.file[at..end].find(['`', '<', '{', '\\']) else { break };
            at += found;
            at = match self.file.as_bytes()[at] {
                b'`' => self.skip_code_span(at),
                b'<' => self.mask_tag(at),
                b'{' => self.mask_expression(at),
                _ => at + 1 + self.file[at + 1..].chars().next().map_or(0, char::len_utf8),
            };
        }
        // A construct that began here can end on a later line. The rest of that line is read next.
        at.max(end)
    }

    fn mask_tag(&mut self, at: usize) -> usize {
        let tag = html::tag_at(self.file, at).or_else(|| html::malformed_tag_at(self.file, at));
        let Some(tag) = tag else { return at + 1 };
        let mut end = tag.range.end;
        self.masks.push(tag.range.clone());
        if tag.is_opening() && tag.is_code() {
            let limit =
                if spans_blank_lines(&tag.name) { self.file.len() } else { self.paragraph_at(end).end };
            let code_end = html::code_end(self.file, &tag.name, end, limit.max(end));
            self.mask_code(end..code_end);
            end = code_end;
        }
        self.tags.push(tag);
        end
    }

    fn mask_expression(&mut self, at: usize) -> usize {
        // `{#id}` after a heading is its anchor.
        if self.open_brace.is_some() || self.file[at..].starts_with("{#") {
            return at + 1;
        }
        match script::braces_end(self.file, at) {
            Some(end) => {
                self.mask_code(at..end);
                end
            }
            None => {
                self.open_brace = Some(at);
                at + 1
            }
        }
    }

    /// Skips a code span, or only its backticks when they don't close in the paragraph.
    fn skip_code_span(&mut self, at: usize) -> usize {
        let file = self.file;
        let run = |from: usize| file.as_bytes()[from..].iter().take_while(|byte| **byte == b'`').count();
        let length = run(at);
        let paragraph = self.paragraph_at(at);
        let mut here = at + length;
        if paragraph.unclosed.contains(&length) {
            return here;
        }
        while let Some(found) = file.get(here..paragraph.end).and_then(|rest| rest.find('`')) {
            let closing = run(here + found);
            here += found + closing;
            if closing == length {
                return here;
            }
        }
        paragraph.unclosed.push(length);
        at + length
    }

    fn paragraph_at(&mut self, at: usize) -> &mut Paragraph {
        if at >= self.paragraph.end {
            self.paragraph = Paragraph { end: paragraph_end(self.file, at), unclosed: Vec::new() };
        }
        &mut self.paragraph
    }

    fn mask_code(&mut self, range: Range<usize>) {
        self.masks.push(range.clone());
        self.code.push(range);
    }

    /// The text with the masks blanked, and without indentation.
    fn unindented(&self, body: usize) -> (String, Vec<(usize, usize)>) {
        let blanked = self.blanked();
        let (mut text, mut starts, mut at) = (String::with_capacity(blanked.len()), Vec::new(), body);
        for line in blanked[body..].split_inclusive('\n') {
            let content = line.trim_start_matches([' ', '\t']);
            starts.push((text.len(), at + line.len() - content.len()));
            text.push_str(content);
            at += line.len();
        }
        starts.push((text.len(), at));
        (text, starts)
    }

    fn blanked(&self) -> String {
        let mut text = String::with_capacity(self.file.len());
        let mut at = 0;
        for mask in &self.masks {
            text.push_str(&self.file[at..mask.start]);
            let blank = |byte| if byte == b'\n' { '\n' } else { ' ' };
            text.extend(self.file.as_bytes()[mask.clone()].iter().map(|byte| blank(*byte)));
            at = mask.end;
        }
        text.push_str(&self.file[at..]);
        text
    }
}

/// Elements that continue over blank lines to their closing tag. Others end with their paragraph.
fn spans_blank_lines(element: &str) -> bool {
    ["pre", "script", "style"].iter().any(|name| name.eq_ignore_ascii_case(element))
}

fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |found| at + found + 1)
}

/// The end of the code block that `line` opens, and whether it is closed. Otherwise it extends to the end of the file.
fn fence_end(text: &str, at: usize, line: &str) -> Option<(usize, bool)> {
    let content = line.trim_start_matches([' ', '\t', '>', '-', '*']);
    let mark = content.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = content.chars().take_while(|c| *c == mark).count();
    if length < 3 || (mark == '`' && content[length..].contains('`')) {
        return None;
    }
    let mut at = at + line.len();
    while at < text.len() {
        let end = line_end(text, at);
        let content = text[at..end].trim_matches([' ', '\t', '>', '\r', '\n']);
        at = end;
        if content.len() >= length && content.chars().all(|c| c == mark) {
            return Some((at, true));
        }
    }
    Some((at, false))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[track_caller]
    fn check(file: &str, text: &str, code: &[&str]) {
        let source = MarkdownText::from_mdx(file, 0);
        assert_eq!(source.text.split_whitespace().collect::<Vec<_>>().join(" "), text);
        let found: Vec<_> = source.code.iter().map(|range| &file[range.clone()]).collect();
        assert_eq!(found, code);
    }

    #[test]
    fn mdx_becomes_markdown() {
        check("plain *text*", "plain *text*", &[]);
        check("import A from 'a'\n\nText", "Text", &["import A from 'a'\n"]);
        check("<Card title=\"x\">\n    inside\n</Card>", "inside", &[]);
        check("two {1 + {a: 1}.a} three", "two three", &["{1 + {a: 1}.a}"]);
        check("## Head {#id}", "## Head {#id}", &[]);
        check("a `{code}` and ``<b>`` c", "a `{code}` and ``<b>`` c", &[]);
        check(
            "<Tab>\n    ```js\n    {x}\n    ```\n    text\n</Tab>",
            "text",
            &["    ```js\n    {x}\n    ```\n"],
        );
        check("see <code>npm</code> here", "see here", &["npm"]);
        check("open { brace and {done}", "open { brace and {done}", &[]);
        check("a ` b <B/> c", "a ` b c", &[]);
        check(
            "export const m = {\n  a: 'x',\n\n  b: 'y',\n}\n\nText",
            "Text",
            &["export const m = {\n  a: 'x',\n\n  b: 'y',\n}\n"],
        );
        check("{c ? '}' : 'npm'} after", "after", &["{c ? '}' : 'npm'}"]);
        check("{/* it's a { brace */}\n\nnpm {npm}", "npm", &["{/* it's a { brace */}", "{npm}"]);
        check("one\n\n<Card x=\"two\nthree\n\nfour", "one four", &[]);
    }

    #[test]
    fn statements_begin_a_block() {
        #[track_caller]
        fn check(file: &str, body: usize, statements: &[&str]) {
            let markdown = MarkdownText::from_mdx(file, body);
            let found: Vec<_> = markdown.statements.iter().map(|range| &file[range.clone()]).collect();
            assert_eq!(found, statements, "{file:?}");
        }
        check("import a", 0, &["import a"]);
        check("\nimport a", 0, &["import a"]);
        check("---\nimport a", 4, &["import a"]);
        check("text\n\nimport a", 0, &["import a"]);
        check("text\r\n\r\nimport a", 0, &["import a"]);
        check("```\n```\nexport a", 0, &["export a"]);
        check("text\nimport a", 0, &[]);
        check("text \nimport a", 0, &[]);
        check("text\r\nimport a", 0, &[]);
    }

    #[test]
    fn ranges_map_back_to_the_file() {
        let file = "---\n<A>\n    one <B/> two\n</A>\n";
        let source = MarkdownText::from_mdx(file, 4);
        for word in ["one", "two"] {
            let at = source.text.find(word).unwrap();
            assert_eq!(&file[source.file_range(at..at + 3)], word);
        }
    }

    #[test]
    fn hostile_files_are_read_in_linear_time() {
        for part in ["`a` ", "` `` ", "{", "<a b={", "<a \"", "<code>"] {
            let time = |bytes: usize| {
                let file = part.repeat(bytes / part.len());
                let start = Instant::now();
                assert!(MarkdownText::from_mdx(&file, 0).text.len() <= file.len());
                start.elapsed()
            };
            // A ratio, because machines differ. Five tries, because other programs use the CPU.
            let is_linear = |_| time(400_000) < time(100_000).max(Duration::from_millis(20)) * 10;
            assert!((0..5).any(is_linear), "{part}");
        }
    }
}
