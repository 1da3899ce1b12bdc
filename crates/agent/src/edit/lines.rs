//! Splits a text into lines, and tells line breaks within a paragraph from other line breaks.

/// A line. Its indentation is `start..content`, its words are `content..tail`, the spaces at its end are `tail..stop`,
/// and its line ending is `stop..end`. A blank line has only indentation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line {
    pub start: usize,
    pub content: usize,
    pub tail: usize,
    pub stop: usize,
    pub end: usize,
    /// The next line continues the paragraph, so the line ending could also be a space.
    pub is_wrapped: bool,
}

impl Line {
    pub(super) fn is_blank(&self) -> bool {
        self.content == self.stop
    }
}

pub(super) fn is_space(ch: char) -> bool {
    ch == ' ' || ch == '\t'
}

pub(super) fn lines(text: &str) -> impl Iterator<Item = Line> + '_ {
    let mut start = 0;
    let mut in_code = false;
    std::iter::from_fn(move || {
        let whole = text[start..].split_inclusive('\n').next()?;
        let words = without_ending(whole);
        let mut line = Line {
            start,
            content: start + words.len() - words.trim_start_matches(is_space).len(),
            tail: start + words.trim_end_matches(is_space).len(),
            stop: start + words.len(),
            end: start + whole.len(),
            is_wrapped: false,
        };
        line.tail = line.tail.max(line.content);
        start = line.end;
        let content = &text[line.content..line.tail];
        let fence = is_fence(content);
        in_code ^= fence;
        line.is_wrapped = line.end > line.stop
            && !(fence || in_code || is_single_line(content))
            && continues_paragraph(text[line.end..].split('\n').next().unwrap_or_default());
        Some(line)
    })
}

fn without_ending(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

fn is_fence(content: &str) -> bool {
    content.starts_with("```") || content.starts_with("~~~")
}

/// Whether a line is a block of its own: headings, rows of tables, tags, rules and blank lines.
fn is_single_line(content: &str) -> bool {
    content.is_empty() || content.starts_with(['#', '|', '<', '>']) || is_rule(content)
}

/// Whether a line continues the paragraph before it.
fn continues_paragraph(line: &str) -> bool {
    let content = line.trim();
    let number = content.trim_start_matches(|ch: char| ch.is_ascii_digit());
    let numbered = number.len() < content.len() && number.starts_with([')', '.']);
    let bullet = content.starts_with(['-', '*', '+']) && content[1..].starts_with(is_space);
    !(is_single_line(content) || is_fence(content) || bullet || numbered)
}

fn is_rule(content: &str) -> bool {
    ["---", "===", "***", "___", ":::"].iter().any(|rule| content.starts_with(rule))
}
