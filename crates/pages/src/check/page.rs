//! Checks a page on its own, and describes its broken links.

use super::front_matter;
use super::ids;
use super::jsx;
use super::markup;
use super::problem::{PageSource, Problem, ProblemKind};
use crate::kind::FileKind;
use crate::links::{BrokenLink, LinkFault};
use crate::markdown::Page;

/// The problems of a page that don't depend on other files.
pub(super) fn check_page(path: &str, text: &str, page: &Page) -> Vec<Problem> {
    let source = PageSource::new(path, text);
    let mut problems = front_matter::check(path, text, &page.front);
    if FileKind::of(path) == FileKind::Mdx {
        problems.extend(jsx::check(&source, page));
    }
    problems.extend(markup::check_open_block(&source, page));
    problems.extend(markup::check_tables(&source, page));
    problems.extend(ids::check(&source, page));
    problems
}

pub(super) fn link_problem(link: BrokenLink) -> Problem {
    let BrokenLink { file, line, destination, fault, .. } = link;
    let (kind, message) = match fault {
        LinkFault::NoSuchAnchor { page } => {
            let anchor = destination.split_once('#').map_or("", |(_, anchor)| anchor);
            (
                ProblemKind::Anchor,
                format!("the link to {destination:?} leads to {page}, which has no anchor {anchor:?}"),
            )
        }
        LinkFault::NoSuchPage if FileKind::of(path_of(&destination)).is_image() => {
            (ProblemKind::Image, format!("there is no image at {destination:?}"))
        }
        LinkFault::NoSuchPage => (ProblemKind::Link, format!("the link to {destination:?} leads nowhere")),
    };
    Problem::new(&file, line, kind, &destination, message)
}

/// A destination without its query and fragment.
fn path_of(destination: &str) -> &str {
    destination.split(['?', '#']).next().unwrap_or_default()
}
