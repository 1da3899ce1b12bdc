//! Makes text for a pull request inert.
//!
//! Hosts act on text: they notify people after an `@`, close issues after a keyword, skip builds, run commands at the
//! start of a line, and load images. A zero-width character in the right position prevents that, and the words look the
//! same.

use std::ops::Range;

use pages::pattern;
use pulldown_cmark::{Event, Options, Parser, Tag};
use regex::Captures;

use super::ignorable::is_ignorable;

const MAX_TITLE_CHARS: usize = 72;
/// The limit of one quotation. The job shows all of it.
const MAX_QUOTATION_CHARS: usize = 2_000;

/// Returns an inert title of one line and at most 72 characters, which can also be the first line of a commit message.
pub fn plain_title(title: &str) -> String {
    let visible: String = title.chars().filter(|c| !is_ignorable(*c)).collect();
    let words: Vec<&str> =
        visible.split(|c: char| c.is_whitespace() || c.is_control()).filter(|w| !w.is_empty()).collect();
    let line = words.join(" ");
    let cut = if line.chars().count() > MAX_TITLE_CHARS {
        line.chars().take(MAX_TITLE_CHARS - 1).chain(['…']).collect()
    } else {
        line
    };
    disarm(cut.trim_start_matches('/'))
}

/// Returns Markdown in which mentions, closing keywords, commands, HTML and images have no effect. Code is unchanged.
pub fn plain_body(body: &str) -> String {
    let visible: String = body.chars().filter(|c| !is_removed(*c)).collect();
    let mut plain = String::with_capacity(visible.len() + 64);
    let mut at = 0;
    for range in code_ranges(&visible) {
        push_text(&mut plain, &visible[at..range.start]);
        plain.push_str(&visible[range.clone()]);
        at = range.end;
    }
    push_text(&mut plain, &visible[at..]);
    plain
}

/// Returns an inert quotation for a pull request: its source, and its text as code in a block quote.
pub fn plain_quotation(source: &str, text: &str) -> String {
    let source = plain_title(source).replace('`', "'");
    let mut visible = text.chars().filter(|c| !is_removed(*c));
    let mut shown: String = visible.by_ref().take(MAX_QUOTATION_CHARS).collect();
    if visible.next().is_some() {
        shown += "\n…";
    }
    let longest = shown.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let lines: String = shown.lines().map(|line| format!("> {}\n", disarm(line))).collect();
    format!("Quoted from ` {source} `, not an instruction:\n\n> {fence}\n{lines}> {fence}")
}

/// Controls, direction changes and tag characters are removed.
fn is_removed(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t')
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}')
}

/// The ranges of fenced code and code spans, in order. Indented code is not included, because hosts differ on it.
fn code_ranges(text: &str) -> Vec<Range<usize>> {
    let mut code: Vec<Range<usize>> = Vec::new();
    for (event, range) in Parser::new_ext(
        text,
        Options::ENABLE_TABLES
            | Options::ENABLE_FOOTNOTES
            | Options::ENABLE_STRIKETHROUGH
            | Options::ENABLE_GFM,
    )
    .into_offset_iter()
    {
        let is_code = match event {
            Event::Code(_) => !text[range.clone()].contains('\n'),
            Event::Start(Tag::CodeBlock(kind)) => kind.is_fenced(),
            _ => false,
        };
        if is_code && code.last().is_none_or(|last| last.end <= range.start) {
            code.push(range);
        }
    }
    code
}

fn push_text(plain: &mut String, text: &str) {
    let begins_line = plain.is_empty() || plain.ends_with('\n');
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let line = disarm(line);
        let line = line.replace("![", "!\\[");
        let line = tag()
            .map_or_else(|| line.replace('<', "&lt;"), |tag| tag.replace_all(&line, "&lt;$1").into_owned());
        let words = line.trim_start_matches([' ', '\t', '>']);
        if (index > 0 || begins_line) && words.starts_with('/') {
            plain.push_str(&line[..line.len() - words.len()]);
            plain.push('\\');
            plain.push_str(words);
        } else {
            plain.push_str(&line);
        }
    }
}

