//! The weekly summary: what was found, what was resolved, and what merges did.

use findings::State;
use jiff::civil::{Date, Weekday};
use jiff::{Span, Timestamp, ToSpan};
use store::{Finding, FindingFilter, FindingSort, Project};
use traffic::{ListQuery, Range, Tally};

use super::counts::{day_of, start_of};
use super::effect::{JobEffect, effects_of_merges};
use crate::App;

/// Findings of each list, and merges.
const MAX_ROWS: usize = 50;
/// The findings that are looked at for a week: those that changed last would need an index of their own.
const MAX_FINDINGS: u32 = 1_000;

/// A count of the week, and the total of the week before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WeekCount {
    pub count: Tally,
    pub before: u64,
}

#[derive(Debug, Clone)]
pub struct Summary {
    /// Monday.
    pub first: Date,
    /// Sunday.
    pub last: Date,
    pub views: WeekCount,
    pub not_found: WeekCount,
    pub new: Vec<Finding>,
    pub resolved: Vec<Finding>,
    pub persisting: Vec<Finding>,
    pub open: u64,
    pub merges: Vec<JobEffect>,
}

/// The Monday of the last week that is over.
pub fn last_week(app: &App) -> Date {
    let today = day_of(app.clock.now());
    today.saturating_sub(Span::new().days(i64::from(today.weekday().to_monday_zero_offset()) + 7))
}

/// The Monday of the week that contains the day.
pub fn week_of(day: Date) -> Date {
    if day.weekday() == Weekday::Monday {
        return day;
    }
    day.saturating_sub(i64::from(day.weekday().to_monday_zero_offset()).days())
}

/// Summarizes the week that begins with `first`.
pub async fn weekly_summary(app: &App, project: &Project, first: Date) -> anyhow::Result<Summary> {
    let (before, end) = (first.saturating_sub(7.days()), first.saturating_add(7.days()));
    let (views, not_found) = (count_views(app, project, first, end), count_missing(app, project, first, end));
    let (mut views, mut not_found) = tokio::try_join!(views, not_found)?;
    views.before = count_views(app, project, before, first).await?.count.total();
    not_found.before = count_missing(app, project, before, first).await?.count.total();
    let is_in_week = |at: Timestamp| (first..end).contains(&day_of(at));
    let of_state = async |state: Option<State>, sort: FindingSort, at: fn(&Finding) -> Timestamp| {
        let filter = FindingFilter { state, sort, limit: MAX_FINDINGS, ..FindingFilter::default() };
        let mut findings = app.findings.findings(&project.id, &filter).await?.items;
        findings.retain(|finding| is_in_week(at(finding)));
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.score));
        findings.truncate(MAX_ROWS);
        anyhow::Ok(findings)
    };
    let counts = app.findings.finding_counts(&project.id).await?;
    let is_open = |state: State| matches!(state, State::Open | State::Persists);
    let week = (start(first)?, start(end)?);
    Ok(Summary {
        first,
        last: end.saturating_sub(1.days()),
        views,
        not_found,
        new: of_state(None, FindingSort::Newest, |finding| finding.found_at).await?,
        resolved: of_state(Some(State::Resolved), FindingSort::Score, |finding| finding.changed_at).await?,
        persisting: of_state(Some(State::Persists), FindingSort::Score, |finding| finding.changed_at).await?,
        open: counts.iter().filter(|count| is_open(count.state)).map(|count| count.count).sum(),
        merges: effects_of_merges(app, project, week, (MAX_ROWS as u32, 0)).await?.0,
    })
}

fn start(day: Date) -> anyhow::Result<Timestamp> {
    Ok(Timestamp::from_millisecond(start_of(day))?)
}

fn range(from: Date, to: Date) -> Range {
    Range::new(Some(start_of(from)), Some(start_of(to))).unwrap_or_default()
}

async fn count_views(app: &App, project: &Project, from: Date, to: Date) -> anyhow::Result<WeekCount> {
    let counts = app.views.count(&project.id.0, &range(from, to), &ListQuery::new(0, 0)).await?;
    Ok(WeekCount { count: counts.totals, before: 0 })
}

async fn count_missing(app: &App, project: &Project, from: Date, to: Date) -> anyhow::Result<WeekCount> {
    let counts = app.reports.not_found(&project.id.0, &range(from, to), &ListQuery::new(0, 0)).await?;
    Ok(WeekCount { count: counts.totals, before: 0 })
}
