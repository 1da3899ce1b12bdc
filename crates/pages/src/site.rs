//! Holds all pages of a tree, and follows the links between them.
//!
//! Generators differ in how they read a link. A link is good when any common reading leads to a file: a false alarm would
//! break a good link by a "repair".

pub(crate) mod resolve;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use crate::WordList;
use crate::destination::Destination;
use crate::explicit_ids;
use crate::files::{self, Files, FilesError};
use crate::index::Index;
use crate::markdown::Page;
use crate::page_info::{self, PageInfo};
use crate::page_list;
use crate::path;
use crate::paths::Paths;
use crate::prefetch::prefetch;
use crate::route;
use crate::served_paths::{self, ServedPaths};

/// Folders that `/` can stand for when no docs folder is set. The last ones contain assets.
const SITE_FOLDERS: WordList = WordList(
    "docs doc content content/docs src src/content/docs src/pages pages website/docs website/src/pages static \
     public docs/static docs/public docs/.vuepress/public website/static",
);

/// The longest prefix of names that a site is served below: `/acme/docs`.
const MAX_PREFIX_NAMES: usize = 2;

/// The pages of a tree, with their links and anchors.
pub struct Site {
    pub(crate) root: String,
    paths: Arc<Paths>,
    pub(crate) index: Index,
    pub(crate) pages: BTreeMap<String, PageInfo>,
    served_paths: ServedPaths,
    /// Anchors that every page can link to without the name of their page.
    pub(crate) targets: HashSet<String>,
    /// The existing folders that `/` can stand for, the docs folder first.
    pub(crate) bases: Vec<String>,
    /// The number of broken absolute links, if there are implausibly many. They are then not reported.
    pub(crate) unchecked: usize,
}

/// The outcome of following a link.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum LinkOutcome {
    Page(String),
    /// An asset, a folder, or a target that can't be checked.
    Other,
    Missing,
}

impl Site {
    /// Reads every page. Pages that are not text are skipped, and links to them are good.
    pub fn read(files: &dyn Files) -> Result<Self, FilesError> {
        let mut site = Self::with_names(files);
        site.paths.files.iter().for_each(|file| site.index.add_file(file));
        let pages = page_list::pages(files);
        prefetch(files, &pages)?;
        for file in pages {
            let Some(text) = files::read_text(files, &file)? else { continue };
            let page = site.add_page(&file, &text);
            site.index.add_page(&file, page.title(&text).as_deref(), &page.headings);
        }
        site.decide_unchecked();
        Ok(site)
    }

    /// A site that only knows the names of its files. Until a page is added, links to it are good, with any anchor.
    pub(crate) fn with_names(files: &dyn Files) -> Self {
        Self::new(files.root(), files.paths())
    }

    fn new(root: &str, paths: Arc<Paths>) -> Self {
        Self {
            bases: bases(root, &paths.folders),
            root: root.to_owned(),
            paths,
            index: Index::default(),
            pages: BTreeMap::new(),
            served_paths: ServedPaths::default(),
            targets: HashSet::new(),
            unchecked: 0,
        }
    }

    /// Parses and adds a page.
    pub(crate) fn add_page(&mut self, file: &str, text: &str) -> Page {
        let page = Page::parse(file, text);
        self.add_names(file, text, &page.front.addresses);
        self.pages.insert(file.to_owned(), PageInfo::new(&page, text));
        page
    }

    /// Adds the names by which other pages can refer to this one.
    pub(crate) fn add_names(&mut self, file: &str, text: &str, addresses: &[String]) {
        self.targets.extend(explicit_ids::myst_targets(text).map(str::to_owned));
        self.served_paths.add(&self.root, file, addresses);
    }

    pub(crate) fn navigation_files(&self) -> &[String] {
        self.paths.navigation_files()
    }

    pub(crate) fn files(&self) -> &BTreeSet<String> {
        &self.paths.files
    }

    pub(crate) fn has_folder(&self, folder: &str) -> bool {
        self.paths.folders.contains(folder)
    }

    pub(crate) fn has_anchor(&self, page: &str, anchor: &str) -> bool {
        let anchor = anchor.strip_prefix("user-content-").unwrap_or(anchor);
        page_info::is_implicit_anchor(anchor)
            || self.pages.get(page).is_none_or(|page| page.has_anchor(anchor))
    }

    /// Follows a destination on the page `from`.
    pub(crate) fn follow(&self, from: &str, to: &Destination) -> LinkOutcome {
        if to.path.is_empty() {
            return LinkOutcome::Page(from.to_owned());
        }
        let mut is_outside = false;
        for candidate in self.candidate_paths(from, &to.path) {
            match candidate {
                Some(path) => match self.outcome_at(&path) {
                    LinkOutcome::Missing => {}
                    outcome => return outcome,
                },
                None => is_outside = true,
            }
        }
        let is_unknown =
            is_outside || self.is_outside_asset(&to.path) || served_paths::is_generated(&to.path);
        match is_unknown || self.without_prefix(&to.path).is_some() {
            true => LinkOutcome::Other,
            false => LinkOutcome::Missing,
        }
    }

