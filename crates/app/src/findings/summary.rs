//! The weekly summary: what was found, what was resolved, and what merges did.

use findings::State;
use jiff::civil::{Date, Weekday};
use jiff::{Span, Timestamp, ToSpan};
use store::{Finding, FindingEvent, FindingFilter, FindingPeriod, Project};
use traffic::{ListQuery, Range, Tally};

use super::counts::{day_of, start_of};
use super::effect::{JobEffect, effects_of_merges};
use crate::App;

/// Findings of each list, and merges.
const MAX_ROWS: u32 = 50;

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
    pub new: WeekFindings,
    pub resolved: WeekFindings,
    pub persisting: WeekFindings,
    /// In the state `open`, now.
    pub open: u64,
    pub merges: Vec<JobEffect>,
}

/// The findings of a week that hurt most readers, and how many there are in all.
#[derive(Debug, Clone)]
pub struct WeekFindings {
    pub first: Vec<Finding>,
    pub total: u64,
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
    let counts = app.findings.finding_counts(&project.id).await?;
    let open = counts.iter().filter(|count| count.state == State::Open);
    let week = (start(first)?, start(end)?);
    Ok(Summary {
        first,
        last: end.saturating_sub(1.days()),
        views,
        not_found,
        new: list(app, project, None, FindingEvent::Found, week).await?,
        resolved: list(app, project, Some(State::Resolved), FindingEvent::Changed, week).await?,
        persisting: list(app, project, Some(State::Persists), FindingEvent::Changed, week).await?,
        open: open.map(|count| count.count).sum(),
        merges: effects_of_merges(app, project, week, (MAX_ROWS, 0)).await?.0,
    })
}

async fn list(
    app: &App,
    project: &Project,
    state: Option<State>,
    what: FindingEvent,
    (from, to): (Timestamp, Timestamp),
) -> anyhow::Result<WeekFindings> {
    let period = Some(FindingPeriod { what, from, to });
    let filter = FindingFilter { state, period, limit: MAX_ROWS, ..FindingFilter::default() };
    let total = app.findings.count_findings(&project.id, &filter).await?;
    let first = app.findings.findings(&project.id, &filter).await?.items;
    Ok(WeekFindings { first, total })
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
