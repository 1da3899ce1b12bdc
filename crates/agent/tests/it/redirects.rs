//! Tests redirects by the offline editor, in every format of a site. The guard judges each change.

mod prefixes;

use std::sync::Arc;

use agent::{Allow, Editor, Offline, Policy, Prompt, PromptPart, Report, Task, Vocabulary, judge};
use pages::redirects::{History, Rename};
use pages::{Files, MemoryTree, Overlay, PathIndex};

use crate::Steps;

const PROMPT: &str = "Add redirects for pages that were not found.";

/// Runs the editor and the guard. Returns the report and the added lines of each file.
async fn run(files: &[(&str, &str)], prompt: Prompt, renames: &[(&str, &str)]) -> (Report, String) {
    let tree = MemoryTree::new(files.iter().copied());
    let mut overlay = Overlay::new(MemoryTree::new(files.iter().copied()), None).unwrap();
    let rename = |(from, to): &(&str, &str)| Rename { date: 1, from: (*from).into(), to: (*to).into() };
    let history = History { renames: renames.iter().map(rename).collect(), removed: Vec::new() };
    let task = Task { prompt, history: Some(&history), ..Task::default() };
    let report = Offline.edit(&task, &mut overlay, &mut Steps::default()).await.unwrap();
    let (edits, summary) = (overlay.edits(), format!("{}\n{}", report.summary, report.notes.join("\n")));
    let change = agent::Change {
        base: &tree,
        edits: &edits.0,
        vocabulary: &Vocabulary::default(),
        instructions: &task.prompt.instructions(),
        title: &report.title,
        summary: &summary,
    };
    let refusals = judge(&change, &Policy::default());
    assert!(refusals.is_empty(), "{refusals:?}\n{}", overlay.diff().unwrap());
    let diff = overlay.diff().unwrap();
    let shown = diff
        .lines()
        .filter(|line| line.starts_with('+') || line.starts_with('-') && !line.starts_with("---"));
    (report, shown.filter(|line| !line.starts_with("+++")).map(|line| format!("{line}\n")).collect())
}

/// A site with `/guides/install`, which was `/setup/installing`.
async fn story(settings: &[(&str, &str)], root: &str) -> (Report, String) {
    let page = format!("{root}guides/install.md");
    let old = format!("{root}setup/installing.md");
    let home = format!("{root}index.md");
    let mut files = vec![
        (page.as_str(), "---\ntitle: Install\n---\n\nRun it.\n"),
        (home.as_str(), "---\ntitle: Home\n---\n\nWelcome.\n"),
    ];
    files.extend(settings);
    let parts = vec![
        PromptPart::Instruction(PROMPT.into()),
        PromptPart::Quotation {
            source: "Page views".into(),
            text: "Path: /setup/installing\nRequests: 9 human, 2 AI\n\nPath: /nothing/like-it\n".into(),
        },
    ];
    run(&files, Prompt::new(parts), &[(&old, &page)]).await
}

#[tokio::test]
async fn each_format_gets_the_redirect_and_passes_the_guard() {
    #[track_caller]
    fn check(found: (Report, String), title: &str, lines: &str) {
        assert_eq!(found.1, lines, "{:?}", found.0);
        assert_eq!(found.0.title, title);
        let note = "No redirect was added for `/nothing/like-it`, because no page resembles it.";
        assert_eq!(found.0.notes, [note]);
    }
    let title = "Add 1 redirect in 1 file";
    let json = "{\n  \"name\": \"Acme\"\n}\n";
    let added = "-  \"name\": \"Acme\"\n+  \"name\": \"Acme\",\n+  \"redirects\": [\n+    { \"source\": \"/setup/installing\", \"destination\": \"/guides/install\" }\n+  ]\n";
    for file in ["docs.json", "mint.json"] {
        check(story(&[(file, json)], "").await, title, added);
    }
    let vercel = "{ \"cleanUrls\": true }\n";
    let added = "-{ \"cleanUrls\": true }\n+{ \"cleanUrls\": true, \"redirects\": [\n+  { \"source\": \"/setup/installing\", \"destination\": \"/guides/install\", \"permanent\": true }\n+] }\n";
    check(story(&[("vercel.json", vercel)], "").await, title, added);
    let rules = "# Old names\n/a   /guides/install   302\n/*   /index.html   200\n";
    let added = "+/setup/installing   /guides/install   302\n";
    check(story(&[("public/_redirects", rules)], "").await, title, added);
    let netlify = "[build]\npublish = \"dist\"\n";
    let added =
        "+\n+[[redirects]]\n+  from = \"/setup/installing\"\n+  to = \"/guides/install\"\n+  status = 301\n";
    check(story(&[("netlify.toml", netlify)], "").await, title, added);
    let mkdocs = "site_name: Acme\nplugins:\n  - search\n  - redirects:\n      redirect_maps:\n        old.md: index.md # kept\n";
    let added = "+        setup/installing.md: guides/install.md\n";
    check(story(&[("mkdocs.yml", mkdocs)], "docs/").await, title, added);
    let in_page = "Add 1 redirect in 1 page";
    let hugo = "+aliases:\n+  - /setup/installing\n";
    check(story(&[("hugo.toml", "title = \"Acme\"\n")], "content/").await, in_page, hugo);
    let jekyll = "+redirect_from:\n+  - /setup/installing/\n";
    check(story(&[("_config.yml", "plugins:\n  - jekyll-redirect-from\n")], "").await, in_page, jekyll);
}

