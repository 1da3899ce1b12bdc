//! Tests which redirects the guard accepts: from an unused address of the site to one of its pages, and no further.

use super::Case;

const PAGES: [(&str, &str); 3] =
    [("docs/index.md", "# Home\n"), ("docs/guides/a.md", "# A\n"), ("docs/guides/b.md", "# B\n")];

/// Changes `file`, or adds it if `before` is empty.
fn is_refused(others: &[(&str, &str)], file: &str, before: &str, after: &str) -> bool {
    let mut base = PAGES.to_vec();
    base.extend(others);
    if !before.is_empty() {
        base.retain(|(path, _)| *path != file);
        base.push((file, before));
    }
    let refusals = Case { base: &base, edits: &[(file, after)], ..Case::default() }.judge();
    refusals.iter().any(|refusal| refusal.starts_with('!'))
}

#[track_caller]
fn check(others: &[(&str, &str)], file: &str, before: &str, after: &str, expected: bool) {
    assert_eq!(is_refused(others, file, before, after), expected, "{file}: {after}");
}

#[test]
fn no_spelling_of_an_address_hides_a_page() {
    let mkdocs = |from: &str, to: &str| {
        format!(
            "plugins:\n  - redirects:\n      redirect_maps:\n        \"x.md\": \"index.md\"\n        \"{from}\": \"{to}\"\n"
        )
    };
    let settings = mkdocs("y.md", "index.md");
    for from in [
        "./index.md",
        "./guides/a.md",
        "./",
        "./guides/a/",
        "./guides/a/index.html",
        "./guides/a/index.md",
        "./index.html",
        "guides/a.1",
        "Guides/A.md",
        "guides/./a.md",
    ] {
        check(&[], "mkdocs.yml", &settings, &mkdocs(from, "guides/b.md"), true);
    }
    check(&[], "mkdocs.yml", &settings, &mkdocs("./old.md", "guides/b.md"), false);
    let json = |from: &str| {
        format!("{{\"redirects\": [{{\"source\": \"{from}\", \"destination\": \"/guides/b\"}}]}}")
    };
    for from in ["/guides/a/.", "/Guides/A", "/guides/a.html", "/guides/a/index.html", "/guides/A.md", "/."] {
        check(&[], "docs/docs.json", "{}", &json(from), true);
    }
    check(&[], "docs/docs.json", "{}", &json("/guides/old"), false);
}

#[test]
fn no_alias_hides_a_page() {
    let page = |key: &str, from: &str| format!("---\n{key}: [\"{from}\"]\n---\n\n# B\n");
    let jekyll = [("docs/_config.yml", "plugins:\n  - jekyll-redirect-from\n")];
    for from in ["./index.html", "./guides/a.html", "guides/a", "/Guides/A", "./"] {
        check(&jekyll, "docs/guides/b.md", "", &page("redirect_from", from), true);
    }
    check(&jekyll, "docs/guides/b.md", "", &page("redirect_from", "/guides/old/"), false);
    let hugo = [("hugo.toml", ""), ("content/guides/a.md", "# A\n"), ("content/moved/a.md", "# A\n")];
    for from in ["a", "./a", ".", "b", "/guides", "A"] {
        check(&hugo, "content/guides/b.md", "# B\n", &page("aliases", from), true);
    }
    check(&hugo, "content/guides/b.md", "# B\n", &page("aliases", "old"), false);
    // A relative alias begins at the page's own address.
    let own = "---\nurl: /moved/b\n---\n\n# B\n";
    let with_alias = own.replace("url: /moved/b", "url: /moved/b\naliases: [\"a\"]");
    check(&hugo[..1], "content/other/b.md", own, &with_alias, false);
    check(&hugo, "content/other/b.md", own, &with_alias, true);
}

#[test]
fn redirects_have_the_shape_of_the_format() {
    let evil = "https://evil.example";
    for list in [
        format!("\"redirects\": {{\"source\": \"/x\", \"destination\": \"{evil}\"}}"),
        format!("\"redirects\": \"{evil}\""),
        format!("\"redirects\": {{\"/x\": \"{evil}\"}}"),
        format!("\"redirects\": [\"{evil}\"]"),
        format!("\"redirects.0\": {{\"source\": \"/x\", \"destination\": \"{evil}\"}}"),
        format!("\"redirects\": [{{\"source\": \"/x\", \"destination\": {{\"a\": \"{evil}\"}}}}]"),
    ] {
        for file in ["docs.json", "mint.json", "vercel.json"] {
            check(&[], file, "{}", &format!("{{{list}}}"), true);
        }
    }
    let toml = format!("[redirects]\nfrom = \"/x\"\nto = \"{evil}\"\n");
    check(&[], "netlify.toml", "[build]\n", &format!("[build]\n{toml}"), true);
    check(&[], "netlify.toml", "[build]\n", &format!("\"redirects.0\" = \"{evil}\"\n[build]\n"), true);
}

