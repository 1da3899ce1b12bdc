//! Tests how prompts are parsed.

use proptest::prelude::*;

use super::*;
use crate::offline::command::{Bump, Command, Replace};

fn describe(instruction: &Instruction) -> String {
    let what = match &instruction.command {
        Command::Replace(Replace { old, new, code }) => {
            format!("replace <{old}> <{new}>{}", if *code { " code" } else { "" })
        }
        Command::FixLinks => "links".to_owned(),
        Command::FixSpelling => "spelling".to_owned(),
        Command::Bump(Bump { old, new, product, code }) => {
            let product = product.as_ref().map(|product| format!("{product} ")).unwrap_or_default();
            format!("bump {product}{old} {new}{}", if *code { "" } else { " prose" })
        }
        Command::AddRedirects(paths) => format!("redirects {}", paths.join(" ")).trim_end().to_owned(),
    };
    let scope = instruction.scope.iter().map(|scope| format!(" @{scope}"));
    let except = instruction.except.iter().map(|scope| format!(" !{scope}"));
    std::iter::once(what).chain(scope).chain(except).collect()
}

#[track_caller]
fn check(prompt: &str, expected: &str) {
    let found = parse(prompt).unwrap_or_else(|problem| panic!("{prompt}: {problem}"));
    assert_eq!(found.iter().map(describe).collect::<Vec<_>>().join(" + "), expected, "{prompt}");
}

#[track_caller]
fn refuse(prompt: &str, part: &str) {
    match parse(prompt) {
        Ok(found) => panic!("{prompt}: understood as {found:?}"),
        Err(problem) => assert!(problem.contains(&format!("understand \"{part}\"")), "{prompt}: {problem}"),
    }
}

#[test]
fn prompts() {
    let table = include_str!("../../../tests/prompts.txt");
    let rows = table.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let rows: Vec<String> = rows.map(|line| line.replace("\\n", "\n")).collect();
    assert!(rows.len() > 300, "{} rows", rows.len());
    for row in rows.chunks(2) {
        match row[1].split_at(2) {
            ("= ", meaning) => check(&row[0], meaning),
            ("? ", part) => refuse(&row[0], part),
            _ => panic!("{row:?}"),
        }
    }
}

#[test]
fn long_prompts() {
    let long = "a".repeat(50_000);
    check(&format!("replace \"{long}\" with \"b\""), &format!("replace <{long}> <b>"));
    refuse(&"word ".repeat(20_000), &format!("{}…", &"word ".repeat(20)[..79]));
}

#[test]
fn too_many_instructions_are_refused() {
    let problem = parse(&"fix typos; ".repeat(51)).unwrap_err();
    assert_eq!(problem, "The prompt has more than 50 instructions. Split it into several jobs.");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_prompt_is_read_without_panic(prompt in ".{0,200}") {
        let _ = parse(&prompt);
    }

    #[test]
    fn any_mix_of_known_words_is_read_without_panic(words in proptest::collection::vec(word(), 0..20)) {
        let _ = parse(&words.join(" "));
    }
}

fn word() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec![
        "replace", "\"a\"", "with", "use", "instead", "of", "in", "all", "code", "too", "under", "docs/",
        "fix", "links", "and", "typos", ",", ".", ";", "\n", "bump", "version", "1.2.3", "to", "not",
        "files", "matching", "*.md", "\"", "folder", "both",
    ])
}

#[test]
fn redirects() {
    for prompt in [
        "Add redirects for pages that were not found.",
        "add redirects for the missing pages",
        "Please create redirects for all the paths in the quotation",
        "Add the missing redirects for 404s!",
        "Write redirects for URLs that readers could not find, thanks",
        "add redirects from moved pages",
        "Add redirects for pages that don't exist anymore",
    ] {
        match prompt.contains("anymore") {
            true => refuse(prompt, prompt),
            false => check(prompt, "redirects"),
        }
    }
    check("Add redirects for `/a` and `/b`.", "redirects /a /b");
    check("Add a redirect for /old/page.html, /x and \"/y z\".", "redirects /old/page.html /x /y z");
    check("Fix typos. Add redirects for `/a`", "spelling + redirects /a");
    check("Add redirects for /a and fix broken links in docs/x.md", "redirects /a + links @docs/x.md");
    refuse("Add redirects for /a to /b", "Add redirects for /a to /b");
    refuse("Add redirects for everything", "Add redirects for everything");
    refuse("Add redirects", "Add redirects");
    refuse("Add redirects for pages", "Add redirects for pages");
    refuse("Add redirects for missing pages in docs/x.md", "Add redirects for missing pages in docs/x.md");
}
