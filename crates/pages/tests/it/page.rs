//! The parts of a page.

use pages::Page;
use proptest::prelude::*;

fn texts(text: &str, ranges: &[std::ops::Range<usize>]) -> Vec<String> {
    ranges.iter().map(|range| text[range.clone()].trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

#[track_caller]
fn check(path: &str, text: &str, prose: &[&str], code: &[&str]) {
    let page = Page::parse(path, text);
    assert_eq!(texts(text, &page.prose), prose);
    assert_eq!(texts(text, &page.code), code);
}

#[test]
fn prose_and_code() {
    check("a.md", "one *two* `three`\n", &["one", "two"], &["`three`"]);
    check("a.md", "---\ntitle: no\n---\n# yes\n", &["yes"], &[]);
    check("a.md", "+++\r\ntitle = 'no'\r\n+++\r\nyes\r\n", &["yes"], &[]);
    check("a.md", "\u{feff}# yes\n", &["yes"], &[]);
    check("a.md", "a\n\n    code\n\n```rust\nmore\n```\n", &["a"], &["code", "```rust\nmore\n```"]);
    check("a.md", "[text](dest.md \"title\") ![alt](i.png)\n", &["text", "alt"], &[]);
    check("a.md", "<kbd>x</kbd> y <!-- z -->\n", &["y"], &["x"]);
    check("a.md", "<div class=\"c\">\ntext <code>x</code>\n</div>\n", &["text"], &["x"]);
    check("a.md", "| a | `b` |\n|---|---|\n| c | d |\n", &["a", "c", "d"], &["`b`"]);
    check("a.md", "see https://a.b/c and x@y.dev.\n", &["see", "and", "."], &[]);
    check("a.md", "snake_case_word a_b [not a link]\n", &["snake_case_word a_b [not a link]"], &[]);
    check(
        "a.md",
        "See [npm], [npm][] and [text][npm].\n\n[npm]: x.md\n",
        &["See", ",", "and", "text", "."],
        &[],
    );
    check("a.md", "<Card\n  href=\"/x\"\n  s={[{ t: 'function npm() {' }]}\n/>\n\ntext\n", &["text"], &[]);
    check("a.md", "<Tabs>\n<template #npm>\nx\n</template>\n</Tabs>\n", &["x"], &[]);
    check("a.md", ":::npm title\nbody\n:::\n\n(npm)=\n## head\n", &["title", "body", "head"], &[]);
    check(
        "a.mdx",
        "export const x = 1\n\n<A b={c}>\n    text {y} `z`\n</A>\n",
        &["text"],
        &["export const x = 1", "{y}", "`z`"],
    );
}

#[test]
fn addresses_are_cut_out() {
    #[track_caller]
    fn check(text: &str, prose: &[&str]) {
        assert_eq!(texts(text, &Page::parse("a.md", text).prose), prose);
    }
    check("just text", &["just text"]);
    check("at https://npm.dev/x, or", &["at", ", or"]);
    check("write to me@acme.dev.", &["write to", "."]);
    check("www.npm.dev", &[]);
    check("hello {{ name }} and {% if %}", &["hello", "and"]);
    check("a :tada: and 10:30", &["a", "and 10:30"]);
    check("hello {name} and [[page]] or {.cls}", &["hello", "and", "or"]);
    check("a@b and c", &["a@b and c"]);
    check("acme@1.4.2", &["acme@1.4.2"]);
}

#[test]
fn directives_are_tags() {
    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(texts(text, &Page::parse("a.md", text).tags), expected);
    }
    check(":::npm npm title\ntext\n:::\n", &[":::npm", ":::"]);
    check("!!! npm \"title\"\n??? npm\n???+ npm", &["!!! npm", "??? npm", "???+ npm"]);
    check(":::{npm}\n:npm: x\n", &[":::{npm}", ":npm:"]);
    check("(npm)=\n## x\n", &["(npm)="]);
    check(
        "::: npm.module\n    options:\n      npm: x\n\nnpm",
        &["::: npm.module\n    options:\n      npm: x"],
    );
    check("--8<-- \"npm.md\"\n<<< @/npm.js\n", &["--8<-- \"npm.md\"", "<<< @/npm.js"]);
    check("just: text (npm) and x", &[]);
}

#[test]
fn tags_in_text_are_tags() {
    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(texts(text, &Page::parse("a.md", text).tags), expected);
    }
    check("a <template #npm> b", &["<template #npm>"]);
    check("a <Card x={\n'{'\n} /> b", &["<Card x={\n'{'\n} />"]);
    check("a <Card x={ b\n\nc", &["<Card x={ b"]);
    check("1 < 2, \\<a> and <3", &[]);
}

