//! Tests how redirects are proposed and written.

mod unusual_files;

use pages::Files;
use pages::redirects::{
    History, Redirect, RemovedPage, Rename, SiteRedirects, plan, quotation_text, split_docusaurus,
};
use proptest::prelude::*;

use crate::overlay;

/// Adds `/old` and `/old/b` to a site with `/a` and `/b`. Returns the file with the redirects.
fn add(file: &str, text: &str) -> Option<String> {
    let pages = [("a.md", "# A\n"), ("b.md", "# B\n"), ("docs/a.md", "# A\n"), ("docs/b.md", "# B\n")];
    let files = overlay(&[&pages[..], &[(file, text)]].concat());
    let site = SiteRedirects::read(&files).unwrap();
    let to = |name: &str| match site.file_at(&format!("/{name}")) {
        Some(_) => format!("/{name}"),
        None => format!("/docs/{name}"),
    };
    let new = [Redirect::new("/old", to("a")), Redirect::new("/old/b", to("b"))];
    let additions = site.add(&files, &new).unwrap();
    let (path, after, redirects) = additions.files.into_iter().next()?;
    assert_eq!((path.as_str(), redirects.len()), (file, 2));
    // Reading it again finds what was written, behind what there was.
    let mut again = overlay(&[&pages[..], &[(file, text)]].concat());
    again.write(file, after.clone()).unwrap();
    let found = SiteRedirects::read(&again).unwrap().redirects;
    assert!(new.iter().all(|redirect| found.contains(redirect)), "{found:?}");
    assert_eq!(found.len(), site.redirects.len() + 2);
    Some(after)
}

#[track_caller]
fn check(file: &str, text: &str, expected: &str) {
    assert_eq!(add(file, text).as_deref(), Some(expected), "{file}");
    if !text.contains('\r') {
        let crlf = |text: &str| text.replace('\n', "\r\n");
        assert_eq!(
            add(file, &crlf(text)),
            Some(crlf(expected)).filter(|_| text.contains('\n')).or(add(file, text)),
            "{file}"
        );
    }
}

#[test]
fn json_files_keep_their_style() {
    check(
        "docs.json",
        "{\n\t\"name\": \"x\",\n\t\"redirects\": [\n\t\t{\n\t\t\t\"source\": \"/c\",\n\t\t\t\"destination\": \"/a\"\n\t\t}\n\t],\n\t\"end\": [\"redirects\"]\n}\n",
        "{\n\t\"name\": \"x\",\n\t\"redirects\": [\n\t\t{\n\t\t\t\"source\": \"/c\",\n\t\t\t\"destination\": \"/a\"\n\t\t},\n\t\t{\n\t\t\t\"source\": \"/old\",\n\t\t\t\"destination\": \"/a\"\n\t\t},\n\t\t{\n\t\t\t\"source\": \"/old/b\",\n\t\t\t\"destination\": \"/b\"\n\t\t}\n\t],\n\t\"end\": [\"redirects\"]\n}\n",
    );
    check(
        "vercel.json",
        "{\"redirects\":[{\"source\":\"/c\",\"destination\":\"/a\",\"statusCode\":301}]}",
        "{\"redirects\":[{\"source\":\"/c\",\"destination\":\"/a\",\"statusCode\":301}, {\"source\":\"/old\",\"destination\":\"/a\",\"statusCode\":301}, {\"source\":\"/old/b\",\"destination\":\"/b\",\"statusCode\":301}]}",
    );
    check(
        "mint.json",
        "{\n  \"a\": {\"redirects\": [1]},\n  \"redirects\": []\n}",
        "{\n  \"a\": {\"redirects\": [1]},\n  \"redirects\": [\n    { \"source\": \"/old\", \"destination\": \"/a\" },\n    { \"source\": \"/old/b\", \"destination\": \"/b\" }\n  ]\n}",
    );
    let empty = add("docs.json", "{}").unwrap();
    assert!(empty.starts_with("{\n  \"redirects\": [\n    {"), "{empty}");
    for malformed in ["", "[]", "{", "{\"redirects\": {}}", "{\"redirects\": 1}", "// x\n{}", "{\"a\": 1,}"] {
        assert_eq!(add("docs.json", malformed), None, "{malformed}");
    }
    assert_eq!(
        add("docs.json", "{\"redirects\": [], \"redirects\": []}"),
        None,
        "not clear which list counts"
    );
}

