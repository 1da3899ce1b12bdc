//! Headings that links name.

use pages::{LinkedFragments, Page};

#[test]
fn a_heading_is_found_by_the_links_to_it() {
    #[track_caller]
    fn check(links: &str, heading: &str, expected: bool) {
        let text = format!("{links}\n\n{heading}\n");
        let page = Page::parse("a.md", &text);
        let mut fragments = LinkedFragments::default();
        fragments.add_page(&page, &text);
        assert_eq!(page.headings.iter().any(|heading| fragments.contains(heading)), expected, "{text}");
    }
    check("[x](#use-npm)", "## Use npm", true);
    check("[x](b.md#what-s-new)", "## What's new", true);
    check("[x](/b#usage_1)", "## Usage", true);
    check("[x](#gr%C3%B6%C3%9Fe)", "## Größe", true);
    check("<a href=\"#use-npm\">x</a>", "Use *npm*\n---", true);
    check("[x](#npm)", "## Use npm", false);
    check("[x](#use-npm)", "## Use npm {#other}", false);
    check("[x](use-npm)", "## Use npm", false);
}
