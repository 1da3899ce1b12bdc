//! The reports beyond read counts: time series, agents, referrers, not found and live.
//!
//! Every backend passes `tests/it/random.rs`, which compares each report with a recount of the events.

use async_trait::async_trait;

use crate::classify::Class;
use crate::glob::PathGlob;
use crate::interval::Interval;
use crate::list_query::ListQuery;
use crate::range::Range;
use crate::views::{Failure, PageCount, Readers, Tally};

#[async_trait]
pub trait Reports: Send + Sync {
    /// Reads over time, of pages whose path begins with `path`, with a point for every step of the range. An
    /// open end of the range is the first or last read. As exact as [`Views::count`](crate::Views::count).
    async fn series(
        &self,
        project: &str,
        range: &Range,
        interval: Interval,
        path: Option<&str>,
    ) -> Result<Series, SeriesError>;

    /// Reads by product and class, for every class. This report, referrers and not found are exact to the
    /// millisecond while raw events are kept, and to the day before that.
    async fn agents(&self, project: &str, range: &Range, query: &ListQuery) -> Result<Agents, Failure>;

    /// Reads by referring host.
    async fn referrers(&self, project: &str, range: &Range, query: &ListQuery) -> Result<Referrers, Failure>;

    /// Requests for missing pages, with their referrers.
    async fn not_found(&self, project: &str, range: &Range, query: &ListQuery) -> Result<NotFound, Failure>;

    /// The last thirty minutes by the backend's clock, including the current one.
    async fn live(&self, project: &str) -> Result<Live, Failure>;

    /// Reclassifies raw events with the current table of agents, from the day of `from` on. One call
    /// processes a bounded number of events. It may be interrupted and repeated.
    async fn reclassify(&self, project: &str, from: i64) -> Result<ReclassifyProgress, Failure>;

    /// Removes the views of matching paths, from the day of `from` on; with `dry_run`, only counts them. One
    /// call processes a bounded number of events. Later reports do not include the removed views, but their
    /// event ids stay known. For days whose raw events are deleted, reads by product and by host and the
    /// visitors of the site stay, because their pages are not stored. It may be interrupted and repeated.
    async fn forget_paths(
        &self,
        project: &str,
        paths: &PathGlob,
        from: i64,
        dry_run: bool,
    ) -> Result<RemovalProgress, Failure>;
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Series {
    pub totals: Tally,
    pub points: Vec<Point>,
}

/// The reads of one step, which starts at `at`, in milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    pub at: i64,
    pub reads: Tally,
}

#[derive(Debug, thiserror::Error)]
pub enum SeriesError {
    #[error("interval={} gives more than {max} points for this range. Choose a longer interval or a shorter range", .interval.as_str())]
    TooManyPoints { interval: Interval, max: usize },
    #[error(transparent)]
    Failed(#[from] Failure),
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Agents {
    /// Every class, in the order of the API.
    pub classes: Vec<(Class, u64)>,
    /// In the order of the query, then by product and class.
    pub agents: Vec<AgentCount>,
    pub has_more: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentCount {
    /// `None` for products that are not in the table of agents.
    pub operator: Option<&'static str>,
    pub product: String,
    pub class: Class,
    pub reads: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Referrers {
    pub totals: Tally,
    /// In the order of the query, then by host.
    pub hosts: Vec<(String, Tally)>,
    pub has_more: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NotFound {
    /// Over all paths that match the query.
    pub totals: Tally,
    pub pages: Vec<MissingPath>,
    pub has_more: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingPath {
    pub path: String,
    pub requests: Tally,
    /// The top referring pages, with their number of requests.
    pub referrers: Vec<(String, u64)>,
}

/// The result of one call of [`Reports::reclassify`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReclassifyProgress {
    /// Processed events.
    pub events: u64,
    /// Events whose class changed.
    pub changed: u64,
    /// Where to continue, in milliseconds since 1970; `None` when all is done.
    pub next: Option<i64>,
}

/// The result of one call of [`Reports::forget_paths`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RemovalProgress {
    pub views: u64,
    /// Pages whose names were removed. Only the last call removes names.
    pub pages: u64,
    /// Where to continue, in milliseconds since 1970; `None` when all is done.
    pub next: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Live {
    /// Distinct readers of all thirty minutes.
    pub readers: Readers,
    pub totals: Tally,
    pub minutes: Vec<Point>,
    /// The most-read pages.
    pub pages: Vec<PageCount>,
}
