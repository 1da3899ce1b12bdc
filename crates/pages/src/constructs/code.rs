//! Finds code that all renderers recognize as code. Everything else that looks like code is text to some renderer.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

/// A fenced code block that all renderers recognize.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fence<'a> {
    pub(super) end: usize,
    pub(super) info: &'a str,
    /// The range between the two fences.
    pub(super) content: Range<usize>,
    /// Whether it begins after a list marker, where Python-Markdown recognizes no fences.
    pub(super) is_in_list: bool,
}

/// The standard recognizes no other blanks.
const BLANKS: [char; 4] = [' ', '\t', '\r', '\n'];

/// The first line of a fence, with the markers of lists and quotes before it.
struct Opening<'a> {
    /// The text before the marks.
    prefix: &'a str,
    marks: &'a str,
    info: &'a str,
}

/// The content of a line after the markers of lists, quotes, footnotes, definitions, tasks and fields.
pub(super) fn strip_block_markers(line: &str) -> &str {
    let content = line.trim_start_matches([' ', '\t', '>']);
    // A footnote begins with its name, and a definition with a colon.
    let content = match content.strip_prefix("[^").and_then(|rest| rest.split_once("]:")) {
        Some((_, rest)) => rest.trim_start_matches([' ', '\t']),
        None => content,
    };
    let content = content
        .strip_prefix(':')
        .filter(|rest| rest.starts_with([' ', '\t']))
        .map_or(content, str::trim_start);
    let mut content = content;
    while is_list_item(content) {
        content = skip_list_marker(content).trim_start_matches([' ', '\t', '>']);
    }
    // Tasks, fields and definitions of MyST.
    let markers = ["[ ]", "[x]", "[X]", "~"];
    let item = markers.iter().find_map(|marker| content.strip_prefix(marker));
    let content = item.filter(|rest| rest.starts_with([' ', '\t'])).unwrap_or(content).trim_start();
    let field = content.strip_prefix(':').and_then(|rest| rest.split_once(':'));
    let field = field.filter(|(name, _)| !name.is_empty()).map(|(_, rest)| rest);
    field.unwrap_or(content).trim_start()
}

impl<'a> Opening<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let content = strip_block_markers(line);
        let mark = content.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let length = content.find(|c| c != mark).unwrap_or(content.len());
        let info = content[length..].trim();
        let is_fence = length >= 3 && !(mark == '`' && info.contains('`'));
        let prefix = &line[..line.len() - content.len()];
        is_fence.then(|| Self { prefix, marks: &content[..length], info })
    }

    /// Whether only quote markers, or one list marker that all renderers recognize, are before the marks.
    fn is_certain(&self) -> bool {
        let content = self.prefix.trim_start_matches([' ', '>']);
        if content.trim_matches(BLANKS).is_empty() && !self.prefix.contains('>') {
            return true;
        }
        let digits = content.chars().take_while(char::is_ascii_digit).count();
        skip_list_marker(content).is_empty() && !content.contains('\t') && digits < 10
    }

    /// Whether a line is as deep in lists and quotes as the marks, and so belongs to the code for all renderers.
    fn contains(&self, line: &str) -> bool {
        let indent = |text: &str| text.len() - text.trim_start_matches([' ', '\t']).len();
        if self.prefix.contains('>') {
            return line.starts_with(self.prefix) || line.trim_end() == self.prefix.trim_end();
        }
        // The width of a tab depends on the text before it.
        let is_as_deep = match self.prefix.contains('\t') {
            true => line.starts_with(self.prefix),
            false => indent(line) >= self.prefix.chars().count(),
        };
        line.trim().is_empty() || is_as_deep
    }

    /// Whether some renderer ends the code at this line.
    fn may_be_closed_by(&self, line: &str) -> bool {
        let content = line.trim_matches([' ', '\t', '>', '\r', '\n']);
        content.len() >= self.marks.len() && content.trim_start_matches(&self.marks[..1]).is_empty()
    }

    /// Whether a line is only the same marks at the same depth. All renderers end the code there.
    fn is_closed_by(&self, line: &str) -> bool {
        let line = line.trim_end_matches(BLANKS);
        let same_depth = match self.prefix.contains('>') {
            true => line.strip_prefix(self.prefix),
            false if self.prefix.contains('\t') => line.strip_prefix(self.prefix),
            false => line
                .get(self.prefix.len()..)
                .filter(|_| line[..self.prefix.len()].bytes().all(|byte| byte == b' ')),
        };
        same_depth == Some(self.marks)
    }
}

