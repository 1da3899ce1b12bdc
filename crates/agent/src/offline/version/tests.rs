//! Where a version is changed and where it is not.

use super::*;

fn bump(old: &str, product: Option<&str>) -> Bump {
    Bump { old: old.to_owned(), new: "9".to_owned(), product: product.map(str::to_owned), code: true }
}

#[track_caller]
fn check(bump: &Bump, text: &str, expected: usize) {
    let page = Page::parse("a.md", text);
    assert_eq!(find(&page, text, bump).places.len(), expected, "{text}");
}

#[test]
fn whole_versions() {
    for text in [
        "1.4.2",
        "v1.4.2",
        "(1.4.2)",
        "1.4.2.",
        "acme@1.4.2",
        "^1.4.2",
        "acme-1.4.2.tar.gz",
        "acme-1.4.2-linux.tgz",
        "`npm i acme@1.4.2`",
        "```\nFROM acme:1.4.2\n```\n",
        "---\ntitle: Acme 1.4.2\n---\n",
        "---\nversion: 1.4.2\n---\n",
        "==1.4.2",
        "<https://a.b/releases/v1.4.2>",
        "[x](https://a.b/1.4.2/y)",
        "https://a.b/v1.4.2",
    ] {
        check(&bump("1.4.2", None), text, 1);
    }
}

#[test]
fn other_versions_and_the_past() {
    for text in [
        "11.4.2",
        "1.4.20",
        "1.4.2.1",
        "0.1.4.2",
        "10.1.4.2",
        "1.4.2-rc.1",
        "1.4.2+5",
        "x1.4.2",
        "vv1.4.2",
        "1.4.2a",
        "[x](/docs/1.4.2/y)",
        "[x](https://a.b/acme-1.4.2.tgz)",
        "<img alt=\"1.4.2\">",
        "Added in 1.4.2",
        "https://a.b/x?v=1.4.2",
        "---\nsince: 1.4.2\nadded: 1.4.2\nslug: /v/1.4.2\ndate: 1.4.2\n# 1.4.2\n---\n",
    ] {
        check(&bump("1.4.2", None), text, 0);
    }
}

#[test]
fn short_versions_need_a_word_that_says_so() {
    for text in ["version 1.4", "v1.4", "release 1.4", "acme@1.4", "acme==1.4", "`version: \"1.4\"`"] {
        check(&bump("1.4", None), text, 1);
    }
    for text in [
        "costs $1.4",
        "1.4 GB",
        "1.4%",
        "`lineHeight: 1.4`",
        "TLS 1.4",
        "section 1.4",
        "1.4.2",
        "`GET /v1.4/users`",
        "1.4.",
    ] {
        check(&bump("1.4", None), text, 0);
    }
    for text in ["API v1", "/v1/users", "`apiVersion: v1`", "uses: actions/checkout@v1", "apps/v1", "acme@v1"]
    {
        check(&bump("v1", None), text, 0);
    }
    check(&bump("v1", None), "version v1", 1);
    check(&bump("v1", Some("acme")), "acme v1, acme@v1 and other v1", 2);
    check(&bump("1.4", Some("Acme")), "Acme 1.4 and 1.4 GB", 1);
}

#[test]
fn packages_are_told_apart() {
    let text = "`npm i acme@1.4.2` `npm i @x/lodash@1.4.2` `pip install acme==1.4.2`";
    let found = find(&Page::parse("a.md", text), text, &bump("1.4.2", None));
    let names: BTreeSet<String> = found.packages.into_iter().map(|(name, _)| name).collect();
    assert_eq!(names.iter().map(String::as_str).collect::<Vec<_>>(), ["@x/lodash", "acme"]);
    assert_eq!(other_packages(&bump("1.4.2", None), names.clone()), names);
    let others = other_packages(&bump("1.4.2", Some("acme")), names);
    assert_eq!(others.into_iter().collect::<Vec<_>>(), ["@x/lodash"]);
    let same = BTreeSet::from(["@acme/sdk".to_owned(), "acme-sdk".to_owned()]);
    assert!(other_packages(&bump("1.4.2", None), same).is_empty());
}

#[test]
fn code_can_be_left() {
    let prose_alone = Bump { code: false, ..bump("1.4.2", None) };
    check(&prose_alone, "1.4.2 and `1.4.2`", 1);
}

#[test]
fn versions_in_prompts() {
    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(parse(text).as_deref(), expected, "{text}");
    }
    check("v1.4.2", Some("1.4.2"));
    check("1.4", Some("1.4"));
    check("2.0.0-rc.1", Some("2.0.0-rc.1"));
    check("v2", Some("v2"));
    check("2", None);
    check("latest", None);
    check("1.", None);
}
