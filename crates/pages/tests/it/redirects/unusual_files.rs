//! Tests files with rules that are more than plain redirects, and files that can't be extended.

use pages::redirects::{History, Redirect, Rename, snippets};

use super::{add, certain, check};

#[test]
fn unusual_files_are_extended_correctly_or_left_alone() {
    // A text is no table.
    let text = "[build]\ncommand = \"\"\"\n[[redirects]]\nfrom = \"/*\"\n\"\"\"\n";
    let added = "\n[[redirects]]\nfrom = \"/old\"\nto = \"/a\"\nstatus = 301\n\n[[redirects]]\nfrom = \"/old/b\"\nto = \"/b\"\nstatus = 301\n";
    check("netlify.toml", text, &format!("{text}{added}"));
    let unclear =
        "[build]\ncommand = \"\"\"\n[[redirects]]\n\"\"\"\n[[ redirects ]]\nfrom = \"/*\"\nto = \"/x\"\n";
    assert_eq!(add("netlify.toml", unclear), None);
    // The first rule that decides for all readers counts.
    check("_redirects", "/old /x 200\n", "/old /a 301\n/old /x 200\n/old/b /b 301\n");
    check("_redirects", "/old /x 302 Language=de\n", "/old /x 302 Language=de\n/old /a 301\n/old/b /b 301\n");
    check("_redirects", "\u{feff}/* /x 200\n", "\u{feff}/old /a 301\n/old/b /b 301\n/* /x 200\n");
    check("_redirects", "/old/*/edit /x\n", "/old/*/edit /x\n/old /a 301\n/old/b /b 301\n");
    // Vercel accepts `routes` or `redirects`.
    assert_eq!(add("vercel.json", "{\"routes\": []}"), None);
    assert_eq!(add("docs.json", "{\"redirects\": [1]}"), None);
    let error = "{\"redirects\": [{\"source\": \"/c\", \"destination\": \"/a\", \"statusCode\": 404}]}";
    assert!(add("vercel.json", error).is_some_and(|text| text.matches("404").count() == 1));
}

#[test]
fn a_conditional_rule_is_no_redirect_for_all_readers() {
    for (rules, expected) in [("/q /x 302 Language=de\n", Some("/a/q")), ("/q /a/r 302\n", None)] {
        let files = [("_redirects", rules), ("a/q.md", "# Q\n"), ("a/r.md", "# R\n")];
        let rename = Rename { date: 1, from: "q.md".into(), to: "a/q.md".into() };
        let history = History { renames: vec![rename], removed: Vec::new() };
        assert_eq!(certain(&files, &history, "/q").as_deref(), expected);
    }
}

#[test]
fn lines_for_servers_have_no_special_characters() {
    let lines = snippets(&[Redirect::new("/old", "/c d/{x};$y")]).concat();
    assert_eq!(lines.matches("/c%20d/%7Bx%7D%3B%24y").count(), 5, "{lines}");
}
