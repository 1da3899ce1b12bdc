//! Spelling, versions, and what is true of every prompt.

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
async fn what_is_left_because_of_its_language_is_said() {
    let files = [("a.md", "Recieve seperate\n"), ("b.md", "You recieve it.\n"), ("c.md", "Der Modul\n")];
    let edited = edit(&files, "fix typos").await;
    assert_eq!(edited.report.title, "Fix 1 misspelling in 1 page");
    let left = "Words in `a.md` that look misspelled were left: it does not show that it is in English.";
    assert_eq!(edited.report.notes, [left]);
    let edited = edit(&[files[0], ("d.md", files[0].1)], "fix typos").await;
    assert_eq!(edited.report.title, "Change nothing");
    assert!(edited.report.summary.contains("in pages that do not show that they are in English"));
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
            "`CHANGELOG.md` was left: it tells of past versions.",
            "1 place that tells of the past or of a range kept version `1.4.2`.",
        ]
    );
}

#[tokio::test]
async fn a_version_of_which_package_is_not_guessed() {
    let files = [("a.md", "Acme 1.4.2\n\n```\nnpm i acme@1.4.2\nnpm i lodash@1.4.2\n```\n")];
    let edited = edit(&files, "bump 1.4.2 to 1.5.0").await;
    assert_eq!(edited.lines(), "a.md\n-Acme 1.4.2\n+Acme 1.5.0\n");
    assert_eq!(
        edited.report.notes,
        [
            "Version `1.4.2` of `acme`, `lodash` was left: it is not certain that it is the version that is meant."
        ]
    );
    let edited = edit(&files, "bump acme from 1.4.2 to 1.5.0").await;
    assert_eq!(edited.lines(), "a.md\n-Acme 1.4.2\n+Acme 1.5.0\n-npm i acme@1.4.2\n+npm i acme@1.5.0\n");
    let edited = edit(&files, "bump 1.4.2 to 1.5.0 but not in code").await;
    assert_eq!(edited.report.notes, ["2 places in code were left."]);
}

#[tokio::test]
async fn several_instructions_make_one_report() {
    let files = [("a.md", "You recieve npm. [b](b.md)\n"), ("c/b.md", "# B\n")];
    let edited = edit(&files, "Fix links and typos, then replace npm with pnpm.").await;
    assert_eq!(edited.lines(), "a.md\n-You recieve npm. [b](b.md)\n+You receive pnpm. [b](c/b.md)\n");
    assert_eq!(edited.report.title, "Fix 1 link, 1 misspelling and replace \"npm\" with \"pnpm\" in 1 page");
}

#[tokio::test]
async fn a_prompt_half_understood_changes_nothing() {
    let mut steps = Steps::default();
    let refused = try_edit(&[("a.md", "recieve\n")], "Fix typos. Write a poem.", &mut steps).await;
    let Err(AgentError::Unsupported(sentence)) = refused else { panic!("{refused:?}") };
    assert_snapshot!(sentence, @r#"The offline editor does not understand "Write a poem": it can replace "A" with "B", fix broken links, fix misspellings, and bump version X to Y; anything else needs a model that reads prose: name one in the settings and give it to the project."#);
    assert!(steps.told.is_empty());
}

#[tokio::test]
async fn a_cancelled_edit_stops_at_the_next_file() {
    let mut steps = Steps { cancel_after: Some(2), ..Steps::default() };
    let files = [("a.md", "x\n"), ("b.md", "x\n"), ("c.md", "x\n")];
    let stopped = try_edit(&files, "replace \"x\" with \"y\"", &mut steps).await;
    assert!(matches!(stopped, Err(AgentError::Cancelled)));
    assert_eq!(steps.told, ["read: Read 3 pages", "edit: Replaced 1 in a.md"]);
}

#[tokio::test]
async fn pages_that_cannot_be_read_are_left_out() {
    let big = "x ".repeat(2 * 1024 * 1024);
    let files = [("a.md", "x\n"), ("big.md", &big), ("bin.md", "x\0"), ("node_modules/m/a.md", "x\n")];
    let edited = edit(&files, "replace \"x\" with \"y\"").await;
    assert_eq!(edited.lines(), "a.md\n-x\n+y\n");
    assert_eq!(
        edited.report.notes,
        [
            "A page was left out: \"big.md\" cannot be read as text: it is larger than 2 MiB.",
            "A page was left out: \"bin.md\" cannot be read as text: it is a binary file.",
        ]
    );
}