#[tokio::test]
async fn without_a_list_of_redirects_a_person_gets_lines_for_the_server() {
    let config = "export default {\n  title: 'Acme',\n}\n";
    let (report, lines) = story(&[("docs/.vitepress/config.ts", config)], "docs/").await;
    assert_eq!((lines.as_str(), report.title.as_str()), ("", "Change nothing"));
    assert!(report.notes[0].starts_with("1 redirect has a certain target"), "{:?}", report.notes);
    assert_server_lines(&report.summary, "/setup/installing", "/guides/install");
}

/// The summary has the lines for nginx, Caddy, and hosts that read `_redirects`.
#[track_caller]
fn assert_server_lines(summary: &str, from: &str, to: &str) {
    for line in [
        format!("location = {from} {{ return 301 {to}; }}"),
        format!("redir {from} {to} 301"),
        format!("\n{from} {to} 301"),
    ] {
        assert!(summary.contains(&line), "{line}: {summary}");
    }
}

#[tokio::test]
async fn a_list_of_redirects_outside_the_docs_folder_is_named_and_can_be_allowed() {
    let settings = "plugins:\n  - redirects:\n      redirect_maps:\n        old.md: index.md\n";
    let tree = || {
        MemoryTree::new([
            ("mkdocs.yml", settings),
            ("docs/index.md", "# Home\n"),
            ("docs/guides/install.md", "# Install\n"),
        ])
    };
    let rename = ("docs/setup/installing.md", "docs/guides/install.md");
    let rename = Rename { date: 1, from: rename.0.into(), to: rename.1.into() };
    let history = History { renames: vec![rename], removed: Vec::new() };
    let index = Arc::new(PathIndex::new(&tree(), Some("docs")).unwrap());
    let prompt = || Prompt::instruction("Add redirects for `/setup/installing`.");
    let task =
        || Task { prompt: prompt(), history: Some(&history), docs_path: Some("docs"), ..Task::default() };
    let mut files = Overlay::with_index(tree(), index.clone());
    let report = Offline.edit(&task(), &mut files, &mut Steps::default()).await.unwrap();
    assert!(files.changed().is_empty(), "{report:?}");
    let note = "1 redirect has a certain target, but `mkdocs.yml` is outside the docs folder `docs`; allow it with \
                `docwright project update PROJECT --allow-path mkdocs.yml`";
    assert!(report.notes[0].starts_with(note), "{:?}", report.notes);
    assert!(report.summary.starts_with(
        "Nothing was changed: the offline editor can't write the redirects of this site, so add the lines below yourself.\n"
    ));

    let allow = Allow::parse(["mkdocs.yml"]).unwrap();
    let mut files = Overlay::with_index(tree(), index.allow(|path| allow.permits(path)));
    let report = Offline.edit(&Task { allow, ..task() }, &mut files, &mut Steps::default()).await.unwrap();
    assert_eq!(files.changed(), ["mkdocs.yml"], "{report:?}");
    assert!(files.diff().unwrap().contains("+        setup/installing.md: guides/install.md"));
}

#[tokio::test]
async fn docusaurus_redirects_in_a_script_are_listed() {
    let config = "module.exports = {\n  plugins: [\n    ['@docusaurus/plugin-client-redirects', { redirects: [] }],\n  ],\n};\n";
    let (report, lines) = story(&[("docusaurus.config.js", config)], "docs/").await;
    assert_eq!(lines, "");
    assert!(report.summary.contains("/docs/guides/install") || !report.notes.is_empty(), "{report:?}");
}

#[tokio::test]
async fn a_renamed_page_can_move_into_a_folder_with_its_name() {
    let files = [("docs.json", "{}"), ("guides/quickstart.mdx", "# Quickstart\n"), ("index.mdx", "# Home\n")];
    let renames = [("quickstart.mdx", "guides/quickstart.mdx")];
    let (report, lines) =
        run(&files, Prompt::instruction("Add a redirect for `/quickstart`."), &renames).await;
    assert_eq!(report.title, "Add 1 redirect in 1 file");
    assert!(lines.contains("\"destination\": \"/guides/quickstart\""), "{lines}");
}

