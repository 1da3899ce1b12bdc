//! Tests that the guard never panics, and that its time is linear.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use agent::{Change, Instructions, Policy, judge, plain_body, plain_title};
use pages::MemoryTree;
use proptest::prelude::*;

use super::{Case, KEY};
use crate::is_linear;

/// The size of the largest page. Smaller in debug builds, which are slower.
const PAGE: usize = if cfg!(debug_assertions) { 32 << 10 } else { 2 << 20 };

/// Enough pages to make quadratic time visible.
const PAGES: usize = if cfg!(debug_assertions) { 400 } else { 4_000 };

fn judge_page(path: &str, text: &str, secrets: &[&str]) {
    Case { edits: &[(path, text)], secrets, ..Case::default() }.judge();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn nothing_panics(text in r#"(\PC|[<>{}`"'=&;%\\/!\[\]()#\n]|```|Ã|export |src=|https://|eyJ|ghp_|\u{200d}|&#x|<!--){0,60}"#) {
        for path in ["a.md", "a.mdx", "a.html", "a.css", "a.rst", "a.adoc", "a.qmd", "mkdocs.yml", "sidebars.js", "docs.json"] {
            judge_page(path, &text, &[]);
        }
        let plain = plain_body(&text);
        prop_assert!(!plain.contains("<!--") || text.contains('`') || text.contains('~'));
        plain_title(&text);
    }

    #[test]
    fn bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let base = MemoryTree::default();
        let edits = BTreeMap::from([("a.md".to_owned(), Some(bytes))]);
        judge(&Change { base: &base, vocabulary: &agent::Vocabulary::default(), edits: &edits, instructions: &Instructions::default(), title: "", summary: "" }, &Policy::default());
    }
}

fn is_linear_in(path: &str, page: impl Fn(usize) -> String) -> bool {
    is_linear(PAGE, |bytes| judge_page(path, &page(bytes), &[KEY]))
}

#[track_caller]
fn assert_none_is_slow<T: std::fmt::Debug>(slow: &[T]) {
    assert!(
        slow.is_empty(),
        "{PAGE} bytes of these take over 10 times as long as a quarter of them: {slow:?}"
    );
}

fn repeat(unit: &str, bytes: usize) -> String {
    unit.repeat(bytes / unit.len())
}

/// Repeats `unit` with increasing numbers up to a size.
fn each(bytes: usize, unit: impl Fn(usize) -> String) -> String {
    let mut text = String::new();
    for number in 0.. {
        if text.len() >= bytes {
            break;
        }
        text.push_str(&unit(number));
    }
    text
}

#[test]
fn time_is_linear() {
    let mut slow = Vec::new();
    for unit in [
        "plain words of a page\n",
        "src=\"",
        "<a <b ",
        "eyJ",
        "eyJaaaaaaaaaaaaa.",
        "eyJAKIAAAAAAAAAAAAAAAAA",
        "ghp_",
        "&#x41",
        "{`",
        "<!--",
        "sk-aB3",
        "https://a.example/?x=",
        "![a](",
        "-----BEGIN ",
        "PuTTY-User-Key-File- sk-aaaaaaaaaaaaaaaaaaaaaaaaaa \n",
        "token: ",
        "url(",
        "\u{200b}",
        "0123456789abcdef",
        "@a fixes #1 ",
        "`a` ",
        "![a](//x.y) ",
        "<!-- more -->",
        "<!-- a -->\n",
        "{<script ",
        "<meta <script ",
        "{ onabc='",
        "{javascript:a",
        "`{ <script",
        "export {fetch( ",
        "<a onabc=x ",
        "<link src=a ",
        "import(/* 'a' ",
        "{/* ` ",
        "{`${ ",
        "{a} / \"",
        "a =\"&amp; ",
        "```\n{/*\n",
        "<a onabc={",
        "{ a b",
        "<a b=\"c\n```\n",
        "$$ ```\n",
        "export {\n\n",
        "\\href",
        "{%",
        "{{",
        "{{ a }}",
        "{% raw %} ",
        "{% comment %}\n",
        "[a]: b\n",
        "![a][b] ",
        "[a][b]",
        "[",
        "]",
        "- ```js a\n",
        "- ```\n  {.a\n  ```\n",
        ":::note\n````md\n:::\n````\n",
        "<template>",
        "export const A = '",
        "---\na: b\n",
        "[a,subs=b]\n",
        "[a,subs=b]\n----\n",
        "```a\n",
        ".. raw:: html\n  ",
        ".. _a: <java\n",
        ":a:\n b\n",
        "<a b=\"<\n",
        "    ```\n\n",
        " :a='{ ",
        "```{raw}\n",
        "--8<-- \"a",
        "} from 'fs",
        "[a](https://x.y/?d=dGhlIHBhc3N3b3JkIGlzIGh1bnRlcjI)\n",
    ] {
        let run = |bytes: usize| {
            let text = repeat(unit, bytes);
            judge_page("a.mdx", &text, &[KEY]);
            plain_body(&text);
        };
        if !is_linear(PAGE, run) {
            slow.push(unit);
        }
    }
    assert_none_is_slow(&slow);
}

