//! The little of Markdown that reports and pull-request texts use, as data for a template:
//! headings, paragraphs, lists, code. Anything else stays the plain text it is; no markup of the
//! text ever becomes markup of the page.

const MAX_HEADLINE_CHARS: usize = 100;

/// A stretch of text, or of code between backticks.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(super) code: bool,
    pub(super) text: String,
}

/// A piece of a text that stands on its own.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Block {
    Heading(Vec<Span>),
    Paragraph(Vec<Span>),
    List(Vec<Vec<Span>>),
    /// Somebody else's words, a line each.
    Quote(Vec<Vec<Span>>),
    Code(String),
}

/// Splits a text into its blocks.
pub(crate) fn blocks(text: &str) -> Vec<Block> {
    let mut reader = Reader::default();
    for line in text.lines() {
        reader.line(line);
    }
    reader.close();
    reader.done
}

/// The first line of a text that says something, short enough for a title.
pub(crate) fn headline(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    match line.char_indices().nth(MAX_HEADLINE_CHARS) {
        Some((cut, _)) => format!("{}…", line[..cut].trim_end()),
        None => line.to_owned(),
    }
}

/// Splits a line at its pairs of backticks; one without a partner is text.
pub(super) fn spans(line: &str) -> Vec<Span> {
    let mut found = Vec::new();
    let mut rest = line;
    while let Some((before, code, after)) = split_code(rest) {
        push(&mut found, false, before);
        push(&mut found, true, code);
        rest = after;
    }
    push(&mut found, false, rest);
    found
}

fn split_code(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('`')?;
    let (code, after) = rest.split_once('`')?;
    Some((before, code, after))
}

fn push(spans: &mut Vec<Span>, code: bool, text: &str) {
    if !text.is_empty() {
        spans.push(Span { code, text: text.to_owned() });
    }
}

/// The block that is being read, if any, and those before it.
#[derive(Default)]
struct Reader {
    done: Vec<Block>,
    paragraph: String,
    list: Vec<Vec<Span>>,
    quote: Vec<Vec<Span>>,
    code: Option<String>,
}

impl Reader {
    fn line(&mut self, line: &str) {
        let trimmed = line.trim();
        if trimmed.starts_with("```") {
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
            self.done.push(Block::Heading(spans(heading)));
        } else if let Some(item) = item(trimmed) {
            self.close_paragraph();
            self.close_quote();
            self.list.push(spans(item));
        } else if let Some(words) = trimmed.strip_prefix('>') {
            self.close_paragraph();
            self.close_list();
            self.quote.push(spans(words.trim()));
        } else {
            self.text(trimmed);
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
        if let Some(code) = self.code.take() {
            self.done.push(Block::Code(code));
        }
    }

    fn close_paragraph(&mut self) {
        if !self.paragraph.is_empty() {
            self.done.push(Block::Paragraph(spans(&self.paragraph)));
            self.paragraph.clear();
        }
    }

    fn close_list(&mut self) {
        if !self.list.is_empty() {
            self.done.push(Block::List(std::mem::take(&mut self.list)));
        }
    }

    fn close_quote(&mut self) {
        if !self.quote.is_empty() {
            self.done.push(Block::Quote(std::mem::take(&mut self.quote)));
        }
    }
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

    /// Blocks in a notation that fits on a line: `code` is written in angle brackets.
    fn shown(text: &str) -> String {
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
        };
        blocks(text).iter().map(block).collect::<Vec<_>>().join(" | ")
    }

    #[test]
    fn headlines() {
        assert_eq!(headline("\n  Fix links \nand more"), "Fix links");
        assert_eq!(headline(" \n"), "");
        assert_eq!(headline(&"é".repeat(100)), "é".repeat(100));
        assert_eq!(headline(&"é".repeat(101)), format!("{}…", "é".repeat(100)));
    }

    #[test]
    fn texts_fall_into_blocks() {
        #[track_caller]
        fn check(text: &str, expected: &str) {
            assert_eq!(shown(text), expected);
        }
        check("", "");
        check("\n \n", "");
        check("one\ntwo\n\nthree", "P one two | P three");
        check("## Done\n- a\n* `b` c\nafter", "H Done | L a, <b> c | P after");
        check("#5 is a number", "P #5 is a number");
        check("-5 degrees", "P -5 degrees");
        check("```sh\n# no heading\n\n- no item\n```\nx", "C \"# no heading\\n\\n- no item\\n\" | P x");
        check("text\n```\nnever closed", "P text | C \"never closed\\n\"");
        check("a ` alone, and `` none", "P a < alone, and >` none");
        check("> one\n>two\n- item\nafter", "Q one, two | L item | P after");
        check("before\n> `one`\n\nafter", "P before | Q <one> | P after");
        check(">", "Q ");
        check("windows\r\nlines", "P windows lines");
        check("<b>not bold</b>", "P <b>not bold</b>");
    }
}
