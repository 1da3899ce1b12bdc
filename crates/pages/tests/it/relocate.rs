//! Moves: every link leads to the same file as before.

mod random;

use std::collections::BTreeMap;
use std::sync::Mutex;

use pages::{
    Edits, Entry, Files, FilesError, Kind, MAX_TEXT_BYTES, MemoryTree, Overlay, Relocation, Tree, relocate,
};

use crate::{overlay, overlay_in};

/// The text of `page` after the move.
#[track_caller]
fn text_after_move(
    files: &[(&str, &str)],
    root: Option<&str>,
    (from, to): (&str, &str),
    page: &str,
) -> String {
    let mut files = overlay_in(files, root);
    let done = relocate(&mut files, from, to).unwrap();
    assert_eq!(done.unresolved, [""; 0]);
    files.read(page).unwrap()
}

#[test]
fn links_to_the_page_keep_their_style() {
    #[track_caller]
    fn check(link: &str, to: &str, expected: &str) {
        let files = [
            ("docs/guides/setup.md", "# Set up\n"),
            ("docs/guides/other.md", "# Other\n"),
            ("docs/index.mdx", link),
        ];
        let found = text_after_move(&files, Some("docs"), ("docs/guides/setup.md", to), "docs/index.mdx");
        assert_eq!(found, expected, "{link}");
    }
    let to = "docs/start/first steps.mdx";
    check("[a](guides/setup.md)", to, "[a](start/first%20steps.mdx)");
    check("[a](./guides/setup.md#set-up)", to, "[a](./start/first%20steps.mdx#set-up)");
    check("[a](/guides/setup?x=1#set-up)", to, "[a](/start/first%20steps?x=1#set-up)");
    check("[a](/guides/setup/)", to, "[a](/start/first%20steps/)");
    check("[a](/guides/setup.html)", to, "[a](/start/first%20steps.html)");
    check("[a](/docs/guides/setup)", to, "[a](/docs/start/first%20steps)");
    check("[a](guides/setup)", "docs/guides/setup/index.md", "[a](guides/setup)");
    check("[a](guides/setup.md)", "docs/guides/setup/index.md", "[a](guides/setup/index.md)");
    check("[a](guides/setup)", "docs/start/index.md", "[a](start)");
    check("[a](guides/setup.html)", "docs/start/index.md", "[a](start/index.html)");
    check("[a]\n\n[a]: guides/setup.md 'x'\n", "docs/b.md", "[a]\n\n[a]: b.md 'x'\n");
    check("<a href=\"guides/setup\">a</a>", "docs/b.md", "<a href=\"b\">a</a>");
    check("<Card href='/guides/setup' />", "docs/b.md", "<Card href='/b' />");
    check("<Link to=\"./guides/setup\" />", "docs/b.md", "<Link to=\"./b\" />");
    check("---\nlink: /guides/setup\n---\n# x\n", "docs/b.md", "---\nlink: /b\n---\n# x\n");
    check("import A from './guides/setup.md'\n\n<A/>\n", "docs/b.md", "import A from './b.md'\n\n<A/>\n");
    check("\u{feff}[a](guides/setup.md)\r\n\r\nb", "docs/b.md", "\u{feff}[a](b.md)\r\n\r\nb");
    // These lead to another page, are broken, or are no links.
    for other in
        ["[a](guides/gone.md)", "[a](guides/other)", "`[a](guides/setup.md)`", "[a](https://x.dev/setup)"]
    {
        check(other, "docs/b.md", other);
    }
}

