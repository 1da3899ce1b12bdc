//! Makes plain Markdown of MDX without losing the place of anything.
//!
//! MDX is Markdown in which tags, `{expressions}` and `import` lines may stand anywhere and indentation
//! means nothing. Those parts are blanked out, lines move to the margin, and each line remembers where it was.

use std::borrow::Cow;
use std::ops::Range;

use crate::html::{self, Tag, paragraph_end};
use crate::kind::FileKind;
use crate::script;

/// Text for the Markdown parser, with the way back to the file it was made from.
#[derive(Default)]
pub(crate) struct Source<'a> {
    pub(crate) text: Cow<'a, str>,
    /// For each piece that was kept: where it begins here, and where in the file.
    starts: Vec<(usize, usize)>,
    /// Parts of the file that were taken out as code.
    pub(crate) code: Vec<Range<usize>>,
    /// Tags that were taken out.
    pub(crate) tags: Vec<Tag>,
    /// Whether the page pulls in other pages, whose content is then its own.
    pub(crate) includes_pages: bool,
    /// Where a brace opens that never closes.
    pub(crate) open_brace: Option<usize>,
    /// Where code begins that never ends.
    pub(crate) open_fence: Option<usize>,
    /// The imports and exports among the code that begin a block: within a paragraph the word is only a word.
    pub(crate) statements: Vec<Range<usize>>,
}

impl<'a> Source<'a> {
    /// Plain Markdown, from `body` to the end of the file.
    pub(crate) fn markdown(file: &'a str, body: usize) -> Self {
        Self { text: Cow::Borrowed(&file[body..]), starts: vec![(0, body)], ..Self::default() }
    }

