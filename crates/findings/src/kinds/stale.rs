//! `stale`: pages with many readers and no recent change.

use globset::GlobMatcher;
use jiff::civil::Date;

use super::{MAX_AGE_FACTOR, STALE_PER_VIEW, per_day, rank};
use crate::days::{days_between, window_start};
use crate::{Candidate, Day, Evidence, Kind, Settings, SettingsError};

/// A page of the site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgedPage {
    /// Its served path.
    pub path: String,
    pub changed_on: Date,
    /// The days on which it was viewed.
    pub views: Vec<Day>,
}

/// Reports pages that are older than their tier allows and have enough views in the window.
pub fn detect(
    pages: impl IntoIterator<Item = AgedPage>,
    known: impl Fn(&str) -> bool,
    today: Date,
    settings: &Settings,
) -> Result<Vec<Candidate>, SettingsError> {
    let tiers = Tiers::new(settings)?;
    let first = window_start(today, settings.window_days);
    let mut candidates = Vec::new();
    for page in pages {
        let age = days_between(page.changed_on, today);
        let limit = tiers.limit(&page.path);
        let mut evidence = Evidence::default();
        evidence.add(&page.path, &page.views, &[]);
        let views = evidence.requests_between(first, today);
        let is_present = age > limit && views >= settings.stale_min_views;
        if is_present || known(&page.path) {
            let age_factor = (f64::from(age) / f64::from(limit.max(1))).min(MAX_AGE_FACTOR);
            candidates.push(Candidate {
                kind: Kind::Stale,
                key: page.path.clone(),
                subject: page.path.clone(),
                target: Some(page.path),
                evidence,
                is_present,
                is_over_limit: false,
                score: STALE_PER_VIEW * per_day(views, settings) * age_factor,
            });
        }
    }
    Ok(rank(candidates, known, settings))
}

/// The compiled tiers of the settings.
struct Tiers {
    tiers: Vec<(GlobMatcher, u32)>,
    default: u32,
}

impl Tiers {
    fn new(settings: &Settings) -> Result<Self, SettingsError> {
        let tiers = settings.stale_tiers.iter().map(|tier| Ok((tier.matcher()?, tier.days)));
        Ok(Self { tiers: tiers.collect::<Result<_, SettingsError>>()?, default: settings.stale_days })
    }

    /// Days without a change after which a page is stale. The first tier that matches counts.
    fn limit(&self, path: &str) -> u32 {
        let tier = self.tiers.iter().find(|(glob, _)| glob.is_match(path));
        tier.map_or(self.default, |(_, days)| *days)
    }
}