#[test]
fn files_of_every_kind_can_move() {
    #[track_caller]
    fn check(file: (&str, &str), link: &str, to: &str, expected: &str) {
        let files = [file, ("docs/from.md", link), ("docs/keep/x.md", "# X\n")];
        assert_eq!(text_after_move(&files, None, (file.0, to), "docs/from.md"), expected);
    }
    check(
        ("docs/g/index.md", ""),
        "[a](g) [b](g/) [c](g/index.md)",
        "docs/h/index.md",
        "[a](h) [b](h/) [c](h/index.md)",
    );
    check(("docs/g/index.md", ""), "[a](g/) [b](g/index)", "docs/h.md", "[a](h/) [b](h)");
    check(("docs/a.md", ""), "[a](/a) [b](/docs/a.md)", "docs/b/a.md", "[a](/b/a) [b](/docs/b/a.md)");
    check(("docs/a.md", "---\nslug: /get\n---\n"), "[a](/get) [b](a.md)", "docs/b.md", "[a](/get) [b](b.md)");
    check(("docs/g/a.md", "---\nid: start\n---\n"), "[a](g/start)", "docs/h/b.md", "[a](h/start)");
    check(
        ("docs/01-g/02-a.md", ""),
        "[a](/g/a) [b](01-g/02-a.md)",
        "docs/03-h/01-b.md",
        "[a](/h/b) [b](03-h/01-b.md)",
    );
    check(
        ("docs/é/a.md", ""),
        "[a](%C3%A9/a.md) [b](é/a.md)",
        "docs/é/ü.md",
        "[a](%C3%A9/%C3%BC.md) [b](é/ü.md)",
    );
    check(
        ("docs/a b.md", ""),
        "[a](<a b.md> 't') [b](a%20b.md)",
        "docs/c d.md",
        "[a](<c d.md> 't') [b](c%20d.md)",
    );
    check(
        ("docs/img/a.png", "\0"),
        "![a](img/a.png) ![b](/img/a.png)",
        "docs/b.png",
        "![a](b.png) ![b](/b.png)",
    );
    check(("static/a.svg", "x"), "<img src=\"/a.svg\">", "static/i/b.svg", "<img src=\"/i/b.svg\">");
    check(("src/pages/a.tsx", "x"), "[a](/a)", "src/pages/b.tsx", "[a](/b)");
    check(("docs/only/a.md", ""), "[a](only/) [b](only/a.md)", "docs/b/a.md", "[a](b/) [b](b/a.md)");
}

#[test]
fn links_in_the_moved_page_keep_their_targets() {
    #[track_caller]
    fn check(text: &str, to: &str, expected: &str) {
        let files = [
            ("docs/g/a.mdx", text),
            ("docs/g/b.md", "# B\n"),
            ("docs/g/Tab.tsx", ""),
            ("docs/index.md", "# I\n"),
            ("docs/i/x.png", "\0"),
        ];
        assert_eq!(text_after_move(&files, Some("docs"), ("docs/g/a.mdx", to), to), expected, "{text}");
    }
    let to = "docs/h/deep/a.mdx";
    check(
        "[b](b.md#b) [b](./b) ![x](../i/x.png)",
        to,
        "[b](../../g/b.md#b) [b](../../g/b) ![x](../../i/x.png)",
    );
    check("[b](/g/b) [s](#s) [s](a.mdx) [s](?x)", to, "[b](/g/b) [s](#s) [s](a.mdx) [s](?x)");
    check("[s](a.mdx#s) [i](..) [i](../)", "docs/g/c.mdx", "[s](c.mdx#s) [i](..) [i](../)");
    check("[i](..) [i](../) [l](../../LICENSE)", to, "[i](../..) [i](../../) [l](../../../LICENSE)");
    check("[x](gone.md) [y](https://a.b)", to, "[x](gone.md) [y](https://a.b)");
    check(
        "import T from './Tab'\nimport U from './gone'\n\n<T/>",
        to,
        "import T from '../../g/Tab'\nimport U from './gone'\n\n<T/>",
    );
    check("---\nimage: ../i/x.png\n---\n# A\n", "docs/a.mdx", "---\nimage: ./i/x.png\n---\n# A\n");
    // Relative to the address of the page.
    check("[b](../b)", to, "[b](../../../g/b)");
}

