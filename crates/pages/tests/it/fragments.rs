//! Headings that links lead to.

use pages::{Fragments, Page};

#[test]
fn headings_that_links_lead_to() {
    #[track_caller]
    fn check(links: &str, heading: &str, expected: bool) {
        let text = format!("{links}\n\n{heading}\n");
        let page = Page::parse("a.md", &text);
        let mut fragments = Fragments::default();
        fragments.learn(&page, &text);
        assert_eq!(page.headings.iter().any(|heading| fragments.lead_to(heading)), expected, "{text}");
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
