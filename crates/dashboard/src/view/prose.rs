//! Parses the subset of Markdown that reports and descriptions of pull requests use: headings, paragraphs, lists,
//! quotes and code.
//!
//! Everything else stays plain text. A template renders the blocks, so markup in the text never becomes HTML.

const MAX_HEADLINE_CHARS: usize = 100;
/// Longer lists and quotations are folded on the pages of jobs and pull requests.
pub(super) const MAX_OPEN_LINES: usize = 10;

/// Text, or code between backticks.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(super) code: bool,
    pub(super) text: String,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Block {
    Heading(Vec<Span>),
    Paragraph(Vec<Span>),
    List(Vec<Vec<Span>>),
    /// One item per line.
    Quote(Vec<Vec<Span>>),
    Code(String),
    /// A code block in a quote, which is how pull requests show quotations.
    Quotation(Quotation),
}

/// The text of a quotation, line by line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Quotation(Vec<Vec<Span>>);

impl Quotation {
    pub(crate) fn new(text: &str) -> Self {
        Self(text.lines().map(spans).collect())
    }

    pub(super) fn line_count(&self) -> usize {
        self.0.len()
    }

    pub(super) fn is_long(&self) -> bool {
        self.line_count() > MAX_OPEN_LINES
    }

    pub(super) fn lines(&self) -> &[Vec<Span>] {
        &self.0
    }
}

/// Splits a text into its blocks.
pub(crate) fn blocks(text: &str) -> Vec<Block> {
    let mut parser = BlockParser::default();
    for line in text.lines() {
        parser.line(line);
    }
    parser.close();
    parser.blocks
}

/// The first line of a text that isn't empty, truncated to the length of a title.
pub(crate) fn headline(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    match line.char_indices().nth(MAX_HEADLINE_CHARS) {
        Some((cut, _)) => format!("{}…", line[..cut].trim_end()),
        None => line.to_owned(),
    }
}

/// Splits a line into text and code.
pub(super) fn spans(line: &str) -> Vec<Span> {
    let span = |part: pages::LinePart<'_>| Span { code: part.is_code, text: part.text.to_owned() };
    pages::code_spans(line).into_iter().map(span).collect()
}

/// The finished blocks, and the block that is being read.
#[derive(Default)]
struct BlockParser {
    blocks: Vec<Block>,
    paragraph: String,
    list: Vec<Vec<Span>>,
    quote: Vec<Vec<Span>>,
    code: Option<String>,
    /// The fence and the text of a code block in a quote.
    quotation: Option<(String, String)>,
}

impl BlockParser {
    fn line(&mut self, line: &str) {
        let trimmed = line.trim();
        if self.quotation.is_some() {
            self.quotation_line(trimmed);
        } else if trimmed.starts_with("```") {
            let opening = self.code.is_none();
            self.close();
            self.code = opening.then(String::new);
        } else if let Some(code) = &mut self.code {
            code.push_str(line);
            code.push('\n');
        } else if trimmed.is_empty() {
            self.close();
        } else if let Some(heading) = heading(trimmed) {
            self.close();
            self.blocks.push(Block::Heading(spans(heading)));
        } else if let Some(item) = item(trimmed) {
            self.close_paragraph();
            self.close_quote();
            self.list.push(spans(item));
        } else if let Some(quoted) = trimmed.strip_prefix('>') {
            self.close_paragraph();
            self.close_list();
            match quoted.trim() {
                fence if is_fence(fence) => {
                    self.close_quote();
                    self.quotation = Some((fence.to_owned(), String::new()));
                }
                quoted => self.quote.push(spans(quoted)),
            }
        } else {
            self.text(trimmed);
        }
    }

    /// Without another line of the quote, the code block ends, too.
    fn quotation_line(&mut self, line: &str) {
        let Some((fence, text)) = &mut self.quotation else { return };
        match line.strip_prefix('>') {
            Some(quoted) if quoted.trim() != fence => {
                text.push_str(quoted.strip_prefix(' ').unwrap_or(quoted));
                text.push('\n');
            }
            Some(_) => self.close_quotation(),
            None => {
                self.close_quotation();
                self.line(line);
            }
        }
    }

    fn text(&mut self, line: &str) {
        self.close_list();
        self.close_quote();
        if !self.paragraph.is_empty() {
            self.paragraph.push(' ');
        }
        self.paragraph.push_str(line);
    }

