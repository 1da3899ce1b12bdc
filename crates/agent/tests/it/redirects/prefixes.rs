//! Tests redirects of sites that are served below a prefix, such as `/repo` on GitHub Pages, in every format.

use agent::{Prompt, PromptPart, Report};

use super::{PROMPT, assert_server_lines, run};

/// A site with `/guides/install`, which was `/setup/installing`. Readers ask for it below `/repo`. `viewed` is where the
/// quotation says that they reach the pages.
async fn story(settings: &[(&str, &str)], root: &str, viewed: Option<&str>) -> (Report, String) {
    let page = format!("{root}guides/install.md");
    let old = format!("{root}setup/installing.md");
    let home = format!("{root}index.md");
    let mut files = vec![
        (page.as_str(), "---\ntitle: Install\n---\n\nRun it.\n"),
        (home.as_str(), "---\ntitle: Home\n---\n\nWelcome.\n"),
    ];
    files.extend(settings);
    let served = viewed.map(|viewed| format!("Served at: {viewed}\n\n")).unwrap_or_default();
    let text =
        format!("{served}Path: /repo/setup/installing\n\nPath: /repo/nothing/like-it\n\nPath: /elsewhere\n");
    let quotation = PromptPart::Quotation { source: "Findings".into(), text };
    let prompt = Prompt::new(vec![PromptPart::Instruction(PROMPT.into()), quotation]);
    run(&files, prompt, &[(&old, &page)]).await
}

/// The settings alone, what readers view, and both lead to the same lines.
async fn check(settings: &[(&str, &str)], without_prefix: &[(&str, &str)], root: &str, lines: &str) {
    for (settings, viewed) in [
        (settings, None),
        (settings, Some("/repo/")),
        (without_prefix, Some("/repo")),
        (without_prefix, Some("/repo/")),
    ] {
        let (report, found) = story(settings, root, viewed).await;
        assert_eq!(found, lines, "{settings:?} {viewed:?} {report:?}");
        assert_eq!(
            report.notes,
            [
                "No redirect was added for `/repo/nothing/like-it`, because no page resembles it.",
                "`/elsewhere` needs no redirect: it's not below the prefix that the site is served at.",
            ]
        );
    }
}

#[tokio::test]
async fn generators_get_addresses_without_the_prefix() {
    let mkdocs =
        "site_name: Acme\nplugins:\n  - redirects:\n      redirect_maps:\n        old.md: index.md\n";
    check(
        &[("mkdocs.yml", &format!("site_url: https://acme.github.io/repo/\n{mkdocs}"))],
        &[("mkdocs.yml", mkdocs)],
        "docs/",
        "+        setup/installing.md: guides/install.md\n",
    )
    .await;
    check(
        &[("hugo.toml", "baseURL = 'https://acme.github.io/repo/'\n")],
        &[("hugo.toml", "baseURL = 'https://acme.example/'\n")],
        "content/",
        "+aliases:\n+  - /setup/installing\n",
    )
    .await;
    let jekyll = "plugins:\n  - jekyll-redirect-from\n";
    check(
        &[("_config.yml", &format!("baseurl: /repo\n{jekyll}"))],
        &[("_config.yml", &format!("baseurl: ''\n{jekyll}"))],
        "",
        "+redirect_from:\n+  - /setup/installing/\n",
    )
    .await;
}

#[tokio::test]
async fn docusaurus_redirects_are_listed_as_readers_request_them() {
    let config = "module.exports = {\n  baseUrl: '/repo/',\n  presets: [['classic', { docs: { routeBasePath: '/' } }]],\n  plugins: [\n    ['@docusaurus/plugin-client-redirects', { redirects: [] }],\n  ],\n};\n";
    let (report, lines) = story(&[("docusaurus.config.js", config)], "docs/", None).await;
    let wanted = "{ from: '/setup/installing', to: '/guides/install' }";
    assert!(
        lines.contains(wanted)
            || report.summary.contains("redir /repo/setup/installing /repo/guides/install 301"),
        "{lines} {report:?}"
    );
    assert!(!lines.contains("/repo"), "{lines}");
}

