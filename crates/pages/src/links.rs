//! Links within the site that lead nowhere.

use std::ops::Range;

use crate::destination::Destination;
use crate::files::{Files, FilesError};
use crate::known::PageLink;
use crate::site::{Found, Site};

/// When this many absolute links and more are broken, and more than one in [`MAX_BROKEN_SHARE`], then it is
/// the reading of `/` that is wrong, and not so many links.
const MIN_UNBELIEVABLE: usize = 5;
const MAX_BROKEN_SHARE: usize = 5;

/// A link that leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenLink {
    pub file: String,
    /// Counted from 1.
    pub line: usize,
    /// The destination in the file.
    pub range: Range<usize>,
    /// The destination as it is written.
    pub destination: String,
    /// What the link says to a reader.
    pub text: String,
    pub why: Why,
}

/// What is wrong with a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    NoSuchPage,
    /// The page is there, the anchor in it is not.
    NoSuchAnchor {
        page: String,
    },
}

/// Every link within the site that leads nowhere, by file and place.
pub fn broken_links(files: &dyn Files) -> Result<Vec<BrokenLink>, FilesError> {
    Ok(Site::read(files)?.broken_links())
}

impl Site {
    /// Every link that leads nowhere, by file and place; without those of [`Site::unjudged_links`].
    pub fn broken_links(&self) -> Vec<BrokenLink> {
        self.links().filter_map(|(file, link)| self.broken(file, link)).collect()
    }

    /// The links of one page that lead nowhere.
    pub(crate) fn broken_in(&self, file: &str) -> Vec<BrokenLink> {
        let links = self.pages.get(file).into_iter().flat_map(|page| &page.links);
        links.filter_map(|link| self.broken(file, link)).collect()
    }

    /// How many absolute links lead nowhere, when they are so many that the site is rather served in a way
    /// that the tree does not show. None of them is taken for broken then.
    pub fn unjudged_links(&self) -> usize {
        self.unjudged
    }

    /// Counts the broken absolute links, if they are too many to be believed.
    pub(crate) fn count_unbelievable(&self) -> usize {
        let absolute = |(file, link): (&String, &PageLink)| {
            let to = Destination::parse(&link.raw).filter(|to| to.path.starts_with('/'))?;
            Some(self.why_broken(file, &to) == Some(Why::NoSuchPage))
        };
        let judged: Vec<bool> = self.links().filter_map(absolute).collect();
        let broken = judged.iter().filter(|broken| **broken).count();
        let unbelievable = broken >= MIN_UNBELIEVABLE && broken * MAX_BROKEN_SHARE > judged.len();
        if unbelievable { broken } else { 0 }
    }

    fn links(&self) -> impl Iterator<Item = (&String, &PageLink)> {
        self.pages.iter().flat_map(|(file, page)| page.links.iter().map(move |link| (file, link)))
    }

    fn broken(&self, file: &str, link: &PageLink) -> Option<BrokenLink> {
        let destination = Destination::parse(&link.raw)?;
        let why = self.why_broken(file, &destination)?;
        if self.unjudged > 0 && why == Why::NoSuchPage && destination.path.starts_with('/') {
            return None;
        }
        Some(BrokenLink {
            why,
            file: file.to_owned(),
            line: link.line,
            range: link.link.range.clone(),
            destination: link.raw.clone(),
            text: link.link.text.clone(),
        })
    }

    pub(crate) fn why_broken(&self, file: &str, destination: &Destination) -> Option<Why> {
        match self.follow(file, destination) {
            Found::Nothing => Some(Why::NoSuchPage),
            Found::Other => None,
            Found::Page(page) => {
                let anchor = destination.fragment.as_deref().unwrap_or_default();
                let is_target = destination.path.is_empty() && self.targets.contains(anchor);
                (!is_target && !self.has_anchor(&page, anchor)).then_some(Why::NoSuchAnchor { page })
            }
        }
    }
}
