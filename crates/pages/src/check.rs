//! Checks a tree of pages for problems, as far as that is possible without building the site.
//!
//! A false alarm is worse than a missed problem. What can be read in a way that makes it right is right.

mod change;
mod front_matter;
mod ids;
mod jsx;
mod markup;
mod nav;
mod page;
mod problem;

use crate::files::{self, Files, FilesError};
use crate::page_list;
use crate::prefetch::prefetch;
use crate::site::Site;
pub use change::check_change;
use page::{check_page, link_problem};
pub use problem::{Problem, ProblemKind, added_problems};

/// All problems of a tree, by page and line.
pub fn check(files: &dyn Files) -> Result<Vec<Problem>, FilesError> {
    let mut site = Site::with_names(files);
    let mut problems = Vec::new();
    let pages = page_list::pages(files);
    prefetch(files, &pages)?;
    for file in pages {
        let Some(text) = files::read_text(files, &file)? else { continue };
        let page = site.add_page(&file, &text);
        problems.extend(check_page(&file, &text, &page));
    }
    site.decide_unchecked();
    problems.extend(site.broken_links().into_iter().map(link_problem));
    let navs = nav::read(files, &site)?;
    problems.extend(nav::check(&navs, &site, &[]));
    problem::sort(&mut problems);
    Ok(problems)
}
