//! Links: which lead somewhere, and where the others were meant to.

use pages::{Repair, Site, Why, broken_links, page_at, repair};

use crate::{overlay, overlay_in};

const TREE: &[(&str, &str)] = &[
    ("docs/index.md", "# Home\n"),
    ("docs/guide/README.md", "# Guide\n\n## Set up {#setup}\n\n<a id=\"deep\"></a>\n"),
    (
        "docs/guide/install.mdx",
        "---\ntitle: Installing\nslug: /get\n---\n## Use it\n\n## Use it\n\n<Step title=\"First step\">x</Step>\n",
    ),
    ("docs/guide/my page.md", "# My page\n"),
    ("docs/01-start/02-first.md", "# First\n"),
    ("docs/img/a.png", "\0"),
    ("static/logo.svg", "x"),
];

fn with_page(text: &str) -> Vec<(&'static str, String)> {
    let mut files: Vec<(&str, String)> =
        TREE.iter().map(|(path, text)| (*path, (*text).to_owned())).collect();
    files.push(("docs/guide/from.md", text.to_owned()));
    files
}

fn broken(text: &str, docs_path: Option<&str>) -> Vec<String> {
    let files = with_page(text);
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    broken_links(&overlay_in(&files, docs_path)).unwrap().into_iter().map(|link| link.destination).collect()
}

#[test]
fn good_links() {
    for link in [
        "install.mdx",
        "./install.mdx",
        "install",
        "../guide/install",
        "../index.md",
        "..",
        "README.md",
        "/guide",
        "/guide/",
        "/guide/install",
        "/guide/install.html",
        "/guide/index.html",
        "/get",
        "/start/first",
        "my%20page.md",
        "<my page.md>",
        "../img/a.png",
        "/img/a.png",
        "/logo.svg",
        "install.mdx#use-it",
        "install.mdx#use-it-1",
        "install#first-step",
        "README.md#setup",
        "README.md#deep",
        "#from",
        "#top",
        "#",
        "?tab=1",
        "install.mdx?x=1#use-it",
        "/docs/guide/install",
        // Out of the repository, as in the links that lead to a host's list of issues.
        "../../../issues",
        "https://x.dev/nope",
        "mailto:a@b.c",
        "//cdn.dev/x",
        "tel:123",
        "{{ url }}",
        "/guide/../index.md",
    ] {
        let text = format!("# From\n\n[x]({link})\n");
        assert_eq!(broken(&text, None), Vec::<String>::new(), "{link}");
    }
    // Seen from the docs folder, an asset of the site and a file outside cannot be judged.
    for link in ["/logo.svg", "/assets/x.png", "../../README.md", "/docs/guide/install", "/guide/install"] {
        assert_eq!(broken(&format!("[x]({link})\n"), Some("docs")), Vec::<String>::new(), "{link}");
    }
}

#[test]
fn broken_ones() {
    for link in [
        "nope.md",
        "install.md",
        "/nope",
        "../nope/",
        "Install.mdx",
        "../img/b.png",
        "install.mdx#nope",
        "#nope",
        "install.mdx#Use-it",
        "README.md#set-up",
        "/guide#nope",
    ] {
        assert_eq!(broken(&format!("# From\n\n[x]({link})\n"), None), [link], "{link}");
    }
}

#[test]
fn links_of_every_kind_are_found() {
    let text = "\
[inline](a.md \"t\") ![image](b.png) [![both](c.png)](d.md)
[ref][r] and <a href=\"e.md\">x</a> <img src='f.png'>

[r]: g.md 'title'

<div>
<a href=h.md>x</a>
</div>

`[code](no.md)`

```
[code](no.md)
```
";
    assert_eq!(broken(text, None), ["a.md", "b.png", "c.png", "d.md", "e.md", "f.png", "g.md", "h.md"]);
}

