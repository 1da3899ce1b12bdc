//! Finds links within the site that are broken.

use std::ops::Range;

use crate::destination::Destination;
use crate::files::{Files, FilesError};
use crate::page_info::PageLink;
use crate::path;
use crate::route;
use crate::site::{LinkOutcome, Site};

/// When at least this many absolute links are broken, and more than one in [`PLAUSIBLE_SHARE`], the meaning of `/` is
/// probably wrong, and not the links.
const MIN_IMPLAUSIBLE: usize = 5;
const PLAUSIBLE_SHARE: usize = 5;

/// A link to a page, a file or an anchor that doesn't exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenLink {
    pub file: String,
    /// Counted from 1.
    pub line: usize,
    /// The destination in the file.
    pub range: Range<usize>,
    /// The source text of the destination.
    pub destination: String,
    /// The text of the link.
    pub text: String,
    pub fault: LinkFault,
}

/// What is wrong with a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkFault {
    NoSuchPage,
    /// The page exists, but the anchor doesn't.
    NoSuchAnchor {
        page: String,
    },
}

impl BrokenLink {
    /// The path of the site that the link leads to, where `root` is the folder of the docs. `None` for a link whose page
    /// exists, and for one that leaves the docs.
    pub fn missing_path(&self, root: &str) -> Option<String> {
        if self.fault != LinkFault::NoSuchPage {
            return None;
        }
        let destination = Destination::parse(&self.destination)?;
        let file = match destination.path.strip_prefix('/') {
            Some(absolute) => path::normalize("", absolute)?,
            None => {
                path::below(&path::normalize(path::parent(&self.file), &destination.path)?, root)?.to_owned()
            }
        };
        let page = route::page_path(&file).unwrap_or(&file);
        Some(format!("/{}", page.trim_end_matches('/')))
    }
}

/// Every broken link within the site, by file and position.
pub fn broken_links(files: &dyn Files) -> Result<Vec<BrokenLink>, FilesError> {
    Ok(Site::read(files)?.broken_links())
}

impl Site {
    /// Every broken link, by file and position, without those of [`Site::unchecked_links`].
    pub fn broken_links(&self) -> Vec<BrokenLink> {
        self.links().filter_map(|(file, link)| self.check_link(file, link)).collect()
    }

    /// The broken links of one page.
    pub(crate) fn broken_in(&self, file: &str) -> Vec<BrokenLink> {
        let links = self.pages.get(file).into_iter().flat_map(|page| &page.links);
        links.filter_map(|link| self.check_link(file, link)).collect()
    }

    /// The number of broken absolute links, if they are so many that the tree probably doesn't show how the site is served.
    /// None of them is then reported as broken.
    pub fn unchecked_links(&self) -> usize {
        self.unchecked
    }

    /// Decides whether absolute links can be checked, once all pages are added.
    pub(crate) fn decide_unchecked(&mut self) {
        self.unchecked = self.count_implausible();
    }

    /// The number of broken absolute links, if there are implausibly many.
    fn count_implausible(&self) -> usize {
        let absolute = |(file, link): (&String, &PageLink)| {
            let to = Destination::parse(&link.raw).filter(|to| to.path.starts_with('/'))?;
            Some(self.link_fault(file, &to) == Some(LinkFault::NoSuchPage))
        };
        let checked: Vec<bool> = self.links().filter_map(absolute).collect();
        let broken = checked.iter().filter(|broken| **broken).count();
        let is_implausible = broken >= MIN_IMPLAUSIBLE && broken * PLAUSIBLE_SHARE > checked.len();
        if is_implausible { broken } else { 0 }
    }

    fn links(&self) -> impl Iterator<Item = (&String, &PageLink)> {
        self.pages.iter().flat_map(|(file, page)| page.links.iter().map(move |link| (file, link)))
    }

    fn check_link(&self, file: &str, link: &PageLink) -> Option<BrokenLink> {
        let destination = Destination::parse(&link.raw)?;
        let fault = self.link_fault(file, &destination)?;
        if self.unchecked > 0 && fault == LinkFault::NoSuchPage && destination.path.starts_with('/') {
            return None;
        }
        Some(BrokenLink {
            fault,
            file: file.to_owned(),
            line: link.line,
            range: link.link.range.clone(),
            destination: link.raw.clone(),
            text: link.link.text.clone(),
        })
    }

    pub(crate) fn link_fault(&self, file: &str, destination: &Destination) -> Option<LinkFault> {
        match self.follow(file, destination) {
            LinkOutcome::Missing => Some(LinkFault::NoSuchPage),
            LinkOutcome::Other => None,
            LinkOutcome::Page(page) => {
                let anchor = destination.fragment.as_deref().unwrap_or_default();
                let is_target = destination.path.is_empty() && self.targets.contains(anchor);
                (!is_target && !self.has_anchor(&page, anchor)).then_some(LinkFault::NoSuchAnchor { page })
            }
        }
    }
}
