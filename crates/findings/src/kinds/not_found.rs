//! `not-found`: paths that readers ask for and don't get, grouped by what they mean.
//!
//! Scanners are not readers. What `scanner` recognizes is dropped. A path is unfamiliar if no page links to it and no
//! reader may mean it, see `familiar`. It needs more requests and counts less, so that a scanner with made-up names
//! displaces no finding.

mod familiar;
mod scanner;

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use jiff::civil::Date;

use super::meaning::Meaning;
use super::{per_day, rank};
use crate::days::window_start;
use crate::{Candidate, Day, Evidence, Kind, Settings, SitePages};

/// How many more requests an unfamiliar path needs, and how much less each of them counts.
const UNFAMILIAR_FACTOR: u64 = 5;
/// A path that was not found, with its days in any order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MissingPath {
    pub path: String,
    pub days: Vec<Day>,
    pub referrers: Vec<(String, u64)>,
}

/// Groups missing paths, each of which comes once. Reports groups above the threshold, and those whose key is `known`.
/// Takes time and memory in proportion to the number of paths.
pub fn detect(
    missing: impl IntoIterator<Item = MissingPath>,
    known: impl Fn(&str) -> bool,
    site: &SitePages,
    today: Date,
    settings: &Settings,
) -> Vec<Candidate> {
    let mut groups = HashMap::<String, Vec<MissingPath>>::new();
    for path in missing {
        if scanner::is_scanner_path(&path.path, site) {
            continue;
        }
        match groups.entry(site.key(&Meaning::of(&path.path))) {
            Entry::Occupied(group) => group.into_mut().push(path),
            Entry::Vacant(group) => drop(group.insert(vec![path])),
        }
    }
    let candidates = groups.into_iter().map(|(key, paths)| Group { key, paths });
    let candidates = candidates.filter_map(|group| {
        let is_known = known(&group.key);
        group.candidate(is_known, site, today, settings)
    });
    rank(candidates.collect(), known, settings)
}

/// Paths that mean the same.
struct Group {
    key: String,
    paths: Vec<MissingPath>,
}

impl Group {
    /// `None` below the threshold, unless the group is known.
    fn candidate(
        self,
        is_known: bool,
        site: &SitePages,
        today: Date,
        settings: &Settings,
    ) -> Option<Candidate> {
        let factor = if self.is_familiar(site) { 1 } else { UNFAMILIAR_FACTOR };
        let threshold = settings.min_requests.saturating_mul(factor);
        let first = window_start(today, settings.window_days);
        let requests = self.requests_between(first, today);
        if requests < threshold && !is_known {
            return None;
        }
        let evidence = self.evidence();
        let is_frequent = evidence.active_days_between(first, today) >= settings.min_days as usize;
        let is_present = requests >= threshold && is_frequent;
        (is_present || is_known).then(|| Candidate {
            kind: Kind::NotFound,
            subject: evidence.members.first().map_or_else(|| self.key.clone(), |member| member.path.clone()),
            target: site.page_with_key(&self.key).map(str::to_owned),
            key: self.key,
            evidence,
            is_present,
            is_over_limit: false,
            score: per_day(requests, settings) / factor as f64,
        })
    }

    /// A page that links to it makes any path familiar.
    fn is_familiar(&self, site: &SitePages) -> bool {
        familiar::is_familiar(&self.key, site) || self.paths.iter().any(|path| !path.referrers.is_empty())
    }

    fn requests_between(&self, first: Date, last: Date) -> u64 {
        let days = self.paths.iter().flat_map(|path| &path.days);
        let days = days.filter(|day| (first..=last).contains(&day.day));
        days.map(Day::total).fold(0, u64::saturating_add)
    }

    fn evidence(&self) -> Evidence {
        let mut evidence = Evidence::default();
        for path in &self.paths {
            evidence.add(&path.path, &path.days, &path.referrers);
        }
        evidence
    }
}
