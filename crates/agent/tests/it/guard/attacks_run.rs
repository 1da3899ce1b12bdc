//! Ways to have something run that only some readers of a page take for code.

use super::Case;

#[track_caller]
fn check(path: &str, text: &str) {
    let told = Case { edits: &[(path, text)], ..Case::default() }.judge();
    assert!(told.iter().any(|told| told.starts_with("!remote")), "{path}: {text}: {told:?}");
}

#[test]
fn front_matter() {
    for path in ["docs/a.md", "docs/a.mdx"] {
        check(path, "---js\nrequire('child_process').execSync('id')\n---\n\n# Title\n");
        check(path, "---\nhead:\n  - tag: script\n    content: go()\n---\n\n# Title\n");
        check(path, "---\nhead:\n  - [base, {href: /x}]\n---\n\n# Title\n");
        for front in ["---\na: |\n  ```\n---\n", "+++\na = '''\n```\n'''\n+++\n"] {
            check(path, &format!("{front}\n<script>go()</script>\n\n```\nx\n```\n"));
            check(path, &format!("{front}\n![x](https://evil.example/p.png)\n\n```\nx\n```\n"));
        }
    }
}

#[test]
fn fences_of_some_readers_alone() {
    check("docs/a.md", "# A\n\n```\n\n<script>go()</script>\n");
    check("docs/a.md", "# A\n\n````\n\n<script>go()</script>\n\n`````\n\nText.\n");
    check("docs/a.md", "# A\n\n````\n`````\n````\n\n<script>go()</script>\n\n````\n");
    check("docs/a.md", "# A\n\n```\n\n![x](https://evil.example/p.png)\n");
}

#[test]
fn endings_of_pages() {
    for ending in ["mkdn", "mkdown", "mdwn"] {
        check(&format!("docs/a.{ending}"), "# A\n\n<script>go()</script>\n");
    }
}