#[test]
fn a_broken_link_says_where_and_why() {
    let files = overlay(&[("a.md", "# A\n\nsee [b](b.md)\n[c](#c)\n")]);
    let found = broken_links(&files).unwrap();
    let shown: Vec<_> =
        found.iter().map(|link| (link.line, link.destination.as_str(), link.why.clone())).collect();
    let expected = [(3, "b.md", Why::NoSuchPage), (4, "#c", Why::NoSuchAnchor { page: "a.md".to_owned() })];
    assert_eq!(shown, expected);
}

/// The repair of the one broken link in `text`, which stands in `docs/guide/from.md`.
fn repaired(text: &str, docs_path: Option<&str>) -> Repair {
    let files = with_page(text);
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let site = Site::read(&overlay_in(&files, docs_path)).unwrap();
    let links = site.broken_links();
    assert_eq!(links.len(), 1, "{text}");
    repair(&site, &links[0])
}

#[test]
fn certain_repairs_keep_the_style_of_the_link() {
    #[track_caller]
    fn check(link: &str, docs_path: Option<&str>, expected: &str) {
        assert_eq!(repaired(link, docs_path), Repair::Certain(expected.to_owned()), "{link}");
    }
    check("[x](../install.mdx)", None, "install.mdx");
    check("[x](./install.md)", None, "./install.mdx");
    check("[x](../old/install)", None, "install");
    check("[x](../old/install/)", None, "install/");
    check("[x](../old/install.html)", None, "install.html");
    check("[x](/old/install)", None, "/guide/install");
    check("[x](/old/install)", Some("docs"), "/guide/install");
    check("[x](/docs/old/install)", None, "/docs/guide/install");
    check("[x](/docs/old/install)", Some("docs"), "/docs/guide/install");
    check("[x](../old/install.mdx?a=b#use-it)", None, "install.mdx?a=b#use-it");
    check("[x](../old/guide/index.md)", None, "README.md");
    check("[x](<../old/my page.md>)", None, "my%20page.md");
    check("![x](a.png)", None, "../img/a.png");
    check("[Installing](setting-up.md)", None, "install.mdx");
    check("[x](Installing)", None, "install");
    check("[x](INSTALL.mdx)", None, "install.mdx");
    check("[x](../old/install.mdx#use_it)", None, "install.mdx#use-it");
}

#[test]
fn certain_repairs_of_anchors() {
    #[track_caller]
    fn check(link: &str, expected: &str) {
        assert_eq!(repaired(link, None), Repair::Certain(expected.to_owned()), "{link}");
    }
    check("## Getting Started\n[x](#Getting-started)", "#getting-started");
    check("## A & B\n[x](#a-b)", "#a--b");
    check("## Installation\n[x](#instalation)", "#installation");
    check("## How it works\n[How it works](#mechanics)", "#how-it-works");
    check("[x](README.md#Setup)", "README.md#setup");
}

#[test]
fn doubtful_ones_are_left() {
    #[track_caller]
    fn check(link: &str, expected: &[&str]) {
        let expected = expected.iter().map(|one| (*one).to_owned()).collect();
        assert_eq!(repaired(link, None), Repair::Unsure(expected), "{link}");
    }
    check("[x](nothing-like-it.md)", &[]);
    check("[x](../old/from.md)", &["docs/guide/from.md"]);
    check("## Step 1\n[x](#step-2)", &[]);
    check("## One thing\n## One thong\n[x](#one-theng)", &[]);
    check("[x](#setup)", &["docs/guide/README.md#setup"]);
    check("[x](../old/install.mdx#nothing)", &["docs/guide/install.mdx"]);
}

#[test]
fn pages_are_found_by_their_path_on_the_site() {
    let files = overlay_in(TREE, Some("docs"));
    assert_eq!(page_at(&files, "/guide/").unwrap().as_deref(), Some("docs/guide/README.md"));
    assert_eq!(page_at(&files, "/").unwrap().as_deref(), Some("docs/index.md"));
    assert_eq!(page_at(&files, "/nope").unwrap(), None);
}
