//! `dead-link`: links of the docs to pages that don't exist, grouped by target.

use std::collections::BTreeMap;

use jiff::civil::Date;

use super::{CLICKS_PER_VIEW, per_day, rank};
use crate::days::window_start;
use crate::{Candidate, Day, Evidence, Kind, Settings, SitePages};

/// A link of a page to a page that doesn't exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLink {
    /// The page with the link, as its served path.
    pub page: String,
    /// The path that the link leads to.
    pub target: String,
}

/// Reports each target that pages link to. `views` gives the days on which a page was viewed.
pub fn detect(
    links: &[DeadLink],
    known: impl Fn(&str) -> bool,
    views: impl Fn(&str) -> Vec<Day>,
    site: &SitePages,
    today: Date,
    settings: &Settings,
) -> Vec<Candidate> {
    let mut pages_by_target = BTreeMap::<&str, Vec<&str>>::new();
    for link in links.iter().filter(|link| !site.contains(&link.target)) {
        pages_by_target.entry(&link.target).or_default().push(&link.page);
    }
    let candidates = pages_by_target.into_iter().map(|(target, mut pages)| {
        pages.sort_unstable();
        pages.dedup();
        let mut evidence = Evidence::default();
        for page in pages {
            evidence.add(page, &views(page), &[]);
            evidence.add_page(page);
        }
        let requests = evidence.requests_between(window_start(today, settings.window_days), today);
        Candidate {
            kind: Kind::DeadLink,
            key: target.to_owned(),
            subject: target.to_owned(),
            target: None,
            evidence,
            is_present: true,
            is_over_limit: false,
            score: CLICKS_PER_VIEW * per_day(requests, settings),
        }
    });
    rank(candidates.collect(), known, settings)
}
