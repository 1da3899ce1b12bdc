//! Fenced code in pages, and what only looks like it.
//!
//! A fence inside a comment or an expression of MDX is none to a browser: whoever takes it for one does not see what
//! stands between it and the next.

use std::ops::Range;

use super::code::is_prose;
use super::tags::Reader;

/// Walks over the lines of a page and says which of them are fences or within them.
#[derive(Default)]
struct Walk {
    fence: Option<(char, usize)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Line {
    Open,
    Close,
    Inside,
    Outside,
}

impl Walk {
    fn line(&mut self, line: &str) -> Line {
        let start = line.trim_start_matches([' ', '\t']);
        let mark = start.chars().next().filter(|c| matches!(c, '`' | '~'));
        let length = mark.map_or(0, |mark| start.chars().take_while(|c| *c == mark).count());
        let rest = start.get(length..).unwrap_or_default().trim();
        match (self.fence, mark) {
            (None, Some(mark)) if length >= 3 && !(mark == '`' && rest.contains('`')) => {
                self.fence = Some((mark, length));
                Line::Open
            }
            (Some((open, least)), Some(mark)) if mark == open && length >= least && rest.is_empty() => {
                self.fence = None;
                Line::Close
            }
            (Some(_), _) => Line::Inside,
            (None, _) => Line::Outside,
        }
    }
}

/// The fenced blocks of a page, wherever they stand, with their marks.
pub(super) fn blocks(text: &str) -> Vec<Range<usize>> {
    let (mut blocks, mut open, mut walk, mut at) = (Vec::new(), None, Walk::default(), 0);
    for line in text.split_inclusive('\n') {
        let here = at;
        at += line.len();
        match walk.line(line) {
            Line::Open => open = Some(here),
            Line::Close => blocks.extend(open.take().map(|start| start..at)),
            _ => {}
        }
    }
    blocks.extend(open.map(|start| start..at));
    blocks
}

/// Whether a fenced block ends with the mark that it begins with. To some readers one that does not is no code at all.
pub(super) fn is_even(block: &str) -> bool {
    let mark = |line: &str| {
        let line = line.trim_start_matches([' ', '\t', '>']);
        let first = line.chars().next();
        line.chars().take_while(|c| Some(*c) == first).collect::<String>()
    };
    let first = mark(block.lines().next().unwrap_or_default());
    let last = block.trim_end().lines().skip(1).last().unwrap_or_default();
    first.len() >= 3 && mark(last) == first && last.trim_end().ends_with(&first)
}

/// The fences in a block that is code by its indentation: so are those in tabs and admonitions, which a reader that
/// knows these takes for fences.
pub(super) fn indented(text: &str, block: Range<usize>) -> Vec<Range<usize>> {
    let (mut fences, mut open, mut walk) = (Vec::new(), None, Walk::default());
    let first_line = text[..block.start].rfind('\n').map_or(0, |end| end + 1);
    let mut at = first_line;
    for line in text[first_line..block.end].split_inclusive('\n') {
        let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
        let here = at;
        at += line.len();
        match walk.line(line) {
            Line::Open => open = Some((here, indent, line.trim())),
            Line::Close => {
                let fence = open.take().filter(|(_, least, mark)| {
                    *least == indent && mark.starts_with(line.trim()) && is_even(&format!("{mark}\n{line}"))
                });
                fences.extend(fence.map(|(start, ..)| start..at));
            }
            _ => {}
        }
    }
    fences
}

/// In MDX nothing is code by its indentation, and a fence may stand anywhere; tags do not close it off.
pub(super) fn blank(text: &str) -> String {
    let mut walk = Walk::default();
    let mut visible = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        match walk.line(line) {
            Line::Outside => to_the_left(line, &mut visible),
            _ => blanks(line, &mut visible),
        }
    }
    visible
}

/// The text with blanks for the marks alone: all that stands between them is seen.
pub(super) fn without_marks(text: &str) -> String {
    let mut visible = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let start = line.trim_start_matches([' ', '\t']);
        match start.starts_with("```") || start.starts_with("~~~") {
            true => blanks(line, &mut visible),
            false => to_the_left(line, &mut visible),
        }
    }
    visible
}

fn blanks(line: &str, visible: &mut String) {
    visible.extend(line.bytes().map(|b| if b == b'\n' { '\n' } else { ' ' }));
}

/// Blanks in front would make code of it for the parser; behind, they mean nothing.
fn to_the_left(line: &str, visible: &mut String) {
    let start = line.trim_start_matches([' ', '\t']);
    let end = start.trim_end_matches(['\r', '\n']);
    visible.push_str(end);
    visible.extend(std::iter::repeat_n(' ', line.len() - start.len()));
    visible.push_str(&start[end.len()..]);
}

