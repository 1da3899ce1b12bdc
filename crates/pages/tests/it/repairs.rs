//! Repairs of broken links, certain and unsure.

use pages::{Repair, Site, repair};

use crate::{overlay, overlay_in};

const TREE: &[(&str, &str)] = &[
    ("docs/index.md", "# Home\n"),
    ("docs/guide/README.md", "# Guide\n\n## Set up {#setup}\n"),
    ("docs/guide/install.mdx", "---\ntitle: Setting it up\n---\n## Use it\n\n## Requirements\n"),
    ("docs/guide/my page.md", "# My page\n"),
    ("docs/img/a.png", "\0"),
];

/// The repair of the only broken link in `text`, the text of `docs/guide/from.md`.
fn repair_of(text: &str, docs_path: Option<&str>) -> Repair {
    let mut files = TREE.to_vec();
    files.push(("docs/guide/from.md", text));
    repair_in(&files, docs_path)
}

fn repair_in(files: &[(&str, &str)], docs_path: Option<&str>) -> Repair {
    let site = Site::read(&overlay_in(files, docs_path)).unwrap();
    let links = site.broken_links();
    assert_eq!(links.len(), 1, "{files:?}");
    repair(&site, &links[0])
}

#[test]
fn certain_repairs_keep_the_style_of_the_link() {
    #[track_caller]
    fn check(link: &str, docs_path: Option<&str>, expected: &str) {
        assert_eq!(repair_of(link, docs_path), Repair::Certain(expected.to_owned()), "{link}");
    }
    check("[x](../install.mdx)", None, "install.mdx");
    check("[x](./install.md)", None, "./install.mdx");
    check("[x](../Install)", None, "install");
    check("[x](./Install/)", None, "./install/");
    check("[x](/install)", None, "/guide/install");
    check("[x](/install)", Some("docs"), "/guide/install");
    check("[x](/docs/install)", None, "/docs/guide/install");
    check("[x](/docs/install)", Some("docs"), "/docs/guide/install");
    check("[x](../install.mdx?a=b#use-it)", None, "install.mdx?a=b#use-it");
    check("[x](../../guide/index.md)", None, "README.md");
    check("[x](<../my page.md>)", None, "my%20page.md");
    check("![x](img/a.png)", None, "../img/a.png");
    check("[x](INSTALL.mdx)", None, "install.mdx");
    check("[x](../install.mdx#Use-It)", None, "install.mdx#use-it");
    // The page was renamed, and its title is the old name.
    check("[x](setting-it-up.md)", None, "install.mdx");
    check("[x](/guide/setting-it-up)", None, "/guide/install");
}

#[test]
fn certain_repairs_of_anchors() {
    #[track_caller]
    fn check(link: &str, expected: &str) {
        assert_eq!(repair_of(link, None), Repair::Certain(expected.to_owned()), "{link}");
    }
    check("## Getting Started\n[x](#Getting-started)", "#getting-started");
    check("## What's new\n[x](#What-s-New)", "#what-s-new");
    check("## Installation\n[x](#instalation)", "#installation");
    check("[x](README.md#Setup)", "README.md#setup");
}

#[test]
fn ambiguous_links_are_unsure() {
    #[track_caller]
    fn check(link: &str, expected: &[&str]) {
        let expected = expected.iter().map(|candidate| (*candidate).to_owned()).collect();
        assert_eq!(repair_of(link, None), Repair::Unsure(expected), "{link}");
    }
    let install = &["docs/guide/install.mdx"];
    check("[x](nothing-like-it.md)", &[]);
    check("[x](../from.md)", &["docs/guide/from.md"]);
    check("[x](../old/install.mdx)", install);
    check("[x](/old/install)", install);
    check("[x](../../install.html)", install);
    check("[x](../install.mdx#nothing)", install);
    check("[x](../install.mdx#use_it)", install);
    check("[x](../blob/main/install.mdx)", install);
    // A single word can mean anything.
    check("[x](Install)", install);
    check("![x](a.png)", &["docs/img/a.png"]);
    // The text of the link is only a hint.
    check("[Setting it up](preparing.md)", install);
    check("[x](../setting-it-up.md)", install);
    check("[Setting it up][r]\n\n[r]: preparing.md\n", &[]);
    check("[Setting it up]\n\n[Setting it up]: preparing.md\n", &[]);
}

