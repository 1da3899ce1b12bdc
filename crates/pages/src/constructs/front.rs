//! Reads the front matter of a page, and what any generator takes for front matter.

use std::ops::Range;

use super::{Construct, ConstructKind, Entry, ScalarType, data, lines, yaml};

/// A longer block further down is not front matter.
const MAX_BLOCK_BYTES: usize = 4 * 1024;

/// The entries of the front matter, and where the body begins.
pub(super) fn read(text: &str) -> (Vec<Construct>, usize) {
    let start = text.len() - text.trim_start_matches('\u{feff}').len();
    let first = text[start..].split_inclusive('\n').next().unwrap_or_default();
    match first.trim_end() {
        "---" => block(text, start, first.len(), &["---"], yaml::entries),
        "+++" => block(text, start, first.len(), &["+++"], data::toml_entries),
        // Some generators run such a block as a script, or read the whole page as JSON.
        mark if mark.starts_with("---")
            && (!mark.starts_with("----") || has_key(text, start + first.len()))
            || mark.starts_with(";;;")
            || mark.starts_with("#+")
            || mark == "{" =>
        {
            (vec![unknown(text, start..start + first.len())], start)
        }
        _ => {
            let mut found = mkdocs_headers(text, start);
            found.extend(delayed_block(text, start));
            (found, start)
        }
    }
}

/// The same for other markup than Markdown: only blocks that all generators take for front matter.
pub(super) fn read_block(text: &str) -> (Vec<Construct>, usize) {
    let is_blank = |c: char| c.is_whitespace() || c == '\u{feff}';
    match text.trim_start_matches(is_blank).lines().next().unwrap_or_default().trim_end() {
        "---" | "+++" | "{" => read(text),
        first if first.starts_with("#+") => read(text),
        first if first.starts_with("{\"") => (vec![unknown(text, 0..text.len().min(first.len()))], 0),
        _ => (Vec::new(), 0),
    }
}

/// A block after blank lines or a comment, which some generators take for front matter.
fn delayed_block(text: &str, start: usize) -> Option<Construct> {
    let is_blank = |c: char| c.is_whitespace() || c == '\u{feff}';
    let mut rest = text[start..].trim_start_matches(is_blank);
    // Hugo also searches in a comment.
    if let Some(inside) = rest.strip_prefix("<!--") {
        let end = inside.find("-->").unwrap_or(inside.len());
        let is_mark =
            |line: &str| ["---", "+++"].contains(&line.trim()) || line.trim_start().starts_with("#+");
        if inside[..end].lines().any(is_mark) {
            let end = text.len() - inside.len() + end;
            return Some(unknown(text, start..end));
        }
    }
    while let Some(end) = rest.strip_prefix("<!--").and_then(|rest| rest.find("-->")) {
        rest = rest[end + 7..].trim_start_matches(is_blank);
    }
    let at = text.len() - rest.len();
    let first = rest.lines().next().unwrap_or_default();
    let end = lines(text, at).skip(1).find(|(_, line)| line.trim_end() == "---");
    let end = end.filter(|(end, _)| {
        first.trim_end() == "---" && text[at..*end].lines().nth(1).is_some_and(|line| line.contains(':'))
    })?;
    Some(unknown(text, at..end.0))
}

/// Blocks further down, which pandoc also reads.
pub(super) fn later_blocks(text: &str, body: usize) -> Vec<Construct> {
    let (mut found, mut open, mut is_after_blank) = (Vec::new(), None, true);
    for (at, line) in lines(text, body) {
        let content = line.trim_end();
        match open {
            None if content == "---" && is_after_blank && has_key(text, at + line.len()) => open = Some(at),
            Some(start) if matches!(content, "---" | "...") => {
                found.push(unknown(text, start..at));
                open = None;
            }
            Some(start) if at - start > MAX_BLOCK_BYTES => open = None,
            _ => {}
        }
        is_after_blank = content.is_empty();
    }
    found
}

/// Whether a line is `key: value`.
fn has_key(text: &str, at: usize) -> bool {
    let line = text[at..].lines().next().unwrap_or_default();
    line.split_once(':').is_some_and(|(key, value)| {
        !key.trim().is_empty() && !key.trim().contains(' ') && !value.starts_with(':')
    })
}

type Entries = fn(&str) -> Option<Vec<yaml::SpannedEntry>>;