#[test]
fn navigation_entries_are_updated() {
    #[track_caller]
    fn check(file: &str, text: &str, expected: &str) {
        let files = [("docs/g/setup.md", "# S\n"), ("docs/g/other.md", "# O\n"), (file, text)];
        assert_eq!(
            text_after_move(&files, None, ("docs/g/setup.md", "docs/h/start.md"), file),
            expected,
            "{text}"
        );
    }
    check(
        "docs/docs.json",
        r#"{"navigation": ["g/setup", "g/setup-2", "/g/setup"]}"#,
        r#"{"navigation": ["h/start", "g/setup-2", "/h/start"]}"#,
    );
    check(
        "docs/mint.json",
        r#"{"redirects": [{"source": "/g/setup", "destination": "/g/setup#x"}]}"#,
        r#"{"redirects": [{"source": "/g/setup", "destination": "/h/start#x"}]}"#,
    );
    check(
        "mkdocs.yml",
        "nav:\r\n  - Set up: g/setup.md # x\r\n  - \"g/other.md\"\r\n",
        "nav:\r\n  - Set up: h/start.md # x\r\n  - \"g/other.md\"\r\n",
    );
    check("mkdocs.yml", "docs_dir: docs/g\nnav:\n- other.md\n", "docs_dir: docs/g\nnav:\n- other.md\n");
    check(
        "sidebars.js",
        "module.exports = { a: ['g/setup', { label: 'g/setup me', id: 'g/setup' }] }",
        "module.exports = { a: ['h/start', { label: 'g/setup me', id: 'h/start' }] }",
    );
    // A template literal without an end is not a string, and must not panic.
    check("sidebars.js", "['g/setup', `é", "['h/start', `é");
    check("mkdocs.yml", "nav: [g/setup.md, 'g/other.md']\n", "nav: [h/start.md, 'g/other.md']\n");
    check("mkdocs.yml", "\u{feff}nav:\n- g/setup.md\n", "\u{feff}nav:\n- h/start.md\n");
    check("website/sidebars.json", r#"{"a": ["g/setup"]}"#, r#"{"a": ["h/start"]}"#);
    check(
        "docs/SUMMARY.md",
        "- [S](g/setup.md)\n- [O](./g/other.md)\n",
        "- [S](h/start.md)\n- [O](./g/other.md)\n",
    );
    check(
        "docs/.vitepress/config.mts",
        "export default { nav: [{ text: 'S', link: '/g/setup' }] }",
        "export default { nav: [{ text: 'S', link: '/h/start' }] }",
    );
}

#[test]
fn links_that_may_refer_to_the_page_are_reported() {
    let page = "[a](https://x.dev/g/setup#a)\n[b](@site/docs/g/setup.md)\n\n[c](/app/g/setup) [d](https://x.dev/g/other)\n";
    let mut files = overlay_in(&[("docs/g/setup.md", "# S\n"), ("docs/a.md", page)], Some("docs"));
    let done = relocate(&mut files, "docs/g/setup.md", "docs/h/start.md").unwrap();
    let unresolved = [
        "docs/a.md:1: \"https://x.dev/g/setup#a\" may refer to \"docs/g/setup.md\".",
        "docs/a.md:2: \"@site/docs/g/setup.md\" may refer to \"docs/g/setup.md\".",
        "docs/a.md:4: \"/app/g/setup\" may refer to \"docs/g/setup.md\".",
    ];
    let unresolved = unresolved.map(str::to_owned).to_vec();
    assert_eq!(done, Relocation { links: 0, pages: vec![], unresolved });
    assert_eq!(files.read("docs/a.md").unwrap(), page);
}

#[test]
fn a_prefix_that_many_links_share_is_that_of_the_site() {
    let page = "[a](/acme/v1/a) [b](/acme/v1/b#b) [c](/acme/v1/g/setup/#s)\n";
    let files = [("docs/a.md", page), ("docs/b.md", "# B\n"), ("docs/g/setup.md", "# S\n")];
    let found = text_after_move(&files, Some("docs"), ("docs/g/setup.md", "docs/h.md"), "docs/a.md");
    assert_eq!(found, "[a](/acme/v1/a) [b](/acme/v1/b#b) [c](/acme/v1/h/#s)\n");
}

#[test]
fn refusals_change_nothing() {
    let tree = MemoryTree::new([("docs/a.md", "[b](b.md)"), ("docs/b.md", "[a](a.md)"), ("c.md", "")]);
    let mut files = Overlay::new(tree.with("docs/link", Kind::Symlink), Some("docs")).unwrap();
    for (from, to, why) in [
        ("docs/a.md", "docs/b.md", "\"docs/b.md\" cannot be used: a file with this path already exists"),
        ("docs/a.md", "c/a.md", "\"c/a.md\" cannot be used: it is outside the docs folder \"docs\""),
        (
            "docs/a.md",
            "docs/link/a.md",
            "\"docs/link/a.md\" cannot be used: it is a symbolic link, or is behind one",
        ),
        (
            "docs/a.md",
            "docs/b.md/a.md",
            "\"docs/b.md/a.md\" cannot be used: \"docs/b.md\" is a file, not a folder",
        ),
        ("docs/a.md", "docs/../a.md", "\"docs/../a.md\" cannot be used: it contains `.` or `..`"),
        ("docs/gone.md", "docs/x.md", "\"docs/gone.md\" does not exist"),
        ("docs/a.md", "docs/a.md", "\"docs/a.md\" cannot be used: a file with this path already exists"),
    ] {
        assert_eq!(relocate(&mut files, from, to).unwrap_err().to_string(), why);
        assert_eq!(files.edits(), Edits::default());
    }
}

#[test]
fn a_failed_write_undoes_the_move() {
    let full = format!("[a](a.md)\n{}", "x".repeat(MAX_TEXT_BYTES - 10));
    let mut files = overlay(&[("a.md", "[b](b.md)"), ("b.md", "[a](a.md)"), ("c.md", &full)]);
    let refusal = relocate(&mut files, "a.md", "further/a.md").unwrap_err();
    assert_eq!(refusal.to_string(), "\"c.md\" cannot be used: its new text is larger than 2 MiB");
    assert_eq!(files.edits(), Edits::default());
}

/// Counts how often each file is read.
struct Counting(MemoryTree, Mutex<BTreeMap<String, usize>>);

impl Tree for &Counting {
    fn list(&self) -> Result<Vec<Entry>, FilesError> {
        self.0.list()
    }

    fn read(&self, path: &str, max_bytes: usize) -> Result<Vec<u8>, FilesError> {
        *self.1.lock().unwrap().entry(path.to_owned()).or_default() += 1;
        self.0.read(path, max_bytes)
    }
}

#[test]
fn each_page_is_read_once_and_once_more_if_it_is_written() {
    let files = [
        ("a.md", "[b](b.md)"),
        ("b.md", "[a](a.md)"),
        ("c.md", "# C"),
        ("docs.json", "[\"a.md\"]"),
        ("x.png", ""),
    ];
    let tree = Counting(MemoryTree::new(files), Mutex::default());
    let mut files = Overlay::new(&tree, None).unwrap();
    let done = relocate(&mut files, "a.md", "further/a.md").unwrap();
    let pages = ["b.md", "docs.json", "further/a.md"].map(str::to_owned).to_vec();
    assert_eq!(done, Relocation { links: 3, pages, unresolved: vec![] });
    let read: Vec<_> = tree.1.lock().unwrap().clone().into_iter().collect();
    let times = [("a.md", 1), ("b.md", 2), ("c.md", 1), ("docs.json", 2)];
    assert_eq!(read, times.map(|(file, times)| (file.to_owned(), times)));
}