/// Like `time_is_linear`, for other markup, and with a base that has almost the same text.
#[test]
fn time_is_linear_in_every_markup() {
    let markdown = [
        "\n",
        "{%",
        "{% raw %} ",
        "{% comment %}\n",
        "[a](<b",
        "]: <",
        "](",
        "<a",
        "<!>",
        "<a\n",
        "\\<!--",
        "<!-- @include",
        "<div v-pre>\n</a>\n",
        "$$\n",
    ];
    let rst = ["\n", ".. raw:: html\n\n  a\n\n", ":a:`", "|a|", "(data:"];
    let asciidoc = ["\n", "[a]\n", "image:a", "a:b[", "{a}"];
    let mut slow = Vec::new();
    for (path, units) in [("a.md", &markdown[..]), ("a.rst", &rst), ("a.adoc", &asciidoc)] {
        for unit in units {
            let run = |bytes: usize| {
                let (old, new) = (repeat(unit, bytes), repeat(unit, bytes + unit.len()));
                Case { base: &[(path, &old)], edits: &[(path, &new)], ..Case::default() }.judge();
            };
            if !is_linear(PAGE, run) {
                slow.push((path, *unit));
            }
        }
    }
    assert_none_is_slow(&slow);
}

/// Like `time_is_linear`, for nested text.
#[test]
fn time_is_linear_in_nested_text() {
    let mut slow = Vec::new();
    for (path, open, close) in [
        ("a.mdx", "{", "}"),
        ("a.md", "{#", "#}"),
        ("a.md", "{{", "}}"),
        ("a.md", "{`${", "}`}"),
        ("a.md", "<!-- @include", "-->"),
        ("a.md", "\\<script>", "</script>"),
        ("a.md", "[", "](b)"),
        ("a.rst", "<a ", ">`_"),
        ("a.adoc", "a:", "[]"),
        ("a.adoc", "[.", "]#"),
        ("a.qmd", "`r a\n", "\n\n"),
    ] {
        let nested = |bytes: usize| {
            let times = bytes / (open.len() + close.len());
            open.repeat(times) + &close.repeat(times)
        };
        if !is_linear_in(path, nested) {
            slow.push((path, open));
        }
    }
    assert_none_is_slow(&slow);
}

/// Like `time_is_linear`, for lines with increasing depth.
#[test]
fn time_is_linear_in_depth() {
    let mut slow = Vec::new();
    for (path, unit) in [
        ("a.md", (|depth| format!("{}!!! a\n", " ".repeat(depth % 200))) as fn(usize) -> String),
        ("a.md", |depth| format!("{}{{raw}}\n", "`".repeat(203 - depth % 200))),
        ("a.rst", |depth| format!("{}.. raw:: html\n", " ".repeat(depth % 200))),
        ("a.adoc", |depth| format!("{}\n", "/".repeat(4 + depth % 200))),
        ("a.adoc", |number| format!("++++{number}\n")),
    ] {
        if !is_linear_in(path, |bytes| each(bytes, unit)) {
            slow.push((path, "deeper"));
        }
    }
    assert_none_is_slow(&slow);
}

