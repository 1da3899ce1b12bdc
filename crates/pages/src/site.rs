//! All pages together, so that links between them can be followed.
//!
//! Generators differ in how they read a link. A link is held to be good when any of the usual ways
//! leads somewhere: a false alarm would have a good link "repaired".

pub(crate) mod lead;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use crate::WordList;
use crate::destination::Destination;
use crate::explicit;
use crate::files::{self, Files, FilesError};
use crate::ground::Paths;
use crate::index::Index;
use crate::known::{self, PageInfo};
use crate::markdown::Page;
use crate::path;
use crate::places::{self, Places};
use crate::route;

/// Folders that `/` may stand for when no docs folder is set; the last ones hold images and the like.
const SITE_FOLDERS: WordList = WordList(
    "docs doc content content/docs src src/content/docs src/pages pages website/docs website/src/pages static \
     public docs/static docs/public docs/.vuepress/public website/static",
);

/// Sites are served below this many names at most: `/acme/docs`.
const MAX_SERVED_BELOW: usize = 2;

/// Every page of a tree, with what links can refer to in it.
pub struct Site {
    pub(crate) root: String,
    paths: Arc<Paths>,
    pub(crate) index: Index,
    pub(crate) pages: BTreeMap<String, PageInfo>,
    places: Places,
    /// Anchors that lead to their page from every other without its name.
    pub(crate) targets: HashSet<String>,
    /// The folders of `/` that are there, the docs folder first.
    pub(crate) bases: Vec<String>,
    /// How many absolute links are broken, when they are too many to be believed.
    pub(crate) unjudged: usize,
}

/// What following a link led to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Page(String),
    /// An asset, a folder, or something that cannot be judged from here.
    Other,
    Nothing,
}

impl Site {
    /// Reads every page. Pages that are no text are left out; links to them are good.
    pub fn read(files: &dyn Files) -> Result<Self, FilesError> {
        let mut site = Self::sketch(files);
        site.paths.files.iter().for_each(|file| site.index.add_file(file));
        for file in route::pages(files) {
            let Some(text) = files::text(files, &file)? else { continue };
            let page = site.add(&file, &text);
            site.index.add_page(&file, page.title(&text).as_deref(), &page.headings);
        }
        site.judge();
        Ok(site)
    }

    /// A site of which the files are known by name alone. Until a page is added, links to it are good,
    /// whatever their anchor.
    pub(crate) fn sketch(files: &dyn Files) -> Self {
        Self::unread(files.root(), files.paths())
    }

    fn unread(root: &str, paths: Arc<Paths>) -> Self {
        Self {
            bases: bases(root, &paths.folders),
            root: root.to_owned(),
            paths,
            index: Index::default(),
            pages: BTreeMap::new(),
            places: Places::default(),
            targets: HashSet::new(),
            unjudged: 0,
        }
    }

    /// Decides whether absolute links can be judged, once all pages are added.
    pub(crate) fn judge(&mut self) {
        self.unjudged = self.count_unbelievable();
    }

    pub(crate) fn add(&mut self, file: &str, text: &str) -> Page {
        let page = Page::parse(file, text);
        self.add_names(file, text, &page.front.addresses);
        self.pages.insert(file.to_owned(), PageInfo::new(&page, text));
        page
    }

    /// Learns under which names other pages may refer to this one.
    pub(crate) fn add_names(&mut self, file: &str, text: &str, addresses: &[String]) {
        self.targets.extend(explicit::targets(text).map(str::to_owned));
        self.places.add(&self.root, file, addresses);
    }

    /// The files that say which pages there are.
    pub(crate) fn navigation(&self) -> &[String] {
        self.paths.navigation()
    }

    pub(crate) fn files(&self) -> &BTreeSet<String> {
        &self.paths.files
    }

    pub(crate) fn has_folder(&self, folder: &str) -> bool {
        self.paths.folders.contains(folder)
    }

    pub(crate) fn has_anchor(&self, page: &str, anchor: &str) -> bool {
        let anchor = anchor.strip_prefix("user-content-").unwrap_or(anchor);
        known::is_made_by_the_viewer(anchor)
            || self.pages.get(page).is_none_or(|page| page.has_anchor(anchor))
    }