    fn close(&mut self) {
        self.close_paragraph();
        self.close_list();
        self.close_quote();
        self.close_quotation();
        if let Some(code) = self.code.take() {
            self.blocks.push(Block::Code(code));
        }
    }

    fn close_quotation(&mut self) {
        if let Some((_, text)) = self.quotation.take() {
            self.blocks.push(Block::Quotation(Quotation::new(&text)));
        }
    }

    fn close_paragraph(&mut self) {
        if !self.paragraph.is_empty() {
            self.blocks.push(Block::Paragraph(spans(&self.paragraph)));
            self.paragraph.clear();
        }
    }

    fn close_list(&mut self) {
        if !self.list.is_empty() {
            self.blocks.push(Block::List(std::mem::take(&mut self.list)));
        }
    }

    fn close_quote(&mut self) {
        if !self.quote.is_empty() {
            self.blocks.push(Block::Quote(std::mem::take(&mut self.quote)));
        }
    }
}

/// Whether a line has only backticks, three or more.
fn is_fence(line: &str) -> bool {
    line.len() >= 3 && line.bytes().all(|byte| byte == b'`')
}

fn heading(line: &str) -> Option<&str> {
    let text = line.trim_start_matches('#');
    (text.len() < line.len()).then(|| text.strip_prefix(' ')).flatten()
}

fn item(line: &str) -> Option<&str> {
    line.strip_prefix("- ").or_else(|| line.strip_prefix("* "))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The blocks as one line of text, with code in angle brackets.
    fn to_text(text: &str) -> String {
        let line = |spans: &[Span]| -> String {
            spans.iter().map(|s| if s.code { format!("<{}>", s.text) } else { s.text.clone() }).collect()
        };
        let block = |block: &Block| match block {
            Block::Heading(spans) => format!("H {}", line(spans)),
            Block::Paragraph(spans) => format!("P {}", line(spans)),
            Block::List(items) => {
                format!("L {}", items.iter().map(|i| line(i)).collect::<Vec<_>>().join(", "))
            }
            Block::Quote(lines) => {
                format!("Q {}", lines.iter().map(|l| line(l)).collect::<Vec<_>>().join(", "))
            }
            Block::Code(code) => format!("C {code:?}"),
            Block::Quotation(quotation) => {
                format!("B {}", quotation.lines().iter().map(|l| line(l)).collect::<Vec<_>>().join(", "))
            }
        };
        blocks(text).iter().map(block).collect::<Vec<_>>().join(" | ")
    }

    #[test]
    fn headlines_are_the_first_line_and_short() {
        assert_eq!(headline("\n  Fix links \nand more"), "Fix links");
        assert_eq!(headline(" \n"), "");
        assert_eq!(headline(&"é".repeat(100)), "é".repeat(100));
        assert_eq!(headline(&"é".repeat(101)), format!("{}…", "é".repeat(100)));
    }

    #[test]
    fn texts_are_split_into_blocks() {
        #[track_caller]
        fn check(text: &str, expected: &str) {
            assert_eq!(to_text(text), expected);
        }
        check("", "");
        check("\n \n", "");
        check("one\ntwo\n\nthree", "P one two | P three");
        check("## Done\n- a\n* `b` c\nafter", "H Done | L a, <b> c | P after");
        check("#5 is a number", "P #5 is a number");
        check("-5 degrees", "P -5 degrees");
        check("```sh\n# no heading\n\n- no item\n```\nx", "C \"# no heading\\n\\n- no item\\n\" | P x");
        check("text\n```\nnever closed", "P text | C \"never closed\\n\"");
        check("a ` alone, and `` none", "P a ` alone, and `` none");
        check("renamed to `` a`b ``", "P renamed to <a`b>");
        check("> one\n>two\n- item\nafter", "Q one, two | L item | P after");
        check("before\n> `one`\n\nafter", "P before | Q <one> | P after");
        check(">", "Q ");
        check(
            "Quoted from ` Findings `:\n\n> ```\n> Path: /a\n> \n> renamed to `/b`\n> ```\n\nafter",
            "P Quoted from <Findings>: | B Path: /a, , renamed to </b> | P after",
        );
        check("> ```\n> never closed\nafter", "B never closed | P after");
        check("> ````\n> ```\n> ````\n> quote", "B ``` | Q quote");
        check("windows\r\nlines", "P windows lines");
        check("<b>not bold</b>", "P <b>not bold</b>");
    }
}
