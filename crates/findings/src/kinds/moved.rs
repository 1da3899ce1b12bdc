//! `moved`: pages that were renamed in git, whose old path leads nowhere.

use std::collections::{HashMap, HashSet};

use jiff::civil::Date;

use super::{per_day, rank};
use crate::days::window_start;
use crate::{Candidate, Day, Evidence, Kind, Settings, SitePages};

/// A page that changed its path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rename {
    pub on: Date,
    pub from: String,
    pub to: String,
}

/// Reports the old paths of renamed pages that exist, unless the old path has a redirect or a page again. A chain of
/// renames leads to the page's present path. `requests` gives the days on which an old path was not found.
pub fn detect(
    renames: &[Rename],
    is_redirected: impl Fn(&str) -> bool,
    known: impl Fn(&str) -> bool,
    requests: impl Fn(&str) -> Vec<Day>,
    site: &SitePages,
    today: Date,
    settings: &Settings,
) -> Vec<Candidate> {
    let chains = Chains::new(renames);
    let mut candidates = Vec::new();
    for from in chains.by_path.keys().filter(|from| !site.contains(from) && !is_redirected(from)) {
        let Some(target) = chains.present_path(from, site) else { continue };
        let mut evidence = Evidence::default();
        evidence.add(from, &requests(from), &[]);
        let first = window_start(today, settings.window_days);
        let score = per_day(evidence.requests_between(first, today), settings);
        candidates.push(Candidate {
            kind: Kind::Moved,
            key: (*from).to_owned(),
            subject: (*from).to_owned(),
            target: Some(target.to_owned()),
            evidence,
            is_present: true,
            is_over_limit: false,
            score,
        });
    }
    rank(candidates, known, settings)
}

/// The renames of each path, in the order of their days.
struct Chains<'a> {
    by_path: HashMap<&'a str, Vec<(Date, &'a str)>>,
}

impl<'a> Chains<'a> {
    fn new(renames: &'a [Rename]) -> Self {
        let mut by_path = HashMap::<_, Vec<_>>::new();
        for rename in renames.iter().filter(|rename| rename.from != rename.to) {
            by_path.entry(rename.from.as_str()).or_default().push((rename.on, rename.to.as_str()));
        }
        by_path.values_mut().for_each(|renames| renames.sort());
        Self { by_path }
    }

    /// Follows the page that was at a path last, until a path that exists.
    fn present_path(&self, from: &'a str, site: &SitePages) -> Option<&'a str> {
        let (mut day, mut path) = *self.by_path.get(from)?.last()?;
        let mut visited = HashSet::from([from]);
        while !site.contains(path) {
            if !visited.insert(path) {
                return None;
            }
            // Before that day, another page was there.
            let later = self.by_path.get(path)?.iter().find(|(on, _)| *on >= day)?;
            (day, path) = *later;
        }
        Some(path)
    }
}