    /// Follows a destination from the page that it stands in.
    pub(crate) fn follow(&self, from: &str, to: &Destination) -> Found {
        if to.path.is_empty() {
            return Found::Page(from.to_owned());
        }
        let mut outside = false;
        for candidate in self.candidates(from, &to.path) {
            match candidate {
                Some(place) => match self.at(&place) {
                    Found::Nothing => {}
                    found => return found,
                },
                None => outside = true,
            }
        }
        let unseen = outside || self.is_unseen_asset(&to.path) || places::is_generated(&to.path);
        if unseen || self.served_below(&to.path).is_some() { Found::Other } else { Found::Nothing }
    }

    /// A site may be served below a path that is not in the tree: `/acme/docs/guide` is then `guide`. Gives
    /// what is left of such a path, and the folder that it leads on from.
    fn served_below<'a>(&self, path: &'a str) -> Option<(&'a str, &str)> {
        let mut rest = path.strip_prefix('/')?;
        for _ in 0..MAX_SERVED_BELOW {
            rest = rest.split_once('/').map(|(_, rest)| rest)?;
            if rest.trim_matches('/').is_empty() {
                return None;
            }
            let leads =
                |base: &&String| normalise(base, rest).is_some_and(|place| self.at(&place) != Found::Nothing);
            if let Some(base) = self.bases.iter().find(leads) {
                return Some((rest, base));
            }
        }
        None
    }

    /// Whether `/api/…` may be made from somewhere else than pages: no folder of that name is there.
    pub(crate) fn is_perhaps_generated(&self, path: &str) -> bool {
        let is_api = path == "/api" || path.starts_with("/api/");
        is_api && !self.bases.iter().any(|base| self.paths.folders.contains(&path::join(base, "api")))
    }

    /// The places in the repository that a path may mean; `None` is one outside of what can be seen.
    pub(crate) fn candidates(&self, from: &str, path: &str) -> Vec<Option<String>> {
        if let Some(from_root) = path.strip_prefix('/') {
            let mut places: Vec<_> = self.bases.iter().map(|base| normalise(base, path)).collect();
            // A site served below `/docs` has links that begin with it.
            let served = path::name(&self.root);
            let rest =
                from_root.strip_prefix(served).filter(|rest| !served.is_empty() && rest.starts_with('/'));
            if let Some(rest) = rest {
                places.push(normalise(&self.root, rest));
            }
            return places;
        }
        let mut places = vec![self.visible(normalise(path::parent(from), path))];
        // Without an extension the link may be meant from the page's own address, which ends in a slash.
        if route::stem(path).is_none()
            && let Some(page) = route::stem(from)
        {
            places.push(self.visible(normalise(page, path)));
        }
        places
    }

    fn visible(&self, place: Option<String>) -> Option<String> {
        place.filter(|place| *place == self.root || path::below(place, &self.root).is_some())
    }

    /// What stands at a place of the repository, in any way that sites spell it.
    pub(crate) fn at(&self, place: &str) -> Found {
        if self.paths.files.contains(place) {
            return if route::is_page(place) { Found::Page(place.to_owned()) } else { Found::Other };
        }
        let bare = place.strip_suffix(".html").or_else(|| place.strip_suffix(".htm"));
        let bare = bare.map_or(place, |bare| if route::is_index(bare) { path::parent(bare) } else { bare });
        if let Some(file) = self.page_named(bare) {
            return Found::Page(file);
        }
        if self.paths.folders.contains(bare) || bare.is_empty() { Found::Other } else { Found::Nothing }
    }

    fn page_named(&self, place: &str) -> Option<String> {
        let is_folder = |folder: &str| folder.is_empty() || self.paths.folders.contains(folder);
        // Most links that lead nowhere are done with here, before any spelling of them is tried.
        let named = [""].iter().filter(|_| is_folder(path::parent(place)));
        let index = ["/index", "/README", "/readme", "/_index", "/Readme"].iter();
        let spelled = named
            .chain(index.filter(|_| is_folder(place)))
            .flat_map(|name| route::extensions().map(move |extension| format!("{place}{name}{extension}")));
        let file = spelled
            .map(|file| file.trim_start_matches('/').to_owned())
            .find(|file| self.paths.files.contains(file));
        file.or_else(|| self.places.page_at(place).cloned())
    }

    /// Images served from a folder beside the docs folder cannot be seen from inside it.
    fn is_unseen_asset(&self, path: &str) -> bool {
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

/// `path` from `folder` with `.` and `..` worked out; nothing when it leaves the repository.
pub(crate) fn normalise(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}
