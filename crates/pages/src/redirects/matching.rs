//! Finds the pages that a missing address can mean, from everything that the site and its history say.

mod content;
mod folders;
mod lookup;
mod names;
mod parallel;
mod renames;
mod similar;
mod twins;

use std::collections::{HashMap, HashSet};

use super::address::plain;
use super::clue::{Clue, ClueKind, ClueRecord, Reliability};
use super::existing::{Existing, Redirect};
use super::history::{History, RemovedPage};
use super::site_pages::{SitePages, is_shown};
use crate::route;
use lookup::Lookup;

/// More redirects of a site say nothing more about it.
const MAX_MEASURED: usize = 300;

/// A page that a missing address can mean.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The address of a page. No redirect leads from it.
    pub target: String,
    /// How probable it is that people would choose this target.
    pub confidence: f64,
    /// One sentence without the period: "the page was renamed to `/guide/install`".
    pub reason: String,
}

/// Everything that is known of a site, to find targets for its missing addresses.
pub struct Matcher<'a> {
    pub(crate) pages: &'a SitePages,
    pub(crate) existing: Existing,
    lookup: Lookup,
    /// The renames of each address, with the latest one first.
    renames: HashMap<String, Vec<(i64, String)>>,
    /// The removed pages by address: their titles and headings.
    removed: HashMap<String, &'a RemovedPage>,
    pub(super) reliability: Reliability,
}

impl<'a> Matcher<'a> {
    /// `root` is the folder of the docs, which the paths of the history begin with. Measures the clues, which takes a
    /// second for thousands of pages.
    pub fn new(pages: &'a SitePages, redirects: &[Redirect], history: &'a History, root: &str) -> Self {
        let mut matcher = Self::with_record(pages, redirects, history, root, &ClueRecord::new());
        matcher.reliability = matcher.measure();
        matcher
    }

    /// A matcher with the record of an earlier one for the same site.
    pub fn with_record(
        pages: &'a SitePages,
        redirects: &[Redirect],
        history: &'a History,
        root: &str,
        record: &ClueRecord,
    ) -> Self {
        let address = |file: &str| route::route(file, root);
        let mut renames: HashMap<String, Vec<(i64, String)>> = HashMap::new();
        for rename in &history.renames {
            if let (Some(from), Some(to)) = (address(&rename.from), address(&rename.to)) {
                renames.entry(from).or_default().push((rename.date, to));
            }
        }
        renames.values_mut().for_each(|targets| targets.sort_by(|a, b| b.cmp(a)));
        let removed = history.removed.iter().filter_map(|page| Some((address(&page.path)?, page))).collect();
        let existing = Existing::new(redirects);
        let lookup = Lookup::new(&existing.exact, &pages.editions);
        let reliability = Reliability::from_record(record);
        Self { pages, existing, lookup, renames, removed, reliability }
    }

    /// How reliable the clues are on this site.
    pub fn record(&self) -> ClueRecord {
        self.reliability.to_record()
    }

    /// Every target that something speaks for, with the most probable one first.
    pub fn candidates(&self, path: &str) -> Vec<Candidate> {
        self.reliability.rank(self.clues(path))
    }

    /// Measures each kind of clue with the redirects that the site has.
    fn measure(&self) -> Reliability {
        let mut reliability = Reliability::default();
        for redirect in self.measured() {
            self.judge(redirect).into_iter().for_each(|(kind, is_right)| reliability.record(kind, is_right));
        }
        reliability
    }

    /// The redirects that show how reliable clues are. The same redirect in several editions counts once.
    pub(super) fn measured(&self) -> Vec<&Redirect> {
        let mut seen = HashSet::new();
        let redirects = self.existing.exact.iter();
        let redirects: Vec<&Redirect> =
            redirects.filter(|redirect| seen.insert(self.pages.editions.rest(&redirect.from))).collect();
        let step = redirects.len().div_ceil(MAX_MEASURED).max(1);
        redirects.into_iter().step_by(step).collect()
    }

    /// Whether each clue for a redirect of the site is right.
    pub(super) fn judge(&self, redirect: &Redirect) -> Vec<(ClueKind, bool)> {
        let right = self.existing.follow(&redirect.to, &redirect.from);
        let Some(right) = right.filter(|right| self.pages.has(right)) else { return Vec::new() };
        let clues: HashSet<(ClueKind, String)> =
            self.clues(&redirect.from).into_iter().map(|clue| (clue.kind, clue.target)).collect();
        clues.into_iter().map(|(kind, target)| (kind, target == right)).collect()
    }

    pub(crate) fn clues(&self, path: &str) -> Vec<Clue> {
        let path = plain(path);
        let mut clues = Vec::new();
        twins::find(self, &path, &mut clues);
        renames::find(self, &path, &mut clues);
        parallel::find(self, &path, &mut clues);
        folders::find(self, &path, &mut clues);
        names::find(self, &path, &mut clues);
        similar::find(self, &path, &mut clues);
        content::find(self, &path, &mut clues);
        clues
    }

    /// Redirects of the site, without the one from `path` itself.
    fn others<'m>(&'m self, path: &str, found: &'m [usize]) -> impl Iterator<Item = &'m Redirect> {
        let own = self.existing.index_of(path);
        found.iter().filter(move |index| Some(**index) != own).map(|index| &self.existing.exact[*index])
    }

    /// Adds a clue if the target leads to a page in the end.
    fn add(&self, path: &str, target: &str, kind: ClueKind, reason: String, clues: &mut Vec<Clue>) {
        if let Some(target) = self.page(path, target) {
            clues.push(Clue { target, kind, reason });
        }
    }

    /// The page that `target` leads to in the end. `None` if that is none, only a part of pages, or the asked address itself.
    pub(crate) fn page(&self, path: &str, target: &str) -> Option<String> {
        let target = self.existing.follow(target, path)?;
        (self.pages.has(&target) && is_shown(&target) && target != path).then_some(target)
    }
}
