//! Tests edits with an old text that was not copied exactly.

use agent::{EditError, MatchLevel, edit};

#[track_caller]
fn check(level: MatchLevel, text: &str, (old, new): (&str, &str), expected: &str) {
    let edited = edit(text, old, new, false).unwrap();
    assert_eq!((edited.text.as_str(), edited.level), (expected, level));
}

#[track_caller]
fn refused(text: &str, old: &str, new: &str) -> EditError {
    edit(text, old, new, false).unwrap_err()
}

#[test]
fn exact() {
    let check = |text, change, expected| check(MatchLevel::Exact, text, change, expected);
    check("one two three\n", ("two", "2"), "one 2 three\n");
    check("one\ntwo\n", ("two\n", ""), "one\n");
    check("concatenate\n", ("cat", "dog"), "condogenate\n");
    check("a b\n\n\nc\n", ("b\n\n\nc", "b\n\nc"), "a b\n\nc\n");
    // An exact match wins over a tolerant one.
    check("say “hi”\nsay \"hi\"\n", ("say \"hi\"", "say \"ho\""), "say “hi”\nsay \"ho\"\n");
}

#[test]
fn line_ends() {
    let check = |text, change, expected| check(MatchLevel::LineEnds, text, change, expected);
    check("one  \ntwo\t\nthree\n", ("one\ntwo\nthree", "one\nthree"), "one  \nthree\n");
    check("one\ntwo\n", ("one  \ntwo", "one  \n2"), "one\n2\n");
    check("a\n\n  \nb\n", ("a\n\n\nb", "a\n\n\nc"), "a\n\n  \nc\n");
    // Blank lines around the old text that the file doesn't have.
    check("a\nb\nc\n", ("\n\nb\n\n", "\n\nB\n\n"), "a\nB\nc\n");
    check("a\nb\n", ("b\n\n", ""), "a\n");
    // The old text ends with a newline, but the file doesn't.
    check("a\nb", ("a\nb\n", "a\nc\n"), "a\nc");
    check("a\nb", ("b\n", "b\nc\n"), "a\nb\nc");
}

#[test]
fn line_endings_stay() {
    check(MatchLevel::Exact, "a\r\nb\r\nc\r\n", ("b", "x\ny"), "a\r\nx\r\ny\r\nc\r\n");
    check(MatchLevel::LineEnds, "a\r\nb\r\nc\r\n", ("a\nb\n", "a\nx\ny\n"), "a\r\nx\r\ny\r\nc\r\n");
    check(MatchLevel::LineEnds, "a\r\nb\nc\r\n", ("a\nb\nc\n", "a\nb\nd\n"), "a\r\nb\nd\r\n");
    check(MatchLevel::Exact, "a\r\nb\nc\r\n", ("a\r\nb\nc", "x\nb\nc"), "x\r\nb\nc\r\n");
    check(MatchLevel::Exact, "a\nb\n", ("a", "x\r\ny"), "x\ny\nb\n");
    check(MatchLevel::Exact, "a\r\nb", ("b", "b\nc"), "a\r\nb\r\nc");
    check(MatchLevel::Exact, "a\r\n\r\nb\r\n", ("\r\n\r\n", "\n"), "a\r\nb\r\n");
}

#[test]
fn a_byte_order_mark_and_the_final_newline_stay() {
    check(MatchLevel::Exact, "\u{feff}a\nb\n", ("a", "x"), "\u{feff}x\nb\n");
    check(MatchLevel::Exact, "\u{feff}a\nb\n", ("\u{feff}a", "x"), "\u{feff}x\nb\n");
    check(MatchLevel::Exact, "a\nb\n", ("b\n", "c"), "a\nc\n");
    check(MatchLevel::Exact, "a\r\nb\r\n", ("b\r\n", "c"), "a\r\nc\r\n");
    check(MatchLevel::Exact, "a\nb", ("b", "c"), "a\nc");
}