#[tokio::test]
async fn hosts_get_addresses_with_the_prefix() {
    let settings = ("docs/.vitepress/config.mts", "export default { base: '/repo/' }\n");
    let both = |file, text| [settings, (file, text)];
    let rules = "# Old names\n/repo/a /repo/guides/install 302\n/repo/* /repo/index.html 200\n";
    let line = "+/repo/setup/installing /repo/guides/install 302\n";
    let (report, lines) = story(&both("docs/public/_redirects", rules), "docs/", None).await;
    assert_eq!(lines, line, "{report:?}");
    let (_, lines) = story(&both("docs/public/_redirects", "# None yet\n"), "docs/", Some("/repo/")).await;
    assert_eq!(lines, "+/repo/setup/installing /repo/guides/install 301\n");
    let (_, lines) = story(&both("netlify.toml", "[build]\npublish = \"x\"\n"), "docs/", None).await;
    let from = "+  from = \"/repo/setup/installing\"\n+  to = \"/repo/guides/install\"\n";
    assert!(lines.contains(from), "{lines}");
    let (_, lines) = story(&both("vercel.json", "{}\n"), "docs/", None).await;
    let object = "{ \"source\": \"/repo/setup/installing\", \"destination\": \"/repo/guides/install\", \"permanent\": true }";
    assert!(lines.contains(object), "{lines}");
}

#[track_caller]
fn is_listed((report, lines): &(Report, String), note: &str) {
    assert_eq!(lines, "", "{report:?}");
    assert!(report.notes.iter().any(|found| found.contains(note)), "{:?}", report.notes);
    assert_server_lines(&report.summary, "/repo/setup/installing", "/repo/guides/install");
}

#[tokio::test]
async fn what_is_not_certain_is_listed_as_readers_request_it() {
    let vitepress = ("docs/.vitepress/config.mts", "export default { base: '/repo/' }\n");
    is_listed(&story(&[vitepress], "docs/", None).await, "has a certain target");
    // Other redirects contradict the prefix.
    let rules = ("docs/public/_redirects", "/a /guides/install 302\n");
    is_listed(&story(&[vitepress, rules], "docs/", None).await, "`docs/public/_redirects` was left alone");
    // The settings contradict what readers view.
    let plugin = "plugins:\n  - redirects:\n      redirect_maps:\n        old.md: index.md\n";
    let elsewhere = format!("site_url: https://acme.github.io/elsewhere/\n{plugin}");
    let found = story(&[("mkdocs.yml", &elsewhere)], "docs/", Some("/repo/")).await;
    is_listed(
        &found,
        "the settings of the site name the prefix `/elsewhere/`, but readers reach its pages at `/repo/`",
    );
    // Mintlify doesn't document it.
    is_listed(&story(&[("docs.json", "{}")], "", Some("/repo/")).await, "`docs.json` was left alone");
}

#[tokio::test]
async fn other_redirects_of_mintlify_show_the_spelling() {
    let json =
        "{\n  \"redirects\": [\n    { \"source\": \"/a\", \"destination\": \"/guides/install\" }\n  ]\n}\n";
    let (_, lines) = story(&[("docs.json", json)], "", Some("/repo/")).await;
    assert!(
        lines.contains("{ \"source\": \"/setup/installing\", \"destination\": \"/guides/install\" }"),
        "{lines}"
    );
}

#[tokio::test]
async fn a_person_can_name_an_address_with_or_without_the_prefix() {
    let settings = "site_url: https://acme.github.io/repo/\nplugins:\n  - redirects:\n      redirect_maps:\n        x.md: index.md\n";
    let files = [("mkdocs.yml", settings), ("docs/index.md", "# Home\n"), ("docs/guides/b.md", "# B\n")];
    for path in ["/old", "/repo/old"] {
        let prompt = Prompt::instruction(format!("Add redirects for `{path}`."));
        let (report, lines) = run(&files, prompt, &[("docs/old.md", "docs/guides/b.md")]).await;
        assert_eq!(lines, "+        old.md: guides/b.md\n", "{report:?}");
    }
}