    /// MDX, from `body` to the end of the file.
    pub(crate) fn mdx(file: &'a str, body: usize) -> Self {
        let mut masker = Masker { file, ..Masker::default() };
        masker.run(body);
        let (text, starts) = masker.at_the_margin(body);
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

    /// The place in the file of a range of this text.
    pub(crate) fn in_file(&self, range: Range<usize>) -> Range<usize> {
        if range.is_empty() {
            let at = self.offset(range.start);
            return at..at;
        }
        self.offset(range.start)..self.offset(range.end - 1) + 1
    }

    fn offset(&self, here: usize) -> usize {
        let next = self.starts.partition_point(|(start, _)| *start <= here);
        let (start, in_file) = self.starts[next.saturating_sub(1)];
        in_file + here - start
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
    /// Once a brace is found that never closes, the others are not looked at: each would cost a walk to the end.
    open_brace: Option<usize>,
    /// The same for the brackets of statements.
    has_open_bracket: bool,
    open_fence: Option<usize>,
    statements: Vec<Range<usize>>,
    paragraph: Paragraph,
}

/// The paragraph that is being read, found once and not again for each backtick in it.
#[derive(Default)]
struct Paragraph {
    end: usize,
    /// Lengths of backtick runs that are known not to come again.
    unclosed: Vec<usize>,
}

impl<'a> Masker<'a> {
    fn run(&mut self, body: usize) {
        let mut at = body;
        while at < self.file.len() {
            at = self.line(at, body);
        }
    }

    /// Takes the line at `at`, and what begins on it and ends further down; returns where to go on.
    fn line(&mut self, at: usize, body: usize) -> usize {
        let end = line_end(self.file, at);
        let line = &self.file[at..end];
        if let Some((end, is_closed)) = fence_end(self.file, at, line) {
            self.open_fence = (!is_closed).then_some(at);
            self.take_code(at..end);
            return end;
        }
        if line.starts_with("import ") || line.starts_with("export ") {
            let end = self.statement_end(at);
            let before = self.file[..at].trim_end_matches([' ', '\t', '\r', '\n']).len();
            if self.code.last().map_or(body, |code| code.end) == at || before + 1 < at {
                self.statements.push(at..end);
            }
            self.take_code(at..end);
            return end;
        }
        self.inline(at, end)
    }

    /// A blank line ends a statement only when no bracket is open.
    fn statement_end(&mut self, at: usize) -> usize {
        let end = (!self.has_open_bracket).then(|| script::statement_end(self.file, at)).flatten();
        self.has_open_bracket = end.is_none();
        end.unwrap_or_else(|| paragraph_end(self.file, at))
    }

    fn inline(&mut self, start: usize, end: usize) -> usize {
        let mut at = start;
        while at < end {
            let Some(found) = self.file[at..end].find(['`', '<', '{', '\\']) else { break };
            at += found;
            at = match self.file.as_bytes()[at] {
                b'`' => self.code_span(at),
                b'<' => self.tag(at),
                b'{' => self.expression(at),
                _ => at + 1 + self.file[at + 1..].chars().next().map_or(0, char::len_utf8),
            };
        }
        // What began here may have ended on a later line; the rest of that one is still to be read.
        at.max(end)
    }

    fn tag(&mut self, at: usize) -> usize {
        let tag = html::tag_at(self.file, at).or_else(|| html::unreadable_at(self.file, at));
        let Some(tag) = tag else { return at + 1 };
        let mut end = tag.range.end;
        self.masks.push(tag.range.clone());
        if tag.opens() && tag.is_code() {
            let limit = if runs_on(&tag.name) { self.file.len() } else { self.paragraph_at(end).end };
            let code_end = html::code_end(self.file, &tag.name, end, limit.max(end));
            self.take_code(end..code_end);
            end = code_end;
        }
        self.tags.push(tag);
        end
    }

    fn expression(&mut self, at: usize) -> usize {
        // `{#id}` behind a heading is its anchor.
        if self.open_brace.is_some() || self.file[at..].starts_with("{#") {
            return at + 1;
        }
        match script::braces_end(self.file, at) {
            Some(end) => {
                self.take_code(at..end);
                end
            }
            None => {
                self.open_brace = Some(at);
                at + 1
            }
        }
    }

    /// Steps over a code span, or over its backticks alone when they do not close in the paragraph.
    fn code_span(&mut self, at: usize) -> usize {
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

    fn take_code(&mut self, range: Range<usize>) {
        self.masks.push(range.clone());
        self.code.push(range);
    }

    /// The text with blanks for the masks and without indentation.
    fn at_the_margin(&self, body: usize) -> (String, Vec<(usize, usize)>) {
        let blanked = self.blanked();
        let (mut text, mut starts, mut at) = (String::with_capacity(blanked.len()), Vec::new(), body);
        for line in blanked[body..].split_inclusive('\n') {
            let kept = line.trim_start_matches([' ', '\t']);
            starts.push((text.len(), at + line.len() - kept.len()));
            text.push_str(kept);
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

/// Elements that go on over blank lines, to their closing tag; the others end with their paragraph.
fn runs_on(element: &str) -> bool {
    ["pre", "script", "style"].iter().any(|name| name.eq_ignore_ascii_case(element))
}

fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |found| at + found + 1)
}

/// The end of the fenced code that `line` opens, if it opens any, and whether it is closed: else it runs to the end of
/// the file.
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
        let source = Source::mdx(file, 0);
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
    fn ranges_lead_back_to_the_file() {
        let file = "---\n<A>\n    one <B/> two\n</A>\n";
        let source = Source::mdx(file, 4);
        for word in ["one", "two"] {
            let at = source.text.find(word).unwrap();
            assert_eq!(&file[source.in_file(at..at + 3)], word);
        }
    }

    #[test]
    fn hostile_files_are_read_in_linear_time() {
        for part in ["`a` ", "` `` ", "{", "<a b={", "<a \"", "<code>"] {
            let time = |bytes: usize| {
                let file = part.repeat(bytes / part.len());
                let start = Instant::now();
                assert!(Source::mdx(&file, 0).text.len() <= file.len());
                start.elapsed()
            };
            // A ratio, because machines differ, and five tries, because they are busy.
            let is_linear = |_| time(400_000) < time(100_000).max(Duration::from_millis(20)) * 10;
            assert!((0..5).any(is_linear), "{part}");
        }
    }
}
