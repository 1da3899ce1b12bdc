//! The problems of a tree, and the problems that a change added.

mod added_problems;
mod page;

use pages::{Files, Problem, added_problems, check, check_change};
use proptest::prelude::*;

use crate::{overlay, overlay_in};

/// Problems written as `path:line kind what`.
fn rows(problems: &[Problem]) -> Vec<String> {
    let row = |problem: &Problem| {
        format!("{}:{} {} {}", problem.path, problem.line, problem.kind.as_str(), problem.what)
    };
    problems.iter().map(row).collect()
}

#[track_caller]
fn check_tree(files: &[(&str, &str)], expected: &[&str]) {
    let found = check(&overlay(files)).unwrap();
    assert_eq!(rows(&found), expected, "{files:?}");
}

/// Edits a tree and checks the change. The result must equal the difference of two full checks.
#[track_caller]
fn check_edit(files: &[(&str, &str)], edit: impl FnOnce(&mut dyn Files), expected: &[&str]) {
    let mut tree = overlay(files);
    let before = check(&tree).unwrap();
    edit(&mut tree);
    assert_eq!(rows(&check_change(&tree).unwrap()), expected, "{files:?}");
    let full = added_problems(&before, &check(&tree).unwrap());
    assert_eq!(rows(&full), expected, "by two full checks: {files:?}");
}

fn write(path: &str, text: &str) -> impl FnOnce(&mut dyn Files) {
    move |files| files.write(path, text.to_owned()).unwrap()
}

#[test]
fn every_kind_is_found() {
    let page = "---\nid: a\nid: b\n---\n\n[x](nope.md) [y](b.md#nope) ![z](z.png)\n\n<a id=\"i\"></a> <a id=\"i\"></a>\n\n| a | b |\n|---|\n\n```\n";
    check_tree(
        &[
            ("a.md", page),
            ("b.md", "# B\n\n<!-- open\n"),
            ("c.mdx", "import x\n\n<Card>\n\n{ open\n"),
            ("d.md", "---\ntitle: a: b\n---\n"),
            ("mkdocs.yml", "docs_dir: .\nnav:\n  - a.md\n  - b.md\n  - nope.md\n"),
            ("docs.json", "{\n\"navigation\": [{\"pages\": [\"a\"]\n"),
        ],
        &[
            "a.md:3 duplicate-key id",
            "a.md:6 link nope.md",
            "a.md:6 anchor b.md#nope",
            "a.md:6 image z.png",
            "a.md:8 duplicate-id i",
            "a.md:11 table | a | b |",
            "a.md:13 fence fence",
            "b.md:3 comment <!--",
            "c.mdx:1 statement import x",
            "c.mdx:3 tag Card",
            "c.mdx:5 brace {",
            "d.md:2 front-matter title",
            "docs.json:3 navigation ",
            "mkdocs.yml:5 navigation-entry nope.md",
        ],
    );
    let found = check(&overlay(&[("a.md", "[x](b.md)\n")])).unwrap();
    assert_eq!(found[0].to_string(), "a.md:1: the link to \"b.md\" leads nowhere");
}

const SITE: &[(&str, &str)] = &[
    ("docs/index.md", "# Home\n\n[old](nowhere.md) [i](guide/install.md#set-up) [u](/guide/use)\n"),
    ("docs/guide/install.md", "# Install\n\n## Set up\n\n![i](../img/a.png)\n"),
    ("docs/guide/use.md", "# Use\n\n[i](install.md)\n"),
    ("docs/img/a.png", "\0"),
    (
        "docs/docs.json",
        "{\"navigation\": {\"groups\": [{\"group\": \"G\",\n\"pages\": [\"index\", \"guide/install\",\n\"guide/use\", \"GET /users\"]}]}}",
    ),
];

#[test]
fn only_problems_that_a_change_added_are_reported() {
    check_edit(SITE, |_| {}, &[]);
    check_edit(SITE, write("docs/guide/use.md", "# Use\n\nwords\n\n[i](install.md)\n"), &[]);
    // Old problems are not reported again, on any line.
    check_edit(SITE, write("docs/index.md", "# Home\n\n\n\n[old](nowhere.md)\n"), &[]);
    check_edit(
        SITE,
        write("docs/index.md", "[o](nowhere.md) [p](nowhere.md)\n"),
        &["docs/index.md:1 link nowhere.md"],
    );
    check_edit(SITE, write("docs/guide/use.md", "[i](instal.md)\n"), &["docs/guide/use.md:1 link instal.md"]);
    check_edit(
        SITE,
        write("docs/guide/use.md", "[i](/guide/nope)\n"),
        &["docs/guide/use.md:1 link /guide/nope"],
    );
}

