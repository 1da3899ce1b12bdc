//! Links within the site that lead nowhere.

use std::ops::Range;

use crate::destination::Destination;
use crate::files::{Files, FilesError};
use crate::site::{Found, PageLink, Site};

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
    /// Every link that leads nowhere, by file and place.
    pub fn broken_links(&self) -> Vec<BrokenLink> {
        let links =
            self.pages.iter().flat_map(|(file, page)| page.links.iter().map(move |link| (file, link)));
        links.filter_map(|(file, link)| self.broken(file, link)).collect()
    }

    fn broken(&self, file: &str, link: &PageLink) -> Option<BrokenLink> {
        let destination = Destination::parse(&link.raw)?;
        Some(BrokenLink {
            why: self.why_broken(file, &destination)?,
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
                (!self.has_anchor(&page, anchor)).then_some(Why::NoSuchAnchor { page })
            }
        }
    }
}