#[test]
fn a_rule_is_in_front_of_a_pattern_that_covers_it() {
    check("_redirects", "", "/old /a 301\n/old/b /b 301\n");
    check("_redirects", "# x\n\n/c\t/a", "# x\n\n/c\t/a\n/old\t/a\n/old/b\t/b\n");
    check(
        "_redirects",
        "/old/* /c/:splat 301\n/* /x 302\n",
        "/old /a 301\n/old/b /b 301\n/old/* /c/:splat 301\n/* /x 302\n",
    );
    check(
        "netlify.toml",
        "# x\n[[redirects]]\nfrom = \"/*\"\nto = \"/index.html\"\nstatus = 200 # app\n",
        "# x\n[[redirects]]\nfrom = \"/old\"\nto = \"/a\"\nstatus = 301\n\n[[redirects]]\nfrom = \"/old/b\"\nto = \"/b\"\nstatus = 301\n\n[[redirects]]\nfrom = \"/*\"\nto = \"/index.html\"\nstatus = 200 # app\n",
    );
    assert_eq!(add("netlify.toml", "redirects = []\n"), None);
    assert_eq!(add("netlify.toml", "[build\n"), None);
}

#[test]
fn mkdocs_maps_are_extended() {
    let expected = "\n        old.md: a.md\n        old/b.md: b.md";
    for start in [
        "plugins:\n  - search\n  - redirects:\n      redirect_maps:\n        'c d.md': a.md  # x",
        "plugins:\n  - redirects:\n      redirect_maps:",
    ] {
        for end in ["", "\n", "\n  - tags\nsite_name: !ENV NAME\n"] {
            let found = add("mkdocs.yml", &format!("{start}{end}"));
            assert_eq!(found, Some(format!("{start}{expected}{end}")), "{start}{end}");
        }
    }
    let named = add("mkdocs.yml", "plugins:\n  - redirects\n  - search\n");
    assert_eq!(
        named.as_deref(),
        Some(
            "plugins:\n  - redirects:\n      redirect_maps:\n        old.md: a.md\n        old/b.md: b.md\n  - search\n"
        )
    );
    for other in [
        "plugins: [redirects]\n",
        "plugins:\n  - search\n",
        "plugins:\n  - redirects: {redirect_maps: {c.md: a.md}}\n",
        "a: [\n",
    ] {
        assert_eq!(add("mkdocs.yml", other), None, "{other}");
    }
}

#[test]
fn docusaurus_needs_one_literal_list() {
    let config = |list: &str| {
        format!(
            "// redirects: []\nexport default {{\n  plugins: [\n    ['@docusaurus/plugin-client-redirects', {{\n      redirects: {list},\n    }}],\n  ],\n}};\n"
        )
    };
    let list = "[\n        { from: '/c', to: '/docs/a' }, // kept\n      ]";
    let found = add("docusaurus.config.js", &config(list)).unwrap();
    assert_eq!(
        found,
        config(
            "[\n        { from: '/c', to: '/docs/a' },\n        { from: '/old', to: '/docs/a' },\n        { from: '/old/b', to: '/docs/b' }, // kept\n      ]"
        )
    );
    for other in [
        "[...more]",
        "makeRedirects()",
        "[{ from: ['/c', '/d'], to: '/docs/a' }]",
        "[{ from: `/${x}`, to: '/a' }]",
        "[{ from: '/c', to: x }]",
        "[{ from: '/c', to: '/a', run: f() }]",
    ] {
        assert_eq!(add("docusaurus.config.js", &config(other)), None, "{other}");
        assert_eq!(split_docusaurus(&config(other)), None, "{other}");
    }
}

