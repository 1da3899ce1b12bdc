//! Links that are led to where they were meant to, and those that are left to a person.

use insta::assert_snapshot;

use crate::edit;

#[tokio::test]
async fn moved_pages_and_misspelled_anchors_are_found() {
    let files = [
        (
            "docs/index.md",
            "See [setup](/setup) and [setup](old/setup.md#Requirments).\nAlso [gone](nowhere.md).\n",
        ),
        ("docs/guides/setup.md", "# Set up\n\n## Requirements\n\n[top](#set--up) [no](#nothing)\n"),
    ];
    let edited = edit(&files, "fix broken links").await;
    assert_snapshot!(edited.lines(), @"
    docs/guides/setup.md
    -[top](#set--up) [no](#nothing)
    +[top](#set-up) [no](#nothing)
    docs/index.md
    -See [setup](/setup) and [setup](old/setup.md#Requirments).
    +See [setup](/guides/setup) and [setup](guides/setup.md#requirements).
    ");
    assert_eq!(edited.report.title, "Fix 3 links in 2 pages");
    assert_eq!(
        edited.report.notes,
        [
            "docs/guides/setup.md:5: `#nothing` names no anchor of `docs/guides/setup.md`.",
            "docs/index.md:2: `nowhere.md` leads to no page.",
        ]
    );
    assert_snapshot!(edited.steps.join("\n"), @"
    read: Read 2 pages
    note: docs/guides/setup.md:5: `#nothing` names no anchor of `docs/guides/setup.md`.
    edit: docs/guides/setup.md:5: #set--up → #set-up
    note: docs/index.md:2: `nowhere.md` leads to no page.
    edit: docs/index.md:1: /setup → /guides/setup
    edit: docs/index.md:1: old/setup.md#Requirments → guides/setup.md#requirements
    ");
}

#[tokio::test]
async fn two_answers_are_none() {
    let files = [("a.md", "[x](old/setup.md)\n"), ("b/setup.md", "# B\n"), ("c/setup.md", "# C\n")];
    let edited = edit(&files, "fix links").await;
    assert_eq!(edited.diff, "");
    assert_eq!(edited.report.summary, "Nothing was changed: no link could be fixed with certainty.\n");
    assert_eq!(
        edited.report.notes,
        ["a.md:1: `old/setup.md` leads to no page; it may mean `b/setup.md` or `c/setup.md`."]
    );
}

#[tokio::test]
async fn a_repaired_tree_has_nothing_left_to_repair() {
    let files = [
        ("a.md", "[x](old/setup.md) [y](/b/intro/) [z](b/setup.html#use)\n"),
        ("b/setup.md", "# B\n\n## Use\n"),
        ("c/intro.md", "# C\n"),
    ];
    let once = edit(&files, "fix links").await;
    let twice = edit(&files, "fix links; fix links").await;
    assert_eq!(
        once.lines(),
        "a.md\n-[x](old/setup.md) [y](/b/intro/) [z](b/setup.html#use)\n+[x](b/setup.md) [y](/c/intro/) [z](b/setup.html#use)\n"
    );
    assert_eq!(once.diff, twice.diff);
}
