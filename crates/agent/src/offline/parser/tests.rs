//! Prompts and what they are understood to mean.

use proptest::prelude::*;

use super::*;
use crate::offline::command::{Bump, Command, Replace};

fn shown(instruction: &Instruction) -> String {
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
    };
    let scope = instruction.scope.iter().map(|scope| format!(" @{scope}"));
    let except = instruction.except.iter().map(|scope| format!(" !{scope}"));
    std::iter::once(what).chain(scope).chain(except).collect()
}

#[track_caller]
fn check(prompt: &str, expected: &str) {
    let found = parse(prompt).unwrap_or_else(|problem| panic!("{prompt}: {problem}"));
    assert_eq!(found.iter().map(shown).collect::<Vec<_>>().join(" + "), expected, "{prompt}");
}

#[track_caller]
fn refuse(prompt: &str, part: &str) {
    match parse(prompt) {
        Ok(found) => panic!("{prompt}: understood as {found:?}"),
        Err(problem) => assert!(problem.contains(&format!("understand \"{part}\"")), "{prompt}: {problem}"),
    }
}

#[test]
fn replacements() {
    check(r#"Replace "npm" with "pnpm""#, "replace <npm> <pnpm>");
    check(r#"replace "npm" with "pnpm"."#, "replace <npm> <pnpm>");
    check("Replace npm with pnpm", "replace <npm> <pnpm>");
    check(
        "Please replace all occurrences of `npm install` with `pnpm add`.",
        "replace <npm install> <pnpm add>",
    );
    check("can you change “log in” to “sign in”?", "replace <log in> <sign in>");
    check("Rename 'Acme Cloud' to 'Acme'", "replace <Acme Cloud> <Acme>");
    check("REPLACE \"A\" BY \"B\"", "replace <A> <B>");
    check("Use \"B\" instead of \"A\"", "replace <A> <B>");
    check("please use pnpm instead of npm everywhere", "replace <npm> <pnpm>");
    check("use “dark mode” rather than “night mode”", "replace <night mode> <dark mode>");
    check("Replace the word 'utilize' with 'use' in the docs", "replace <utilize> <use>");
    check(
        "Could you please replace every \"foo\" with \"bar\" across all pages, thanks!",
        "replace <foo> <bar>",
    );
    check("swap «a» for «b»", "replace <a> <b>");
    check("change \"a\" → \"b\"", "replace <a> <b>");
    check("I'd like you to replace \"a\" with \"b\" now", "replace <a> <b>");
    check("- replace \"a\" with \"b\"\n- replace \"c\" with \"d\"", "replace <a> <b> + replace <c> <d>");
    check("Replace \"http://a.b\" with \"https://a.b\"", "replace <http://a.b> <https://a.b>");
}

#[test]
fn replacements_said_otherwise() {
    check("find and replace npm with pnpm", "replace <npm> <pnpm>");
    check(
        r#"replace "A" with "B" and "C" with "D" in a.md"#,
        "replace <A> <B> @a.md + replace <C> <D> @a.md",
    );
    check("switch from npm to pnpm", "replace <npm> <pnpm>");
    check("switch from \"log in\" to \"sign in\"", "replace <log in> <sign in>");
    check("use pnpm, not npm", "replace <npm> <pnpm>");
    check("Use \"pnpm\", not \"npm\".", "replace <npm> <pnpm>");
    check("remove \"npm\"", "replace <npm> <>");
    check("Remove the word \"very\" in a.md", "replace <very> <> @a.md");
    check("1. Fix typos\n2. Fix broken links", "spelling + links");
    check("1) Fix typos\n2) Replace npm with pnpm", "spelling + replace <npm> <pnpm>");
    check("* fix typos\n* fix links\n", "spelling + links");
    check("replace npm with pnpm. Thank you very much!", "replace <npm> <pnpm>");
    check("fix typos, thanks in advance", "spelling");
    check("fix typos, too", "spelling");
    check("Fix common misspellings as well.", "spelling");
}

#[test]
fn words_that_stand_for_something_are_not_taken_literally() {
    for prompt in [
        "change the version to 1.5.0",
        "update the docs to 1.5.0",
        "update docs to pnpm",
        "change the title to \"Acme Guide\"",
        "replace npm with nothing",
        "update npm to latest",
        "upgrade npm to the latest version",
        "change npm to bold",
        "change npm to pnpm",
        "update Install to \"Setup\"",
        "rename Acme to Globex",
        "switch npm to pnpm",
        "replace images with SVGs",
        "replace tabs with spaces",
        "use tabs, not spaces",
        "use npm over http",
        "say hello instead of npm",
        "replace npm with **pnpm**",
        "replace headings with links",
        "remove npm",
        "remove the \"npm\" section",
        "update 2025 to 2026",
        "change npm to pnpm and pnpm to npm",
        "replace npm with it",
        "set the version to 1.5.0",
    ] {
        refuse(prompt, prompt);
    }
    refuse("Replace npm with pnpm and yarn", "yarn");
    refuse("replace npm with pnpm, it is better", "it is better");
}

#[test]
fn folders_and_pages_by_name() {
    check("replace npm with pnpm under docs", "replace <npm> <pnpm> @docs/");
    check("replace npm with pnpm inside docs", "replace <npm> <pnpm> @docs/");
    check("replace npm with pnpm in docs", "replace <npm> <pnpm> @docs");
    check("replace npm with pnpm in docs only", "replace <npm> <pnpm> @docs");
    check("replace npm with pnpm only in docs", "replace <npm> <pnpm> @docs");
    check("replace npm with pnpm in the docs folder", "replace <npm> <pnpm> @docs/");
    check("replace npm with pnpm in the folder docs", "replace <npm> <pnpm> @docs/");
    check("replace npm with pnpm in the docs", "replace <npm> <pnpm>");
    check("fix typos in README", "spelling @README");
    check("fix typos in the README", "spelling @README");
    check("fix typos in the install page", "spelling @install");
    check("fix typos in every .md file", "spelling @*.md");
    check("fix typos in all mdx files", "spelling @*.mdx");
    check("fix typos in all markdown files", "spelling");
    check("fix typos in files named guide", "spelling @guide");
    check("fix typos on the page \"Install\"", "spelling @Install");
    check("fix typos in every page under docs/guides", "spelling @docs/guides");
    check("fix typos except in CHANGELOG.md", "spelling !CHANGELOG.md");
    check(
        "replace npm with pnpm everywhere, but not in a.md and docs/b.md",
        "replace <npm> <pnpm> !a.md !docs/b.md",
    );
    check("fix typos in docs/ except under docs/old", "spelling @docs/ !docs/old/");
    refuse("fix typos in guide", "fix typos in guide");
    refuse("fix typos in pages about npm", "fix typos in pages about npm");
}

#[test]
fn a_place_in_front_holds_for_what_follows() {
    let both = "spelling @docs/b.md + replace <npm> <pnpm> @docs/b.md";
    check("In docs/b.md, fix typos and replace npm with pnpm", both);
    check("In docs/b.md, fix typos; replace npm with pnpm", both);
    check("in docs/b.md: fix typos; replace npm with pnpm", both);
    check("in docs/b.md: fix typos. Replace npm with pnpm.", both);
    check("In docs/b.md:\n- fix typos\n- replace npm with pnpm", both);
    check("In a.md, fix typos. Fix links.", "spelling @a.md + links");
    check("In a.md: fix typos. In b.md: fix links.", "spelling @a.md + links @b.md");
    check("fix typos and replace npm with pnpm in docs/b.md", both);
    check("fix typos everywhere and fix links in a.md", "spelling + links @a.md");
    check("fix typos; fix links in a.md", "spelling + links @a.md");
    check("Don't touch code. Fix typos. Bump 1.4.2 to 1.5.0.", "spelling + bump 1.4.2 1.5.0 prose");
    refuse("In a.md, fix typos in b.md", "In a.md, fix typos in b.md");
    refuse("fix typos. Only in docs/b.md.", "Only in docs/b.md");
    refuse("fix typos. Only in a.md. Fix links.", "Only in a.md");
    refuse("fix typos. Do not change README.md.", "Do not change README.md");
}

#[test]
fn where_to_replace() {
    check("replace \"a\" with \"b\" everywhere", "replace <a> <b>");
    check("replace \"a\" with \"b\" in install.md", "replace <a> <b> @install.md");
    check("replace \"a\" with \"b\" in docs/**/*.mdx.", "replace <a> <b> @docs/**/*.mdx");
    check("replace \"a\" with \"b\" in files matching guides/*", "replace <a> <b> @guides/*");
    check("replace \"a\" with \"b\" in all files matching \"*.mdx\"", "replace <a> <b> @*.mdx");
    check("replace \"a\" with \"b\" under guides/", "replace <a> <b> @guides/");
    check("replace \"a\" with \"b\" under guides", "replace <a> <b> @guides/");
    check("replace \"a\" with \"b\" in the guides folder", "replace <a> <b> @guides/");
    check("replace \"a\" with \"b\" in a.md, b.md and docs/c.md", "replace <a> <b> @a.md @b.md @docs/c.md");
    check("In install.md, replace \"a\" with \"b\"", "replace <a> <b> @install.md");
    check("replace \"a\" in install.md with \"b\"", "replace <a> <b> @install.md");
    check("replace \"a\" with \"b\" in the file `my page.md`", "replace <a> <b> @my page.md");
    check("replace \"a\" with \"b\" throughout the documentation", "replace <a> <b>");
    check("fix typos in guides/*.md and bump 1.0 to 1.1", "spelling @guides/*.md + bump 1.0 1.1");
}

#[test]
fn whether_in_code() {
    check("replace \"a\" with \"b\" in code too", "replace <a> <b> code");
    check("replace \"a\" with \"b\" including code", "replace <a> <b> code");
    check("replace \"a\" with \"b\" everywhere including code blocks", "replace <a> <b> code");
    check("replace \"a\" with \"b\", including in code samples", "replace <a> <b> code");
    check("replace \"a\" with \"b\" in install.md, also in code", "replace <a> <b> code @install.md");
    check("replace \"a\" with \"b\" in code blocks as well", "replace <a> <b> code");
    check("replace \"a\" with \"b\" in prose and code", "replace <a> <b> code");
    check("replace \"a\" with \"b\" but not in code", "replace <a> <b>");
    check("replace \"a\" with \"b\". Include code blocks.", "replace <a> <b> code");
    check("replace \"a\" with \"b\". Don't touch code.", "replace <a> <b>");
    check("replace \"a\" with \"b\". Also in code.", "replace <a> <b> code");
    check("fix typos. Do not change code.", "spelling");
    check("bump 1.4.2 to 1.5.0 but not in code", "bump 1.4.2 1.5.0 prose");
    check("bump 1.4.2 to 1.5.0. Fix typos. Do not touch code.", "bump 1.4.2 1.5.0 prose + spelling");
    check("bump 1.4.2 to 1.5.0 and fix typos but not in code", "bump 1.4.2 1.5.0 prose + spelling");
    refuse("fix typos including code", "fix typos including code");
    refuse("fix typos. Also in code.", "in code");
    refuse("fix broken links in code too", "fix broken links in code too");
}

#[test]
fn fixes() {
    check("fix links", "links");
    check("Fix broken links.", "links");
    check("fix all the dead internal links and anchors", "links");
    check("Repair links", "links");
    check("Fix the broken anchors", "links");
    check("fix typos", "spelling");
    check("Please fix common misspellings", "spelling");
    check("correct the spelling", "spelling");
    check("fix spelling mistakes in the docs", "spelling");
    check("Fix misspelled words", "spelling");
    check("Fix typos and broken links", "spelling + links");
    check("fix broken links, anchors, and typos under guides/", "links @guides/ + spelling @guides/");
    check("Fix the broken links; fix the typos", "links + spelling");
    check("fix broken links and then replace \"a\" with \"b\"", "links + replace <a> <b>");
    check("find and fix broken links", "links");
    check("check for broken links and fix them", "links");
    check("Check the docs for typos and fix them.", "spelling");
    check("find broken links and fix them in docs/", "links @docs/");
    check("spell check the docs", "spelling");
    check("Spellcheck install.md", "spelling @install.md");
    check("run a spell check on a.md", "spelling @a.md");
    refuse("check for broken links", "check for broken links");
    refuse("Fix typos, not links", "not links");
    check("Fix typos. Then bump version 1.4.2 to 1.5.0, please.", "spelling + bump 1.4.2 1.5.0");
}

#[test]
fn versions() {
    check("bump version 1.4.2 to 1.5.0", "bump 1.4.2 1.5.0");
    check("Bump the version from v1.4.2 to v1.5.0", "bump 1.4.2 1.5.0");
    check("update the version string 1.4 to 1.5", "bump 1.4 1.5");
    check("change version \"1.4.2\" to \"1.5.0\" in install.md", "bump 1.4.2 1.5.0 @install.md");
    check("bump 1.4.2 → 1.5.0-rc.1", "bump 1.4.2 1.5.0-rc.1");
    check("upgrade all version numbers from v2 to v3", "bump v2 v3");
    check("replace 1.4.2 with 1.5.0", "bump 1.4.2 1.5.0");
    check("Bump acme from 1.4.2 to 1.5.0", "bump acme 1.4.2 1.5.0");
    check("bump the acme version from v1.4.2 to v1.5.0", "bump acme 1.4.2 1.5.0");
    check("bump version to v1.5.0 from v1.4.2", "bump 1.4.2 1.5.0");
    check("update the docs from 1.4.2 to 1.5.0", "bump 1.4.2 1.5.0");
    refuse("bump to 1.4.2 to 1.5.0", "bump to 1.4.2 to 1.5.0");
    refuse("bump 1.4.2 from 1.5.0", "bump 1.4.2 from 1.5.0");
    refuse("upgrade 1.4.2 to latest", "upgrade 1.4.2 to latest");
    check("replace \"1.4.2\" with \"1.5.0\"", "replace <1.4.2> <1.5.0>");
}

#[test]
fn quotes_and_edges() {
    check(r#"replace "say \"hi\"" with "greet""#, r#"replace <say "hi"> <greet>"#);
    check(r#"replace 'say "hi"' with 'greet'"#, r#"replace <say "hi"> <greet>"#);
    check("replace \"don't\" with \"do not\"", "replace <don't> <do not>");
    check("replace 'don't' with 'do not'", "replace <don't> <do not>");
    check("replace \"foo \" with \"\"", "replace <foo > <>");
    check("replace \"a\" with \"a\"", "replace <a> <a>");
    check("replace \"npm\" with \"pnpm and npm\"", "replace <npm> <pnpm and npm>");
    check(
        "replace \"fix typos\" with \"fix links; then rest.\"",
        "replace <fix typos> <fix links; then rest.>",
    );
    check(
        &format!("replace \"{}\" with \"b\"", "a".repeat(50_000)),
        &format!("replace <{}> <b>", "a".repeat(50_000)),
    );
}

#[test]
fn what_is_not_understood_is_quoted() {
    refuse("Write a guide about webhooks", "Write a guide about webhooks");
    refuse("fix typos and write a poem", "write a poem");
    refuse("Fix typos. Make it sound nicer. Fix links.", "Make it sound nicer");
    refuse("replace the old logo with the new one", "replace the old logo with the new one");
    refuse("change it to \"b\"", "change it to \"b\"");
    refuse("replace \"\" with \"b\"", "replace \"\" with \"b\"");
    refuse("replace \"a\"", "replace \"a\"");
    refuse("rename install.md to setup.md", "rename install.md to setup.md");
    refuse("bump version to 1.5.0", "bump version to 1.5.0");
    refuse("bump version 2 to 3", "bump version 2 to 3");
    refuse("fix external links", "fix external links");
    refuse("fix spelling and grammar", "grammar");
    refuse(
        "replace \"a\" with \"b\" except in the changelog",
        "replace \"a\" with \"b\" except in the changelog",
    );
    refuse("replace \"a\" with \"b\" only in code", "replace \"a\" with \"b\" only in code");
    refuse("replace \"a\" with \"b\" in docs/[", "replace \"a\" with \"b\" in docs/[");
    refuse("replace \"a \"b\" c\" with \"d\"", "replace \"a \"b\" c\" with \"d\"");
    refuse("replace \"a with \"b\"", "replace \"a with \"b\"");
    refuse("do not fix typos", "do not fix typos");
    refuse("?!.", "?!.");
    refuse("please", "please");
    refuse(&"word ".repeat(20_000), &format!("{}…", &"word ".repeat(20)[..79]));
}

#[test]
fn too_many_instructions_are_refused() {
    let problem = parse(&"fix typos; ".repeat(51)).unwrap_err();
    assert_eq!(problem, "The prompt has more than 50 instructions; split it over several jobs.");
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
