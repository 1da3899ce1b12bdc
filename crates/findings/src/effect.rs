//! The effect of a merge: what readers did before it, and what they do since.
//!
//! It compares the same number of days before the merge and after it shipped. The days in between, including the day of
//! the merge and the day of shipping, belong to neither. The change of the rest of the site is divided out, because a
//! quiet month is no success. The result never claims a cause, and findings are chosen for being large, so some decline
//! is expected of any of them.

mod interval;
mod sentence;

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use crate::days::{days_after, days_before};
pub use interval::RateRatio;
use interval::{DayCounts, rate_ratio};
pub use sentence::Subject;

/// The fewest requests, views or visitors before the merge that allow a verdict.
pub const MIN_BEFORE: u64 = 20;

/// What one class of readers did on one day. Visitors are distinct within the day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    pub not_found: u64,
    pub views: u64,
    pub visitors: u64,
}

/// The readers of a subject or of the whole site on one day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReaderDay {
    pub day: Date,
    pub human: Counts,
    pub ai: Counts,
}

/// Days, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Period {
    pub first: Date,
    pub last: Date,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    NotFound,
    Views,
    Visitors,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    Better,
    Worse,
    /// The interval includes 1: no change can be told from chance.
    NoChange,
    /// Fewer than [`MIN_BEFORE`] before, or no site to compare with.
    TooFew,
}

/// One measure of one class of readers, before and after.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    pub before: u64,
    pub after: u64,
    /// The same class of readers on the whole site. For [`Measure::NotFound`] these are all requests, found or not:
    /// otherwise a merge that repairs many paths would hide its own effect on each of them.
    pub site_before: u64,
    pub site_after: u64,
    /// The change of the subject divided by the change of the rest of the site.
    pub rate: Option<RateRatio>,
    pub verdict: Verdict,
}

/// The three measures of one class of readers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Measured {
    pub not_found: Change,
    pub views: Change,
    pub visitors: Change,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    pub before: Period,
    pub after: Period,
    pub human: Measured,
    pub ai: Measured,
    /// Both classes.
    pub total: Measured,
}

impl Measure {
    pub const ALL: [Self; 3] = [Self::NotFound, Self::Views, Self::Visitors];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "not-found",
            Self::Views => "views",
            Self::Visitors => "visitors",
        }
    }

    fn of(self, counts: &Counts) -> u64 {
        match self {
            Self::NotFound => counts.not_found,
            Self::Views => counts.views,
            Self::Visitors => counts.visitors,
        }
    }

    /// What the same measure is compared with on the whole site.
    fn of_site(self, counts: &Counts) -> u64 {
        match self {
            Self::NotFound => counts.not_found.saturating_add(counts.views),
            Self::Views | Self::Visitors => self.of(counts),
        }
    }

    fn is_better(self, ratio_is_smaller: bool) -> bool {
        ratio_is_smaller == (self == Self::NotFound)
    }
}

impl Verdict {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::NoChange => "no-change",
            Self::TooFew => "too-few",
        }
    }
}

impl Period {
    /// The `days` days before a merge, and those after it shipped.
    pub fn before_and_after(merged_on: Date, shipped_on: Date, days: u32) -> (Self, Self) {
        let before = Self { first: days_before(merged_on, days), last: days_before(merged_on, 1) };
        let after = Self { first: days_after(shipped_on, 1), last: days_after(shipped_on, days) };
        (before, after)
    }

    pub fn contains(&self, day: Date) -> bool {
        (self.first..=self.last).contains(&day)
    }
}

impl Effect {
    /// Compares the `days` days before a merge with those after it shipped. `site` counts the whole site, including the
    /// subject. Days that are missing had no readers, and their order doesn't matter.
    pub fn measure(
        subject: &[ReaderDay],
        site: &[ReaderDay],
        merged_on: Date,
        shipped_on: Date,
        days: u32,
    ) -> Self {
        let (before, after) = Period::before_and_after(merged_on, shipped_on.max(merged_on), days);
        let table = |class| DayTable { subject, site, before, after, class };
        Self {
            before,
            after,
            human: table(|day| day.human).measured(),
            ai: table(|day| day.ai).measured(),
            total: table(|day| day.human.plus(&day.ai)).measured(),
        }
    }
}

impl Counts {
    fn plus(&self, other: &Self) -> Self {
        Self {
            not_found: self.not_found.saturating_add(other.not_found),
            views: self.views.saturating_add(other.views),
            visitors: self.visitors.saturating_add(other.visitors),
        }
    }
}

impl Measured {
    pub fn get(&self, measure: Measure) -> &Change {
        match measure {
            Measure::NotFound => &self.not_found,
            Measure::Views => &self.views,
            Measure::Visitors => &self.visitors,
        }
    }
}

/// The counts of one class of readers in both periods.
struct DayTable<'a> {
    subject: &'a [ReaderDay],
    site: &'a [ReaderDay],
    before: Period,
    after: Period,
    class: fn(&ReaderDay) -> Counts,
}

impl DayTable<'_> {
    fn measured(&self) -> Measured {
        Measured {
            not_found: self.change(Measure::NotFound),
            views: self.change(Measure::Views),
            visitors: self.change(Measure::Visitors),
        }
    }

    fn change(&self, measure: Measure) -> Change {
        let (before, after) = (self.days(measure, self.before), self.days(measure, self.after));
        let sum = |days: &[DayCounts], count: fn(&DayCounts) -> u64| {
            days.iter().map(count).fold(0, u64::saturating_add)
        };
        let subject_before = sum(&before, |day| day.subject);
        let rate = rate_ratio(&before, &after).filter(|_| subject_before >= MIN_BEFORE);
        Change {
            before: subject_before,
            after: sum(&after, |day| day.subject),
            site_before: sum(&before, |day| day.site),
            site_after: sum(&after, |day| day.site),
            rate,
            verdict: verdict(measure, rate),
        }
    }

    /// The days of a period that have readers.
    fn days(&self, measure: Measure, period: Period) -> Vec<DayCounts> {
        let mut days = std::collections::BTreeMap::<Date, DayCounts>::new();
        for day in self.subject.iter().filter(|day| period.contains(day.day)) {
            let counts = days.entry(day.day).or_default();
            let class = (self.class)(day);
            counts.subject = counts.subject.saturating_add(measure.of(&class));
            counts.subject_share = counts.subject_share.saturating_add(measure.of_site(&class));
        }
        for day in self.site.iter().filter(|day| period.contains(day.day)) {
            let counts = days.entry(day.day).or_default();
            counts.site = counts.site.saturating_add(measure.of_site(&(self.class)(day)));
        }
        days.into_values().collect()
    }
}

fn verdict(measure: Measure, rate: Option<RateRatio>) -> Verdict {
    let Some(rate) = rate else { return Verdict::TooFew };
    let better_or_worse = |smaller| if measure.is_better(smaller) { Verdict::Better } else { Verdict::Worse };
    match rate {
        RateRatio { high, .. } if high < 1.0 => better_or_worse(true),
        RateRatio { low, .. } if low > 1.0 => better_or_worse(false),
        _ => Verdict::NoChange,
    }
}