#[test]
fn front_matter_of_the_target_is_extended() {
    #[track_caller]
    fn check(before: &str, expected: Option<&str>) {
        let files = overlay(&[("hugo.toml", ""), ("content/a.md", before)]);
        let site = SiteRedirects::read(&files).unwrap();
        let additions = site.add(&files, &[Redirect::new("/old", "/a")]).unwrap();
        let after = additions.files.first().map(|(_, text, _)| text.as_str());
        assert_eq!(after, expected);
        assert_eq!(additions.left.len(), usize::from(expected.is_none()));
    }
    check("---\ntitle: A\n---\nText\n", Some("---\ntitle: A\naliases:\n  - /old\n---\nText\n"));
    check(
        "---\r\ntitle: A\r\n---\r\nText\r\n",
        Some("---\r\ntitle: A\r\naliases:\r\n  - /old\r\n---\r\nText\r\n"),
    );
    check(
        "---\naliases:\n- /x # y\n- /z\ntitle: A\n---\n",
        Some("---\naliases:\n- /x # y\n- /z\n- /old\ntitle: A\n---\n"),
    );
    check("---\naliases: [/x, \"/y\"]\n---\n", Some("---\naliases: [/x, \"/y\", \"/old\"]\n---\n"));
    check("---\naliases: []\n---\n", Some("---\naliases: [/old]\n---\n"));
    check(
        "+++\ntitle = \"A\"\n[menu]\nx = 1\n+++\n",
        Some("+++\naliases = [\"/old\"]\ntitle = \"A\"\n[menu]\nx = 1\n+++\n"),
    );
    check("+++\naliases = [\"/x\"]\n+++\n", Some("+++\naliases = [\"/x\", \"/old\"]\n+++\n"));
    check("# A\n", Some("---\naliases:\n  - /old\n---\n# A\n"));
    check("", Some("---\naliases:\n  - /old\n---\n"));
    check("---\naliases: /x\n---\n", None);
    check("---\na: [\n---\n", None);
    for other in ["{ \"title\": \"A\", \"draft\": true }\n\n# A\n", "\n---\ndraft: true\n---\n", "---\n"] {
        check(other, None);
    }
}

#[test]
fn a_huge_list_is_extended() {
    let entry = |number: usize| format!("    {{ \"source\": \"/c{number}\", \"destination\": \"/a\" }}");
    let entries: Vec<String> = (0..30_000).map(entry).collect();
    let text = format!("{{\n  \"redirects\": [\n{}\n  ]\n}}\n", entries.join(",\n"));
    let after = add("docs.json", &text).unwrap();
    assert!(after.ends_with("{ \"source\": \"/old/b\", \"destination\": \"/b\" }\n  ]\n}\n"));
}

fn certain(files: &[(&str, &str)], history: &History, path: &str) -> Option<String> {
    let site = SiteRedirects::read(&overlay(files)).unwrap();
    let plan = plan(&site, history, &[path.to_owned()]);
    plan.certain.into_iter().next().map(|redirect| redirect.to)
}

#[test]
fn targets_are_resolved_to_the_final_page() {
    let redirects = r#"{"redirects": [
        {"source": "/b", "destination": "/c"}, {"source": "/x/:slug*", "destination": "/y/:slug*"},
        {"source": "/loop", "destination": "/pool"}, {"source": "/pool", "destination": "/loop"}
    ]}"#;
    let files = [("docs.json", redirects), ("c.mdx", "# C\n"), ("y/one.mdx", "# One\n"), ("z.mdx", "# Z\n")];
    let rename = |date, from: &str, to: &str| Rename { date, from: from.into(), to: to.into() };
    let history = History {
        renames: vec![
            rename(3, "b.mdx", "gone.mdx"),
            rename(1, "a.mdx", "b.mdx"),
            rename(1, "one.mdx", "x/one.mdx"),
            rename(1, "q.mdx", "loop.mdx"),
            rename(1, "r.mdx", "s.mdx"),
            rename(2, "s.mdx", "r.mdx"),
            rename(1, "t.mdx", "u.mdx"),
            rename(2, "u.mdx", "z.mdx"),
            rename(5, "z.mdx", "elsewhere.mdx"),
        ],
        removed: vec![RemovedPage { path: "old.mdx".into(), title: Some("Z".into()), headings: Vec::new() }],
    };
    for (path, expected) in
        [("/one", Some("/y/one")), ("/q", None), ("/r", None), ("/t", Some("/z")), ("/b", None), ("/c", None)]
    {
        assert_eq!(certain(&files, &history, path).as_deref(), expected, "{path}");
    }
}

