//! Tests the notes about redirects that a change removes, leads elsewhere, or puts in another order.

use std::collections::BTreeMap;

use agent::{Allow, Change, Policy, Prompt, judge};
use pages::MemoryTree;

const PAGES: [(&str, &str); 3] = [("a.md", "# A\n"), ("b.md", "# B\n"), ("c.md", "# C\n")];

/// The messages about redirects, without their beginning. `None` as a text deletes the file.
fn notes(base: &[(&str, &str)], edits: &[(&str, Option<&str>)], allow: &[&str]) -> Vec<String> {
    let tree = MemoryTree::new(PAGES.iter().chain(base).copied());
    let edits: BTreeMap<String, Option<Vec<u8>>> = edits
        .iter()
        .map(|(path, text)| ((*path).to_owned(), text.map(|text| text.as_bytes().to_vec())))
        .collect();
    let change = Change {
        base: &tree,
        vocabulary: &agent::Vocabulary::default(),
        edits: &edits,
        instructions: &Prompt::instruction("Change the redirects").instructions(),
        title: "",
        summary: "",
    };
    let policy = Policy { allow: Allow::parse(allow.iter().copied()).unwrap(), ..Policy::default() };
    let refusals = judge(&change, &policy).into_iter().filter(|refusal| !refusal.fatal);
    refusals.map(|refusal| refusal.message.replace("Review the change at ", "")).collect()
}

#[track_caller]
fn check(path: &str, before: &str, after: &str, expected: &[&str]) {
    assert_eq!(notes(&[(path, before)], &[(path, Some(after))], &[]), expected, "{path}");
}

#[test]
fn lost_redirects_are_named() {
    check("_redirects", "/x /a\n/y /b\n", "/x /a\n", &["`_redirects`: it removes 1 redirect, from `/y`."]);
    check(
        "_redirects",
        "/x /a\n/* /b 302\n",
        "",
        &["`_redirects`: it removes 2 redirects, from `/x` and `/*`."],
    );
    let many: String = (0..9).map(|n| format!("/x{n} /a\n")).collect();
    let shown = "`_redirects`: it removes 9 redirects, from `/x0`, `/x1`, `/x2`, `/x3`, `/x4`, and 4 more.";
    check("_redirects", &many, "", &[shown]);
    let json = |entries: &str| format!("{{\"redirects\": [{entries}]}}");
    let x = r#"{"source": "/x", "destination": "/a"}"#;
    let y = r#"{"source": "/y", "destination": "/a"}"#;
    for file in ["vercel.json", "docs.json"] {
        let note = format!("`{file}`: it removes 1 redirect, from `/x`.");
        check(file, &json(&format!("{x}, {y}")), &json(y), &[&note]);
    }
    let toml = "[[redirects]]\nfrom = \"/x\"\nto = \"/a\"\n";
    check("netlify.toml", toml, "", &["`netlify.toml`: it removes 1 redirect, from `/x`."]);
    let mkdocs = |entries: &str| {
        format!("plugins:\n  - redirects:\n      redirect_maps:\n        k.md: a.md\n{entries}")
    };
    let note = "`mkdocs.yml`: it removes 1 redirect, from `x.md`.";
    check("mkdocs.yml", &mkdocs("        x.md: b.md\n"), &mkdocs(""), &[note]);
    let page = |aliases: &str| format!("---\ntitle: A\naliases: [{aliases}]\n---\n\n# A\n");
    let note = "`g.md`: it removes 1 redirect, from `/y`.";
    check("g.md", &page("\"/x\", \"/y\""), &page("\"/x\""), &[note]);
    let deleted = notes(&[("g.md", &page("\"/x\""))], &[("g.md", None)], &[]);
    assert_eq!(deleted, ["`g.md`: it removes 1 redirect, from `/x`."]);
}

#[test]
fn redirects_that_move_or_stay_are_no_loss() {
    check("_redirects", "/x /a\n", "/x /a\n/y /b\n", &[]);
    let json = r#"{"redirects": [{"source": "/x", "destination": "/a"}]}"#;
    let edits = [("_redirects", Some("")), ("vercel.json", Some(json))];
    assert_eq!(notes(&[("_redirects", "/x /a\n"), ("vercel.json", "{}")], &edits, &[]), [""; 0]);
    let page = "---\ntitle: A\nredirect_from:\n  - /x\n---\n\n# A\n";
    let edits = [("g.md", None), ("h/g.md", Some(page))];
    assert_eq!(notes(&[("g.md", page)], &edits, &[]), [""; 0]);
    // A redirect follows the page that it leads to.
    let edits = [("g.md", None), ("h/g.md", Some("# G\n")), ("_redirects", Some("/x /h/g\n"))];
    assert_eq!(notes(&[("g.md", "# G\n"), ("_redirects", "/x /g\n")], &edits, &[]), [""; 0]);
}

#[test]
fn other_targets_and_another_order_are_named() {
    let note = "`_redirects`: it changes the targets of 1 redirect, from `/x`.";
    check("_redirects", "/x /a\n/y /b\n", "/x /c\n/y /b\n", &[note]);
    let order = |file: &str| {
        format!(
            "`{file}`: it changes the order of redirects, and the first one that matches a request counts."
        )
    };
    check("_redirects", "/x /a\n/* /b\n", "/* /b\n/x /a\n", &[&order("_redirects")]);
    let x = r#"{"source": "/x", "destination": "/a"}"#;
    let y = r#"{"source": "/:slug*", "destination": "/a"}"#;
    for file in ["vercel.json", "docs.json"] {
        let json = |one: &str, two: &str| format!("{{\"redirects\": [{one}, {two}]}}");
        check(file, &json(x, y), &json(y, x), &[&order(file)]);
    }
    let mkdocs = |one: &str, two: &str| {
        format!("plugins:\n  - redirects:\n      redirect_maps:\n        {one}: a.md\n        {two}: a.md\n")
    };
    check("mkdocs.yml", &mkdocs("x.md", "y.md"), &mkdocs("y.md", "x.md"), &[]);
}

#[test]
fn a_note_has_no_markup_of_the_redirect() {
    let found = notes(&[("_redirects", "/<b>`@x`![](x) /a\n")], &[("_redirects", Some(""))], &[]);
    assert_eq!(found, ["`_redirects`: it removes 1 redirect, from `/bx![](x)`."]);
}

/// The operator can have meant the redirects only.
#[test]
fn what_an_allowed_file_lifts_is_noted() {
    let before = "site_name: Acme\nplugins:\n  - search\n";
    let after = "site_name: Acme\nplugins:\n  - search\n  - evil\n";
    let found = notes(&[("mkdocs.yml", before)], &[("mkdocs.yml", Some(after))], &["mkdocs.yml"]);
    let note = "`mkdocs.yml`: it changes more of this file than its navigation and its redirects, which jobs can do only \
                because the project allows this file.";
    assert_eq!(found, [note]);
    let found = notes(
        &[("_redirects", "/x /a\n")],
        &[("_redirects", Some("/x /a\n/y https://x.example/\n"))],
        &["_redirects"],
    );
    assert_eq!(found.len(), 1, "{found:?}");
    let map = "plugins:\n  - redirects:\n      redirect_maps:\n        k.md: a.md\n";
    let found = notes(
        &[("mkdocs.yml", map)],
        &[("mkdocs.yml", Some(&format!("{map}        x.md: b.md\n")))],
        &["mkdocs.yml"],
    );
    assert_eq!(found, [""; 0]);
}
