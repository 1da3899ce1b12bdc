//! What a scan of a project's docs found, as the store keeps it.

use std::collections::{BTreeSet, HashSet};

use findings::SitePages;
use findings::kinds::dead_link::DeadLink;
use findings::kinds::moved::Rename;
use jiff::civil::Date;
use pages::redirects::{ClueRecord, strip_prefix};
use serde::{Deserialize, Serialize};

use super::candidates::measure_clues;

/// The pages that a scan keeps. Findings of larger sites miss the rest.
const MAX_PAGES: usize = 50_000;
/// Dead links, redirects and renames that a scan keeps of each.
const MAX_ENTRIES: usize = 20_000;

/// What a scan records. A scan with another number is repeated, although the commit is the same.
const VERSION: u32 = 1;

/// The docs at one commit. Paths are those at which the site serves its pages, without the prefix of the site.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SiteScan {
    pub version: u32,
    /// The prefix that the site is served below by the settings of its generator, such as `/repo`.
    pub prefix: Option<String>,
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
    /// How reliable the clues for the target of a missing path are on this site.
    pub clues: ClueRecord,
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
    /// An empty scan of the current version.
    pub fn new() -> Self {
        Self { version: VERSION, ..Self::default() }
    }

    pub fn is_current(&self) -> bool {
        self.version == VERSION
    }

    /// Cuts every list to its bound.
    pub fn bounded(mut self) -> Self {
        self.pages.truncate(MAX_PAGES);
        self.redirects.truncate(MAX_ENTRIES);
        self.dead_links.truncate(MAX_ENTRIES);
        self.renames.truncate(MAX_ENTRIES);
        self
    }

    /// Adds what takes too long while somebody waits for the candidates of a finding.
    pub fn with_clues(mut self) -> Self {
        self.clues = measure_clues(&self);
        self
    }

    /// The same scan, with paths below the prefix that the site is served at.
    pub(super) fn below(mut self, prefix: &str) -> Self {
        if prefix.is_empty() {
            return self;
        }
        let paths = self.pages.iter_mut().map(|page| &mut page.path);
        // Without settings, the scan can't tell the prefix from a folder, so redirects that have it still do.
        let is_whole = |path: &String| self.prefix.is_none() && strip_prefix(prefix, path).is_some();
        let redirects = self.redirects.iter_mut().flat_map(|(from, to)| [from, to]);
        let redirects = redirects.filter(|path| !is_whole(path));
        let links = self.dead_links.iter_mut().flat_map(|(from, to)| [from, to]).chain(redirects);
        let renames = self.renames.iter_mut().flat_map(|(_, from, to)| [from, to]);
        for path in paths.chain(links).chain(renames).filter(|path| path.starts_with('/')) {
            *path = below(prefix, path);
        }
        self
    }

    pub(super) fn site_pages(&self) -> SitePages {
        SitePages::new(self.pages.iter().map(|page| &page.path))
    }

    /// Whether there was a scan, and no dead link was cut off.
    pub(super) fn has_every_dead_link(&self) -> bool {
        self.is_current() && self.dead_links.len() < MAX_ENTRIES
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

    /// The prefix below which the site is served, such as `/docs`: by what readers view, or else by the settings.
    pub(super) fn served_prefix<'a>(&self, viewed: impl Iterator<Item = &'a str> + Clone) -> ServedPrefix {
        let viewed = self.viewed_prefix(viewed);
        let is_viewed = viewed.is_some();
        ServedPrefix { path: viewed.or_else(|| self.prefix.clone()).unwrap_or_default(), is_viewed }
    }

    /// The prefix without which most viewed paths are pages. Any path can be a prefix of the home page, so that one
    /// doesn't count. `None` if readers view no other page.
    fn viewed_prefix<'a>(&self, viewed: impl Iterator<Item = &'a str> + Clone) -> Option<String> {
        let pages: HashSet<&str> =
            self.pages.iter().map(|page| page.path.as_str()).filter(|path| *path != "/").collect();
        let is_page = |path: &str| pages.contains(path.strip_suffix(".html").unwrap_or(path));
        let matches = |prefix: &str| {
            let rest = viewed.clone().filter_map(|path| strip_prefix(prefix, path));
            rest.filter(|path| is_page(path)).count()
        };
        let candidates: BTreeSet<&str> = viewed.clone().flat_map(prefixes).collect();
        let prefixes = candidates.into_iter().chain([""]).map(|prefix| (matches(prefix), prefix));
        // Of equal ones, the last one counts, and that's none.
        let best = prefixes.max_by_key(|(count, _)| *count);
        best.filter(|(count, _)| *count > 0).map(|(_, prefix)| prefix.to_owned())
    }
}

/// The prefix that a site is served below. Empty for the root of its host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ServedPrefix {
    pub(super) path: String,
    /// Whether readers reach pages there.
    pub(super) is_viewed: bool,
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
            assert_eq!(scan.served_prefix(viewed.iter().copied()).path, expected);
        }
        check(&["/guide/install", "/api", "/x/y"], "");
        check(&["/docs/guide/install", "/docs/api", "/docs"], "/docs");
        check(&["/acme/docs/guide/install", "/acme/docs/api"], "/acme/docs");
        check(&["/docs/about"], "");
        check(&["/", "é"], "");
        check(&["/x/y"], "");
        check(&["/repo/guide/install.html"], "/repo");
        check(&[], "");
    }

    #[test]
    fn the_settings_name_the_prefix_until_readers_view_pages() {
        #[track_caller]
        fn check(viewed: &[&str], path: &str, is_viewed: bool) {
            let scan = SiteScan { prefix: Some("/repo".into()), ..scan(&["/", "/a", "/b"]) };
            let expected = ServedPrefix { path: path.to_owned(), is_viewed };
            assert_eq!(scan.served_prefix(viewed.iter().copied()), expected, "{viewed:?}");
        }
        check(&[], "/repo", false);
        check(&["/other", "/repo"], "/repo", false);
        check(&["/a"], "", true);
        check(&["/docs/a", "/docs/b", "/a"], "/docs", true);
    }

    #[test]
    fn redirects_with_the_prefix_keep_it() {
        let redirects =
            vec![("/repo/old".to_owned(), "/repo/a".to_owned()), ("/x".to_owned(), "/a".to_owned())];
        let scan = SiteScan { redirects, ..scan(&["/a"]) };
        let moved = |prefix: Option<&str>| {
            let scan = SiteScan { prefix: prefix.map(str::to_owned), ..scan.clone() };
            scan.below("/repo").redirects.into_iter().map(|(from, _)| from).collect::<Vec<_>>()
        };
        assert_eq!(moved(None), ["/repo/old", "/repo/x"]);
        assert_eq!(moved(Some("/repo")), ["/repo/repo/old", "/repo/x"]);
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