#[test]
fn time_is_linear_in_data_files() {
    let mut slow = Vec::new();
    for (path, start, entry, end) in [
        (
            "docs.json",
            "{\"navigation\": [",
            (|number| format!("\"docs/\\u0061{number}\",")) as fn(usize) -> String,
            "\"a\"]}",
        ),
        (
            "docs.json",
            "{\"redirects\": [",
            |number| format!("{{\"source\": \"/a{number}\", \"destination\": \"/docs/b\"}},"),
            "{}]}",
        ),
        ("_redirects", "", |number| format!("/a{number} /docs/b 301\n"), ""),
        ("mkdocs.yml", "nav:\n", |number| format!("  - A{number}: a{number}.md\n"), ""),
        ("openapi.yaml", "a: [", |number| format!("{{a{number}: b}}, "), "]"),
        ("sidebars.js", "module.exports = [", |number| format!("['a{number}', a({number})], "), "]"),
        (
            "a.ipynb",
            "{\"cells\": [",
            |number| format!("{{\"cell_type\": \"markdown\", \"source\": \"a {number}\"}},"),
            "{}]}",
        ),
    ] {
        let file = |bytes: usize| format!("{start}{}{end}", each(bytes, entry));
        if !is_linear_in(path, file) {
            slow.push((path, start));
        }
    }
    assert_none_is_slow(&slow);
}

/// Removing a word from an example can create the same word again.
#[test]
fn time_is_linear_in_example_words() {
    let words = |bytes: usize| format!("ghp_{}{}", "te".repeat(bytes / 4), "st".repeat(bytes / 4));
    assert!(is_linear_in("a.md", words));
}

/// Like `time_is_linear`, for the number of pages: a prompt can change thousands.
#[test]
fn time_is_linear_in_pages() {
    for line in [
        "Plain words of a page, and more of them",
        "<iframe src=\"/a\"></iframe> is old",
        "A z\u{200b}ero width is old",
        "An old [link](https://x.y/?d=dGhlIHBhc3N3b3JkIGlzIGh1bnRlcjI",
        "<!-- An old remark of page",
    ] {
        let page =
            |number: usize, end: &str| format!("{}\n{line}{number}) -->{end}\n", "Words. ".repeat(150));
        let time = |pages: usize| {
            let paths: Vec<_> = (0..pages).map(|number| format!("{number}.md")).collect();
            let old = paths.iter().enumerate().map(|(number, path)| (path.as_str(), page(number, "")));
            let old: Vec<_> = old.collect();
            let base = MemoryTree::new(old.iter().map(|(path, text)| (*path, text.as_str())));
            let new = paths.iter().enumerate().map(|(number, path)| (path.clone(), page(number, ".")));
            let edits = new.map(|(path, text)| (path, Some(text.into_bytes()))).collect();
            let change = Change {
                base: &base,
                vocabulary: &agent::Vocabulary::default(),
                edits: &edits,
                instructions: &Instructions::default(),
                title: "",
                summary: "",
            };
            let start = Instant::now();
            assert_eq!(judge(&change, &Policy::default()), [], "{line}");
            start.elapsed()
        };
        let linear = |_| time(PAGES) < time(PAGES / 4).max(Duration::from_millis(20)) * 10;
        assert!(
            (0..5).any(linear),
            "{line:?}: {PAGES} pages take over 10 times as long as a quarter of them"
        );
    }
}

/// Prints the refusals of a folder of docs in which every line counts as new:
/// `GUARD_DOCS=folder cargo test -p agent -- --ignored --nocapture refusals_of_real_docs`.
#[test]
#[ignore = "reads a folder that is named by GUARD_DOCS"]
fn refusals_of_real_docs() {
    let mut folders = vec![std::path::PathBuf::from(std::env::var("GUARD_DOCS").unwrap())];
    let (mut files, mut counts) = (0, BTreeMap::<String, usize>::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let is_doc =
                ["md", "mdx", "rst", "adoc"].iter().any(|kind| entry.extension().is_some_and(|e| e == *kind));
            if entry.is_dir() {
                folders.push(entry);
            } else if let Some(text) = std::fs::read(&entry).ok().filter(|_| is_doc) {
                files += 1;
                let base = MemoryTree::default();
                let edits =
                    BTreeMap::from([(format!("docs/{}", entry.file_name().unwrap().display()), Some(text))]);
                let change = Change {
                    base: &base,
                    vocabulary: &agent::Vocabulary::default(),
                    edits: &edits,
                    instructions: &Instructions::default(),
                    title: "",
                    summary: "",
                };
                for refusal in judge(&change, &Policy::default()) {
                    let fatal = if refusal.fatal { "fatal" } else { "note" };
                    *counts.entry(format!("{fatal} {}", refusal.rule.as_str())).or_default() += 1;
                    println!("{}: {refusal}", entry.display());
                }
            }
        }
    }
    println!("{files} files: {counts:#?}");
}
