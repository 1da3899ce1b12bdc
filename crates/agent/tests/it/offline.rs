//! Tests the offline editor: spelling, versions, and reports.

use agent::AgentError;
use insta::assert_snapshot;

use crate::{Steps, edit, try_edit};

#[tokio::test]
async fn misspellings_are_corrected_but_names_are_kept() {
    let files = [
        (
            "a.md",
            "---\ndescription: Teh seperate guide\n---\nYou recieve the `seperator`. Recieve it, occured.\n",
        ),
        ("b.md", "A wierd seperator in the [occured](guide.md) page.\n"),
    ];
    let edited = edit(&files, "fix typos").await;
    assert_snapshot!(edited.lines(), @"
    a.md
    -description: Teh seperate guide
    +description: The separate guide
    -You recieve the `seperator`. Recieve it, occured.
    +You receive the `seperator`. Receive it, occurred.
    b.md
    -A wierd seperator in the [occured](guide.md) page.
    +A weird seperator in the [occurred](guide.md) page.
    ");
    assert_eq!(edited.report.title, "Fix 7 misspellings in 2 pages");
}

#[tokio::test]
async fn pages_that_are_not_in_english_are_reported() {
    let files = [("a.md", "Recieve seperate\n"), ("b.md", "You recieve it.\n"), ("c.md", "Der Modul\n")];
    let edited = edit(&files, "fix typos").await;
    assert_eq!(edited.report.title, "Fix 1 misspelling in 1 page");
    let note = "Words in `a.md` that look misspelled were not changed, because the page doesn't seem to be in English.";
    assert_eq!(edited.report.notes, [note]);
    let edited = edit(&[files[0], ("d.md", files[0].1)], "fix typos").await;
    assert_eq!(edited.report.title, "Change nothing");
    assert!(edited.report.summary.contains("in pages that don't seem to be in English"));
    assert!(edited.report.notes[0].starts_with("Words in `a.md` and 1 more page that"));
}

#[tokio::test]
async fn a_version_is_bumped_where_it_is_current() {
    let files = [
        (
            "install.md",
            "Acme v1.4.2, not 1.4.20. Added in 1.4.2.\n\n```\nnpm i acme@1.4.2\n```\n[notes](https://x.dev/v1.4.2)\n",
        ),
        ("CHANGELOG.md", "## 1.4.2\n"),
    ];
    let edited = edit(&files, "Bump the version from v1.4.2 to v1.5.0").await;
    assert_snapshot!(edited.lines(), @"
    install.md
    -Acme v1.4.2, not 1.4.20. Added in 1.4.2.
    +Acme v1.5.0, not 1.4.20. Added in 1.4.2.
    -npm i acme@1.4.2
    +npm i acme@1.5.0
    -[notes](https://x.dev/v1.4.2)
    +[notes](https://x.dev/v1.5.0)
    ");
    assert_eq!(edited.report.title, "Bump version 1.4.2 to 1.5.0 in 1 page");
    assert_eq!(
        edited.report.notes,
        [
            "`CHANGELOG.md` was not changed, because it describes past versions.",
            "1 place about past versions or a range of versions was not changed from `1.4.2`.",
        ]
    );
}

#[tokio::test]
async fn the_package_of_a_version_is_not_guessed() {
    let files = [("a.md", "Acme 1.4.2\n\n```\nnpm i acme@1.4.2\nnpm i lodash@1.4.2\n```\n")];
    let edited = edit(&files, "bump 1.4.2 to 1.5.0").await;
    assert_eq!(edited.lines(), "a.md\n-Acme 1.4.2\n+Acme 1.5.0\n");
    assert_eq!(
        edited.report.notes,
        [
            "Version `1.4.2` of `acme`, `lodash` was not changed, because it's not clear which package you mean. Name the package in the prompt."
        ]
    );
    let edited = edit(&files, "bump acme from 1.4.2 to 1.5.0").await;
    assert_eq!(edited.lines(), "a.md\n-Acme 1.4.2\n+Acme 1.5.0\n-npm i acme@1.4.2\n+npm i acme@1.5.0\n");
    let edited = edit(&files, "bump 1.4.2 to 1.5.0 but not in code").await;
    assert_eq!(edited.report.notes, ["2 places in code were not changed."]);
}

#[tokio::test]
async fn several_instructions_make_one_report() {
    let files = [("a.md", "You recieve npm. [b](b.md)\n"), ("c/b.md", "# B\n")];
    let edited = edit(&files, "Fix links and typos, then replace npm with pnpm.").await;
    assert_eq!(edited.lines(), "a.md\n-You recieve npm. [b](b.md)\n+You receive pnpm. [b](c/b.md)\n");
    assert_eq!(edited.report.title, "Fix 1 link, 1 misspelling and replace \"npm\" with \"pnpm\" in 1 page");
}

#[tokio::test]
async fn a_prompt_that_is_understood_in_part_changes_nothing() {
    let mut steps = Steps::default();
    let refused = try_edit(&[("a.md", "recieve\n")], "Fix typos. Write a poem.", &mut steps).await;
    let Err(AgentError::Unsupported(sentence)) = refused else { panic!("{refused:?}") };
    assert_snapshot!(sentence, @r#"The offline editor does not understand "Write a poem". It can replace "A" with "B", fix broken links, fix misspellings, bump version X to Y, and add redirects for pages that were not found. For anything else, configure a model in the settings and assign it to the project."#);
    assert!(steps.recorded.is_empty());
}

#[tokio::test]
async fn a_cancelled_edit_stops_at_the_next_file() {
    let mut steps = Steps { cancel_after: Some(2), ..Steps::default() };
    let files = [("a.md", "x\n"), ("b.md", "x\n"), ("c.md", "x\n")];
    let stopped = try_edit(&files, "replace \"x\" with \"y\"", &mut steps).await;
    assert!(matches!(stopped, Err(AgentError::Cancelled)));
    assert_eq!(steps.recorded, ["read: Read 3 pages", "edit: Replaced 1 place in a.md"]);
}

#[tokio::test]
async fn unreadable_pages_are_skipped() {
    let big = "x ".repeat(2 * 1024 * 1024);
    let files = [("a.md", "x\n"), ("big.md", &big), ("bin.md", "x\0"), ("node_modules/m/a.md", "x\n")];
    let edited = edit(&files, "replace \"x\" with \"y\"").await;
    assert_eq!(edited.lines(), "a.md\n-x\n+y\n");
    assert_eq!(
        edited.report.notes,
        [
            "A page was skipped: \"big.md\" cannot be read as text: it is larger than 2 MiB.",
            "A page was skipped: \"bin.md\" cannot be read as text: it is a binary file.",
        ]
    );
}