#[test]
fn ambiguous_anchors_are_unsure() {
    #[track_caller]
    fn check(link: &str, expected: &[&str]) {
        let expected = expected.iter().map(|candidate| format!("docs/guide/{candidate}")).collect();
        assert_eq!(repair_of(link, None), Repair::Unsure(expected), "{link}");
    }
    check("## Step 1\n[x](#step-2)", &[]);
    check("## One thing here\n## One thong here\n[x](#one-theng-here)", &[]);
    check("## Managers\n## Manigers\n[x](#manegers)", &[]);
    check("[x](#setup)", &["README.md#setup"]);
    check("[Use it](install.mdx#advanced-errors)", &["install.mdx#use-it"]);
    check("## How it works\n[How it works](#mechanics)", &["from.md#how-it-works"]);
    check("## A & B\n[x](#a_b)", &["from.md#a--b"]);
    check("## Set users\n[x](#get-users)", &[]);
    check("## Min size\n[x](#max-size)", &[]);
    check("## on-created\n[x](#on-create)", &[]);
    // GitHub and MkDocs have different anchors.
    check("## Installation & use\n[x](#instalation-use)", &[]);
}

#[test]
fn other_folders_versions_and_languages_are_unsure() {
    #[track_caller]
    fn check(from: &str, link: &str, target: &str) {
        let text = format!("[x]({link})\n");
        let found = repair_in(&[(from, &text), (target, "# T\n")], None);
        assert_eq!(found, Repair::Unsure(vec![target.to_owned()]), "{from} {link}");
    }
    check("a.md", "payments/errors.md", "billing/errors.md");
    check("payments/a.md", "errors.md", "billing/errors.md");
    check("v2/a.md", "install.md", "v1/install.md");
    check("v2/a.md", "install.md", "install.md");
    check("a.md", "install.md", "v1/install.md");
    check("a.md", "/install", "next/install.md");
    check("ja/a.md", "install.md", "en/install.md");
    check("ja/a.md", "../install.md", "pt-BR/install.md");
    check("a.md", "examples/client.rs", "src/client.rs");
    check("a.md", "client.rs", "src/client.rs");
    check("a.md", "install.md", "docs/guide/install.md");
    // A changelog at the root can be shown in the docs, where this link is right.
    check("CHANGELOG.md", "guide/install.md", "docs/guide/install.md");
    check("a.md", "url", "docs/url.md");
    check("a.md", "file.md", "docs/file.md");
    check("docs/a.md", "../blob/main/x.md", "docs/x.md");
    check("docs/a.md", "/api", "docs/guide/api.md");
    check("docs/a.md", "/changelog", "CHANGELOG.md");
    check("docs/a.md", "/guide/install", "docs/guide/Install.md");
    // The site's addresses can be with or without the number.
    check("docs/core/a.md", "./settings.md", "docs/core/25-settings.md");
}

#[test]
fn pages_that_moved_one_folder_are_found() {
    #[track_caller]
    fn check(from: &str, link: &str, target: &str, expected: &str) {
        let text = format!("[x]({link})\n");
        let found = repair_in(&[(from, &text), (target, "# T\n")], None);
        assert_eq!(found, Repair::Certain(expected.to_owned()), "{from} {link}");
    }
    check("docs/a.md", "setup.md", "docs/guides/setup.md", "guides/setup.md");
    check("docs/a/b.md", "concepts/x.md", "docs/concepts/x.md", "../concepts/x.md");
    check("docs/a/b.md", "x.md", "docs/x.md", "../x.md");
    check("docs/a/b.md", "../../x.md", "docs/x.md", "../x.md");
    check("docs/v1/a/b.md", "concepts/x.md", "docs/v1/concepts/x.md", "../concepts/x.md");
    check("docs/a/b.md", "../core/x.md", "docs/core/deep/x.md", "../core/deep/x.md");
    check("docs/a/b.md", "images/x.svg", "docs/images/x.svg", "../images/x.svg");
}

#[test]
fn only_misspelled_anchors_are_repaired() {
    let is_repaired = |wanted: &str, anchor: &str| {
        let (from, to) = (format!("[x](b.md#{wanted})"), format!("# {anchor}\n"));
        let site = Site::read(&overlay(&[("a.md", &from), ("b.md", &to)])).unwrap();
        let broken = site.broken_links();
        broken.iter().any(|link| repair(&site, link) == Repair::Certain(format!("b.md#{anchor}")))
    };
    for (wanted, anchor) in [
        ("instalation", "installation"),
        ("requirments", "requirements"),
        ("geting-started", "getting-started"),
        ("the-enviroment-file", "the-environment-file"),
    ] {
        assert!(is_repaired(wanted, anchor), "{wanted} {anchor}");
    }
    for (wanted, anchor) in [
        ("get-users", "set-users"),
        ("max-size", "min-size"),
        ("enable-cache", "disable-cache"),
        ("preinstall", "reinstall"),
        ("unsafe", "safe"),
        ("on-create", "on-created"),
        ("is-valid", "invalid"),
        ("step-1", "step-2"),
        ("release-v100001", "release-v100002"),
        ("api", "app"),
        ("install", "uninstall-all"),
        ("same", "same"),
    ] {
        assert!(!is_repaired(wanted, anchor), "{wanted} {anchor}");
    }
}
