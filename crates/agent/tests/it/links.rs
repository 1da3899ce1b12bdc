//! Tests the repair of links, and the notes about links that need a person.

use insta::assert_snapshot;

use crate::edit;

#[tokio::test]
async fn moved_pages_and_misspelled_anchors_are_found() {
    let files = [
        (
            "docs/index.md",
            "See [setup](/setup) and [setup](setup.md#Requirments).\nAlso [gone](nowhere.md).\n",
        ),
        ("docs/guides/setup.md", "# Set up\n\n## Requirements\n\n[top](#Set-up) [no](#nothing)\n"),
    ];
    let edited = edit(&files, "fix broken links").await;
    assert_snapshot!(edited.lines(), @"
    docs/guides/setup.md
    -[top](#Set-up) [no](#nothing)
    +[top](#set-up) [no](#nothing)
    docs/index.md
    -See [setup](/setup) and [setup](setup.md#Requirments).
    +See [setup](/guides/setup) and [setup](guides/setup.md#requirements).
    ");
    assert_eq!(edited.report.title, "Fix 3 links in 2 pages");
    assert_eq!(
        edited.report.notes,
        [
            "docs/guides/setup.md:5: `#nothing` leads to no anchor of `docs/guides/setup.md`.",
            "docs/index.md:2: `nowhere.md` leads to no page.",
        ]
    );
    assert_snapshot!(edited.steps.join("\n"), @"
    read: Read 2 pages
    note: docs/guides/setup.md:5: `#nothing` leads to no anchor of `docs/guides/setup.md`.
    edit: docs/guides/setup.md:5: #Set-up → #set-up
    note: docs/index.md:2: `nowhere.md` leads to no page.
    edit: docs/index.md:1: /setup → /guides/setup
    edit: docs/index.md:1: setup.md#Requirments → guides/setup.md#requirements
    ");
}

#[tokio::test]
async fn a_link_with_two_candidates_is_not_changed() {
    let files = [("a.md", "[x](old/setup.md)\n"), ("b/setup.md", "# B\n"), ("c/setup.md", "# C\n")];
    let edited = edit(&files, "fix links").await;
    assert_eq!(edited.diff, "");
    assert_eq!(edited.report.summary, "Nothing was changed: no broken link has a certain target.\n");
    assert_eq!(
        edited.report.notes,
        ["a.md:1: `old/setup.md` leads to no page; it might mean `b/setup.md` or `c/setup.md`."]
    );
}

#[tokio::test]
async fn without_broken_links_one_sentence_says_so() {
    let edited = edit(&[("a.md", "[x](b.md)\n"), ("b.md", "# B\n")], "Fix broken links and anchors.").await;
    assert_eq!(edited.report.summary, "Nothing was changed: no link is broken.\n");
    assert!(edited.report.notes.is_empty(), "{:?}", edited.report.notes);
}

#[tokio::test]
async fn a_repaired_tree_has_nothing_left_to_repair() {
    let files = [
        ("a.md", "[x](setup.md) [y](/intro/) [z](b/setup.html#use)\n"),
        ("b/setup.md", "# B\n\n## Use\n"),
        ("c/intro.md", "# C\n"),
    ];
    let once = edit(&files, "fix links").await;
    let twice = edit(&files, "fix links; fix links").await;
    assert_eq!(
        once.lines(),
        "a.md\n-[x](setup.md) [y](/intro/) [z](b/setup.html#use)\n+[x](b/setup.md) [y](/c/intro/) [z](b/setup.html#use)\n"
    );
    assert_eq!(once.diff, twice.diff);
}

#[tokio::test]
async fn the_text_of_a_link_does_not_override_its_address() {
    let files = [
        ("a.md", "[Usage](b.md#advanced-errors) [Errors](payments/errors.md)\n"),
        ("b.md", "# B\n\n## Usage\n"),
        ("billing/errors.md", "# Errors\n"),
    ];
    let edited = edit(&files, "fix links").await;
    assert_eq!(edited.diff, "");
    assert_eq!(
        edited.report.notes,
        [
            "a.md:1: `b.md#advanced-errors` leads to no anchor of `b.md`; it might mean `b.md#usage`.",
            "a.md:1: `payments/errors.md` leads to no page; it might mean `billing/errors.md`.",
        ]
    );
}

#[tokio::test]
async fn absolute_links_that_all_lead_to_no_page_are_not_changed() {
    let files = [
        ("a.md", "[1](/setup) [2](/two) [3](/three) [4](/four) [5](/five) [6](Setup.md)\n"),
        ("b/setup.md", "# Set up\n"),
    ];
    let edited = edit(&files, "fix links").await;
    assert_eq!(
        edited.lines(),
        "a.md\n-[1](/setup) [2](/two) [3](/three) [4](/four) [5](/five) [6](Setup.md)\n+[1](/setup) [2](/two) [3](/three) [4](/four) [5](/five) [6](b/setup.md)\n"
    );
    assert_eq!(
        edited.report.notes,
        [
            "Absolute links were not checked: 5 of them lead to no page, so the site probably serves its pages under other paths."
        ]
    );
}