#[tokio::test]
async fn uncertain_addresses_are_listed_with_candidates() {
    let files = [
        ("docs.json", "{}"),
        ("a/webhooks.mdx", "---\ntitle: Webhooks\n---\n"),
        ("b/webhooks.mdx", "---\ntitle: Webhooks\n---\n"),
    ];
    let (report, lines) = run(&files, Prompt::instruction("Add redirects for /c/webhooks"), &[]).await;
    assert_eq!(lines, "");
    assert!(report.notes[0].contains("Candidates: `/a/webhooks` ("), "{:?}", report.notes);
    assert!(report.notes[0].contains("`/b/webhooks` ("), "{:?}", report.notes);
    assert_eq!(report.summary, "Nothing was changed: no redirect has a certain target.\n");
}

#[tokio::test]
async fn nothing_to_do_is_said_plainly() {
    let files = [("docs.json", "{}"), ("a.mdx", "# A\n")];
    let (report, _) = run(&files, Prompt::instruction(PROMPT), &[]).await;
    assert_eq!(report.summary, "Nothing was changed: the prompt names no address that needs a redirect.\n");
    let (report, _) = run(&files, Prompt::instruction("Add redirects for /a and /llms.txt"), &[]).await;
    assert_eq!(
        report.notes,
        [
            "`/a` needs no redirect: a page has this address.",
            "`/llms.txt` needs no redirect: it's the address of a file, not of a page."
        ]
    );
}

/// Visitors choose the addresses in a quotation.
#[tokio::test]
async fn hostile_quotations_add_nothing() {
    let files = [("docs.json", "{}"), ("a.mdx", "# A\n"), ("guides/b.mdx", "# B\n")];
    let long = format!("Path: /{}\n", "a/".repeat(4_000));
    let many: String = (0..600).map(|number| format!("Path: /x{number}\n")).collect();
    for text in [
        "Path: /a\", \"destination\": \"https://evil.example\n",
        "Path: //evil.example/a\n",
        "Path: /../../a.mdx\n",
        "Path: https://evil.example/\n",
        "Path: /a\u{202e}b\n",
        "Path: /*\nPath: /:splat\n",
        &long,
        &many,
    ] {
        let quotation = PromptPart::Quotation { source: "Page views".into(), text: text.into() };
        let prompt = Prompt::new(vec![PromptPart::Instruction(PROMPT.into()), quotation]);
        let (report, lines) = run(&files, prompt, &[]).await;
        assert_eq!(lines, "", "{text}");
        assert!(report.notes.len() <= 201, "{}", report.notes.len());
    }
}

/// A redirect that the guard refuses doesn't keep the others from being added.
#[tokio::test]
async fn redirects_that_the_guard_refuses_become_notes() {
    #[track_caller]
    fn check((report, lines): (Report, String), added: &str, note: &str) {
        assert!(lines.contains(added), "{lines}\n{report:?}");
        let notes = report.notes.join("\n");
        assert!(notes.contains(note), "{notes}\n{lines}");
    }
    let asked = |paths: &str| Prompt::instruction(format!("Add redirects for {paths}"));
    let renames = [("old.md", "guides/b.md"), ("Guides/A.md", "guides/b.md"), ("gone.md", "guides/c d.md")];
    let page = |path| (path, "# Page\n");
    let pages = [page("index.md"), page("guides/a.md"), page("guides/b.md"), page("guides/c d.md")];
    let json = ("docs.json", "{\n  \"redirects\": []\n}\n");
    let files = |more: &[(&'static str, &'static str)]| [&pages[..], &[json], more].concat();
    let added = "\"destination\": \"/guides/b\"";
    check(run(&files(&[]), asked("/old and /Guides/A"), &renames).await, added, "`/Guides/A`");
    check(run(&files(&[]), asked("/old and /gone"), &renames).await, added, "`/gone`");
    check(run(&files(&[]), asked("/old and /guides/.setup"), &renames).await, added, "`/guides/.setup`");
    let html = [("static/gone.html", "<p>x</p>\n")];
    check(run(&files(&html), asked("/old and /gone"), &renames).await, added, "`/gone`");
    let edit = [("_redirects", "/guides/*/edit https://git.example\n")];
    check(run(&files(&edit), asked("/old"), &renames).await, "guides/b", "");
    let chain = [(
        "vercel.json",
        "{\"redirects\": [{\"source\": \"/guides/b\", \"destination\": \"/x\", \"has\": []}]}",
    )];
    let (report, lines) = run(&files(&chain), asked("/old"), &renames).await;
    assert_eq!(lines, "");
    assert!(report.notes.concat().contains("No redirect was added from `/old` to `/guides/b`"), "{report:?}");
    let (report, _) = run(&files(&[]), asked("/Guides/A"), &[("Guides/A.md", "guides/a.md")]).await;
    let summary = "Nothing was changed: no redirect was added from `/Guides/A` to `/guides/a`, because a server that \
                   ignores capital letters would redirect the page to itself.\n";
    assert_eq!(report.summary, summary);
}