#[test]
fn other_languages_and_versions_show_the_way() {
    let redirects = r#"{"redirects": [{"source": "/es/setup/ci", "destination": "/es/deploy/pipelines"}]}"#;
    let mut files = vec![("docs.json".to_owned(), redirects.to_owned())];
    for language in ["", "es/", "fr/"] {
        for page in ["deploy/pipelines", "start"] {
            files.push((format!("{language}{page}.mdx"), "# X\n".to_owned()));
        }
    }
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let none = History::default();
    assert_eq!(certain(&files, &none, "/fr/setup/ci").as_deref(), Some("/fr/deploy/pipelines"));
    assert_eq!(certain(&files, &none, "/setup/ci").as_deref(), Some("/deploy/pipelines"));
}

#[test]
fn another_probable_target_leaves_it_open() {
    let rename = Rename { date: 1, from: "a/rate-limits.mdx".into(), to: "api/limits.mdx".into() };
    let history = History { renames: vec![rename], removed: Vec::new() };
    let mut files = vec![("docs.json", "{}"), ("api/limits.mdx", "# Limits\n")];
    assert_eq!(certain(&files, &history, "/a/rate-limits").as_deref(), Some("/api/limits"));
    files.push(("b/rate-limits.mdx", "# Rate limits\n"));
    assert_eq!(certain(&files, &history, "/a/rate-limits"), None);
}

#[test]
fn editions_that_disagree_leave_it_open() {
    let redirects = r#"{"redirects": [
        {"source": "/v1/setup/ci", "destination": "/deploy/pipelines"},
        {"source": "/v2/setup/ci", "destination": "/start"}
    ]}"#;
    let files = [("docs.json", redirects), ("deploy/pipelines.mdx", "# X\n"), ("start.mdx", "# Y\n")];
    assert_eq!(certain(&files, &History::default(), "/v3/setup/ci"), None);
}

/// A site with `/guide/sign-in` and `/guide/tokens`.
fn certain_rename(landing_page: &str, from: &str, to: &str) -> Option<String> {
    let files = [
        ("docs.json", "{}"),
        ("guide/sign-in.mdx", "---\ntitle: Log in\n---\n"),
        ("guide/tokens.mdx", "# Access with tokens\n"),
        ("guide/_note.mdx", "Note.\n"),
        (landing_page, "# Guide\n"),
    ];
    let rename = Rename { date: 1, from: from.into(), to: to.into() };
    certain(
        &files,
        &History { renames: vec![rename], removed: Vec::new() },
        &format!("/{}", &from[..from.len() - 4]),
    )
}

#[test]
fn a_page_of_a_section_is_perhaps_only_a_part_of_the_old_page() {
    #[track_caller]
    fn check(landing_page: &str, from: &str, expected: Option<&str>) {
        assert_eq!(certain_rename(landing_page, from, "guide/tokens.mdx").as_deref(), expected, "{from}");
    }
    check("guide/overview.mdx", "security.mdx", None);
    check("guide.mdx", "security.mdx", None);
    check("guide/overview.mdx", "access.mdx", Some("/guide/tokens"));
    check("guide/overview.mdx", "api/token.mdx", Some("/guide/tokens"));
    check("other.mdx", "security.mdx", Some("/guide/tokens"));
}

#[test]
fn a_part_of_pages_is_no_target() {
    assert_eq!(certain_rename("other.mdx", "note.mdx", "guide/_note.mdx"), None);
}

