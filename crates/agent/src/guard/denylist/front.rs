//! The front matter of a page: what stands in it is data, and neither a fence nor a span of code.

use crate::pattern::pattern;

/// How long the front matter of a page is; 0 if it has none.
pub(super) fn length(text: &str) -> usize {
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().unwrap_or_default();
    let Some(mark) = mark(first) else { return 0 };
    let mut at = first.len();
    for line in lines {
        at += line.len();
        if line.trim_end() == mark {
            return at;
        }
    }
    0
}

/// The line that opens it; some readers take a word behind it for the language that it is in.
fn mark(first: &str) -> Option<&'static str> {
    let line = first.trim_start_matches('\u{feff}').trim_end();
    match line.strip_prefix("---") {
        Some(word) => (!word.starts_with('-')).then_some("---"),
        None => (line == "+++").then_some("+++"),
    }
}

/// Whether readers differ on where it ends, or on what a fence in it closes.
pub(super) fn is_unsure(front: &str) -> bool {
    let mut lines = front.lines().skip(1).peekable();
    while let Some(line) = lines.next() {
        let start = line.trim_start();
        let is_last = lines.peek().is_none();
        let ends = !is_last && ["---", "..."].iter().any(|mark| line.starts_with(mark));
        if ends || start.starts_with("```") || start.starts_with("~~~") {
            return true;
        }
    }
    false
}

/// What runs in it: a kind, a place and what it does.
pub(super) fn running(front: &str) -> Option<(usize, String)> {
    let first = front.lines().next().unwrap_or_default();
    let word = first.trim_start_matches(['\u{feff}', '-', '+']).trim();
    if !word.is_empty() && !["yaml", "yml", "toml", "json"].contains(&word.to_ascii_lowercase().as_str()) {
        return Some((0, front.to_owned()));
    }
    let (at, block) = head(front)?;
    tags().is_some_and(|tags| tags.is_match(block)).then(|| (at, block.to_owned()))
}

/// The block that themes put into the head of the page.
fn head(front: &str) -> Option<(usize, &str)> {
    let start = key()?.find(front)?.start();
    let block = &front[start..];
    let first = block.find('\n').map_or(block.len(), |end| end + 1);
    let mut end = first;
    for line in block[first..].split_inclusive('\n') {
        if line.starts_with(|c: char| !c.is_whitespace() && c != '-' && c != '#') || line.starts_with("---") {
            break;
        }
        end += line.len();
    }
    Some((start, &block[..end]))
}

pattern!(key, r"(?m)^[\x22']?head[\x22']?\s*[:=]|^\[\[?head\b");

// Escapes of YAML may spell any of them.
pattern!(tags, r"(?i)\b(?:script|base|link|meta|style|noscript|iframe)\b|\\[xu]|!!");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_it_ends() {
        for (text, expected) in [
            ("---\na: b\n---\nText\n", 13),
            ("---js\na()\n---\n", 14),
            ("+++\na = 1\n+++\r\n", 15),
            ("---\n---", 7),
            ("----\na\n----\n", 0),
            ("---\nText without an end\n", 0),
            ("# A\n\n---\n\n---\n", 0),
            ("", 0),
        ] {
            assert_eq!(length(text), expected, "{text}");
        }
    }

    #[test]
    fn what_runs() {
        for front in [
            "---js\n{}\n---\n",
            "--- coffee\n{}\n---\n",
            "---\na: b\nhead:\n  - tag: script\n---\n",
            "---\nhead:\n- - link\n  - rel: x\n---\n",
            "---\n\"head\": [[base, {href: /x}]]\n---\n",
        ] {
            assert!(running(front).is_some(), "{front}");
        }
        for front in
            ["---\nhead: A title\ntags: [script]\n---\n", "---yaml\na: b\n---\n", "+++\na = 1\n+++\n"]
        {
            assert!(running(front).is_none(), "{front}");
        }
    }
}
