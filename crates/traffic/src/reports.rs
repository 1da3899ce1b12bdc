//! More questions about page views than how often a page was read, and what they are answered with.
//! Every backend passes `tests/it/random.rs`: an answer is a recount of the events.

use async_trait::async_trait;

use crate::classify::Class;
use crate::glob::PathGlob;
use crate::interval::Interval;
use crate::portion::Portion;
use crate::range::Range;
use crate::views::{Failure, PageCount, Readers, Tally};

#[async_trait]
pub trait Reports: Send + Sync {
    /// Reads by step of time, of pages whose path begins with `path`, with a point for every step of
    /// the range; an open end is where the reads end. As exact as [`Views::count`](crate::Views::count).
    async fn series(
        &self,
        project: &str,
        range: &Range,
        interval: Interval,
        path: Option<&str>,
    ) -> Result<Series, SeriesError>;

    /// Reads by product and class, of every class. This one and the next two are exact to the
    /// millisecond while raw events are kept, and to the day before that.
    async fn agents(&self, project: &str, range: &Range, portion: &Portion) -> Result<Agents, Failure>;

    /// Reads by the host that linked there.
    async fn referrers(&self, project: &str, range: &Range, portion: &Portion) -> Result<Referrers, Failure>;

    /// Who looked for pages that are not there, and where they came from.
    async fn not_found(&self, project: &str, range: &Range, portion: &Portion) -> Result<NotFound, Failure>;

    /// The last thirty minutes by the backend's clock, this one included.
    async fn live(&self, project: &str) -> Result<Live, Failure>;

    /// Applies the present table of agents to the raw events from the day of a moment on, as far as
    /// one piece goes; all that is asked later is answered by it. May be cut off and asked for again.
    async fn reclassify(&self, project: &str, from: i64) -> Result<Reclassified, Failure>;

    /// Removes the views of the paths that match, from the day of a moment on, as far as one piece goes; with
    /// `dry_run`, says what that would be. All that is asked later is answered as if they had never come, but
    /// their event ids stay known. Of days whose raw events are gone, the reads by product and by host and the
    /// visitors of the whole site stay: nothing says which page they belong to. May be cut off and asked for again.
    async fn forget_paths(
        &self,
        project: &str,
        paths: &PathGlob,
        from: i64,
        dry_run: bool,
    ) -> Result<Removed, Failure>;
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Series {
    pub totals: Tally,
    pub points: Vec<Point>,
}

/// Reads of one step of time, which began at this moment, in milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    pub at: i64,
    pub reads: Tally,
}

#[derive(Debug, thiserror::Error)]
pub enum SeriesError {
    #[error("interval={} makes more than {most} points of this range: choose a longer one, or fewer days", .interval.as_str())]
    TooManyPoints { interval: Interval, most: usize },
    #[error(transparent)]
    Failed(#[from] Failure),
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Agents {
    /// Every class, in the order of the API.
    pub classes: Vec<(Class, u64)>,
    /// Most reads first, if nothing else is asked for, then by product and class.
    pub agents: Vec<AgentCount>,
    pub has_more: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentCount {
    /// `None` of whoever is in no table.
    pub operator: Option<&'static str>,
    pub product: String,
    pub class: Class,
    pub reads: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Referrers {
    pub totals: Tally,
    /// Most reads first, if nothing else is asked for, then by host.
    pub hosts: Vec<(String, Tally)>,
    pub has_more: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NotFound {
    /// Of the pages that were asked for.
    pub totals: Tally,
    pub pages: Vec<Missing>,
    pub has_more: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    pub path: String,
    pub looks: Tally,
    /// The pages that sent most there, and how many; a few of them.
    pub referrers: Vec<(String, u64)>,
}

/// What a piece of reclassifying came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reclassified {
    /// Events that were looked at.
    pub events: u64,
    /// Those of them whose class is another one now.
    pub changed: u64,
    /// Where to go on, in milliseconds since 1970; `None` when all is done.
    pub next: Option<i64>,
}

/// What a piece of removing paths came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Removed {
    pub views: u64,
    /// Pages whose names were removed; the last piece has them.
    pub pages: u64,
    /// Where to go on, in milliseconds since 1970; `None` when all is done.
    pub next: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Live {
    /// Distinct ones of all thirty minutes.
    pub readers: Readers,
    pub totals: Tally,
    pub minutes: Vec<Point>,
    /// Most read first; a few of them.
    pub pages: Vec<PageCount>,
}
