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
