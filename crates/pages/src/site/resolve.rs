//! Resolves a link to its file, and reports how its path was read.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{LinkOutcome, Site};
use crate::path;
use crate::paths::Paths;
use crate::served_paths;

/// The target of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    File(String),
    /// A folder without an index page, or a page that is a component.
    Folder(String),
    /// A repository path outside of the docs folder.
    OutsideDocs(String),
}

/// What the path of a link is relative to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LinkBase {
    /// The folder of its page.
    PageFolder,
    /// The address of its page, as if that were a folder.
    PageAddress,
    /// `folder`, which is written as `prefix`.
    Prefix { prefix: String, folder: String },
}

/// A link that leads to a target.
#[derive(Debug)]
pub(crate) struct ResolvedLink {
    pub(crate) target: Target,
    /// The repository path that the link names, in the link's spelling.
    pub(crate) path: String,
    pub(crate) base: LinkBase,
    /// Whether the link is right only if the site is served below a prefix that the tree doesn't show.
    pub(crate) is_guess: bool,
}

impl Site {
    /// A site that knows its pages by name and by their addresses. It can resolve links, but has none of its own.
    pub(crate) fn from_names<'a>(
        root: &str,
        files: BTreeSet<String>,
        pages: impl Iterator<Item = (&'a str, &'a Vec<String>)>,
    ) -> Self {
        let mut site = Self::new(root, Arc::new(Paths::new(files)));
        for (file, addresses) in pages {
            site.served_paths.add(root, file, addresses);
        }
        site
    }

    /// Resolves a path on the page `from`. `None` also when its target can't be known.
    pub(crate) fn resolve(&self, from: &str, path: &str) -> Option<ResolvedLink> {
        if path.is_empty() {
            return None;
        }
        let candidates = self.candidate_paths(from, path);
        let is_outside = !path.starts_with('/') && candidates.first() == Some(&None);
        for (index, candidate) in candidates.into_iter().enumerate() {
            if let Some(candidate) = candidate
                && let Some(target) = self.target_at(&candidate)
            {
                let base = self.base_of_candidate(path, index);
                return Some(ResolvedLink { target, path: candidate, base, is_guess: false });
            }
        }
        if is_outside {
            let path = path::normalize(path::parent(from), path)?;
            let target = Target::OutsideDocs(path.clone());
            return Some(ResolvedLink { target, path, base: LinkBase::PageFolder, is_guess: false });
        }
        match self.is_outside_asset(path) || served_paths::is_generated(path) {
            true => None,
            false => self.resolve_without_prefix(path),
        }
    }

    /// The target at a repository path.
    pub(crate) fn target_at(&self, path: &str) -> Option<Target> {
        match self.outcome_at(path) {
            LinkOutcome::Page(page) => Some(Target::File(page)),
            LinkOutcome::Other if self.paths.files.contains(path) => Some(Target::File(path.to_owned())),
            LinkOutcome::Other => Some(Target::Folder(path.to_owned())),
            LinkOutcome::Missing => None,
        }
    }

    /// Resolves an import of a script. Its path can be without an extension.
    pub(crate) fn resolve_import(&self, from: &str, path: &str) -> Option<ResolvedLink> {
        let path = path::normalize(path::parent(from), path).filter(|_| path.starts_with('.'))?;
        let prefix = format!("{path}.");
        let mut longer =
            self.paths.files.range(prefix.clone()..).take_while(|file| file.starts_with(&prefix));
        let file = self.paths.files.get(&path).or_else(|| longer.next())?;
        let target = Target::File(file.clone());
        Some(ResolvedLink { target, path, base: LinkBase::PageFolder, is_guess: false })
    }

    /// The base of the candidate path with this index.
    fn base_of_candidate(&self, path: &str, index: usize) -> LinkBase {
        match (path.starts_with('/'), index) {
            (false, 0) => LinkBase::PageFolder,
            (false, _) => LinkBase::PageAddress,
            (true, index) => match self.bases.get(index) {
                Some(folder) => LinkBase::Prefix { prefix: "/".to_owned(), folder: folder.clone() },
                None => {
                    let prefix = format!("/{}/", path::name(&self.root));
                    LinkBase::Prefix { prefix, folder: self.root.clone() }
                }
            },
        }
    }

    fn resolve_without_prefix(&self, path: &str) -> Option<ResolvedLink> {
        let (rest, folder) = self.without_prefix(path)?;
        let prefix = path[..path.len() - rest.len()].to_owned();
        let path = path::normalize(folder, rest)?;
        let target = self.target_at(&path)?;
        let base = LinkBase::Prefix { prefix, folder: folder.to_owned() };
        Some(ResolvedLink { target, path, base, is_guess: true })
    }
}