#[test]
fn the_redirects_of_a_folder_show_where_its_pages_went() {
    fn check(redirects: &[(&str, &str)], path: &str, expected: Option<&str>) {
        let line = |(from, to): &(&str, &str)| format!("{from} {to} 301\n");
        let lines: String = redirects.iter().map(line).collect();
        let pages = ["ads", "api", "app", "log", "overview"];
        let mut files: Vec<(String, String)> =
            pages.iter().map(|page| (format!("new/{page}.md"), format!("# {page}\n"))).collect();
        files.extend([
            ("other/overview.md".to_owned(), "# Other\n".to_owned()),
            ("_redirects".to_owned(), lines),
        ]);
        let files: Vec<(&str, &str)> =
            files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        assert_eq!(certain(&files, &History::default(), path).as_deref(), expected, "{path}");
    }
    // The spelling of the targets doesn't matter.
    let moved = [("/old/ads", "/new/ads/"), ("/old/api", "/new/api#start")];
    check(&moved, "/old/app", Some("/new/app"));
    check(&moved[..1], "/old/overview", None);
    let collapsed: Vec<(String, &str)> = (1..=15).map(|n| (format!("/gone/p{n}"), "/new/log#x")).collect();
    let collapsed: Vec<(&str, &str)> = collapsed.iter().map(|(from, to)| (from.as_str(), *to)).collect();
    check(&collapsed, "/gone/p20", Some("/new/log"));
    check(&collapsed[..3], "/gone/p20", None);
}

#[test]
fn candidates_become_a_quotation() {
    let files = overlay(&[("docs.json", "{}"), ("a/hooks.mdx", "# Hooks\n"), ("b/hooks.mdx", "# Hooks\n")]);
    let site = SiteRedirects::read(&files).unwrap();
    let plan = plan(&site, &History::default(), &["/c/hooks".to_owned()]);
    let text = quotation_text(&plan.uncertain);
    assert!(text.starts_with("Path: /c/hooks\nCandidate: /a/hooks ("), "{text}");
    assert_eq!(text.lines().count(), 3, "{text}");
}

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "setup", "set-up", "guide", "es", "v1", "index", "overview"])
        .prop_map(str::to_owned)
}

fn address() -> impl Strategy<Value = String> {
    prop::collection::vec(name(), 1..4).prop_map(|names| format!("/{}", names.join("/")))
}

proptest! {
    /// Whatever redirects and renames a site has, a new redirect leads in one hop from an unused address to a page.
    #[test]
    fn no_loop_no_chain_no_hidden_page(
        pages in prop::collection::vec(address(), 1..12),
        old in prop::collection::vec((address(), address()), 0..8),
        renames in prop::collection::vec((0..9_i64, address(), address()), 0..8),
        asked in prop::collection::vec(address(), 1..8),
    ) {
        let entry = |(from, to): &(String, String)| format!("{{\"source\": \"{from}\", \"destination\": \"{to}\"}}");
        let json = format!("{{\"redirects\": [{}]}}", old.iter().map(entry).collect::<Vec<_>>().join(", "));
        let mut files: Vec<(String, String)> = pages.iter().map(|page| (format!("{}.mdx", &page[1..]), "# X\n".to_owned())).collect();
        files.push(("docs.json".to_owned(), json));
        files.sort();
        files.dedup_by(|a, b| a.0 == b.0);
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let mut files = overlay(&files);
        let file = |address: &str| format!("{}.mdx", &address[1..]);
        let renames = renames.iter().map(|(date, from, to)| Rename { date: *date, from: file(from), to: file(to) });
        let history = History { renames: renames.collect(), removed: Vec::new() };
        let site = SiteRedirects::read(&files).unwrap();
        let plan = plan(&site, &history, &asked);
        let additions = site.add(&files, &plan.certain).unwrap();
        for (path, text, _) in additions.files {
            files.write(&path, text).unwrap();
        }
        let after = SiteRedirects::read(&files).unwrap();
        let sources: Vec<&str> = after.redirects.iter().map(|redirect| redirect.from.as_str()).collect();
        for new in &plan.certain {
            prop_assert!(after.redirects.contains(new));
            prop_assert!(site.file_at(&new.from).is_none(), "hides a page: {new:?}");
            prop_assert!(site.file_at(&new.to).is_some(), "leads to no page: {new:?}");
            prop_assert!(!sources.contains(&new.to.as_str()), "leads on: {new:?}");
            prop_assert_eq!(sources.iter().filter(|source| **source == new.from).count(), 1);
        }
    }
}