/// Whether a fence of the page stands where MDX would read it as code of its own. Where that is not certain, it does.
pub(super) fn are_hidden(text: &str, is_mdx: bool) -> bool {
    let (mut walk, mut script) = (Walk::default(), Script { is_mdx, ..Script::default() });
    // What is never closed is no code: nobody could build the page.
    let (last_brace, last_comment) = (text.rfind('}'), text.rfind("*/"));
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        match walk.line(line) {
            Line::Open if script.is_open() => {
                let never_ends = script.comment && last_comment < Some(at)
                    || script.is_only_in_braces() && last_brace < Some(at);
                if !never_ends {
                    return true;
                }
            }
            Line::Outside => script.read(line),
            _ => {}
        }
        at += line.len();
    }
    false
}

/// How deep in an expression, a comment or a module's lines we are.
#[derive(Default)]
struct Script {
    braces: usize,
    comment: bool,
    module: bool,
    /// Whether a string between backticks is open.
    string: bool,
    /// Whether something came that may be read in more than one way: then nothing after it is certain.
    unsure: bool,
    /// The last character that is no blank.
    last: char,
    is_mdx: bool,
    tag: Reader,
    /// What ends a comment or a formula of another kind, in which no fence is one either.
    other: Option<&'static str>,
}

/// What else holds a fence that is none. In a page that is no MDX, a comment of HTML is read as one.
const OTHERS: &[(&str, &str)] = &[("$$", "$$"), ("{% comment", "endcomment"), ("{%- comment", "endcomment")];

impl Script {
    fn is_open(&self) -> bool {
        self.is_in_code() || self.other.is_some() || self.tag.string().is_some()
    }

    fn is_in_code(&self) -> bool {
        self.unsure || self.comment || self.string || self.braces > 0 || self.module
    }

    fn is_only_in_braces(&self) -> bool {
        self.braces > 0 && !self.unsure && !self.comment && !self.string && !self.module
    }

    fn read(&mut self, line: &str) {
        let begins = ["export ", "import "].iter().any(|word| line.starts_with(word)) && is_module(line);
        self.module |= begins;
        let (mut rest, mut before) = (line, '\n');
        while let Some(c) = rest.chars().next() {
            let length = self.step(c, before, rest);
            before = rest[..length].chars().next_back().unwrap_or(c);
            self.last = if before.is_whitespace() { self.last } else { before };
            rest = &rest[length..];
        }
        if line.trim().is_empty() && !self.string && self.braces == 0 {
            self.module = false;
        }
        if line.trim().is_empty() && self.tag.string().is_none() {
            self.tag.leave();
        }
    }

    /// Reads on by a character, or over a string, a remark or a span of code as a whole.
    fn step(&mut self, c: char, before: char, rest: &str) -> usize {
        if self.comment {
            self.comment = !rest.starts_with("*/");
            return if self.comment { c.len_utf8() } else { 2 };
        }
        if !self.is_in_code() {
            let length = self.step_over(c, rest);
            if length > 0 {
                return length;
            }
        }
        match c {
            '\\' => return escaped(rest),
            // What is in it may hold another one.
            '$' if self.string && rest.starts_with("${") => match filled_in(rest) {
                Some(length) => return length,
                None => self.unsure = true,
            },
            '`' if self.is_in_code() => self.string = !self.string,
            _ if self.string => {}
            '`' => return span(rest),
            '/' if rest.starts_with("/*") && !before.is_alphanumeric() && !"/*.-_".contains(before) => {
                self.comment = true;
                return 2;
            }
            '/' if self.is_in_code() => return self.slash(before, rest),
            '"' | '\'' if self.is_in_code() => return quoted(c, rest),
            '{' if !self.is_in_code() && is_prose(rest) => {}
            '{' => self.braces += 1,
            '}' => self.braces = self.braces.saturating_sub(1),
            _ => {}
        }
        c.len_utf8()
    }

    /// Comments and formulas of other kinds, and strings in tags: how far to go on, or 0 if it is none of them.
    fn step_over(&mut self, c: char, rest: &str) -> usize {
        if let Some(end) = self.other {
            self.other = self.other.filter(|_| !rest.starts_with(end));
            return if self.other.is_none() { end.len() } else { c.len_utf8() };
        }
        let was_in_string = self.tag.string().is_some();
        rest.bytes().take(c.len_utf8()).for_each(|byte| self.tag.read(byte));
        if was_in_string {
            return c.len_utf8();
        }
        let comment = [("<!--", "-->")];
        let mut others = OTHERS.iter().chain(comment.iter().filter(|_| self.is_mdx));
        let Some((start, end)) = others.find(|(start, _)| rest.starts_with(start)) else { return 0 };
        self.other = Some(end);
        start.len()
    }

