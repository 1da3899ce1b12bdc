//! Splits a line of Markdown into text and code spans.

/// A part of a line: text, or the content of a code span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinePart<'a> {
    pub is_code: bool,
    pub text: &'a str,
}

/// The parts of a line, none of them empty. As in CommonMark, a code span ends at as many backticks as it begins with.
/// Backticks without an end are text.
pub fn code_spans(line: &str) -> Vec<LinePart<'_>> {
    let mut parts = Vec::new();
    let (mut text_from, mut at) = (0, 0);
    while let Some((start, fence)) = backticks(line, at) {
        at = start + fence;
        let Some(end) = closing_fence(line, at, fence) else { continue };
        push(&mut parts, false, &line[text_from..start]);
        push(&mut parts, true, without_padding(&line[at..end]));
        at = end + fence;
        text_from = at;
    }
    push(&mut parts, false, &line[text_from..]);
    parts
}

/// The next run of backticks: its position and its length.
fn backticks(line: &str, from: usize) -> Option<(usize, usize)> {
    let start = from + line[from..].find('`')?;
    let rest = &line[start..];
    Some((start, rest.len() - rest.trim_start_matches('`').len()))
}

fn closing_fence(line: &str, from: usize, fence: usize) -> Option<usize> {
    let mut at = from;
    while let Some((start, length)) = backticks(line, at) {
        if length == fence {
            return Some(start);
        }
        at = start + length;
    }
    None
}

/// Code that begins or ends with a backtick has a space on both sides.
fn without_padding(code: &str) -> &str {
    let inner = code.strip_prefix(' ').and_then(|code| code.strip_suffix(' '));
    inner.filter(|inner| !inner.trim().is_empty()).unwrap_or(code)
}

fn push<'a>(parts: &mut Vec<LinePart<'a>>, is_code: bool, text: &'a str) {
    if !text.is_empty() {
        parts.push(LinePart { is_code, text });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_split_at_their_code_spans() {
        #[track_caller]
        fn check(line: &str, expected: &str) {
            let text =
                |part: LinePart| if part.is_code { format!("<{}>", part.text) } else { part.text.to_owned() };
            assert_eq!(code_spans(line).into_iter().map(text).collect::<String>(), expected);
        }
        check("", "");
        check("the page was renamed to `/guide`", "the page was renamed to </guide>");
        check("`a` and `b`", "<a> and <b>");
        check("a ` alone, and `` two", "a ` alone, and `` two");
        check("one ` and `code`", "one <and>code`");
        check("`` a`b `` and ``c``", "<a`b> and <c>");
        check("` `` `", "<``>");
        check("`é` ü", "<é> ü");
    }
}