#[test]
fn redirects_do_not_lead_on() {
    let entry = |from: &str, to: &str| format!("{{\"source\": \"{from}\", \"destination\": \"{to}\"}}");
    let json = |entries: &[String]| format!("{{\"redirects\": [{}]}}", entries.join(", "));
    let old = entry("/guides/b", "/old");
    for to in ["/guides/b#x", "/guides/b.html", "/guides/b.md", "/guides/b/", "/Guides/b"] {
        let new = entry("/old", to);
        check(&[], "docs.json", &json(std::slice::from_ref(&old)), &json(&[old.clone(), new.clone()]), true);
        // The rules of another file count, too.
        check(&[("vercel.json", &json(std::slice::from_ref(&old)))], "docs.json", "{}", &json(&[new]), true);
    }
    let new = json(&[entry("/old", "/guides/b")]);
    for rule in ["/guides/b /old", "/guides/* /old", "/guides/:x /old 302", "/guides/b /x 302 Language=de"] {
        check(&[("_redirects", rule)], "docs.json", "{}", &new, true);
    }
    for rule in ["/guides/*/edit https://git.example", "/guides/:x/edit /a", "/guides/b /x 200", "/* /a 302"]
    {
        check(&[("_redirects", rule)], "docs.json", "{}", &new, false);
    }
    let page = "---\nredirect_from: [\"/old\"]\n---\n\n# B\n";
    check(&[("_redirects", "/guides/b /old")], "docs/guides/b.md", "", page, true);
}

#[test]
fn an_empty_map_can_get_redirects() {
    let after = "plugins:\n  - search\n  - redirects:\n      redirect_maps:\n        old.md: guides/b.md\n";
    for before in [
        "plugins:\n  - search\n  - redirects\n",
        "plugins:\n  - search\n  - redirects:\n      redirect_maps:\n",
        "plugins:\n  - search\n  - redirects:\n      redirect_maps: {}\n",
    ] {
        check(&[], "mkdocs.yml", before, after, false);
    }
    check(&[], "mkdocs.yml", "plugins:\n  - search\n  - redirects\n", "plugins:\n  - search\n", true);
}

#[test]
fn front_matter_of_another_kind_is_not_displaced() {
    let block = "---\naliases: [\"/old\"]\n---\n";
    for before in [
        "{ \"title\": \"A\", \"draft\": true }\n\n# A\n",
        "+++\ndraft = true\n+++\n",
        "\n---\ndraft: true\n---\n",
    ] {
        check(&[("hugo.toml", "")], "content/x.md", before, &format!("{block}{before}"), true);
    }
    check(&[("hugo.toml", "")], "content/x.md", "# A\n", &format!("{block}# A\n"), false);
}

#[test]
fn redirects_of_a_site_below_a_prefix_are_judged_without_it() {
    let base = [("docs/.vitepress/config.mts", "export default { base: '/repo/' }\n")];
    let entry = |from: &str, to: &str| {
        format!("{{\"redirects\": [{{\"source\": \"{from}\", \"destination\": \"{to}\"}}]}}")
    };
    for (from, to, expected) in [
        ("/repo/old", "/repo/guides/b", false),
        ("/old", "/guides/b", false),
        ("/repo/guides/a", "/repo/guides/b", true),
        ("/guides/a", "/repo/guides/b", true),
        ("/repo/old", "/repo/nothing", true),
        ("/repo/old", "//evil.example/repo/guides/b", true),
        ("/repo/old", "/repository/guides/b", true),
        ("/repo/", "/repo/guides/b", true),
    ] {
        check(&base, "vercel.json", "{}", &entry(from, to), expected);
        check(&base, "docs/public/_redirects", "# x\n", &format!("# x\n{from} {to} 301\n"), expected);
    }
    let other = [base[0], ("docs/repo/old.md", "# Old\n")];
    check(&other, "vercel.json", "{}", &entry("/repo/old", "/repo/guides/b"), true);
    let chain = [base[0], ("_redirects", "/repo/guides/b /repo/x 301\n")];
    check(&chain, "vercel.json", "{}", &entry("/repo/old", "/repo/guides/b"), true);
    check(&[], "vercel.json", "{}", &entry("/repo/old", "/repo/guides/b"), true);
}