/// Whether a line begins with a list marker.
pub(super) fn is_list_item(line: &str) -> bool {
    skip_list_marker(line).len() < line.len()
}

fn skip_list_marker(content: &str) -> &str {
    let number = content.trim_start_matches(|c: char| c.is_ascii_digit());
    let item = match number.len() < content.len() {
        true => number.strip_prefix(['.', ')']),
        false => content.strip_prefix(['-', '*', '+']),
    };
    match item.filter(|rest| rest.starts_with([' ', '\t'])) {
        Some(rest) => rest.trim_start_matches([' ', '\t']),
        None => content,
    }
}

/// The info string of a line with the marks of a fence.
pub(super) fn fence_info(line: &str) -> Option<&str> {
    Opening::parse(line).map(|opening| opening.info)
}

/// Hashes the lines that can be fences, where renderers disagree about them. The meaning of a line depends on the fences
/// above it, and on whether one below ends what they begin.
#[derive(Default)]
pub(super) struct FenceLines {
    above: DefaultHasher,
    /// The last offset of each line that only ends a fence, and its hash, in descending order.
    below: Vec<(usize, u64)>,
    /// The sum of these hashes.
    sum: u64,
}

impl FenceLines {
    pub(super) fn new(file: &str, body: usize) -> Self {
        let ends = super::lines(file, body).filter(|(_, line)| fence_info(line) == Some(""));
        let last: HashMap<_, _> = ends.map(|(at, line)| (hash_text(line.trim_end()), at)).collect();
        let mut below: Vec<_> = last.into_iter().map(|(hash, at)| (at, hash)).collect();
        below.sort_unstable_by_key(|(at, _)| Reverse(*at));
        let sum = below.iter().fold(0, |sum: u64, (_, hash)| sum.wrapping_add(*hash));
        Self { above: DefaultHasher::new(), below, sum }
    }

    /// Adds a line that the scan passed.
    pub(super) fn add_above(&mut self, line: &str) {
        line.trim_end().hash(&mut self.above);
    }

    /// A hash of what the line at `at` depends on. Offsets must not decrease between calls.
    pub(super) fn hash_at(&mut self, at: usize) -> u64 {
        while let Some((_, hash)) = self.below.pop_if(|(last, _)| *last <= at) {
            self.sum = self.sum.wrapping_sub(hash);
        }
        self.above.finish() ^ self.sum
    }
}

pub(super) fn hash_text(line: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    line.hash(&mut hasher);
    hasher.finish()
}

/// The fence that begins on the line at `at`, if all renderers recognize it.
pub(super) fn fence_at(text: &str, at: usize) -> Option<Fence<'_>> {
    let mut lines = super::lines(text, at);
    let (_, first) = lines.next()?;
    let opening = Opening::parse(first).filter(Opening::is_certain)?;
    let start = at + first.len();
    for (line_at, line) in lines {
        if opening.is_closed_by(line) {
            let end = line_at + line.len();
            let is_in_list = !opening.prefix.trim_matches([' ', '>']).is_empty();
            return Some(Fence { end, info: opening.info, content: start..line_at, is_in_list });
        }
        // A renderer that ignores lists or indentation ends the code here.
        if !opening.contains(line) || opening.may_be_closed_by(line) {
            return None;
        }
    }
    None
}

/// The code spans of a line with their backticks, if every run of backticks is part of one. In a table a span can't
/// contain a bar, because the row is split at its bars first.
pub(super) fn code_spans(line: &str, is_table: bool) -> Vec<Range<usize>> {
    let runs = backticks(line);
    if runs.iter().any(|run| line[..run.start].ends_with('\\')) {
        return Vec::new();
    }
    let (mut spans, mut next) = (Vec::new(), 0);
    while let Some(open) = runs.get(next) {
        let Some(close) = runs[next + 1..].iter().position(|run| run.len() == open.len()) else {
            return Vec::new();
        };
        next += close + 2;
        spans.push(open.start..runs[next - 1].end);
    }
    spans.retain(|span| !is_table || !line[span.clone()].replace("\\|", "").contains('|'));
    // A formula can begin before a span and end in it.
    let (mut text, mut is_open) = (0, false);
    spans.retain(|span| {
        is_open ^= count_dollars(&line[text..span.start]) % 2 == 1;
        text = span.end;
        !is_open || !line[span.clone()].contains('$')
    });
    spans
}

