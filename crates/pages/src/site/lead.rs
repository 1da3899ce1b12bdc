//! Where a link leads, to the file, and by which reading of it.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Found, Site, normalise};
use crate::ground::Paths;
use crate::path;
use crate::places;

/// What stands where a link leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    File(String),
    /// A folder without an index page, or a page that is a program.
    Folder(String),
    /// A place of the repository that is outside of the docs folder.
    Unseen(String),
}

/// How the path of a link is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Way {
    /// From the folder of its page.
    Beside,
    /// From the address of its page, as if that was a folder.
    Address,
    /// From `base`, for which `prefix` is written.
    From { prefix: String, base: String },
}

#[derive(Debug)]
pub(crate) struct Lead {
    pub(crate) target: Target,
    /// The place that the link names, as far as it spells it out.
    pub(crate) place: String,
    pub(crate) way: Way,
    /// Whether the site would have to be served below a path that the tree does not show.
    pub(crate) is_guess: bool,
}

impl Site {
    /// A site that knows its pages by name and by the addresses that they are given. It can follow links, but has none of its own.
    pub(crate) fn of_names<'a>(
        root: &str,
        files: BTreeSet<String>,
        pages: impl Iterator<Item = (&'a str, &'a Vec<String>)>,
    ) -> Self {
        let mut site = Self::unread(root, Arc::new(Paths::new(files)));
        for (file, addresses) in pages {
            site.places.add(root, file, addresses);
        }
        site
    }

    /// What a path leads to from the page that it stands in; nothing also when that cannot be known.
    pub(crate) fn lead(&self, from: &str, path: &str) -> Option<Lead> {
        if path.is_empty() {
            return None;
        }
        let places = self.candidates(from, path);
        let is_hidden = !path.starts_with('/') && places.first() == Some(&None);
        for (index, place) in places.into_iter().enumerate() {
            if let Some(place) = place
                && let Some(target) = self.target(&place)
            {
                return Some(Lead { target, place, way: self.way(path, index), is_guess: false });
            }
        }
        if is_hidden {
            let place = normalise(path::parent(from), path)?;
            return Some(Lead {
                target: Target::Unseen(place.clone()),
                place,
                way: Way::Beside,
                is_guess: false,
            });
        }
        if self.is_unseen_asset(path) || places::is_generated(path) { None } else { self.guess(path) }
    }

    /// What stands at a place of the repository.
    pub(crate) fn target(&self, place: &str) -> Option<Target> {
        match self.at(place) {
            Found::Page(page) => Some(Target::File(page)),
            Found::Other if self.paths.files.contains(place) => Some(Target::File(place.to_owned())),
            Found::Other => Some(Target::Folder(place.to_owned())),
            Found::Nothing => None,
        }
    }

    /// What a program imports by `path`; the extension may be left out.
    pub(crate) fn import(&self, from: &str, path: &str) -> Option<Lead> {
        let place = normalise(path::parent(from), path).filter(|_| path.starts_with('.'))?;
        let named = format!("{place}.");
        let mut longer = self.paths.files.range(named.clone()..).take_while(|file| file.starts_with(&named));
        let file = self.paths.files.get(&place).or_else(|| longer.next())?;
        Some(Lead { target: Target::File(file.clone()), place, way: Way::Beside, is_guess: false })
    }

    /// The reading that made the candidate with this index.
    fn way(&self, path: &str, index: usize) -> Way {
        match (path.starts_with('/'), index) {
            (false, 0) => Way::Beside,
            (false, _) => Way::Address,
            (true, index) => match self.bases.get(index) {
                Some(base) => Way::From { prefix: "/".to_owned(), base: base.clone() },
                None => {
                    Way::From { prefix: format!("/{}/", path::name(&self.root)), base: self.root.clone() }
                }
            },
        }
    }

    fn guess(&self, path: &str) -> Option<Lead> {
        let (rest, base) = self.served_below(path)?;
        let prefix = path[..path.len() - rest.len()].to_owned();
        let place = normalise(base, rest)?;
        let target = self.target(&place)?;
        Some(Lead { target, place, way: Way::From { prefix, base: base.to_owned() }, is_guess: true })
    }
}
