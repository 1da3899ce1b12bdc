//! Tests properties of all edits.

use proptest::prelude::*;

use agent::{EditError, MatchLevel, edit};

use crate::is_linear;

/// A small alphabet, so that texts repeat themselves and differences coincide.
fn text() -> impl Strategy<Value = String> {
    "(([ab]|foo|\"|“|…|[.]{3}|-|–| |\u{a0}|  |\t|[0-9]|&lt;|\\\\n|```|[#>|*]|é){0,6}(\n|\r\n|\n\n|  \n)){0,8}[ab ]{0,3}"
}

/// Only words and line feeds, without a line feed at the end.
fn plain() -> impl Strategy<Value = String> {
    "([a-d]{1,3}[ \n]){0,12}[a-d]"
}

/// Lines with different words, the first of which isn't indented.
fn block() -> impl Strategy<Value = String> {
    let line = |number: usize| format!("( {{0,4}}|\t)w{number}[a-d]{{0,3}}\n");
    let block = format!("w0[a-d]{{0,3}}\n({})?({})?{}", line(1), line(2), line(3));
    proptest::string::string_regex(&block).unwrap()
}

fn indented(text: &str, by: &str) -> String {
    text.split_inclusive('\n').map(|line| format!("{by}{line}")).collect()
}

proptest! {
    #[test]
    fn an_exact_edit_is_a_replacement(before in plain(), old in "[e-g]{1,3}(\n[e-g]{1,3}){0,2}", new in plain(), after in plain()) {
        let text = format!("{before}{old}{after}");
        prop_assume!(text.matches(&old).count() == 1);
        let edited = edit(&text, &old, &new, false).unwrap();
        prop_assert_eq!(edited.text, text.replacen(&old, &new, 1));
        prop_assert_eq!(edited.level, MatchLevel::Exact);
    }

    #[test]
    fn all_is_every_replacement(text in plain(), old in "[a-d ]{1,2}", new in "[a-f]{0,3}") {
        match edit(&text, &old, &new, true) {
            Ok(edited) if edited.level == MatchLevel::Exact => prop_assert_eq!(edited.text, text.replace(&old, &new)),
            Ok(_) => prop_assert!(!text.contains(&old)),
            Err(error) => prop_assert!(!text.contains(&old) || old == new, "{error:?}"),
        }
    }

    #[test]
    fn two_matches_are_never_edited(text in text(), old in text(), new in text()) {
        let overlapping = text.char_indices().filter(|(at, _)| text[*at..].starts_with(&old)).take(2).count();
        if overlapping == 2 && old != new && !old.is_empty() {
            let error = edit(&text, &old, &new, false).unwrap_err();
            prop_assert!(matches!(error, EditError::Ambiguous { .. }), "{error:?}");
        }
    }

    #[test]
    fn nothing_panics_and_the_file_keeps_its_line_endings(
        text in text(), from in 0..60usize, length in 1..40usize, new in text(), mark: bool, all: bool,
    ) {
        let old: String = text.chars().skip(from).take(length).collect();
        let old = old.replace("\r\n", "\n").replace('“', "\"").replace("  ", " ").replace('\u{a0}', " ");
        let text = if mark { format!("\u{feff}{text}") } else { text };
        if let Ok(edited) = edit(&text, &old, &new, all) {
            prop_assert_eq!(edited.text.starts_with('\u{feff}'), mark);
            let kept = edited.text.is_empty() || edited.text == "\u{feff}" || edited.text.ends_with('\n');
            prop_assert!(!text.ends_with('\n') || kept);
            prop_assert!(text.contains("\r\n") || !edited.text.contains("\r\n"));
            prop_assert!(edited.text != text);
        }
    }

    /// Old and new can have any common indentation.
    #[test]
    fn a_common_indentation_changes_nothing(
        block in block(), changed in 0..9usize, added in "( {0,4}[e-g]{1,3}\n){0,3}", indent in " {0,6}", more in "[ ]{1,4}|\t",
    ) {
        let lines: Vec<&str> = block.split_inclusive('\n').collect();
        let at = changed % lines.len();
        let old = lines.concat();
        let new = [&lines[..at], &[added.as_str()], &lines[at..]].concat().concat();
        prop_assume!(!added.is_empty());
        let text = format!("# start\n\n{}\nend\n", indented(&old, &indent));
        let expected = format!("# start\n\n{}\nend\n", indented(&new, &indent));
        for shift in [String::new(), indent.clone(), format!("{indent}{more}")] {
            let edited = edit(&text, &indented(&old, &shift), &indented(&new, &shift), false);
            prop_assert_eq!(edited.map(|edited| edited.text), Ok(expected.clone()), "{:?}", shift);
        }
    }

    /// One newline more or less at the end of old or new changes nothing, and the file keeps its final newline.
    #[test]
    fn a_final_newline_changes_nothing(
        before in "([a-d]{1,3}\n{1,2}){0,4}", old in "[e-g]{4,6}(\n[e-g]{1,3}){0,2}", new in "[e-g]{7,9}(\n\n?[e-g]{1,3}){0,2}", after in "(\n{1,2}[a-d]{1,3}){0,4}", final_newline: bool,
    ) {
        let end = if final_newline { "\n" } else { "" };
        let text = format!("{before}{old}{after}{end}");
        let expected = format!("{before}{new}{after}{end}");
        for (old_end, new_end) in [("", ""), ("\n", ""), ("", "\n"), ("\n", "\n")] {
            let edited = edit(&text, &format!("{old}{old_end}"), &format!("{new}{new_end}"), false);
            prop_assert_eq!(edited.map(|edited| edited.text), Ok(expected.clone()), "{:?} {:?}", old_end, new_end);
        }
    }

    /// Outside of the match, every byte stays. Inside, every unchanged word keeps the file's characters.
    #[test]
    fn nothing_changes_outside_of_the_match(
        before in "([a-d“ ]{0,9}(\n|\r\n)){0,5}", after in "((\n|\r\n)[a-d“ ]{0,9}){0,5}", indent in "[ \t]{0,4}", crlf: bool,
    ) {
        let ending = if crlf { "\r\n" } else { "\n" };
        let text = format!("{before}{indent}it’s “one”  {ending}{indent}two{after}");
        let edited = edit(&text, "it's \"one\"\ntwo", "it's \"one\"\nx\n2", false).unwrap();
        let expected = format!("{before}{indent}it’s “one”  {ending}{indent}x{ending}{indent}2{after}");
        prop_assert_eq!(edited.text, expected);
    }
}

/// Repetitive texts, with which a naive search would take quadratic time.
#[test]
fn time_is_linear_in_the_length_of_texts() {
    for unit in ["a", "a ", "a\n", "a\n\n", " ", "… ", "1\ta\n"] {
        for tail in [" ", "\n\nb "] {
            let run = |bytes: usize| {
                let text = unit.repeat(bytes / unit.len());
                let old = format!("{}{tail}", unit.repeat(bytes * 2 / 5 / unit.len()));
                let _ = edit(&text, &old, &format!("{old}c"), tail == " ");
            };
            assert!(is_linear(400_000, run), "{unit:?} {tail:?}");
        }
    }
}
