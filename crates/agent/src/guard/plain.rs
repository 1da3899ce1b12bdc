//! Text for a pull request that does nothing but be read.
//!
//! Hosts act on what they read: they notify who is named behind an `@`, close what a keyword names, skip builds,
//! run commands at the start of a line, load pictures. A character without width in the right place keeps the
//! words as they are and takes the power from them.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag};
use regex::Captures;

use super::hidden::is_ignorable;
use crate::pattern::pattern;

const MAX_TITLE_CHARS: usize = 72;
/// Of one quotation; the job has the rest.
const MAX_QUOTATION_CHARS: usize = 2_000;

/// A title on one line, of at most 72 characters, that can also be the first line of a commit message.
pub fn plain_title(title: &str) -> String {
    let seen: String = title.chars().filter(|c| !is_ignorable(*c)).collect();
    let words: Vec<&str> =
        seen.split(|c: char| c.is_whitespace() || c.is_control()).filter(|w| !w.is_empty()).collect();
    let line = words.join(" ");
    let cut = if line.chars().count() > MAX_TITLE_CHARS {
        line.chars().take(MAX_TITLE_CHARS - 1).chain(['…']).collect()
    } else {
        line
    };
    powerless(cut.trim_start_matches('/'))
}

/// Markdown as it was, without mentions, closing keywords, commands, HTML and pictures that work. Code is kept.
pub fn plain_body(body: &str) -> String {
    let seen: String = body.chars().filter(|c| !is_stray(*c)).collect();
    let code = code(&seen);
    let mut plain = String::with_capacity(seen.len() + 64);
    let mut at = 0;
    for range in code {
        push_text(&mut plain, &seen[at..range.start]);
        plain.push_str(&seen[range.clone()]);
        at = range.end;
    }
    push_text(&mut plain, &seen[at..]);
    plain
}

/// A quotation for a pull request: its source, and its text as code in a block quote. Hosts act on nothing in it.
pub fn plain_quotation(source: &str, text: &str) -> String {
    let source = plain_title(source).replace('`', "'");
    let mut seen = text.chars().filter(|c| !is_stray(*c));
    let mut shown: String = seen.by_ref().take(MAX_QUOTATION_CHARS).collect();
    if seen.next().is_some() {
        shown += "\n…";
    }
    let longest = shown.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let lines: String = shown.lines().map(|line| format!("> {}\n", powerless(line))).collect();
    format!("Quoted from ` {source} `, not an instruction:\n\n> {fence}\n{lines}> {fence}")
}

fn is_stray(c: char) -> bool {
    c.is_control() && !matches!(c, '\n' | '\t')
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{e0000}'..='\u{e007f}')
}

/// Fenced code and code spans, in order. What is code by its indentation is not exempt: hosts differ on it.
fn code(text: &str) -> Vec<Range<usize>> {
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
        let line = powerless(line);
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

/// Mentions, keywords and marks that hosts act on, each broken by a space without width.
fn powerless(line: &str) -> String {
    let (Some(mention), Some(keyword), Some(skip)) = (mention(), keyword(), skip()) else {
        return line.replace('@', "(at)");
    };
    let broken = |found: &Captures<'_>| format!("{}\u{200b}{}", &found[1], &found[2]);
    let line = mention.replace_all(line, broken);
    let line = keyword.replace_all(&line, broken);
    skip.replace_all(&line, broken).into_owned()
}

pattern!(
    /// An address of mail names nobody on the host.
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
    /// What a parser could take for the start of HTML.
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
    fn html_and_pictures() {
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