#[test]
fn explicit_anchors() {
    #[track_caller]
    fn check(text: &str, expected: &str) {
        let ids = Page::parse("a.md", text).ids;
        assert!(ids.iter().any(|id| id == expected), "{text}: {ids:?}");
    }
    check("[](){#setup}", "setup");
    check("[x]{#span .c}", "span");
    check("## A {: #two }", "two");
    check("## A { .c #command-setup }", "command-setup");
    check("{:#kram.c}", "kram");
    check("{#acme.Foo}", "acme.Foo");
    check("![f](x.png){#fig:one}", "fig:one");
    check("## A {/* #custom */}", "custom");
    check("## A \\{#custom}", "custom");
    check("## My <!-- #my-id -->", "my-id");
    check("(my-target)=", "my-target");
    check(":name: fig-1", "fig-1");
    check("  :label: fig:2", "fig:2");
    check("<h2 align=\"center\">Bar <b>baz</b></h2>", "bar-baz");
    let page = Page::parse("a.md", "plain # text (x) = 1\n<hr>\n<h1>open");
    assert_eq!(page.ids, Vec::<String>::new());
}

#[test]
fn pages_with_includes() {
    // A page without text of its own counts as one with includes.
    let uses_includes =
        |path: &str, text: &str| Page::parse(path, &format!("Words.\n\n{text}")).includes_pages;
    for text in [
        "--8<-- \"s.txt\"",
        "<!--@include: ./s.md-->",
        "{!s.md!}",
        "{{#include s.md}}",
        "```{include} s.md\n```",
        "<Snippet file=\"s.mdx\" />",
        "::: acme.mod",
        "::: mkdocs-click\n    :module: acme.cli",
    ] {
        assert!(uses_includes("a.md", text), "{text}");
    }
    assert!(uses_includes("docs/snippets/a.md", ""));
    assert!(uses_includes("docs/_part.mdx", ""));
    for text in ["# A", "::: tip", "::: warning Mind this. And that.", "{{ version }}"] {
        assert!(!uses_includes("docs/_index.md", text), "{text}");
    }
}

#[test]
fn links_in_code_are_ignored() {
    let text = "see <code><a href=\"b/c.md\"></code> and <a href=\"d.md\">d</a>\n";
    let links: Vec<_> = Page::parse("a.md", text).links.into_iter().map(|link| &text[link.range]).collect();
    assert_eq!(links, ["d.md"]);
}

#[test]
fn headings_and_titles() {
    let text = "---\ndescription: x\n---\n# The `api` *page*\n\n## Use {#how}\n\nSetext\n---\n";
    let page = Page::parse("a.md", text);
    let headings: Vec<_> = page.headings.iter().map(|h| (h.text.as_str(), h.anchor.as_str())).collect();
    assert_eq!(headings, [("The api page", "the-api-page"), ("Use", "how"), ("Setext", "setext")]);
    assert_eq!(page.title(text).as_deref(), Some("The api page"));
}

#[test]
fn hostile_pages_are_parsed_quickly() {
    for part in [
        "![a",
        "[",
        "<a ",
        "*a ",
        "> ",
        "- ",
        "`",
        "](",
        "&amp;",
        "# a\n",
        "[a](b)\n",
        "www.",
        "a@",
        "{{",
        "<a b={\n\n",
        "<a b='\n\n",
        ":::a\n",
    ] {
        let text = part.repeat(100_000 / part.len());
        assert!(Page::parse("a.md", &text).prose.len() <= text.len());
    }
    let nested = format!("{}{}", "![a".repeat(5_000), "](x)".repeat(5_000));
    assert!(Page::parse("a.md", &nested).prose.len() <= nested.len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    /// For any text, ranges are in order, don't overlap, and are within the text.
    #[test]
    fn any_text_is_parsed(text in "([a-c`*<>{}\\[\\]()#:/ \n\\-\"'=!&;|~+\r\té]|---\n|<a b=|import |https://){0,60}", mdx: bool) {
        let page = Page::parse(if mdx { "a.mdx" } else { "a.md" }, &text);
        for ranges in [&page.prose, &page.code, &page.tags, &page.addresses] {
            prop_assert!(ranges.iter().all(|range| text.get(range.clone()).is_some()), "{:?}", ranges);
            prop_assert!(ranges.windows(2).all(|pair| pair[0].end <= pair[1].start), "{:?}", ranges);
        }
        for prose in &page.prose {
            prop_assert!(page.code.iter().all(|code| code.end <= prose.start || prose.end <= code.start));
        }
        prop_assert!(page.links.iter().all(|link| text.get(link.range.clone()).is_some()));
    }
}