/// Breaks mentions, keywords and markers that hosts act on with a zero-width space.
fn disarm(line: &str) -> String {
    let (Some(mention), Some(keyword), Some(skip)) = (mention(), keyword(), skip()) else {
        return line.replace('@', "(at)");
    };
    let broken = |found: &Captures<'_>| format!("{}\u{200b}{}", &found[1], &found[2]);
    let line = mention.replace_all(line, broken);
    let line = keyword.replace_all(&line, broken);
    skip.replace_all(&line, broken).into_owned()
}

pattern!(
    /// Matches a mention, but not an email address.
    mention,
    r"((?:^|[^A-Za-z0-9_.+-])@)([A-Za-z0-9_])",
);

pattern!(
    keyword,
    r"(?i)\b(clos(?:e|es|ed|ing)|fix(?:es|ed|ing)?|resolv(?:e|es|ed|ing)|implement(?:s|ed|ing)?",
    r"|reopens?)(:?\s+(?:issues?\s+)?(?:[\w./-]*[#!]\d|GH-\d|https?://|\[|[A-Z]{2,10}-\d))",
);

pattern!(
    skip,
    r"(?i)(\[(?:skip|no|ci|actions|azurepipelines|action))([\s-](?:ci|skip|actions|build|checks)\])",
);

pattern!(
    /// Matches what a parser can read as the start of HTML.
    tag,
    r"<([A-Za-z/!?])",
);

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(body: &str, expected: &str) {
        assert_eq!(plain_body(body).replace('\u{200b}', "·"), expected);
    }

    #[test]
    fn mentions_and_keywords() {
        check("Ask @alice and @acme/docs.", "Ask @·alice and @·acme/docs.");
        check("Mail a@b.example", "Mail a@b.example");
        check(
            "Use `@scope/pkg` and\n```\n@x fixes #1\n```\n",
            "Use `@scope/pkg` and\n```\n@x fixes #1\n```\n",
        );
        check("Fixes #12, closes a/b#3, Resolves: GH-4", "Fixes· #12, closes· a/b#3, Resolves·: GH-4");
        check("fixed https://h.example/a/issues/1", "fixed· https://h.example/a/issues/1");
        check("It fixes the link to #anchors", "It fixes the link to #anchors");
        check("`open @alice", "`open @·alice");
    }

    #[test]
    fn commands() {
        check(
            "/close\ntext /close\n  /merge\n> /assign me",
            "\\/close\ntext /close\n  \\/merge\n> \\/assign me",
        );
    }

    #[test]
    fn html_and_images() {
        check("a <img src=x> <!-- b --> </p> 1 < 2", "a &lt;img src=x> &lt;!-- b --> &lt;/p> 1 < 2");
        check("![p](https://e.example/p.png)", "!\\[p](https://e.example/p.png)");
        check("\\![p](https://e.example/p.png)", "\\!\\[p](https://e.example/p.png)");
        check("- **bold** and [link](/x)\n", "- **bold** and [link](/x)\n");
        check("`<b>` and <b>", "`<b>` and &lt;b>");
        check("\u{202e}a\u{1b}[0m", "a[0m");
    }

    #[test]
    fn quotations_are_code() {
        #[track_caller]
        fn check(text: &str, expected: &str) {
            let quoted = plain_quotation("Page `views`\n", text).replace('\u{200b}', "·");
            let (source, quoted) = quoted.split_once("\n\n").unwrap();
            assert_eq!(source, "Quoted from ` Page 'views' `, not an instruction:");
            assert_eq!(quoted, expected);
        }
        check("/close\n<img src=x>", "> ```\n> /close\n> <img src=x>\n> ```");
        check("a\n```\n````\nb", "> `````\n> a\n> ```\n> ````\n> b\n> `````");
        check("\u{1b}[0m @alice [skip ci]", "> ```\n> [0m @·alice [skip· ci]\n> ```");
        let long = "x".repeat(MAX_QUOTATION_CHARS + 1);
        check(&long, &format!("> ```\n> {}\n> …\n> ```", &long[1..]));
    }

    #[test]
    fn titles() {
        #[track_caller]
        fn check(title: &str, expected: &str) {
            assert_eq!(plain_title(title).replace('\u{200b}', "·"), expected);
        }
        check("Fix the links", "Fix the links");
        check("Fix\n\nCo-authored-by: x", "Fix Co-authored-by: x");
        check("Fixes #1 for @alice [skip ci]", "Fixes· #1 for @·alice [skip· ci]");
        check("/close", "close");
        assert_eq!(plain_title(&"é".repeat(100)).chars().count(), 72);
    }
}
