//! The reports beyond read counts: time series, agents, referrers, not found, redirected, days of paths and
//! live.
//!
//! Every backend passes `tests/it/random.rs`, which compares each report with a recount of the events.

use async_trait::async_trait;

use crate::assistants::operator_of_host;
use crate::classify::Class;
use crate::glob::PathGlob;
use crate::interval::Interval;
use crate::list_query::ListQuery;
use crate::range::Range;
use crate::views::{Failure, PageCount, Readers, Tally};

/// The paths that one call of [`Reports::path_days`] accepts.
pub const MAX_PATHS: usize = 1_000;

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

    /// Reads by product and class, for every class, with the reads whose address was verified at intake. This report, referrers and not found are exact to the
    /// millisecond while raw events are kept, and to the day before that.
    async fn agents(&self, project: &str, range: &Range, query: &ListQuery) -> Result<Agents, Failure>;

    /// Reads by referring host, with the operators of those that are AI assistants.
    async fn referrers(&self, project: &str, range: &Range, query: &ListQuery) -> Result<Referrers, Failure>;

    /// For each operator of AI assistants: reads by its AI agents, and human reads that came from its
    /// assistants. Operators with neither are left out; most referrals first.
    async fn ai_referrals(&self, project: &str, range: &Range) -> Result<Vec<AiReferrals>, Failure>;

    /// Requests for missing pages, with their referrers.
    async fn not_found(&self, project: &str, range: &Range, query: &ListQuery) -> Result<NotFound, Failure>;

    /// Requests that were redirected (301, 302, 303, 307 and 308), by path. Raw events that were
    /// stored before redirects were counted are not included.
    async fn redirected(
        &self,
        project: &str,
        range: &Range,
        query: &ListQuery,
    ) -> Result<Redirected, Failure>;

    /// Counts of the site and of given paths on each UTC day that begins in `range`. Exact for every day,
    /// also where raw events are deleted. Reads raw events only for visitors, and only of days that changed
    /// since their visitors were last counted. Fails for more than [`MAX_PATHS`] paths.
    async fn path_days(
        &self,
        project: &str,
        range: &Range,
        query: &PathDaysQuery<'_>,
    ) -> Result<PathDays, Failure>;

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
    /// Reads from the address ranges that the operator publishes.
    pub verified: u64,
    /// Reads from elsewhere. The verification of all other reads is unknown.
    pub claimed: u64,
}

impl AgentCount {
    pub fn unknown(&self) -> u64 {
        self.reads.saturating_sub(self.verified + self.claimed)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Referrers {
    pub totals: Tally,
    /// In the order of the query, then by host.
    pub hosts: Vec<(String, Tally)>,
    pub has_more: bool,
}

/// The operator of the AI assistant at a referring host.
pub fn assistant_operator(host: &str) -> Option<&'static str> {
    operator_of_host(host)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AiReferrals {
    pub operator: &'static str,
    /// Reads by assistants and AI crawlers of the operator.
    pub reads: u64,
    /// Human reads that came from an assistant of the operator.
    pub referrals: u64,
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

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Redirected {
    /// Over all paths that match the query.
    pub totals: Tally,
    /// In the order of the query, then by path.
    pub pages: Vec<(String, Tally)>,
    pub has_more: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PathDaysQuery<'a> {
    /// Normalized paths, as in the other reports.
    pub paths: &'a [String],
    pub with_visitors: bool,
}

/// Days without counts are left out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PathDays {
    pub site: Vec<DayCounts>,
    /// In the order of the query.
    pub paths: Vec<PathCounts>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PathCounts {
    pub path: String,
    pub days: Vec<DayCounts>,
}

/// The counts of one UTC day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DayCounts {
    /// The start of the day, in milliseconds since 1970.
    pub at: i64,
    pub views: Tally,
    pub not_found: Tally,
    pub redirected: Tally,
    /// Distinct readers; zero if the query is without visitors.
    pub visitors: Readers,
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
