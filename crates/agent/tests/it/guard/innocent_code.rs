//! Code that is only shown, and words that only look like it.

use super::Case;

#[track_caller]
fn check(path: &str, old: &str, new: &str) {
    let told = Case { base: &[(path, old)], edits: &[(path, new)], ..Case::default() }.judge();
    assert_eq!(told, [""; 0], "{path}: {new}");
}

#[test]
fn fences_below_tabs_and_lists() {
    for line in ["<script src=\"/sdk.js\"></script>", "await fetch(\"/x\", {h: process.env.KEY})"] {
        for (start, indent) in
            [("=== \"HTML\"\n\n", "    "), ("!!! note\n\n", "    "), ("* Do:\n\n", "      ")]
        {
            let page = format!("# A\n\n{start}{indent}```html\n{indent}{line}\n{indent}```\n\nText.\n");
            check("docs/a.md", "# A\n", &page);
        }
    }
}

/// It was so before.
#[test]
fn a_fence_that_was_never_closed() {
    let page = "# A\n\nTetx.\n\n```html\n<script>go()</script>\n";
    check("docs/a.md", page, &page.replace("Tetx", "Text"));
}

#[test]
fn words_with_braces() {
    for text in [
        "Use {name} in a window. Set document.title or the process.",
        "Replace {id} and open window.location in the console.",
        "A set { of x.\n\nMore, with window.location here.",
        "Get `/users/{self}` and /files/{document}.",
        "* `listener` {Function|EventListener} is called.",
        "The module is require('node:url') or import('fs').",
        "Set online = \"yes\". Use ongoing=\"1\".",
        "Export the document of this window, or import it (self) again.",
    ] {
        for path in ["docs/a.md", "docs/a.mdx"] {
            check(path, "# A\n", &format!("# A\n\n{text}\n"));
        }
    }
}

#[test]
fn fences_behind_a_brace() {
    for (path, line) in [
        ("docs/a.md", "Use { to open."),
        ("docs/a.md", "Match \"/*\" here."),
        ("docs/a.md", "All files in /* are served."),
        ("docs/a.mdx", "Use \\{ to open."),
        ("docs/a.mdx", "<CodeBlock>{`a ${b}`}</CodeBlock>"),
    ] {
        let page = format!("# A\n\n{line}\n\n```js\n<script>x({{}})</script>\n```\n");
        check(path, "# A\n", &page);
    }
}

#[test]
fn blocks_and_includes_of_every_day() {
    for text in [
        "```{note}\nText.\n```",
        "```{code-block} python\nfetch()\n```",
        "```js title=\"live.js\" {1,3}\nfetch()\n```",
        "--8<-- \"includes/links.md\"",
        "{{#include ../src/main.rs:3:9}}",
        "<<< @/snippets/a.ts{2}",
        "import Source from '!!raw-loader!../examples/run.js'",
        "import path from 'path'",
    ] {
        check("docs/a.md", "# A\n", &format!("# A\n\n{text}\n"));
    }
    let text = "A\n\n.. raw:: latex\n\n   \\newpage\n\n.. include:: ../README.rst\n\n.. role:: py(code)\n";
    check("docs/a.rst", "A\n", text);
    check(
        "docs/a.adoc",
        "A\n",
        "A\n\n[source,subs=\"attributes+\"]\n----\n<b>\n----\n\ninclude::../a.adoc[]\n",
    );
}

#[test]
fn a_film_that_a_person_named() {
    let page = "# A\n\n<iframe src=\"https://www.youtube.com/embed/b\"></iframe>\n";
    let asked = "Embed the video https://www.youtube.com/embed/b, please";
    let case = Case { base: &[("a.md", "# A\n")], edits: &[("a.md", page)], asked, ..Case::default() };
    assert_eq!(case.judge(), [""; 0]);
    let more = page.replace(" src", " srcdoc=x src");
    assert_eq!(Case { edits: &[("a.md", &more)], ..case }.judge(), ["!remote a.md:3"]);
    let longer = Case { asked: "See https://www.youtube.com/embed/bc and www.youtube.com", ..case };
    assert_eq!(longer.judge(), ["!remote a.md:3"]);
}
