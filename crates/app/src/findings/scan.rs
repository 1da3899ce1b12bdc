//! What a scan of a project's docs found, as the store keeps it.

use std::collections::{BTreeSet, HashSet};

use findings::SitePages;
use findings::kinds::dead_link::DeadLink;
use findings::kinds::moved::Rename;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

/// The pages that a scan keeps. Findings of larger sites miss the rest.
const MAX_PAGES: usize = 50_000;
/// Dead links, redirects and renames that a scan keeps of each.
const MAX_ENTRIES: usize = 20_000;

/// The docs at one commit. Paths are those at which the site serves its pages.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SiteScan {
    /// The docs folder that the paths are relative to.
    pub docs_path: Option<String>,
    /// The globs of files outside the docs folder that the scan could read.
    pub allow_paths: Vec<String>,
    /// The folder of the repository that `/` of the site stands for.
    pub root: String,
    pub pages: Vec<ScannedPage>,
    /// The paths that the site redirects, and where they lead: a path, or an address on another site.
    pub redirects: Vec<(String, String)>,
    /// A page, and the path of a page that doesn't exist but that it links to.
    pub dead_links: Vec<(String, String)>,
    /// The day, the old path and the new path.
    pub renames: Vec<(Date, String, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScannedPage {
    pub path: String,
    pub file: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The day of the last change, as far as the history is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_on: Option<Date>,
}

impl SiteScan {
    /// Cuts every list to its bound.
    pub fn bounded(mut self) -> Self {
        self.pages.truncate(MAX_PAGES);
        self.redirects.truncate(MAX_ENTRIES);
        self.dead_links.truncate(MAX_ENTRIES);
        self.renames.truncate(MAX_ENTRIES);
        self
    }

    /// The same scan, with paths below the prefix that the site is served at.
    pub(super) fn below(mut self, prefix: &str) -> Self {
        if prefix.is_empty() {
            return self;
        }
        let paths = self.pages.iter_mut().map(|page| &mut page.path);
        let links = self.dead_links.iter_mut().chain(&mut self.redirects).flat_map(|(from, to)| [from, to]);
        let renames = self.renames.iter_mut().flat_map(|(_, from, to)| [from, to]);
        for path in paths.chain(links).chain(renames).filter(|path| path.starts_with('/')) {
            *path = below(prefix, path);
        }
        self
    }

    pub(super) fn site_pages(&self) -> SitePages {
        SitePages::new(self.pages.iter().map(|page| &page.path))
    }

    pub(super) fn dead_links(&self) -> Vec<DeadLink> {
        let link =
            |(page, target): &(String, String)| DeadLink { page: page.clone(), target: target.clone() };
        self.dead_links.iter().map(link).collect()
    }

    pub(super) fn renames(&self) -> Vec<Rename> {
        let rename =
            |(on, from, to): &(Date, String, String)| Rename { on: *on, from: from.clone(), to: to.clone() };
        self.renames.iter().map(rename).collect()
    }

    /// The redirects that lead to no page of the site, and to no other redirect. Patterns and other sites can't be checked.
    pub(super) fn broken_redirects(&self, site: &SitePages) -> HashSet<String> {
        if site.is_empty() {
            return HashSet::new();
        }
        let sources: HashSet<&str> = self.redirects.iter().map(|(from, _)| from.as_str()).collect();
        let is_plain = |path: &str| path.starts_with('/') && !path.contains(['*', ':', '$', '#', '?', '.']);
        let is_broken = |(from, to): &&(String, String)| {
            is_plain(from) && is_plain(to) && !site.contains(to) && !sources.contains(to.as_str())
        };
        self.redirects.iter().filter(is_broken).map(|(from, _)| from.clone()).collect()
    }

    /// The prefix below which the site is served, such as `/docs`, by what readers view. Without a better one, the empty
    /// prefix.
    pub(super) fn prefix<'a>(&self, viewed: impl Iterator<Item = &'a str> + Clone) -> String {
        let pages: HashSet<&str> = self.pages.iter().map(|page| page.path.as_str()).collect();
        let matches = |prefix: &str| {
            let rest = |path: &'a str| match path.strip_prefix(prefix)? {
                "" => Some("/"),
                rest => rest.starts_with('/').then_some(rest),
            };
            viewed.clone().filter(|path| rest(path).is_some_and(|path| pages.contains(path))).count()
        };
        let candidates: BTreeSet<&str> = viewed.clone().flat_map(prefixes).collect();
        let none = viewed.clone().filter(|path| pages.contains(path)).count();
        let best =
            candidates.into_iter().map(|prefix| (matches(prefix), prefix)).max_by_key(|(count, _)| *count);
        best.filter(|(count, _)| *count > none).map_or_else(String::new, |(_, prefix)| prefix.to_owned())
    }
}

