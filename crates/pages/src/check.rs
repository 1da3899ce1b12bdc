//! What is wrong with a tree of pages, as far as it can be told without building the site.
//!
//! A false finding is worse than a missed one: what can be read in a way that makes it right is right.

mod change;
mod finding;
mod front;
mod ids;
mod jsx;
mod markup;
mod nav;

use crate::files::{self, Files, FilesError};
use crate::kind::FileKind;
use crate::links::{BrokenLink, Why};
use crate::markdown::Page;
use crate::route;
use crate::site::Site;
pub use change::made_worse;
use finding::Sheet;
pub use finding::{Finding, FindingKind, worse};

/// Everything that is wrong, by page and line.
pub fn check(files: &dyn Files) -> Result<Vec<Finding>, FilesError> {
    let mut site = Site::sketch(files);
    let mut found = Vec::new();
    for file in route::pages(files) {
        let Some(text) = files::text(files, &file)? else { continue };
        let page = site.add(&file, &text);
        found.extend(of_page(&file, &text, &page));
    }
    site.judge();
    found.extend(site.broken_links().into_iter().map(of_link));
    let navs = nav::read(files, &site)?;
    found.extend(nav::findings(&navs, &site, &[]));
    found.sort_by(|a, b| (&a.path, a.line, a.kind).cmp(&(&b.path, b.line, b.kind)));
    Ok(found)
}

/// What can be told from a page alone.
fn of_page(path: &str, text: &str, page: &Page) -> Vec<Finding> {
    let sheet = Sheet::new(path, text);
    let mut found = front::check(path, text, &page.front);
    if FileKind::of(path) == FileKind::Mdx {
        found.extend(jsx::check(&sheet, page));
    }
    found.extend(markup::open_block(&sheet, page));
    found.extend(markup::tables(&sheet, page));
    found.extend(ids::check(&sheet, page));
    found
}

fn of_link(link: BrokenLink) -> Finding {
    let BrokenLink { file, line, destination, why, .. } = link;
    let (kind, message) = match why {
        Why::NoSuchAnchor { page } => {
            let anchor = destination.split_once('#').map_or("", |(_, anchor)| anchor);
            (
                FindingKind::Anchor,
                format!("the link to {destination:?} leads to {page}, which has no anchor {anchor:?}"),
            )
        }
        Why::NoSuchPage if FileKind::of(address(&destination)).is_image() => {
            (FindingKind::Image, format!("there is no image at {destination:?}"))
        }
        Why::NoSuchPage => (FindingKind::Link, format!("the link to {destination:?} leads nowhere")),
    };
    Finding::new(&file, line, kind, &destination, message)
}

/// A destination without its query and fragment.
fn address(destination: &str) -> &str {
    destination.split(['?', '#']).next().unwrap_or_default()
}
