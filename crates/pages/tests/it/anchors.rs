//! Anchors of headings, in the spellings of GitHub and other generators.

use pages::Page;

fn page(headings: &[&str]) -> Page {
    Page::parse("a.md", &headings.iter().map(|heading| format!("# {heading}\n\n")).collect::<String>())
}

fn anchors(headings: &[&str]) -> Vec<String> {
    page(headings).headings.into_iter().map(|heading| heading.anchor).collect()
}

#[test]
fn anchors_in_githubs_spelling() {
    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(anchors(&[text]), [expected]);
    }
    check("Getting started", "getting-started");
    check("What's new in v1.5?", "whats-new-in-v15");
    check("A & B", "a--b");
    check("snake_case --flag", "snake_case---flag");
    check("Größe 日本", "größe-日本");
    check("🚀 Launch", "-launch");
    check("", "");
}

#[test]
fn repeated_headings_are_numbered() {
    let headings = ["Usage", "Usage", "Usage 1", "Usage", "Usage {#how}"];
    assert_eq!(anchors(&headings), ["usage", "usage-1", "usage-1-1", "usage-2", "how"]);
}

#[test]
fn anchors_in_other_spellings() {
    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(page(&[text]).ids, expected);
    }
    check("Getting started", &["getting-started"]);
    check("Install & configure", &["install--configure", "install-configure"]);
    check("1.0.0 - 2024-01-01", &["100---2024-01-01", "100-2024-01-01", "_1-0-0-2024-01-01"]);
    check("v1.0 changes", &["v10-changes", "v1-0-changes"]);
    check("What's new", &["whats-new", "what-s-new"]);
    check("2. Step", &["2-step", "step", "_2-step"]);
    check("Größe", &["größe", "groe", "große"]);
    check("🚀 Launch", &["-launch", "launch", "🚀-launch"]);
    check("", &[""]);
}

#[test]
fn repeated_headings_in_other_spellings_are_numbered() {
    let found = page(&["Usage", "Usage", "Usage"]).ids;
    assert_eq!(found, ["usage", "usage-1", "usage_1", "usage-2", "usage_2"]);
}