/// A path of the site, below the prefix that the site is served at.
pub(super) fn below(prefix: &str, path: &str) -> String {
    if path == "/" && !prefix.is_empty() { prefix.to_owned() } else { format!("{prefix}{path}") }
}

/// The first folder of a path, and the first two: `/docs` and `/docs/v2` of `/docs/v2/install`.
fn prefixes(path: &str) -> impl Iterator<Item = &str> {
    let slashes = path.char_indices().skip(1).filter(|(_, c)| *c == '/').map(|(at, _)| at);
    slashes.take(2).chain(std::iter::once(path.len())).take(2).map(|end| &path[..end]).filter(|p| p.len() > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(pages: &[&str]) -> SiteScan {
        let page = |path: &&str| ScannedPage {
            path: (*path).to_owned(),
            file: String::new(),
            title: None,
            changed_on: None,
        };
        SiteScan { pages: pages.iter().map(page).collect(), ..SiteScan::default() }
    }

    #[test]
    fn the_prefix_is_that_of_most_viewed_pages() {
        #[track_caller]
        fn check(viewed: &[&str], expected: &str) {
            let scan = scan(&["/", "/guide/install", "/api", "/docs/about"]);
            assert_eq!(scan.prefix(viewed.iter().copied()), expected);
        }
        check(&["/guide/install", "/api", "/x/y"], "");
        check(&["/docs/guide/install", "/docs/api", "/docs"], "/docs");
        check(&["/acme/docs/guide/install", "/acme/docs/api"], "/acme/docs");
        check(&["/docs/about"], "");
        check(&["/", "é"], "");
        check(&[], "");
    }

    #[test]
    fn a_redirect_to_no_page_is_broken() {
        let redirect = |from: &str, to: &str| (from.to_owned(), to.to_owned());
        let scan = SiteScan {
            redirects: vec![
                redirect("/good", "/api"),
                redirect("/chain", "/good"),
                redirect("/broken", "/apii"),
                redirect("/pattern/:name", "/new/:name"),
                redirect("/elsewhere", "https://x.example/"),
            ],
            ..scan(&["/api"])
        };
        assert_eq!(scan.broken_redirects(&scan.site_pages()), HashSet::from(["/broken".to_owned()]));
        assert!(scan.broken_redirects(&SitePages::default()).is_empty(), "without pages nothing is known");
    }

    #[test]
    fn every_path_is_moved_below_the_prefix() {
        let day = jiff::civil::date(2026, 1, 1);
        let scan = SiteScan {
            redirects: vec![("/old".into(), "https://x.example/".into())],
            dead_links: vec![("/".into(), "/gone".into())],
            renames: vec![(day, "/a".into(), "/b".into())],
            ..scan(&["/"])
        };
        let moved = scan.below("/docs");
        assert_eq!(moved.pages[0].path, "/docs");
        assert_eq!(moved.redirects, [("/docs/old".to_owned(), "https://x.example/".to_owned())]);
        assert_eq!(moved.dead_links, [("/docs".to_owned(), "/docs/gone".to_owned())]);
        assert_eq!(moved.renames, [(day, "/docs/a".to_owned(), "/docs/b".to_owned())]);
    }
}
