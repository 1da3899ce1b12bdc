//! Good and broken links.

use pages::{LinkFault, Site, broken_links, page_at};

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
        // Outside of the repository, such as the issues of the host.
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
    // Assets and files outside of the docs folder can't be checked.
    for link in ["/logo.svg", "/assets/x.png", "../../README.md", "/docs/guide/install", "/guide/install"] {
        assert_eq!(broken(&format!("[x]({link})\n"), Some("docs")), Vec::<String>::new(), "{link}");
    }
}

#[test]
fn broken_links_are_found() {
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
fn a_broken_link_has_a_line_and_a_fault() {
    let files = overlay(&[("a.md", "# A\n\nsee [b](b.md)\n[c](#c)\n")]);
    let found = broken_links(&files).unwrap();
    let found: Vec<_> =
        found.iter().map(|link| (link.line, link.destination.as_str(), link.fault.clone())).collect();
    let expected =
        [(3, "b.md", LinkFault::NoSuchPage), (4, "#c", LinkFault::NoSuchAnchor { page: "a.md".to_owned() })];
    assert_eq!(found, expected);
}

/// The broken links of a tree, as `file destination`.
fn broken_in(files: &[(&str, &str)]) -> Vec<String> {
    let found = broken_links(&overlay(files)).unwrap();
    found.into_iter().map(|link| format!("{} {}", link.file, link.destination)).collect()
}

#[track_caller]
fn check_no_broken(files: &[(&str, &str)]) {
    assert_eq!(broken_in(files), Vec::<String>::new());
}

#[test]
fn anchors_of_every_generator_are_good() {
    for (headings, anchors) in [
        ("## Install & configure", "install-configure install--configure"),
        ("## Usage\n\n## Usage", "usage usage-1 usage_1"),
        ("## 1.0.0 - 2024-01-01", "100-2024-01-01"),
        ("## v1.0 changes", "v1-0-changes v10-changes"),
        ("## What's new", "what-s-new whats-new"),
        ("## 2. step", "_2-step 2-step step"),
        ("[](){#command-setup}\n\n### `setup`", "command-setup"),
        ("[x]{#span}", "span"),
        ("## Two {: #two }", "two"),
        ("## Hello {/* #custom */}", "custom"),
        ("## My <!-- #my-id -->", "my-id"),
        ("(my-target)=\n## Setup target", "my-target"),
        ("<h2 align=\"center\">Bar baz</h2>", "bar-baz"),
        ("<h2>Foo</h2>", "foo"),
        ("x[^1]\n\n[^1]: note", "fn1 fnref1 fn:1 user-content-fn-1 user-content-fnref-1"),
        ("text", "top L3 L3-L10 __tabbed_1_1 /pets/get tab=2 :~:text=x"),
    ] {
        for anchor in anchors.split(' ') {
            let text = format!("{headings}\n\n[x](#{anchor}) [y](a.md?plain=1#{anchor})\n");
            check_no_broken(&[("a.md", &text)]);
        }
    }
    check_no_broken(&[
        ("a.md", "[x](#there) [y](b.md#src)\n\n# A\n"),
        ("b.md", "---\nsource: a\n---\n"),
        ("c.md", "(there)=\n# C\n"),
    ]);
    check_no_broken(&[("a.mdx", "[x](#custom)\n\n## Hello {/* #custom */}\n")]);
}

#[test]
fn a_page_with_includes_can_have_any_anchor() {
    for include in [
        "--8<-- \"s.txt\"",
        "<!--@include: ./s.md-->",
        "{!s.md!}",
        "{{#include s.md}}",
        "```{include} s.md\n```",
        "<Snippet file=\"s.mdx\" />",
        "::: acme.mod",
    ] {
        check_no_broken(&[("a.md", &format!("{include}\n\n[x](#part-one)\n\n## Part ones\n"))]);
    }
}

#[test]
fn sites_are_served_in_many_ways() {
    check_no_broken(&[
        ("docs/intro.md", "[x](/acme/docs/guide/install) [y](/acme/guide/install) [z](/acme/img/x.png)\n"),
        ("docs/guide/install.md", "# I\n"),
        ("static/img/x.png", "x"),
    ]);
    check_no_broken(&[
        (
            "docs/03-core/01-overview.md",
            "[x](./settings) [y](../03-core/settings) [z](/core/settings) [f](/core)\n",
        ),
        ("docs/03-core/25-settings.md", "# S\n"),
    ]);
    check_no_broken(&[("01-intro.md", "[x](/docs/guides/install)\n"), ("02-guides/03-install.md", "# S\n")]);
    check_no_broken(&[
        ("docs/b.md", "[x](g/start) [y](/docs/g/start)\n"),
        ("docs/g/a.md", "---\nid: start\n---\n# A\n"),
        ("docs/old/start.md", "# Start\n"),
    ]);
    check_no_broken(&[
        ("docs/a.md", "[h](/help) [c](/community/support) [p](/pricing)\n"),
        ("src/pages/help.tsx", "x"),
        ("src/pages/community/support.vue", "x"),
        ("src/pages/pricing.jsx", "x"),
        ("docs/support.md", "# S\n"),
    ]);
    check_no_broken(&[
        (
            "docs/a.md",
            "[y](/blog/hello) [z](/blog/tags/foo) [r](/rss.xml) [s](/sitemap.xml) [l](/llms.txt)\n",
        ),
        ("blog/2024-01-01-hello.md", "# H\n"),
        ("docs/foo.md", "# Foo\n"),
    ]);
    check_no_broken(&[
        ("a.md", "[y](@site/docs/x.md) [z](~/x) [w](~docs/x) [r](struct.Foo.html) [p](path/to/x.md)\n"),
        ("docs/x.md", "# X\n"),
    ]);
    check_no_broken(&[
        ("docs/b.md", "[x](/setup)\n"),
        ("docs/install.md", "---\nredirect_from:\n  - /setup\n---\n# Install\n"),
    ]);
}

#[test]
fn too_many_broken_absolute_links_are_not_reported() {
    let links = |count: usize| (0..count).map(|n| format!("[x](/gone-{n})\n")).collect::<String>();
    let site = |good: usize, bad: usize| {
        let text = format!("{}{}[r](gone.md)\n", "[x](/b)\n".repeat(good), links(bad));
        let site = Site::read(&overlay(&[("a.md", &text), ("b.md", "# B\n")])).unwrap();
        (site.unchecked_links(), site.broken_links().len())
    };
    assert_eq!(site(0, 4), (0, 5));
    assert_eq!(site(19, 5), (5, 1));
    assert_eq!(site(20, 5), (0, 6));
}

#[test]
fn pages_are_found_by_their_path_on_the_site() {
    let files = overlay_in(TREE, Some("docs"));
    assert_eq!(page_at(&files, "/guide/").as_deref(), Some("docs/guide/README.md"));
    assert_eq!(page_at(&files, "/").as_deref(), Some("docs/index.md"));
    assert_eq!(page_at(&files, "/nope"), None);
}

#[test]
fn implicit_anchors() {
    let is_good = |anchor: &str| broken_in(&[("a.md", &format!("# A\n\n[x](#{anchor})\n"))]).is_empty();
    for anchor in ["", "top", "L3", "L3-L10", "fn1", "fn:a", "fn-1", "fnref1", ":~:text=x", "__tab", "/a"] {
        assert!(is_good(anchor), "{anchor}");
    }
    for anchor in ["usage", "License", "fn", "function", "topic"] {
        assert!(!is_good(anchor), "{anchor}");
    }
}
