//! Pages and their site paths.

use pages::{is_page, route};

#[test]
fn site_paths_of_pages() {
    #[track_caller]
    fn check(file: &str, root: &str, expected: Option<&str>) {
        assert_eq!(route(file, root).as_deref(), expected);
    }
    check("docs/guide/index.md", "docs", Some("/guide"));
    check("docs/guide/install.mdx", "docs", Some("/guide/install"));
    check("docs/README.md", "docs", Some("/"));
    check("docs/README.md", "", Some("/docs"));
    check("docs/a.png", "docs", None);
    check("other/a.md", "docs", None);
    check("docs/A.MD", "docs", Some("/A"));
}

#[test]
fn hidden_files_and_dependencies_are_not_pages() {
    for page in ["a.md", "docs/a.mdx", "docs/a.markdown", "docs/a.mkd", "vendor-guide/a.md"] {
        assert!(is_page(page), "{page}");
    }
    for other in
        ["a.txt", "node_modules/x/README.md", ".github/a.md", "docs/.vitepress/a.md", ".md", "docs/.md"]
    {
        assert!(!is_page(other), "{other}");
    }
}
