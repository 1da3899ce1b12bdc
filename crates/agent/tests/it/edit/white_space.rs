//! Tests that an edit keeps the file's white space, whatever the old and the new text have.

use agent::{EditError, edit};

/// An edit with each of these old and new texts has the same result.
#[track_caller]
fn check(text: &str, changes: &[(&str, &str)], expected: &str) {
    for (old, new) in changes {
        let edited = edit(text, old, new, false).map(|edited| edited.text);
        assert_eq!(edited.as_deref(), Ok(expected), "{old:?} -> {new:?}");
    }
}

#[test]
fn newlines_at_the_ends() {
    let changes = [
        ("b", "x\ny"),
        ("b", "x\ny\n"),
        ("b\n", "x\ny"),
        ("b\n", "x\ny\n"),
        ("b\n\n", "x\ny\n"),
        ("b\n", "x\ny\n\n"),
        ("\nb\n", "x\ny\n"),
        ("b\n", "\nx\ny\n"),
        ("\n\nb\n\n", "\n\nx\ny\n\n"),
    ];
    check("a\nb\nc\n", &changes, "a\nx\ny\nc\n");
    check("a\n\nb\n\nc\n", &changes, "a\n\nx\ny\n\nc\n");
    check("a\r\n\r\nb\r\nc\r\n", &changes, "a\r\n\r\nx\r\ny\r\nc\r\n");
    check("a\nb", &changes, "a\nx\ny");
    check("b\n", &changes, "x\ny\n");
    // A change of blank lines is meant if nothing else changes, or if it is larger.
    check("# A\nb\n", &[("# A\n", "# A\n\n"), ("# A", "# A\n")], "# A\n\nb\n");
    check("a\n\n\nb\n", &[("a\n\n\n", "a\n\n")], "a\n\nb\n");
    check("a\nb\n", &[("a\n", "x\n\n\n")], "x\n\n\nb\n");
    // Within a line, newlines are meant.
    check("a b c\n", &[("b", "\nx"), ("b", "\r\nx")], "a \nx c\n");
    check("a b c\n", &[("b ", "x\n"), ("b ", "x\r\n")], "a x\nc\n");
    // Lines that are removed don't join those around them.
    check("a\nb\nc\n", &[("b\n", ""), ("\nb\n", ""), ("\nb", "")], "a\nc\n");
}

#[test]
fn old_or_new_with_another_indentation() {
    let text = "- a\n\n    ```sh\n    run\n      now\n    ```\n- b\n";
    let changes = [
        ("    run\n      now\n", "    run it\n      now\n      again\n"),
        ("run\n  now\n", "run it\n  now\n  again\n"),
        ("run\n  now\n", "    run it\n      now\n      again\n"),
        ("    run\n      now\n", "run it\n  now\n  again\n"),
        ("        run\n          now\n", "        run it\n          now\n          again\n"),
        ("        run\n          now\n", "    run it\n      now\n      again\n"),
        ("    run\n      now\n", "      run it\n        now\n        again\n"),
        ("run\n      now\n", "run it\n      now\n      again\n"),
        ("run\n      now\n", "    run it\n      now\n      again\n"),
        ("    run\n      now\n", "run it\n      now\n      again\n"),
        ("\trun\n\t  now", "\trun it\n\t  now\n\t  again"),
    ];
    check(text, &changes, "- a\n\n    ```sh\n    run it\n      now\n      again\n    ```\n- b\n");
}

#[test]
fn one_line_with_another_indentation() {
    let changes =
        [("b", "x"), ("  b", "  x"), ("b", "  x"), ("  b", "x"), ("    b\n", "    x\n"), ("  b\n", "x")];
    check("a\n  b\n", &changes, "a\n  x\n");
    check(
        "  - a\n",
        &[("- a", "- a\n- b"), ("- a", "  - a\n  - b"), ("  - a", "  - a\n  - b")],
        "  - a\n  - b\n",
    );
}

#[test]
fn an_indentation_that_changes_is_meant() {
    check("- a\n- b\n- c\n", &[("- a\n- b\n- c", "- a\n  - b\n- x")], "- a\n  - b\n- x\n");
    check("    a\n    b\n", &[("    a\n    b\n", "a\nb\n"), ("    a\n    b", "a\nb")], "a\nb\n");
}

/// Most lines of the new text have the indentation of the file, so the other line's indentation is kept.
#[test]
fn a_new_text_with_the_indentation_of_the_file() {
    let text = "- a\n  - b\n- c\n- d\n";
    let change = ("    - a\n      - b\n    - c\n    - d\n", "- a\n- b\n- c\n- x\n");
    check(text, &[change], "- a\n- b\n- c\n- x\n");
}

#[test]
fn levels_of_another_width() {
    let text = "- a\n    - b\n        - c\n";
    let expected = "- a\n    - b\n        - c\n            - d\n    - e\n";
    let narrow = ("- a\n  - b\n    - c\n", "- a\n  - b\n    - c\n      - d\n  - e\n");
    let tabs = ("- a\n\t- b\n\t\t- c\n", "- a\n\t- b\n\t\t- c\n\t\t\t- d\n\t- e\n");
    check(text, &[narrow, tabs], expected);
}

#[test]
fn lines_that_disagree_decide_for_their_neighbors() {
    // The items are indented too far, but not the paragraph.
    let text = "- a\n  text\n\n- b\n";
    check(text, &[("  - a\n  text\n\n  - b", "  - a\n  text\n\n  - x\n  - b")], "- a\n  text\n\n- x\n- b\n");
    // Nothing tells where the new line belongs.
    let error = edit("  a\n    b\n  c\n", "a\nb\nc", "a\nb\nx\nc", false).unwrap_err();
    assert_eq!(error, EditError::Indentation { line: 1 });
}

#[test]
fn spaces_at_line_ends() {
    check("a  \nb\n", &[("a\nb", "a\nc"), ("a \nb ", "a \nc"), ("a  \nb", "a  \nc")], "a  \nc\n");
    check("a  \nb\n", &[("a  \nb", "a\nb"), ("a  \nb", "a\nb\n")], "a\nb\n");
    check("a\r\n \r\nb\r\n", &[("a\n\nb", "a\n\nc"), ("a\n \nb", "a\n \nc")], "a\r\n \r\nc\r\n");
}

#[test]
fn a_file_without_wrapped_paragraphs_gets_none() {
    let text = "One two three four five six.\n";
    check(
        text,
        &[("One two three\nfour five six.", "One two three\nfour five\nand a half six.")],
        "One two three four five and a half six.\n",
    );
}