#[test]
fn indentation() {
    let check = |text, change, expected| check(MatchLevel::Indentation, text, change, expected);
    let list = "- a\n    - b\n      c\n    - d\n";
    check(
        list,
        ("- b\n  c\n- d", "- b\n  c\n- x\n  y\n- d"),
        "- a\n    - b\n      c\n    - x\n      y\n    - d\n",
    );
    check(
        list,
        ("      - b\n        c\n", "      - b\n        c\n        - e\n"),
        "- a\n    - b\n      c\n      - e\n    - d\n",
    );
    // Tabs for spaces, and spaces for tabs.
    let tabs = "if a:\n\tb\n\tif c:\n\t\td\n";
    check(
        tabs,
        ("    b\n    if c:\n", "    b\n    e\n    if c:\n        f\n"),
        "if a:\n\tb\n\te\n\tif c:\n\t\tf\n\t\td\n",
    );
    check("x:\n  y:\n    z\n", ("\ty:\n\t\tz\n", "\ty:\n\t\tz\n\t\t\tw\n"), "x:\n  y:\n    z\n      w\n");
    // The first line was copied without its indentation.
    check(
        "  a\n    b\n  c\n",
        ("a\n      b\n    c", "A\n      b\n      x\n    c"),
        "  A\n    b\n    x\n  c\n",
    );
    // Only the indentation changes.
    check("  - a\n  - b\n  - c\n", ("- a\n- b\n- c", "- a\n  - b\n- c"), "  - a\n    - b\n  - c\n");
    check("\t\ta\n\t\tb\n", ("a\nb\n", "a\n\n\nb\n"), "\t\ta\n\n\n\t\tb\n");
}

#[test]
fn look_alikes() {
    let check = |text, change, expected| check(MatchLevel::LookAlikes, text, change, expected);
    check(
        "It’s “here” – or there…\n",
        ("It's \"here\" - or there...", "It's \"here\" - or gone..."),
        "It’s “here” – or gone…\n",
    );
    check(
        "10\u{a0}MB of ｆｕｌｌ width\n",
        ("10 MB of full width", "20 MB of full width"),
        "20\u{a0}MB of ｆｕｌｌ width\n",
    );
    check("wait… then go\n", ("wait... then go", "wait. Then go"), "wait. Then go\n");
    check("a \"b\" c\n", ("a “b” c", "a “b” d"), "a \"b\" d\n");
    check(
        "see&nbsp;also &mdash; this\n",
        ("see also — this", "see also — that"),
        "see&nbsp;also &mdash; that\n",
    );
    check(
        "⚠\u{fe0f} take\u{200b} care\n",
        ("⚠ take care", "⚠ take great care"),
        "⚠\u{fe0f} take\u{200b} great care\n",
    );
    // With another indentation at the same time.
    check("  - It’s a\n  - b\n", ("- It's a\n- b", "- It's a\n- x\n- b"), "  - It’s a\n  - x\n  - b\n");
    // A line that differs between the old text and the file keeps the file's form when lines are added next to it.
    check("a “b”\nc\n", ("a \"b\"\nc", "a \"b\"\n\"x\"\nc"), "a “b”\n\"x\"\nc\n");
    // So does a line of which only the neighbors change.
    check(
        "wipe: “all”\n\none\n\ntwo\n\nend\n",
        ("wipe: \"all\"\n\none\n\ntwo\n\nend", "three\n\nfour\n\nwipe: \"all\"\n\nend"),
        "three\n\nfour\n\nwipe: “all”\n\nend\n",
    );
    // So does a line that moves.
    check("“a”\n“b”\nc\n", ("\"a\"\n\"b\"\nc", "\"b\"\n\"a\"\nd"), "“b”\n“a”\nd\n");
}

