//! Finds the pages that a missing address can mean, from everything that the site and its history say.

mod content;
mod folders;
mod names;
mod parallel;
mod renames;
mod similar;
mod twins;

use std::collections::{HashMap, HashSet};

use super::address::plain;
use super::clue::{Clue, ClueKind, Reliability};
use super::existing::{Existing, Redirect};
use super::history::{History, RemovedPage};
use super::site_pages::SitePages;
use crate::route;

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
    /// The renames of each address, with the latest one first.
    renames: HashMap<String, Vec<(i64, String)>>,
    /// The removed pages by address: their titles and headings.
    removed: HashMap<String, &'a RemovedPage>,
    reliability: Reliability,
}

impl<'a> Matcher<'a> {
    /// `root` is the folder of the docs, which the paths of the history begin with.
    pub fn new(pages: &'a SitePages, redirects: &[Redirect], history: &'a History, root: &str) -> Self {
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
        let mut matcher = Self { pages, existing, renames, removed, reliability: Reliability::default() };
        matcher.reliability = matcher.measure();
        matcher
    }

    /// Every target that something speaks for, with the most probable one first.
    pub fn candidates(&self, path: &str) -> Vec<Candidate> {
        self.reliability.rank(self.clues(path))
    }

    /// Measures each kind of clue with the redirects that the site has. The same redirect in several editions counts once.
    fn measure(&self) -> Reliability {
        let mut reliability = Reliability::default();
        let mut seen = HashSet::new();
        let redirects = self
            .existing
            .exact
            .iter()
            .filter(|redirect| seen.insert(self.pages.editions.rest(&redirect.from)));
        let redirects: Vec<&Redirect> = redirects.collect();
        for redirect in redirects.iter().step_by(redirects.len().div_ceil(MAX_MEASURED).max(1)) {
            let Some(right) =
                self.existing.follow(&redirect.to, &redirect.from).filter(|right| self.pages.has(right))
            else {
                continue;
            };
            let clues: HashSet<(ClueKind, String)> =
                self.clues(&redirect.from).into_iter().map(|clue| (clue.kind, clue.target)).collect();
            clues.into_iter().for_each(|(kind, target)| reliability.record(kind, target == right));
        }
        reliability
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

    /// Adds a clue if the target leads to a page in the end.
    fn add(&self, path: &str, target: &str, kind: ClueKind, reason: String, clues: &mut Vec<Clue>) {
        if let Some(target) = self.page(path, target) {
            clues.push(Clue { target, kind, reason });
        }
    }

    /// The page that `target` leads to in the end. `None` if that is none, or the asked address itself.
    pub(crate) fn page(&self, path: &str, target: &str) -> Option<String> {
        let target = self.existing.follow(target, path)?;
        (self.pages.has(&target) && target != path).then_some(target)
    }
}