#[test]
fn links_of_unchanged_pages_are_checked() {
    check_edit(
        SITE,
        |files| files.delete("docs/guide/install.md").unwrap(),
        &[
            "docs/docs.json:2 navigation-entry guide/install",
            "docs/guide/use.md:3 link install.md",
            "docs/index.md:3 link guide/install.md#set-up",
        ],
    );
    check_edit(
        SITE,
        write("docs/guide/install.md", "# Install\n\n## Setting up\n"),
        &["docs/index.md:3 anchor guide/install.md#set-up"],
    );
    check_edit(
        SITE,
        |files| files.delete("docs/img/a.png").unwrap(),
        &["docs/guide/install.md:5 image ../img/a.png"],
    );
    check_edit(
        SITE,
        |files| {
            files.delete("docs/guide/install.md").unwrap();
            files.delete("docs/guide/use.md").unwrap();
            files.write("docs/docs.json", "{}".to_owned()).unwrap();
        },
        &["docs/index.md:3 link guide/install.md#set-up", "docs/index.md:3 link /guide/use"],
    );
}

#[test]
fn problems_that_move_with_their_page_are_not_new() {
    let files = &[
        ("docs/a.md", "# A\n\n[x](nope.md)\n\n```\n"),
        ("docs/b.md", "[a](a.md)\n"),
        ("docs/my page.md", "# P\n"),
        ("docs/c.md", "[p](my%20page.md)\n"),
    ];
    check_edit(files, |files| files.rename("docs/a.md", "docs/z.md").unwrap(), &["docs/b.md:1 link a.md"]);
    check_edit(
        files,
        |files| files.rename("docs/my page.md", "docs/p.md").unwrap(),
        &["docs/c.md:1 link my%20page.md"],
    );
    let moved = |files: &mut dyn Files| {
        files.rename("docs/a.md", "docs/z.md").unwrap();
        files.write("docs/b.md", "[a](z.md)\n".to_owned()).unwrap();
    };
    check_edit(files, moved, &[]);
}

#[test]
fn names_that_pages_give_themselves_count() {
    let files = &[
        ("docs/a.md", "---\nslug: /start\n---\n# A\n"),
        ("docs/b.md", "# B\n"),
        ("docs/c.md", "[a](/start)\n"),
    ];
    check_edit(files, write("docs/b.md", "[a](/start)\n"), &[]);
    check_edit(files, write("docs/a.md", "# A\n"), &["docs/c.md:1 link /start"]);
}

#[test]
fn links_that_cannot_be_checked_are_not_reported() {
    let text: String = (0..9).map(|n| format!("[x](/app/p{n})\n")).collect();
    let files = &[("a.md", text.as_str()), ("b.md", "# B\n")];
    check_edit(files, write("b.md", "[x](/app/q)\n"), &[]);
    let mut tree = overlay(files);
    tree.write("b.md", "[x](nope.md)\n".to_owned()).unwrap();
    assert_eq!(rows(&check_change(&tree).unwrap()), ["b.md:1 link nope.md"]);
}

#[test]
fn navigation_files_of_every_kind_are_checked() {
    let pages = [("docs/a.md", "# A\n"), ("docs/b.md", "# B\n"), ("docs/c.md", "# C\n")];
    for (nav, text, entry) in [
        (
            "docs/docs.json",
            "{\"navigation\": {\"tabs\": [{\"tab\": \"T\", \"groups\": [{\"pages\": [\"a\", {\"group\": \"H\", \"pages\": [\"b\"]}, \"c\"]}]}]}}",
            "b",
        ),
        ("docs/mint.json", "{\"navigation\": [{\"group\": \"G\", \"pages\": [\"a\", \"b\", \"c\"]}]}", "b"),
        ("mkdocs.yml", "nav:\n- A: a.md\n- B: b.md\n- C: c.md\n", "b.md"),
        ("sidebars.js", "module.exports = { docs: ['a', { type: 'doc', id: 'b' }, 'c'] };", "b"),
        ("website/sidebars.ts", "export default { docs: ['a', 'b', 'c'] };", "b"),
        (
            "docs/.vitepress/config.mts",
            "export default { themeConfig: { sidebar: [{ link: '/a' }, { link: '/b' }, { link: '/c' }] } }",
            "/b",
        ),
        ("docs/SUMMARY.md", "- [A](a.md)\n- [B](b.md)\n- [C](./c.md)\n", "b.md"),
    ] {
        let mut files = pages.to_vec();
        files.push((nav, text));
        check_tree(&files, &[]);
        let mut tree = overlay(&files);
        tree.delete("docs/b.md").unwrap();
        let found = check_change(&tree).unwrap();
        assert_eq!(found.len(), 1, "{nav}: {found:?}");
        assert_eq!((found[0].path.as_str(), found[0].what.as_str()), (nav, entry));
        // A new page that is not in the navigation is reported, unless its front matter hides it.
        check_edit(&files, write("docs/new.md", "# New\n"), &["docs/new.md:1 not-in-navigation "]);
        let mut tree = overlay(&files);
        tree.write("docs/new.md", "---\nhidden: true\n---\n".to_owned()).unwrap();
        assert_eq!(check_change(&tree).unwrap(), [], "{nav}");
    }
}