#[test]
fn blank_lines() {
    let check = |text, change, expected| check(MatchLevel::BlankLines, text, change, expected);
    check("# A\n\ntext\nmore\n", ("# A\ntext\nmore", "# A\ntext\nless"), "# A\n\ntext\nless\n");
    check("- a\n- b\n", ("- a\n\n- b", "- a\n\n- c"), "- a\n- c\n");
    // A line that comes before a blank line stays before it.
    check("# A\n\nb\n\nc\n", ("# A\nb\n\nc", "# A\nb\nx\n\nc"), "# A\n\nb\nx\n\nc\n");
    check("# A\n\nb\n\nc\n", ("# A\nb\n\nc", "# A\nb\n\nx\nc"), "# A\n\nb\n\nx\nc\n");
    check("a\n\n\nb\nc\n", ("a\n\nb\nc", "a\n\nc"), "a\n\n\nc\n");
}

#[test]
fn wrapping() {
    let check = |text, change, expected| check(MatchLevel::Wrapping, text, change, expected);
    let text = "One two three\nfour five six\nseven.\n\nNext.\n";
    check(
        text,
        ("One two\nthree four five\nsix seven.", "One two\n3 four five\nsix seven."),
        "One two 3\nfour five six\nseven.\n\nNext.\n",
    );
    check(
        text,
        ("four five six seven.\n\nNext.", "four five six seven.\n\nLast."),
        "One two three\nfour five six\nseven.\n\nLast.\n",
    );
    // The new text wraps differently than the old one: only the words count.
    check(
        text,
        ("One two three four\nfive six seven.", "One two three\nfour 5 six seven."),
        "One two three\nfour 5 six\nseven.\n\nNext.\n",
    );
    check("- a b\n  c d\n- e\n", ("- a b c d\n- e", "- a b c x\n- e"), "- a b\n  c x\n- e\n");
    check("| a   | b |\n", ("| a | b |", "| a | c |"), "| a   | c |\n");
    check("a  b\tc\n", ("a b c", "a b d"), "a  b\td\n");
}

#[test]
fn copy_artifacts() {
    let check = |text, change, expected| check(MatchLevel::CopyArtifacts, text, change, expected);
    let text = "a\nb “c”\n\td\n";
    check(text, ("  2\tb “c”\n  3\t\td", "  2\tb “c”\n  3\t\te"), "a\nb “c”\n\te\n");
    check(text, ("1\ta\n2\tb \"c\"\n", "x\nb \"c\"\n"), "x\nb “c”\n\td\n");
    check(text, ("```md\na\nb “c”\n```", "```md\nx\nb “c”\n```"), "x\nb “c”\n\td\n");
    check(text, ("a\\nb “c”\\n\\td", "a\\nb “c”\\n\\te"), "a\nb “c”\n\te\n");
    check("say \"hi\" & go\n", ("say \\\"hi\\\"", "say \\\"ho\\\""), "say \"ho\" & go\n");
    check("say \"hi\" & go\n", ("&quot;hi&quot; &amp; go", "&lt;hi&gt; &amp; go"), "say <hi> & go\n");
    // The fence is a block of the file, so its content must be whole lines.
    let block = "```sh\nrun --it now\n```\n";
    assert!(matches!(refused(block, "```sh\n--it now\n```", "```sh\nx\n```"), EditError::NotFound { .. }));
    // Each of these is in the file as it is.
    self::check(MatchLevel::Exact, "1\ta\n2\tb\n", ("1\ta\n2\tb", "1\ta\n2\tc"), "1\ta\n2\tc\n");
    self::check(MatchLevel::Exact, "a &lt; b\n", ("a &lt; b", "a &gt; b"), "a &gt; b\n");
}

#[test]
fn ambiguous_matches_are_not_edited() {
    #[track_caller]
    fn check(text: &str, old: &str, expected: &[usize]) {
        let error = refused(text, old, "new");
        assert_eq!(error, EditError::Ambiguous { lines: expected.to_vec(), more: false });
    }
    check("a\nb\na\n", "a", &[1, 3]);
    check("aaa\n", "aa", &[1]);
    check("x  \ny\nx \ny\n", "x\ny", &[1, 3]);
    check("  x\nz\n    x\n", "\tx", &[1, 3]);
    check("“x”\n„x“\n", "\"x\"", &[1, 2]);
    check("a\n\nb\nc\na\n\n\nb\n", "a\nb", &[1, 5]);
    check("a b\nc\n\na\nb c\n", "a  b c", &[1, 4]);
    // A more tolerant level would find another match, but it is not tried.
    check("x \ny\nx  \ny\n  x\n  y\n", "x\ny", &[1, 3]);
    let many = "a\n".repeat(20);
    assert!(refused(&many, "a", "b").to_string().contains("at lines 1, 2, 3, 4, 5, 6, 7, 8 and more;"));
}