    /// A remark to the end of the line, an address, a pattern, a division, or the end of a tag.
    fn slash(&mut self, before: char, rest: &str) -> usize {
        let line = rest.trim_end_matches(['\r', '\n']);
        let tells = |part: &str| part.contains(['{', '}', '"', '\'', '`']);
        if rest.starts_with("//") {
            self.unsure |= before == ':' && tells(line);
            return if before == ':' { 2 } else { line.len().max(2) };
        }
        let is_pattern = "{(,=:+-*!&|?;[~%^".contains(self.last);
        self.unsure |= is_pattern && tells(line);
        1
    }
}

/// The length of a simple thing that is filled into a string.
fn filled_in(rest: &str) -> Option<usize> {
    let line = rest.lines().next().unwrap_or_default();
    let length = line.find('}')? + 1;
    (!line[2..length - 1].contains(['{', '"', '\'', '`', '/'])).then_some(length)
}

/// A character that stands for itself.
fn escaped(rest: &str) -> usize {
    1 + rest[1..].chars().next().map_or(0, char::len_utf8)
}

/// A string on one line; of one that does not end there, its mark alone.
fn quoted(mark: char, rest: &str) -> usize {
    let mut at = 1;
    while let Some(c) = rest[at..].chars().next().filter(|c| *c != '\n') {
        at += if c == '\\' { escaped(&rest[at..]) } else { c.len_utf8() };
        if c == mark {
            return at;
        }
    }
    1
}

/// A span of code on one line; of one that does not end there, its marks alone.
fn span(rest: &str) -> usize {
    let length = rest.bytes().take_while(|byte| *byte == b'`').count();
    rest[length..].find(&rest[..length]).map_or(length, |end| end + 2 * length)
}

/// Prose begins a line with these words as well.
pub(super) fn is_module(line: &str) -> bool {
    let words = ["const ", "let ", "var ", "function", "default ", "async ", "class ", "{", "*"];
    let rest = line[7..].trim_start();
    let exports = line.starts_with('e') && words.iter().any(|word| rest.starts_with(word));
    exports || line.starts_with('i') && (rest.contains("from ") || rest.contains(['"', '\'']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fences_that_are_none() {
        for text in [
            "{/*\n```\n*/}\n",
            "{/* a */ /*\n~~~\n*/}\n",
            "{\"}\" /*\n```\n*/}\n",
            "{a +\n```\nb}\n",
            "export const a = `\n```\n`\n",
            "export const a = `\n\n```\n`\n",
            "export const a = 1 /*\n\n```\n*/\n",
            "Text.\n\n/*\n```\n*/\n",
            "{\"\\\"}\" +\n```\n}\n",
            "{`}` +\n\n```\n}\n",
            "{`\n}\n```\n`}\n",
            "{`${'`'}` +\n```\n}\n",
            "{/}/.source +\n```\n}\n",
            "{ // }\n```\n}\n",
            "{a ?b ://}\n```\n}\n",
            "$$\n```\n$$\n",
            "{% comment %}\n```\n{% endcomment %}\n",
            "<A b=\"\n```\n\" />\n",
        ] {
            assert!(are_hidden(text, false), "{text}");
        }
    }

    #[test]
    fn fences_that_are() {
        for text in [
            "Text.\n\n```js\n{/* a\n```\n\n```\nb\n```\n",
            "Use `{` or `/*`, and docs/**/*.md, a/*:\n\n```\na\n```\n",
            "{/* a comment */}\n\n```\na\n```\n",
            "import A from 'a'\nexport const b = { c: `d` }\n\n```\na\n```\n",
            "<A b={{ c: \"}\" }}>\n```\na\n```\n</A>\n",
            "import the page, and then\n```\na\n```\n",
            "<A b={\"don't\"} c={`d`} d={a / b} e={<p>x</p>}>https://a.b/{c}</A>\n\n```\na\n```\n",
            "export const a = {\n  b: 'https://a.b', // c\n}\n\n```\na\n```\n",
            "Use { to open, or \\{, or /* for all.\n\n```\na {}\n```\n",
            "<A>{`a ${b}`}</A> <b c=\"d\" e='f'> it's\n\n```\na\n```\n",
            "It costs $5 or $$.\n\nText $$x$$.\n",
        ] {
            assert!(!are_hidden(text, false), "{text}");
        }
    }

    #[test]
    fn places_stay() {
        let text = "  a\r\n\t```\n  b\n```\nc";
        assert_eq!(blank(text), "a  \r\n    \n   \n   \nc");
        assert_eq!(without_marks(text), "a  \r\n    \nb  \n   \nc");
    }
}