/// Whether all renderers recognize the code spans of a line: no address, braces, tag or comment before them can use up
/// their backticks.
pub(super) fn has_certain_spans(line: &str) -> bool {
    let spans = code_spans(line, false);
    let mut text = 0;
    !spans.is_empty()
        && spans.iter().all(|span| {
            let before = &line[std::mem::replace(&mut text, span.end)..span.start];
            let word = before.rsplit(|c: char| c.is_ascii_whitespace()).next().unwrap_or_default();
            let tags =
                before.match_indices('<').filter(|(at, _)| !before[at + 1..].starts_with([' ', '=', '-']));
            let is_used_up = before.matches('{').count() > before.matches('}').count()
                || tags.count() > before.matches('>').count()
                || before.rfind("](").is_some_and(|open| !before[open..].contains(')'))
                || before.ends_with("-->");
            let is_address = ["://", "www.", "@"].iter().any(|part| word.to_ascii_lowercase().contains(part));
            !is_used_up && !is_address
        })
}

/// The number of dollar signs that begin or end a formula.
fn count_dollars(text: &str) -> usize {
    text.match_indices('$').filter(|(at, _)| !text[..*at].ends_with(['\\', '$'])).count()
}

/// The same in MDX, where no list or quote is open. There is no indented code, so any line of marks ends the fence.
pub(super) fn mdx_fence_at(text: &str, at: usize) -> Option<Fence<'_>> {
    let mut lines = super::lines(text, at);
    let (_, first) = lines.next()?;
    let opening = Opening::parse(first).filter(|opening| opening.prefix.trim_matches(BLANKS).is_empty())?;
    let (end, line) = lines.find(|(_, line)| {
        let content = line.trim_matches(BLANKS);
        content.starts_with(opening.marks) && content.trim_start_matches(&opening.marks[..1]).is_empty()
    })?;
    let content = at + first.len()..end;
    Some(Fence { end: end + line.len(), info: opening.info, content, is_in_list: false })
}

/// The runs of backticks in a line.
fn backticks(line: &str) -> Vec<Range<usize>> {
    let (mut runs, mut at) = (Vec::new(), 0);
    while let Some(found) = line[at..].find('`') {
        let start = at + found;
        at = line[start..].find(|c| c != '`').map_or(line.len(), |length| start + length);
        runs.push(start..at);
    }
    runs
}

/// Whether a line is the delimiter row of a table.
pub(super) fn is_table_delimiter_row(line: &str) -> bool {
    let line = line.trim_matches([' ', '\t', '\r', '\n', '>']);
    line.contains('|')
        && line.contains('-')
        && line.chars().all(|c| matches!(c, '|' | '-' | ':' | ' ' | '\t'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certain_fences() {
        #[track_caller]
        fn check(text: &str, expected: Option<(&str, &str)>) {
            let found = fence_at(text, 0).map(|fence| (fence.info, &text[fence.content]));
            assert_eq!(found, expected, "{text}");
        }
        check("```js\na\n```\nb", Some(("js", "a\n")));
        check("~~~\n```\n~~~\n", Some(("", "```\n")));
        check("````\n```\n````", Some(("", "```\n")));
        check("```\na\n````\n", None);
        check("```\na\n", None);
        check("- ```\n  a\n\n  b\n  ```\n", Some(("", "  a\n\n  b\n")));
        check("- ```\n  a\n\nb\n  ```\n", None);
        check("  ```\n  a\n  ```\n", Some(("", "  a\n")));
        check("> ```\n> a\n> ```\n", Some(("", "> a\n")));
        check("> ```\n> a\nb\n> ```\n", None);
        check(": ```\n  a\n  ```\n", None);
        check("[^1]: ```\n      a\n      ```\n", None);
        check("1234567890. ```\n            a\n            ```\n", None);
        check("> > ```\n> a\n> > ```\n", None);
        check("``` a`b\nc\n```\n", None);
        check("text\n", None);
        check("```\n    ```\n<b>\n```\n", None);
    }

    #[test]
    fn code_spans() {
        #[track_caller]
        fn check(line: &str, expected: &[&str]) {
            let found: Vec<_> = super::code_spans(line, true).into_iter().map(|span| &line[span]).collect();
            assert_eq!(found, expected, "{line}");
        }
        check("a `b` and ``c``", &["`b`", "``c``"]);
        check("a `b and c", &[]);
        check("a `b `` c` d", &["`b `` c`"]);
        check("a `` `b` `` c", &["`` `b` ``"]);
        check("a \\`b` c`", &[]);
        check("| `a | b` | `c` |", &["`c`"]);
        check("| `a \\| b` |", &["`a \\| b`"]);
    }
}