    /// A site can be served below a prefix that is not in the tree: `/acme/docs/guide` is then `guide`. Returns the path
    /// without such a prefix, and the folder that it is relative to.
    fn without_prefix<'a>(&self, path: &'a str) -> Option<(&'a str, &str)> {
        let mut rest = path.strip_prefix('/')?;
        for _ in 0..MAX_PREFIX_NAMES {
            rest = rest.split_once('/').map(|(_, rest)| rest)?;
            if rest.trim_matches('/').is_empty() {
                return None;
            }
            let exists = |base: &&String| {
                path::normalize(base, rest).is_some_and(|path| self.outcome_at(&path) != LinkOutcome::Missing)
            };
            if let Some(base) = self.bases.iter().find(exists) {
                return Some((rest, base));
            }
        }
        None
    }

    /// Whether a path can be generated from something other than pages: `/api/…` without a folder of that name.
    pub(crate) fn may_be_generated(&self, path: &str) -> bool {
        let is_api = path == "/api" || path.starts_with("/api/");
        is_api && !self.bases.iter().any(|base| self.paths.folders.contains(&path::join(base, "api")))
    }

    /// The repository paths that a link's path can stand for. `None` is a path outside of the docs folder.
    pub(crate) fn candidate_paths(&self, from: &str, path: &str) -> Vec<Option<String>> {
        if let Some(from_root) = path.strip_prefix('/') {
            let mut paths: Vec<_> = self.bases.iter().map(|base| path::normalize(base, path)).collect();
            // A site served below `/docs` has links that begin with it.
            let served = path::name(&self.root);
            let rest =
                from_root.strip_prefix(served).filter(|rest| !served.is_empty() && rest.starts_with('/'));
            if let Some(rest) = rest {
                paths.push(path::normalize(&self.root, rest));
            }
            return paths;
        }
        let mut paths = vec![self.within_root(path::normalize(path::parent(from), path))];
        // Without an extension, the link can be relative to the page's own address, which ends with a slash.
        if route::stem(path).is_none()
            && let Some(page) = route::stem(from)
        {
            paths.push(self.within_root(path::normalize(page, path)));
        }
        paths
    }

    fn within_root(&self, path: Option<String>) -> Option<String> {
        path.filter(|path| *path == self.root || path::below(path, &self.root).is_some())
    }

    /// The outcome of a link to a repository path, in any spelling that sites use.
    pub(crate) fn outcome_at(&self, path: &str) -> LinkOutcome {
        if self.paths.files.contains(path) {
            return if route::is_page(path) {
                LinkOutcome::Page(path.to_owned())
            } else {
                LinkOutcome::Other
            };
        }
        let bare = path.strip_suffix(".html").or_else(|| path.strip_suffix(".htm"));
        let bare = bare.map_or(path, |bare| if route::is_index(bare) { path::parent(bare) } else { bare });
        if let Some(file) = self.page_named(bare) {
            return LinkOutcome::Page(file);
        }
        if self.paths.folders.contains(bare) || bare.is_empty() {
            LinkOutcome::Other
        } else {
            LinkOutcome::Missing
        }
    }

    fn page_named(&self, name: &str) -> Option<String> {
        let is_folder = |folder: &str| folder.is_empty() || self.paths.folders.contains(folder);
        // This excludes most broken links before any spelling of them is tried.
        let plain = [""].iter().filter(|_| is_folder(path::parent(name)));
        let index = ["/index", "/README", "/readme", "/_index", "/Readme"].iter();
        let spellings = plain
            .chain(index.filter(|_| is_folder(name)))
            .flat_map(|index| route::extensions().map(move |extension| format!("{name}{index}{extension}")));
        let file = spellings
            .map(|file| file.trim_start_matches('/').to_owned())
            .find(|file| self.paths.files.contains(file));
        file.or_else(|| self.served_paths.page_at(name).cloned())
    }

    /// Whether a path can be an asset outside of the docs folder. Such assets are not part of the tree.
    fn is_outside_asset(&self, path: &str) -> bool {
        let is_asset =
            path::name(path).contains('.') && route::stem(path).is_none() && !path.ends_with(".html");
        path.starts_with('/') && !self.root.is_empty() && is_asset
    }
}

fn bases(root: &str, folders: &HashSet<String>) -> Vec<String> {
    let mut bases = vec![root.to_owned()];
    if root.is_empty() {
        bases.extend(SITE_FOLDERS.iter().filter(|folder| folders.contains(*folder)).map(str::to_owned));
    }
    bases
}
