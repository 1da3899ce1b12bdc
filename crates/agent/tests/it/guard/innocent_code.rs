//! Tests that code which is only shown passes, and words that only look like code.

use super::Case;

#[track_caller]
fn check(path: &str, old: &str, new: &str) {
    let refusals = Case { base: &[(path, old)], edits: &[(path, new)], ..Case::default() }.judge();
    assert_eq!(refusals, [""; 0], "{path}: {new}");
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

/// The base already has the open fence.
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
fn fences_after_a_brace() {
    for (path, line) in [
        ("docs/a.md", "Match \"/*\" here."),
        ("docs/a.md", "All files in /* are served."),
        ("docs/a.mdx", "Use \\{ to open."),
    ] {
        let page = format!("# A\n\n{line}\n\n```js\n<script>x({{}})</script>\n```\n");
        check(path, "# A\n", &page);
    }
}

#[test]
fn common_blocks() {
    for text in ["```{note}\nText.\n```", "```{code-block} python\nfetch()\n```"] {
        check("docs/a.md", "# A\n", &format!("# A\n\n{text}\n"));
    }
    let text = "A\n\n[source,subs=\"attributes+\"]\n----\n<b>\n----\n";
    check("docs/a.adoc", "A\n", text);
}