#[test]
fn navigation_that_cannot_be_understood_is_ignored() {
    for (nav, text) in [
        ("docs.json", "[1, 2]"),
        ("docs.json", "{\"navigation\": {\"pages\": [\"x\", \"y\", \"a\"]}}"),
        ("docs.json", "not json"),
        (
            "docs.json",
            "{\"navigation\": {\"pages\": [\"a\", {\"group\": \"API\", \"openapi\": \"o.json\", \"pages\": [\"made\"]}]}}",
        ),
        ("mkdocs.yml", "nav: !include other.yml\n"),
        ("mkdocs.yml", "docs_dir: .\nplugins:\n  - gen-files\nnav:\n  - a.md\n  - b.md\n  - made.md\n"),
        ("sidebars.js", "const x = require('./x');\nmodule.exports = { docs: x };"),
        (
            ".vitepress/config.ts",
            "export default { srcDir: 'x', nav: [{ link: '/a' }, { link: '/b' }, { link: '/x' }] }",
        ),
    ] {
        check_tree(&[("a.md", "# A\n"), ("b.md", "# B\n"), (nav, text)], &[]);
    }
}

#[test]
fn only_the_docs_folder_is_checked() {
    let files = &[("docs/a.md", "[x](../README.md) [y](nope.md)\n"), ("README.md", "[z](nope.md)\n")];
    let mut tree = overlay_in(files, Some("docs"));
    assert_eq!(rows(&check(&tree).unwrap()), ["docs/a.md:1 link nope.md"]);
    tree.write("docs/a.md", "[x](other.md)\n".to_owned()).unwrap();
    assert_eq!(rows(&check_change(&tree).unwrap()), ["docs/a.md:1 link other.md"]);
}

#[test]
fn the_tree_before_a_change_is_kept() {
    let mut tree = overlay(&[("a.md", "one\n"), ("b.md", "two\n")]);
    tree.write("a.md", "three\n".to_owned()).unwrap();
    tree.delete("b.md").unwrap();
    tree.write("c.md", "four\n".to_owned()).unwrap();
    assert_eq!(tree.changed(), ["a.md", "b.md", "c.md"]);
    let mut before = tree.before();
    assert_eq!(before.list(), ["a.md", "b.md"]);
    assert_eq!(
        (before.read("a.md").unwrap(), before.read("b.md").unwrap()),
        ("one\n".to_owned(), "two\n".to_owned())
    );
    assert!(before.read("c.md").is_err() && before.read("../x").is_err());
    assert!(before.write("a.md", String::new()).is_err() && before.delete("a.md").is_err());
    assert!(before.rename("a.md", "z.md").is_err() && before.changed().is_empty());
}

/// Tokens with a meaning to the parsers of pages and navigation files.
fn piece() -> impl Strategy<Value = String> {
    let marks = [
        "---\n",
        "title: ",
        "\"",
        "'",
        "`",
        "```",
        "~~~\n",
        "<!--",
        "-->",
        "<Card ",
        "</Card>",
        "{",
        "}",
        "[",
        "](",
        ")",
        "|",
        "|---|\n",
        "{#a}",
        "id=\"a\"",
        "\n",
        "\n\n",
        "import ",
        "export ",
        ": ",
        "# ",
        "é",
        "\\",
        "nav:\n",
        "- a.md\n",
        "\"navigation\"",
        "\"pages\"",
        "link: '/",
        "//",
        "/*",
        "a.md",
        "+++\n",
        "\u{feff}",
        "\r\n",
        "<",
        ">",
        "/",
    ];
    prop_oneof![4 => proptest::sample::select(marks.to_vec()).prop_map(str::to_owned), 1 => any::<String>()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_text_panics(old in prop::collection::vec(piece(), 0..40), new in prop::collection::vec(piece(), 0..40)) {
        let (old, new) = (old.concat(), new.concat());
        for path in ["a.md", "a.mdx", "docs.json", "mkdocs.yml", "sidebars.js", ".vitepress/config.ts", "SUMMARY.md"] {
            let mut tree = overlay(&[(path, old.as_str()), ("b.md", "[a](a.md#a) [b](a.mdx)\n")]);
            let before = check(&tree).unwrap();
            tree.write(path, new.clone()).unwrap();
            check_change(&tree).unwrap();
            let after = check(&tree).unwrap();
            prop_assert!(added_problems(&before, &after).len() <= after.len());
            tree.delete(path).unwrap();
            check_change(&tree).unwrap();
        }
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let paths = ["a.md", "a.mdx", "docs.json", "mkdocs.yml", "sidebars.js", ".vitepress/config.ts"];
        let tree = pages::MemoryTree::new(paths.map(|path| (path, bytes.clone())));
        check(&pages::Overlay::new(tree, None).unwrap()).unwrap();
    }
}

#[test]
fn hostile_pages_are_checked_quickly() {
    for part in [
        "<a>",
        "</a>",
        "<A b=\"",
        "{",
        "import x\n\n",
        "|a|\n|-|-|\n\n",
        "## A {#a}\n",
        "<i id=\"a\">",
        "```\n",
        "[a](b)",
        "<!--\n\n",
        "`",
        "export const a = {\n\n",
    ] {
        let text = part.repeat(60_000 / part.len());
        for path in ["a.md", "a.mdx"] {
            check(&overlay(&[(path, &text)])).unwrap();
        }
    }
}
