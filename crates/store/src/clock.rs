//! The clocks that deletions by age go by: what is recorded of them, and how one is confirmed to be right.

use std::sync::Arc;

use async_trait::async_trait;
use base::{ClockGuard, ClockName, ClockRecord, ClockWatch, MisdatedRange, Pause, Reading};

use crate::Result;
use crate::kept::damaged;

/// A database keeps a record of each clock, so that a restart after a jump is no way around the pause.
#[async_trait]
pub trait Clocks: Send + Sync {
    /// Whoever deletes something because of its age asks this guard first.
    fn clock_guard(&self) -> Arc<ClockGuard>;

    /// Judges the clocks, takes over what was confirmed, and keeps their records. A server does this at its start and
    /// every few seconds; nothing is deleted before the first time. `server` is the id of its data directory. A
    /// database with no record yet is judged by its newest job, and by the `newest` time that the caller knows.
    async fn watch_clocks(&self, server: &str, newest: Option<i64>) -> Result<()>;

    /// Accepts the clocks as they are: the database's, and that of the server. Running servers see it the next time
    /// that they judge their clocks.
    async fn confirm_clocks(&self, server: Option<&str>) -> Result<()>;

    /// The clocks that cannot be trusted, by their records and the present time.
    async fn paused_clocks(&self, server: Option<&str>) -> Result<Vec<(ClockName, Pause)>>;
}

/// The records of one backend.
#[async_trait]
pub(crate) trait ClockTable: Sync {
    fn guard(&self) -> &Arc<ClockGuard>;
    /// The clocks, with the names of their records.
    fn names(&self, server: Option<&str>) -> Vec<(ClockName, String)>;
    async fn reading(&self, clock: ClockName) -> Result<Reading>;
    /// The newest job, if this clock dates jobs.
    async fn newest_job(&self, clock: ClockName) -> Result<Option<i64>>;
    async fn load(&self, name: &str) -> Result<Option<ClockRecord>>;
    /// Adds a record if there is none yet.
    async fn add(&self, name: &str, record: &ClockRecord) -> Result<()>;
    /// Replaces the record of this `version`. A pause that another server began meanwhile stays if `record` is about
    /// a clock that was steady all the time.
    async fn replace(&self, name: &str, version: i64, record: &ClockRecord) -> Result<()>;
    async fn confirm(&self, name: &str, now: i64) -> Result<()>;
}

#[async_trait]
impl<T: ClockTable + Send> Clocks for T {
    fn clock_guard(&self) -> Arc<ClockGuard> {
        self.guard().clone()
    }

    async fn watch_clocks(&self, server: &str, newest: Option<i64>) -> Result<()> {
        for (clock, name) in self.names(Some(server)) {
            let stored = match self.load(&name).await? {
                Some(stored) => stored,
                None => add_first(self, clock, &name, newest).await?,
            };
            let changed = self.guard().watch(clock, &stored, self.reading(clock).await?);
            if let Some(record) = changed {
                self.replace(&name, stored.version, &record).await?;
            }
        }
        Ok(())
    }

    async fn confirm_clocks(&self, server: Option<&str>) -> Result<()> {
        for (clock, name) in self.names(server) {
            self.confirm(&name, self.reading(clock).await?.wall).await?;
        }
        Ok(())
    }

    async fn paused_clocks(&self, server: Option<&str>) -> Result<Vec<(ClockName, Pause)>> {
        let mut paused = Vec::new();
        for (clock, name) in self.names(server) {
            if let Some(stored) = self.load(&name).await? {
                let watch = ClockWatch::start(&stored, self.reading(clock).await?);
                paused.extend(watch.pause().map(|pause| (clock, pause)));
            }
        }
        Ok(paused)
    }
}

async fn add_first<T: ClockTable>(
    table: &T,
    clock: ClockName,
    name: &str,
    newest: Option<i64>,
) -> Result<ClockRecord> {
    // Views are dated by the server's clock, and jobs by the database's.
    let newest = newest.filter(|_| clock == ClockName::Server).max(table.newest_job(clock).await?);
    let first = ClockRecord::first(newest, table.reading(clock).await?.wall);
    table.add(name, &first).await?;
    Ok(first)
}

/// What a row has after its name, in order.
pub(crate) type Columns =
    (i64, i64, Option<String>, Option<i64>, Option<i64>, Option<i64>, Option<i64>, Option<i64>, Option<i64>);

pub(crate) fn record(columns: Columns) -> Result<ClockRecord> {
    let (trusted, version, cause, began, last_wall, steady, from, to, until) = columns;
    let pause = match (cause, began, last_wall, steady) {
        (Some(cause), Some(began), Some(last_wall), Some(steady)) => {
            let cause = cause.parse().map_err(|()| damaged("why deletion is paused"))?;
            Some(Pause { cause, began, last_wall, steady })
        }
        _ => None,
    };
    let misdated = match (from, to, until) {
        (Some(from), Some(to), Some(until)) => Some(MisdatedRange { from, to, until }),
        _ => None,
    };
    Ok(ClockRecord { trusted, version, pause, misdated })
}

pub(crate) fn columns(record: &ClockRecord) -> Columns {
    let ClockRecord { trusted, version, pause, misdated } = *record;
    let cause = pause.map(|pause| pause.cause.as_str().to_owned());
    let number = |of: fn(Pause) -> i64| pause.map(of);
    let date = |of: fn(MisdatedRange) -> i64| misdated.map(of);
    (
        trusted,
        version,
        cause,
        number(|pause| pause.began),
        number(|pause| pause.last_wall),
        number(|pause| pause.steady),
        date(|dates| dates.from),
        date(|dates| dates.to),
        date(|dates| dates.until),
    )
}
