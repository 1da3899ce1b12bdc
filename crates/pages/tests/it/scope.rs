//! The pages that a scope selects.

use pages::Scope;

#[test]
fn scopes_select_pages() {
    #[track_caller]
    fn check(scope: &str, pages: &str, expected: &str) {
        let pages: Vec<String> = pages.split(' ').map(str::to_owned).collect();
        let chosen = Scope::parse(scope).unwrap().choose(&pages, "docs");
        assert_eq!(chosen.join(" "), expected, "{scope}");
    }
    check("", "a.md b.md", "a.md b.md");
    check("install.md", "docs/a/install.md docs/reinstall.md", "docs/a/install.md");
    check("install.md", "a/install.md b/install.md", "a/install.md b/install.md");
    check("install.md", "docs/a/install.md docs/install.md", "docs/install.md");
    check("./docs/install.md", "docs/install.md install.md", "docs/install.md");
    check("readme", "README.md docs/b/README.md", "README.md");
    check("Install", "docs/a/install.mdx docs/b.md", "docs/a/install.mdx");
    check("/a/install", "docs/a/install.md docs/b/a/install.md", "docs/a/install.md");
    check("core/settings", "docs/03-core/25-settings.md", "docs/03-core/25-settings.md");
    check("guides/", "docs/x/guides/a.md docs/my-guides/a.md guides.md", "docs/x/guides/a.md");
    check("docs", "docs/a.md README.md web/docs/a.md", "docs/a.md");
    check("v1.4", "docs/v1.4/a.md docs/v1.5/a.md", "docs/v1.4/a.md");
    check("*.mdx", "a.md docs/a.mdx b.mdx", "docs/a.mdx b.mdx");
    check("docs/*.md", "docs/a.md docs/b/a.md", "docs/a.md");
    check("docs/**/*.md", "docs/b/a.md", "docs/b/a.md");
    check("guides/{a,b}.md", "docs/guides/b.md docs/guides/c.md", "docs/guides/b.md");
    check("DOCS/A.MD", "docs/a.md", "docs/a.md");
    check("nowhere", "docs/a.md", "");
    assert!(Scope::parse("docs/[").is_none());
}