fn block(text: &str, start: usize, first: usize, ends: &[&str], entries: Entries) -> (Vec<Construct>, usize) {
    let inside = start + first;
    let end = lines(text, inside).find(|(_, line)| ends.contains(&line.trim_end()));
    // Without an end, the first line is a thematic break.
    let Some((end, line)) = end else {
        // Some generators end the block at dots.
        let dots = lines(text, inside).find(|(_, line)| line.trim_end() == "...");
        // Others take everything up to the end.
        let is_open = text[inside..]
            .lines()
            .find(|line| !line.trim().is_empty())
            .is_some_and(|line| line.split_once(':').is_some_and(|(key, _)| !key.trim().contains(' ')));
        // All generators stop at a line that begins with dashes.
        let dashes = lines(text, inside).find(|(_, line)| line.starts_with("---"));
        let dashes = dashes.map_or(text.len(), |(at, _)| at);
        let end = dots.map(|(at, _)| at).or(is_open.then_some(dashes));
        return (end.map(|end| unknown(text, start..end)).into_iter().collect(), start);
    };
    let body = end + line.len();
    if text[body..].trim_start().starts_with("---\n") {
        return (vec![unknown(text, start..body + 4)], body);
    }
    let block = &text[inside..end];
    // Some generators end the block here.
    let ends_early = block.lines().any(|line| line.trim_end() == "..." || line.starts_with("---"));
    let Some(found) = entries(block).filter(|_| !ends_early) else {
        return (vec![unknown(text, start..body)], body);
    };
    // A block of comments only is text to some generators.
    if found.is_empty() && !block.trim().is_empty() {
        return (Vec::new(), start);
    }
    let construct = |(entry, span): yaml::SpannedEntry| {
        Construct::standard(ConstructKind::FrontMatter(entry), inside + span.start..inside + span.end)
    };
    (found.into_iter().map(construct).collect(), body)
}

/// Lines such as `template: home.html` at the beginning of a page, which MkDocs reads as settings.
fn mkdocs_headers(text: &str, start: usize) -> Vec<Construct> {
    let mut found = Vec::new();
    for (at, line) in lines(text, start) {
        let indent = line.len() - line.trim_start_matches(' ').len();
        // An indented line continues the value above.
        if !found.is_empty() && (indent > 3 || line.starts_with('\t')) {
            let kind = ConstructKind::Unknown(line.trim().to_owned());
            found.push(Construct::conservative(kind, at..at + line.trim_end().len()));
            continue;
        }
        let Some((key, value)) = line.get(indent.min(4)..).and_then(|line| line.split_once(':')) else {
            break;
        };
        let is_key = !key.is_empty()
            && key.len() <= 30
            && key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
            && !value.starts_with(':')
            && !value.starts_with("//");
        if !is_key {
            break;
        }
        let entry =
            Entry { key: key.to_lowercase(), value: value.trim().to_owned(), scalar: ScalarType::Text };
        found
            .push(Construct::conservative(ConstructKind::FrontMatter(entry), at..at + line.trim_end().len()));
    }
    found
}

fn unknown(text: &str, span: Range<usize>) -> Construct {
    Construct::standard(ConstructKind::Unknown(text[span.clone()].trim().to_owned()), span)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, body: &str, expected: &[(&str, &str)]) {
        let (found, start) = read(text);
        let entry = |construct: &Construct| match &construct.kind {
            ConstructKind::FrontMatter(entry) => (entry.key.clone(), entry.value.clone()),
            _ => ("unknown".to_owned(), String::new()),
        };
        let found: Vec<_> = found.iter().map(entry).collect();
        let expected: Vec<_> =
            expected.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        assert_eq!((&text[start..], found), (body, expected), "{text}");
    }

    #[test]
    fn blocks_and_what_follows_them() {
        check("# A", "# A", &[]);
        check("---\ntitle: A\ntags: [b, c]\n---\nD", "D", &[("title", "A"), ("tags", "b"), ("tags", "c")]);
        check("\u{feff}+++\ntitle = 'A'\n+++\nD", "D", &[("title", "A")]);
        check("---\ntitle: A\n", "---\ntitle: A\n", &[("unknown", "")]);
        check("---\nA line.\n", "---\nA line.\n", &[]);
        check("---js\n{a: 1}\n---\nD", "---js\n{a: 1}\n---\nD", &[("unknown", "")]);
        check("---\na: *b\n---\nD", "D", &[("unknown", "")]);
        check("---\na: b\n...\nc: d\n---\nD", "D", &[("unknown", "")]);
        check("template: a.html\n\n# A", "template: a.html\n\n# A", &[("template", "a.html")]);
    }
}
