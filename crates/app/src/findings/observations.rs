//! Observes what hurts the readers of one project, kind by kind.

use std::collections::{BTreeSet, HashMap, HashSet};

use findings::kinds::{dead_link, moved, not_found, stale};
use findings::{Candidate, Day, Kind, Settings, SitePages};
use jiff::civil::Date;
use traffic::{ListQuery, MissingPath};

use super::counts::{PathHistory, ViewCounts};
use super::known::KnownFindings;
use super::scan::SiteScan;

/// The missing paths that a round looks at: those with the most requests.
const MAX_MISSING_PATHS: u32 = 5_000;
/// The pages whose age a round looks at: those with the most views.
const MAX_VIEWED_PAGES: u32 = 5_000;

pub(super) struct Observer<'a> {
    pub(super) counts: ViewCounts<'a>,
    pub(super) scan: SiteScan,
    pub(super) site: SitePages,
    pub(super) today: Date,
    pub(super) settings: &'a Settings,
    /// Redirects that lead to no page: their readers are still lost.
    broken_redirects: HashSet<String>,
    /// The most viewed pages, which may be stale.
    viewed: Vec<String>,
}

/// What a kind's detector reports, and the days on which paths were answered.
#[derive(Default)]
pub(super) struct Observations {
    pub(super) candidates: Vec<Candidate>,
    histories: HashMap<String, PathHistory>,
}

impl Observations {
    pub(super) fn answered(&self, path: &str) -> Vec<Date> {
        self.histories.get(path).map_or_else(Vec::new, |history| history.answered.clone())
    }
}

impl<'a> Observer<'a> {
    pub(super) async fn new(
        counts: ViewCounts<'a>,
        views: &dyn traffic::Views,
        scan: SiteScan,
        today: Date,
        settings: &'a Settings,
    ) -> Result<Self, traffic::Failure> {
        let query = ListQuery::new(MAX_VIEWED_PAGES, 0);
        let viewed = views.count(counts.project, &counts.range, &query).await?.pages;
        let viewed: Vec<String> = viewed.into_iter().map(|page| page.path).collect();
        let site = scan.site_pages();
        let broken_redirects = scan.broken_redirects(&site);
        Ok(Self { counts, scan, site, today, settings, broken_redirects, viewed })
    }

    pub(super) async fn observe(
        &self,
        kind: Kind,
        known: &KnownFindings,
    ) -> Result<Observations, traffic::Failure> {
        match kind {
            Kind::NotFound => self.not_found(known).await,
            Kind::Moved => self.moved(known).await,
            Kind::DeadLink => self.dead_links(known).await,
            Kind::Stale => self.stale(known).await,
        }
    }

    async fn not_found(&self, known: &KnownFindings) -> Result<Observations, traffic::Failure> {
        let mut missing = self.counts.missing_paths(MAX_MISSING_PATHS).await?;
        // Beyond the names of a day, paths are counted together, under a name that is no path.
        missing.retain(|path| path.path.starts_with('/'));
        let mut referrers: HashMap<String, Vec<(String, u64)>> = HashMap::new();
        let name = |path: MissingPath| {
            referrers.insert(path.path.clone(), path.referrers);
            path.path
        };
        let mut paths: BTreeSet<String> = missing.into_iter().map(name).collect();
        paths.extend(known.paths().map(str::to_owned));
        let histories = self.histories(paths).await?;
        let missing = histories.iter().map(|(path, history)| not_found::MissingPath {
            path: path.clone(),
            days: history.not_found.clone(),
            referrers: referrers.remove(path).unwrap_or_default(),
        });
        let is_known = |key: &str| known.contains(key);
        let candidates = not_found::detect(missing, is_known, &self.site, self.today, self.settings);
        Ok(Observations { candidates, histories })
    }

    async fn moved(&self, known: &KnownFindings) -> Result<Observations, traffic::Failure> {
        let renames = self.scan.renames();
        let mut paths: BTreeSet<String> = renames.iter().map(|rename| rename.from.clone()).collect();
        paths.retain(|path| !self.site.contains(path));
        paths.extend(known.paths().map(str::to_owned));
        let histories = self.histories(paths).await?;
        let redirects: HashSet<&str> = self.scan.redirects.iter().map(|(from, _)| from.as_str()).collect();
        let is_redirected = |path: &str| redirects.contains(path) && !self.broken_redirects.contains(path);
        let requests =
            |path: &str| histories.get(path).map_or_else(Vec::new, |history| history.not_found.clone());
        let candidates = moved::detect(
            &renames,
            is_redirected,
            |key| known.contains(key),
            requests,
            &self.site,
            self.today,
            self.settings,
        );
        Ok(Observations { candidates, histories })
    }

    async fn dead_links(&self, known: &KnownFindings) -> Result<Observations, traffic::Failure> {
        let links = self.scan.dead_links();
        let pages: BTreeSet<String> = links.iter().map(|link| link.page.clone()).collect();
        let histories = self.histories(pages).await?;
        let views = |page: &str| views(&histories, page);
        let is_known = |key: &str| known.contains(key);
        let candidates = dead_link::detect(&links, is_known, views, &self.site, self.today, self.settings);
        Ok(Observations { candidates, histories })
    }

    async fn stale(&self, known: &KnownFindings) -> Result<Observations, traffic::Failure> {
        let changed: HashMap<&str, Date> =
            self.scan.pages.iter().filter_map(|page| Some((page.path.as_str(), page.changed_on?))).collect();
        let known_pages = known.0.keys().map(String::as_str);
        let viewed = self.viewed.iter().map(String::as_str).chain(known_pages);
        let paths: BTreeSet<String> =
            viewed.filter(|path| changed.contains_key(path)).map(str::to_owned).collect();
        let histories = self.histories(paths).await?;
        let pages = histories.keys().filter_map(|path| {
            let changed_on = *changed.get(path.as_str())?;
            Some(stale::AgedPage { path: path.clone(), changed_on, views: views(&histories, path) })
        });
        let candidates = stale::detect(pages, |key| known.contains(key), self.today, self.settings);
        // Settings are checked before they are stored.
        let candidates = candidates.unwrap_or_default();
        Ok(Observations { candidates, histories })
    }

    /// The histories of paths. A redirect that leads to no page counts as not found.
    async fn histories(
        &self,
        paths: BTreeSet<String>,
    ) -> Result<HashMap<String, PathHistory>, traffic::Failure> {
        let paths: Vec<String> = paths.into_iter().collect();
        let mut histories = self.counts.histories(&paths).await?;
        for (path, history) in &mut histories {
            if self.broken_redirects.contains(path) {
                history.count_redirects_as_missing();
            }
        }
        Ok(histories)
    }
}

fn views(histories: &HashMap<String, PathHistory>, path: &str) -> Vec<Day> {
    histories.get(path).map_or_else(Vec::new, |history| history.views.clone())
}
