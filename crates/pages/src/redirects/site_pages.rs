//! Indexes the pages of a site by their addresses, their names and their words.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::address::{segments, split_name, squash, squash_path, words};
use super::editions::Editions;

/// A page that a redirect can lead to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SitePage {
    /// The address on the site, such as `/guide/install`.
    pub route: String,
    pub title: Option<String>,
    /// The text of the headings, in their order.
    pub headings: Vec<String>,
}

/// The pages of a site.
#[derive(Debug, Default)]
pub struct SitePages {
    pub(crate) pages: Vec<SitePage>,
    by_route: HashMap<String, usize>,
    by_spelling: HashMap<String, Vec<usize>>,
    by_name: HashMap<String, Vec<usize>>,
    by_word: HashMap<String, Vec<usize>>,
    folder_names: HashSet<String>,
    pub(crate) editions: Editions,
}

impl SitePages {
    pub fn new(pages: Vec<SitePage>) -> Self {
        let mut site =
            Self { editions: Editions::new(pages.iter().map(|page| page.route.as_str())), ..Self::default() };
        let sorted: BTreeMap<String, SitePage> =
            pages.into_iter().map(|page| (page.route.clone(), page)).collect();
        for (route, page) in sorted {
            let index = site.pages.len();
            if is_shown(&route) {
                site.add_names(index, &page);
            }
            site.by_route.insert(route, index);
            site.pages.push(page);
        }
        site
    }

    fn add_names(&mut self, index: usize, page: &SitePage) {
        let route = page.route.as_str();
        let name = split_name(route).1;
        self.by_spelling.entry(squash_path(route)).or_default().push(index);
        self.by_name.entry(squash(name)).or_default().push(index);
        for word in page_words(page) {
            self.by_word.entry(word).or_default().push(index);
        }
        self.folder_names.extend(segments(split_name(route).0).map(squash));
    }

    pub(crate) fn has(&self, route: &str) -> bool {
        self.by_route.contains_key(route)
    }

    pub(crate) fn get(&self, route: &str) -> Option<&SitePage> {
        self.by_route.get(route).map(|index| &self.pages[*index])
    }

    /// Whether a folder of pages has this name.
    pub(crate) fn is_folder_name(&self, name: &str) -> bool {
        self.folder_names.contains(&squash(name))
    }

    /// The pages whose address differs from `path` only in case and punctuation.
    pub(crate) fn spelled_like(&self, path: &str) -> impl Iterator<Item = &SitePage> {
        self.select(self.by_spelling.get(&squash_path(path)))
    }

    /// The pages whose last name differs from `name` only in case and punctuation.
    pub(crate) fn named(&self, name: &str) -> impl Iterator<Item = &SitePage> {
        self.select(self.by_name.get(&squash(name)))
    }

    pub(crate) fn with_word(&self, word: &str) -> impl Iterator<Item = &SitePage> {
        self.select(self.by_word.get(word))
    }

    /// How much a word says: little if many pages have it.
    pub(crate) fn weight(&self, word: &str) -> f64 {
        let count = self.by_word.get(word).map_or(0, Vec::len);
        ((self.pages.len() + 1) as f64 / (count + 1) as f64).ln()
    }

    fn select<'a>(&'a self, found: Option<&'a Vec<usize>>) -> impl Iterator<Item = &'a SitePage> {
        found.into_iter().flatten().map(|index| &self.pages[*index])
    }
}

/// The words of a page's address and title.
pub(crate) fn page_words(page: &SitePage) -> HashSet<String> {
    words(&page.route).chain(words(page.title.as_deref().unwrap_or_default())).collect()
}

/// Whether a page can be read by itself. Names that begin with a dot or `_` are files for tools and parts of pages.
pub(crate) fn is_shown(route: &str) -> bool {
    !segments(route).any(|name| name.starts_with(['.', '_']) || name == "snippets")
}
