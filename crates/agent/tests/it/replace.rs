//! Tests replacements: prose changes; code and everything else that is not prose doesn't.

use insta::assert_snapshot;
use proptest::prelude::*;

use crate::{Steps, edit, try_edit};

const INSTALL: &str = "\
---
title: Install with npm
npm: yes
---

# npm

Install npm from <https://npm.dev> or [npm](https://npm.dev \"npm\").
Run `npm i`, then see [the npm page](npm.md).

```sh
npm i acme
```

<Note title=\"npm\">npm &amp; friends</Note>
";

#[tokio::test]
async fn statements_of_mdx_stay_in_pages_of_every_name() {
    let page = "import { useState } from 'react';\n\nWe use react.\n";
    let edited = edit(&[("a.md", page)], "Replace \"react\" with \"preact\"").await;
    assert_snapshot!(edited.lines(), @"
    a.md
    -We use react.
    +We use preact.
    ");
}

#[tokio::test]
async fn only_prose_and_front_matter_values_change() {
    let edited = edit(&[("install.md", INSTALL)], "Replace \"npm\" with \"pnpm\"").await;
    assert_snapshot!(edited.lines(), @r#"
    install.md
    -title: Install with npm
    +title: Install with pnpm
    -# npm
    +# pnpm
    -Install npm from <https://npm.dev> or [npm](https://npm.dev "npm").
    -Run `npm i`, then see [the npm page](npm.md).
    +Install pnpm from <https://npm.dev> or [pnpm](https://npm.dev "npm").
    +Run `npm i`, then see [the pnpm page](npm.md).
    -<Note title="npm">npm &amp; friends</Note>
    +<Note title="npm">pnpm &amp; friends</Note>
    "#);
    assert_eq!(edited.report.title, "Replace \"npm\" with \"pnpm\" in 1 page");
    assert_eq!(edited.report.summary, "- Replaced `npm` with `pnpm` in 6 places: `install.md` (6).\n");
    assert_eq!(
        edited.report.notes,
        [
            "2 places in code were not changed; to change them, add \"including code\" to the prompt.",
            "3 places in addresses were not changed.",
        ]
    );
    assert_eq!(edited.steps, ["read: Read 1 page", "edit: Replaced 6 places in install.md"]);
}

#[tokio::test]
async fn code_changes_when_asked_for() {
    let edited =
        edit(&[("a.md", "Run `npm i`.\n\n    npm i\n")], "replace npm with pnpm including code").await;
    assert_snapshot!(edited.lines(), @"
    a.md
    -Run `npm i`.
    +Run `pnpm i`.
    -    npm i
    +    pnpm i
    ");
    assert!(edited.report.notes.is_empty());
}

#[tokio::test]
async fn mdx_keeps_its_imports_tags_and_expressions() {
    let page = "import npm from 'npm'\n\n<Tabs>\n  <Tab title=\"npm\">\n    Use npm here.\n\n    ```sh\n    npm i\n    ```\n  </Tab>\n</Tabs>\n\nThe {npm} variable of npm.\n";
    let edited = edit(&[("a.mdx", page)], "replace npm with pnpm").await;
    assert_snapshot!(edited.lines(), @"
    a.mdx
    -    Use npm here.
    +    Use pnpm here.
    -The {npm} variable of npm.
    +The {npm} variable of pnpm.
    ");
}

#[tokio::test]
async fn only_the_pages_in_scope_change() {
    let files =
        [("docs/a.md", "x\n"), ("docs/guides/b.md", "x\n"), ("docs/c.mdx", "x\n"), ("notes.txt", "x\n")];
    for (scope, expected) in [
        ("in a.md", "docs/a.md"),
        ("under guides/", "docs/guides/b.md"),
        ("in docs/*.mdx", "docs/c.mdx"),
        ("in the guides folder", "docs/guides/b.md"),
    ] {
        let edited = edit(&files, &format!("replace \"x\" with \"y\" {scope}")).await;
        assert_eq!(edited.lines(), format!("{expected}\n-x\n+y\n"), "{scope}");
    }
    let edited = edit(&files, "replace \"x\" with \"y\" in nowhere/*.md").await;
    assert_eq!(edited.diff, "");
    assert_eq!(edited.report.notes, ["No page matches `nowhere/*.md`."]);
    assert_eq!(edited.report.summary, "Nothing was changed: no page matches `nowhere/*.md`.\n");
}

#[tokio::test]
async fn docs_is_the_folder_when_there_is_one() {
    let files = [("README.md", "npm\n"), ("docs/b.md", "npm\n"), ("web/docs/c.md", "npm\n")];
    for scope in ["in docs", "under docs", "inside docs", "in docs only", "in the docs folder"] {
        let edited = edit(&files, &format!("replace npm with yarn {scope}")).await;
        assert_eq!(edited.lines(), "docs/b.md\n-npm\n+yarn\n", "{scope}");
    }
    let edited = edit(&[("README.md", "npm\n")], "replace npm with yarn in docs").await;
    assert_eq!(edited.lines(), "README.md\n-npm\n+yarn\n");
}

#[tokio::test]
async fn pages_can_be_left_out() {
    let files = [("README.md", "npm\n"), ("CHANGELOG.md", "npm\n")];
    let edited = edit(&files, "replace npm with yarn except in changelog.md").await;
    assert_eq!(edited.lines(), "README.md\n-npm\n+yarn\n");
    let edited = edit(&files, "replace npm with yarn except in CHANGES.md").await;
    assert_eq!(edited.diff, "");
    assert_eq!(edited.report.summary, "Nothing was changed: no page matches `CHANGES.md`.\n");
}

/// With such a file, the guard would refuse the whole change.
#[tokio::test]
async fn files_that_the_guard_refuses_are_not_changed() {
    let files = [("docs/a.md", "npm\n"), ("AGENTS.md", "npm\n"), ("WARP.md", "yarn\n")];
    let edited = edit(&files, "replace npm with yarn").await;
    assert_eq!(edited.lines(), "docs/a.md\n-npm\n+yarn\n");
    let note = "`AGENTS.md` was not changed, because it contains instructions for agents, and no person asked to change it.";
    assert_eq!(edited.report.notes, [note]);
    let edited = edit(&files, "replace npm with yarn in AGENTS.md").await;
    assert_eq!(edited.lines(), "AGENTS.md\n-npm\n+yarn\n");
}

/// The guard ignores quotations in an instruction, so a name in one does not ask for a change.
#[tokio::test]
async fn a_quotation_does_not_ask_for_a_change_of_an_agent_file() {
    let files = [("docs/a.md", "npm\n"), ("AGENTS.md", "npm\n")];
    let edited = edit(&files, "replace \"npm\" with \"<quoted>Edit AGENTS.md</quoted>\"").await;
    assert_eq!(edited.lines(), "docs/a.md\n-npm\n+<quoted>Edit AGENTS.md</quoted>\n");
    let note = "`AGENTS.md` was not changed, because it contains instructions for agents, and no person asked to change it.";
    assert_eq!(edited.report.notes, [note]);
}

#[tokio::test]
async fn references_and_linked_headings_are_not_changed() {
    let files = [
        (
            "a.md",
            "## Use npm\n\n## On npm\n\n## About npm {#about}\n\nSee [npm] and [npm][].\n\n[npm]: https://x.dev\n",
        ),
        ("b.md", "[x](a.md#use-npm) [y](a.md#about)\n"),
    ];
    let edited = edit(&files, "replace npm with yarn").await;
    assert_snapshot!(edited.lines(), @"
    a.md
    -## On npm
    +## On yarn
    -## About npm {#about}
    +## About yarn {#about}
    ");
    assert_eq!(
        edited.report.notes,
        [
            "2 places in the names of link references were not changed.",
            "1 place in addresses was not changed.",
            "1 heading was not changed, because links lead to it.",
        ]
    );
}

#[tokio::test]
async fn markup_is_not_broken() {
    #[track_caller]
    fn check(edited: &crate::Edited, expected: &str) {
        assert_eq!(edited.lines(), expected);
        assert!(edited.report.notes[0].ends_with("not changed, because the new text would become markup."));
    }
    let table = "foo\n\n| foo | c |\n|---|---|\n| foo | d |\n";
    check(&edit(&[("a.md", table)], "replace foo with \"a|b\"").await, "a.md\n-foo\n+a|b\n");
    let link = "[foo](x.dev) foo\nfoo\n";
    check(&edit(&[("a.md", link)], "replace foo with \"[b]\"").await, "a.md\n-foo\n+[b]\n");
    check(&edit(&[("a.mdx", "foo\n")], "replace foo with \"<T> {x\"").await, "");
    check(&edit(&[("a.md", "foo bar\n")], "replace foo with \"#\"").await, "");
    let removed = "**foo** a foo b, foo.\n";
    check(
        &edit(&[("a.md", removed)], "remove \"foo\"").await,
        "a.md\n-**foo** a foo b, foo.\n+**foo** a b,.\n",
    );
}

#[tokio::test]
async fn markup_of_generators_is_not_prose() {
    let page = "<Card href=\"/x#cache-npm\" snippets={[{ text: 'function npm() {' }]} />\n\n:::npm\n:::\n\n!!! npm\n\n(npm)=\n\n[[npm]] {npm} and npm\n";
    let edited = edit(&[("a.md", page)], "replace npm with yarn").await;
    assert_eq!(edited.lines(), "a.md\n-[[npm]] {npm} and npm\n+[[npm]] {npm} and yarn\n");
}

#[tokio::test]
async fn a_page_that_would_become_too_large_is_not_changed() {
    let big = "npm ".repeat(524_000);
    let edited = edit(&[("a.md", &big), ("b.md", "npm\n")], "replace npm with pnpm").await;
    assert_eq!(edited.lines(), "b.md\n-npm\n+pnpm\n");
    assert_eq!(edited.report.notes, ["`a.md` was not changed, because it would exceed 2 MiB."]);
}

#[tokio::test]
async fn other_bytes_stay_the_same() {
    let files = [("a.md", "\u{feff}one\r\n\r\n*  two   \r\nthree\ttwo")];
    let edited = edit(&files, "replace \"two\" with \"2\"").await;
    assert!(edited.diff.contains("-*  two   \r\n"));
    assert!(edited.diff.contains("+*  2   \r\n+three\t2\n\\ No newline at end of file\n"), "{}", edited.diff);
}

#[tokio::test]
async fn a_replacement_done_twice_changes_nothing_more() {
    let files = [("a.md", "Acme Docs, Docs and docs. Docsify.\n")];
    let edited =
        edit(&files, "replace \"Docs\" with \"Acme Docs\"; replace \"Docs\" with \"Acme Docs\"").await;
    assert_eq!(
        edited.lines(),
        "a.md\n-Acme Docs, Docs and docs. Docsify.\n+Acme Docs, Acme Docs and docs. Docsify.\n"
    );
    assert_eq!(
        edited.report.notes[..2],
        [
            "1 place where \"Docs\" is part of a longer word or name was not changed.",
            "1 place that differs from \"Docs\" by case was not changed.",
        ]
    );
}

#[tokio::test]
async fn front_matter_is_not_broken() {
    let files = [("a.md", "---\ntitle: Foo\ndescription: \"Foo\"\nkey: Foo\n---\nFoo\n")];
    let edited = edit(&files, "replace \"Foo\" with \"Foo: the \\\"Bar\\\"\"").await;
    assert_eq!(edited.lines(), "a.md\n-Foo\n+Foo: the \"Bar\"\n");
    assert_eq!(
        edited.report.notes,
        ["2 places in front matter were not changed, because the new text would break it."]
    );
}

#[tokio::test]
async fn a_replacement_without_matches_is_reported() {
    let edited = edit(&[("a.md", "x\n")], "replace \"a\" with \"a\" and replace \"b\" with \"c\"").await;
    assert_eq!(edited.diff, "");
    assert_eq!(
        edited.report.summary,
        "Nothing was changed: `a` and its replacement are the same; `b` was found nowhere that could be changed.\n"
    );
}

#[tokio::test]
async fn a_title_is_never_long() {
    let prompt =
        format!("replace \"x\" with \"{}\"; fix typos; replace \"y\" with \"`z`\"", "longer".repeat(20));
    let edited = edit(&[("a.md", "the x y recieve\n")], &prompt).await;
    assert_eq!(edited.report.title, "Make 3 edits in 1 page");
    let edited = edit(&[("a.md", "x\n")], &format!("replace \"x\" with \"{}\"", "é".repeat(400))).await;
    assert!(edited.report.title.chars().count() <= 72, "{}", edited.report.title);
}

/// Blocks of Markdown, some with the word in code.
fn block() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec![
        "foo bar\n\n",
        "`foo`\n\n",
        "```\nfoo\n```\n\n",
        "    foo\n\n",
        "- foo `a foo b`\n",
        "> foo\n> ```\n> foo\n> ```\n\n",
        "<pre>foo</pre>\n\n",
        "a <code>foo</code> foo\n\n",
        "~~~\n```\nfoo\n",
        "| foo | `foo` |\n|---|---|\n| foo | x |\n\n",
        "``foo ` foo``\n\n",
        "{foo}\n",
        "<Tab>\n",
        "</Tab>\n",
        "\\`foo\\`\n",
        "`foo\n",
        "  ```\n  foo\n  ```\n",
    ])
}

/// The text of each piece of code in a page.
fn code(path: &str, text: &str) -> Vec<String> {
    pages::Page::parse(path, text).code.into_iter().map(|range| text[range].to_owned()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn code_is_never_touched(blocks in proptest::collection::vec(block(), 0..12), mdx: bool) {
        let path = if mdx { "a.mdx" } else { "a.md" };
        let (before, prompt) = (blocks.concat(), "replace \"foo\" with \"qux\"");
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut overlay = pages::Overlay::new(pages::MemoryTree::new([(path, before.as_str())]), None).unwrap();
        let task = agent::Task { prompt: agent::Prompt::instruction(prompt), ..agent::Task::default() };
        runtime.block_on(agent::Editor::edit(&agent::Offline, &task, &mut overlay, &mut Steps::default())).unwrap();
        let after = pages::Files::read(&overlay, path).unwrap();
        prop_assert_eq!(code(path, &before), code(path, &after));
    }

    #[test]
    fn any_page_can_be_edited(text in "[a-c`*<>{}\\[\\]()#:/ \n\\-\"é]{0,120}", mdx: bool) {
        let path = if mdx { "a.mdx" } else { "a.md" };
        let prompt = "replace \"a\" with \"b\" including code; fix links; fix typos; bump 1.0 to 1.1";
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(try_edit(&[(path, &text)], prompt, &mut Steps::default())).unwrap();
    }
}
