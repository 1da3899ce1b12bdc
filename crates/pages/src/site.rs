//! All pages together, so that links between them can be followed.
//!
//! Generators differ in how they read a link. A link is held to be good when any of the usual ways
//! leads somewhere: a false alarm would have a good link "repaired".

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::anchors::Heading;
use crate::destination::Destination;
use crate::files::{Files, FilesError};
use crate::index::Index;
use crate::markdown::{Link, Page};
use crate::path;
use crate::route;
use crate::splice::line_of;

/// Folders that `/` may stand for when no docs folder is set; the last ones hold images and the like.
const SITE_FOLDERS: &[&str] = &[
    "docs",
    "doc",
    "content",
    "content/docs",
    "src",
    "src/content/docs",
    "src/pages",
    "pages",
    "website/docs",
    "static",
    "public",
    "docs/static",
    "docs/public",
    "docs/.vuepress/public",
    "website/static",
];

/// Every page of a tree, with what links can refer to in it.
pub struct Site {
    pub(crate) root: String,
    files: BTreeSet<String>,
    folders: HashSet<String>,
    pub(crate) index: Index,
    pub(crate) pages: BTreeMap<String, PageInfo>,
    /// Places that differ from the file's path: by a `slug` in the front matter, or by numbers in front of names.
    places: HashMap<String, String>,
    /// The folders of `/` that are there, the docs folder first.
    pub(crate) bases: Vec<String>,
}

/// What is remembered of a page.
pub(crate) struct PageInfo {
    pub(crate) headings: Vec<Heading>,
    anchors: HashSet<String>,
    includes_pages: bool,
    pub(crate) links: Vec<PageLink>,
}

/// A link with its place in the file.
pub(crate) struct PageLink {
    pub(crate) link: Link,
    pub(crate) raw: String,
    pub(crate) line: usize,
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
        let root = files.root().to_owned();
        let paths: BTreeSet<String> = files.list()?.into_iter().collect();
        let folders: HashSet<String> =
            paths.iter().flat_map(|file| path::ancestors(file)).map(str::to_owned).collect();
        let bases = bases(&root, &folders);
        let mut index = Index::default();
        paths.iter().for_each(|file| index.add_file(file));
        let (pages, places) = (BTreeMap::new(), HashMap::new());
        let mut site = Self { root, files: paths, folders, index, pages, places, bases };
        for file in route::pages(files)? {
            match files.read(&file) {
                Ok(text) => site.add(file, &text),
                Err(FilesError::NotText { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(site)
    }

    fn add(&mut self, file: String, text: &str) {
        let page = Page::parse(&file, text);
        if let Some(place) = route::place(&file) {
            let bare = route::without_numbers(place);
            if bare != place {
                self.places.entry(bare).or_insert_with(|| file.clone());
            }
        }
        for key in ["slug", "permalink", "url"] {
            if let Some(slug) = page.front.get(text, key) {
                let base = if slug.starts_with('/') { self.root.as_str() } else { path::parent(&file) };
                self.places.insert(path::join(base, slug.trim_matches('/')), file.clone());
            }
        }
        self.index.add_page(&file, page.title(text).as_deref(), &page.headings);
        self.pages.insert(file, PageInfo::new(&page, text));
    }

    pub(crate) fn has_anchor(&self, page: &str, anchor: &str) -> bool {
        let ignored = anchor.is_empty() || anchor == "top" || anchor.starts_with(":~:");
        ignored
            || self.pages.get(page).is_none_or(|page| page.includes_pages || page.anchors.contains(anchor))
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
        if outside || self.is_unseen_asset(&to.path) { Found::Other } else { Found::Nothing }
    }

    /// The places in the repository that a path may mean; `None` is one outside of what can be seen.
    fn candidates(&self, from: &str, path: &str) -> Vec<Option<String>> {
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
    fn at(&self, place: &str) -> Found {
        if self.files.contains(place) {
            return if self.pages.contains_key(place) { Found::Page(place.to_owned()) } else { Found::Other };
        }
        let bare = place.strip_suffix(".html").or_else(|| place.strip_suffix(".htm"));
        let bare = bare.map_or(place, |bare| if route::is_index(bare) { path::parent(bare) } else { bare });
        if let Some(file) = self.page_named(bare) {
            return Found::Page(file);
        }
        if self.folders.contains(bare) || bare.is_empty() { Found::Other } else { Found::Nothing }
    }

    fn page_named(&self, place: &str) -> Option<String> {
        let names = ["", "/index", "/README", "/readme", "/_index", "/Readme"];
        let spelled = names.iter().flat_map(|name| {
            route::EXTENSIONS.iter().map(move |extension| format!("{place}{name}{extension}"))
        });
        let file = spelled
            .map(|file| file.trim_start_matches('/').to_owned())
            .find(|file| self.files.contains(file));
        file.or_else(|| self.places.get(place).cloned())
    }

    /// Images served from a folder beside the docs folder cannot be seen from inside it.
    fn is_unseen_asset(&self, path: &str) -> bool {
        let is_asset =
            path::name(path).contains('.') && route::stem(path).is_none() && !path.ends_with(".html");
        path.starts_with('/') && !self.root.is_empty() && is_asset
    }
}

impl PageInfo {
    fn new(page: &Page, text: &str) -> Self {
        let anchors = page.headings.iter().map(|heading| &heading.anchor).chain(&page.ids).cloned().collect();
        Self {
            headings: page.headings.clone(),
            anchors,
            includes_pages: page.includes_pages,
            links: page_links(page, text),
        }
    }
}

/// Lines are counted from one link to the next: a page may have as many links as lines.
fn page_links(page: &Page, text: &str) -> Vec<PageLink> {
    let (mut line, mut counted) = (1, 0);
    let place = |link: &Link| {
        line += line_of(&text[counted..], link.range.start - counted) - 1;
        counted = link.range.start;
        PageLink { raw: text[link.range.clone()].to_owned(), line, link: link.clone() }
    };
    page.links.iter().map(place).collect()
}

fn bases(root: &str, folders: &HashSet<String>) -> Vec<String> {
    let mut bases = vec![root.to_owned()];
    if root.is_empty() {
        bases.extend(
            SITE_FOLDERS
                .iter()
                .filter(|folder| folders.contains(**folder))
                .map(|folder| (*folder).to_owned()),
        );
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
