//! The pages that a site has, as the detectors look them up.

use std::collections::{HashMap, HashSet};

use crate::kinds::meaning::{Meaning, edition_prefixes, words};

/// The pages of a site by path, by meaning and by their words.
#[derive(Debug, Default)]
pub struct SitePages {
    routes: HashSet<String>,
    by_meaning: HashMap<String, String>,
    /// Versions and languages that pages are in, so they aren't old prefixes.
    editions: HashSet<String>,
    stems: HashSet<String>,
    first_segments: HashSet<String>,
}

impl SitePages {
    /// Takes the served path of each page, such as `/guides/install`.
    pub fn new(routes: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let mut site = Self::default();
        for route in routes {
            site.add_names(route.as_ref());
            site.routes.insert(without_trailing_slash(route.as_ref()).to_owned());
        }
        let mut routes: Vec<_> = site.routes.iter().cloned().collect();
        routes.sort_unstable_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
        for route in routes {
            let key = Meaning::of(&route).key(&site.editions);
            site.by_meaning.entry(key).or_insert(route);
        }
        site
    }

    pub fn is_empty(&self) -> bool {
        self.routes.is_empty()
    }

    pub fn contains(&self, path: &str) -> bool {
        self.routes.contains(without_trailing_slash(path))
    }

    /// What a path means, as a key that all its spellings share.
    pub(crate) fn key(&self, meaning: &Meaning) -> String {
        meaning.key(&self.editions)
    }

    /// The page that has a meaning.
    pub(crate) fn page_with_key(&self, key: &str) -> Option<&str> {
        self.by_meaning.get(key).map(String::as_str)
    }

    pub(crate) fn has_word_of(&self, key: &str) -> bool {
        words(key).any(|word| self.stems.contains(word.stem()))
    }

    /// Whether pages are below a first segment: then the site is about it.
    pub(crate) fn has_first_segment(&self, segment: &str) -> bool {
        self.first_segments.contains(segment)
    }

    fn add_names(&mut self, route: &str) {
        let meaning = Meaning::of(route);
        self.editions.extend(edition_prefixes(&meaning));
        self.first_segments.extend(meaning.segments().first().cloned());
        let key = meaning.key(&HashSet::new());
        self.stems.extend(words(&key).map(|word| word.stem().to_owned()));
    }
}

fn without_trailing_slash(path: &str) -> &str {
    match path.trim_end_matches('/') {
        "" => "/",
        path => path,
    }
}