#[test]
fn text_that_is_not_found_is_not_edited() {
    #[track_caller]
    fn check(text: &str, old: &str) {
        let error = refused(text, old, "new");
        assert!(matches!(error, EditError::NotFound { .. }), "{error:?}");
    }
    check("concatenate\n", "cat ");
    check("a foo\n", "  foo");
    check("foo bar\n", "foo\n");
    check("wait…\n", "wait. ");
    check("say hi\n", "say ho");
    check("- a\n- b\n", "- a - b");
    check("# a\nb\n", "# a b");
    check("```\na\nb\n```\n", "a b");
    check("a\n\nb\n", "a b");
    check("a\n", " \n");
    check("the port\n", "8080: the port");
    check("a\nb\n", "1\ta\n3\tb");
    check("a --verbose b\n", "a -verbose b");
    check("", "a");
}

#[test]
fn edits_without_effect_are_errors() {
    assert_eq!(refused("a\n", "", "b"), EditError::Empty);
    assert_eq!(refused("a\n", "a", "a"), EditError::SameText);
    assert_eq!(refused("a\n“b”\n", "\"b\"", "“b”"), EditError::AlreadyApplied { line: 2 });
    assert_eq!(refused("a\nb\n", "1\ta\n2\tb", "1\ta\nc"), EditError::Numbered);
    assert_eq!(refused("  a\n    b\n  c\n", "a\nb\nc", "a\nb\nx\nc"), EditError::Indentation { line: 1 });
}

#[test]
fn all_matches() {
    #[track_caller]
    fn check(text: &str, (old, new): (&str, &str), lines: &[usize], expected: &str) {
        let edited = edit(text, old, new, true).unwrap();
        assert_eq!((edited.text.as_str(), edited.lines.as_slice()), (expected, lines));
    }
    check("a b\na c\n", ("a", "x"), &[1, 2], "x b\nx c\n");
    check("aaaa\n", ("aa", "b"), &[1, 1], "bb\n");
    check("It’s\nIt`s\nIt‘s\n", ("It's", "It'll"), &[1, 3], "It’ll\nIt`s\nIt‘ll\n");
    check("  a\n\ta\n", ("    a\n", "    b\n    c\n"), &[1, 2], "  b\n  c\n\tb\n\tc\n");
    check("a\r\nb\na\n", ("a", "x\ny"), &[1, 3], "x\r\ny\r\nb\nx\ny\n");
}

/// Attack `lying-read`: the model edits text that is not in the file.
#[test]
fn lying_read() {
    let text =
        "# Install\n\nRun `npm install kettle` once.\nThen start it.\n\n# Upgrade\n\nRun `npm update`.\n";
    let error = refused(text, "Run `yarn install kettle` once.\nThen start it.", "Run it.");
    insta::assert_snapshot!(error, @"
    the old text is not in the file; nothing was changed. Similar lines:

    line 3 has “`npm install kettle` once.” where the old text has “`yarn install kettle` once.”:
         3	Run `npm install kettle` once.
         4	Then start it.

    If you mean these lines, copy them exactly, without the line numbers
    ");
    let error = refused(text, "Completely invented words", "x");
    assert_eq!(error, EditError::NotFound { nearest: vec![] });
    let long = format!("{} end\n", "word ".repeat(20_000));
    let sentence = refused(&long.repeat(3), &format!("{} END\n", "word ".repeat(5_000)), "x").to_string();
    assert!(sentence.len() < 2000, "{}", sentence.len());
}

mod properties;
mod white_space;
