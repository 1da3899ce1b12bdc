//! Records of the clocks that retention depends on. They survive a restart, so a restart does not end a pause.

use std::sync::Arc;

use async_trait::async_trait;
use base::{ClockGuard, ClockName, ClockRecord, ClockWatch, MisdatedRange, Pause, Reading};

use super::{Backend, FromRow, Row, sql};
use crate::encoding::damaged;
use crate::{Clocks, Result};

#[async_trait]
impl<B: Backend> Clocks for B {
    fn clock_guard(&self) -> Arc<ClockGuard> {
        self.common().guard.clone()
    }

    async fn watch_clocks(&self, server: &str, newest: Option<i64>) -> Result<()> {
        for (clock, name) in names::<B>(Some(server)) {
            let stored = match load(self, &name).await? {
                Some(stored) => stored,
                None => add_first(self, clock, &name, newest).await?,
            };
            let changed = self.common().guard.watch(clock, &stored, reading(self, clock).await?);
            if let Some(record) = changed {
                replace(self, &name, stored.version, &record).await?;
            }
        }
        Ok(())
    }

    async fn confirm_clocks(&self, server: Option<&str>) -> Result<()> {
        for (clock, name) in names::<B>(server) {
            let confirm = sql("INSERT INTO clocks (name, trusted, version) VALUES ($1, $2, 1)
                 ON CONFLICT (name) DO UPDATE SET trusted = excluded.trusted, version = clocks.version + 1,
                   cause = NULL, began = NULL, last_wall = NULL, steady = NULL");
            self.execute(confirm.bind(name).bind(reading(self, clock).await?.wall)).await?;
        }
        Ok(())
    }

    async fn paused_clocks(&self, server: Option<&str>) -> Result<Vec<(ClockName, Pause)>> {
        let mut paused = Vec::new();
        for (clock, name) in names::<B>(server) {
            if let Some(stored) = load(self, &name).await? {
                let watch = ClockWatch::start(&stored, reading(self, clock).await?);
                paused.extend(watch.pause().map(|pause| (clock, pause)));
            }
        }
        Ok(paused)
    }
}

/// The clocks, with the names of their records. On SQLite there is one clock, the server's.
fn names<B: Backend>(server: Option<&str>) -> Vec<(ClockName, String)> {
    if B::JOB_CLOCK == ClockName::Server {
        return vec![(ClockName::Server, "server".to_owned())];
    }
    let server = server.map(|id| (ClockName::Server, format!("server {id}")));
    [Some((ClockName::Database, "database".to_owned())), server].into_iter().flatten().collect()
}

async fn reading(store: &impl Backend, clock: ClockName) -> Result<Reading> {
    Ok(match clock {
        ClockName::Server => store.common().guard.reading(),
        ClockName::Database => store.common().guard.reading_at(store.now().await?),
    })
}

/// The first record goes by the newest job if this clock dates jobs, and by the newest page view if it dates views.
async fn add_first<B: Backend>(
    store: &B,
    clock: ClockName,
    name: &str,
    newest_view: Option<i64>,
) -> Result<ClockRecord> {
    let newest_view = newest_view.filter(|_| clock == ClockName::Server);
    let newest_job = if clock == B::JOB_CLOCK { newest_job(store).await? } else { None };
    let first = ClockRecord::first(newest_view.max(newest_job), reading(store, clock).await?.wall);
    let add = sql("INSERT INTO clocks (name, trusted, version) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING");
    store.execute(add.bind(name).bind(first.trusted).bind(first.version)).await?;
    Ok(first)
}

async fn newest_job(store: &impl Backend) -> Result<Option<i64>> {
    let newest = sql("SELECT max(coalesce(archived_at, ended_at, created_at)) AS newest FROM jobs");
    store.row(newest).await?.map_or(Ok(None), |row| row.get("newest"))
}

async fn load(store: &impl Backend, name: &str) -> Result<Option<ClockRecord>> {
    let find = sql("SELECT trusted, version, cause, began, last_wall, steady,
           misdated_from, misdated_to, misdated_until
         FROM clocks WHERE name = $1");
    store.optional(find.bind(name)).await
}

/// Replaces the record of this `version`. A pause that another server began meanwhile stays if `record` is about a
/// clock that was steady all the time.
async fn replace(store: &impl Backend, name: &str, version: i64, record: &ClockRecord) -> Result<()> {
    let is_about_pause = record.pause.is_some() || record.version != version;
    let ClockRecord { trusted, version: next, pause, misdated } = *record;
    let replace = sql("UPDATE clocks
         SET trusted = $1, version = $2, cause = $3, began = $4, last_wall = $5, steady = $6,
             misdated_from = $7, misdated_to = $8, misdated_until = $9
         WHERE name = $10 AND version = $11 AND (cause IS NULL OR $12)")
    .bind(trusted)
    .bind(next)
    .bind(pause.map(|pause| pause.cause.as_str()))
    .bind(pause.map(|pause| pause.began))
    .bind(pause.map(|pause| pause.last_wall))
    .bind(pause.map(|pause| pause.steady))
    .bind(misdated.map(|dates| dates.from))
    .bind(misdated.map(|dates| dates.to))
    .bind(misdated.map(|dates| dates.until));
    store.execute(replace.bind(name).bind(version).bind(is_about_pause)).await.map(drop)
}

impl FromRow for ClockRecord {
    fn from_row(row: &Row) -> Result<Self> {
        let number = |column| row.get::<Option<i64>>(column);
        let cause = row.get::<Option<&str>>("cause")?;
        let cause = cause.map(|cause| cause.parse().map_err(|()| damaged("why deletion is paused")));
        let pause = match (cause.transpose()?, number("began")?, number("last_wall")?, number("steady")?) {
            (Some(cause), Some(began), Some(last_wall), Some(steady)) => {
                Some(Pause { cause, began, last_wall, steady })
            }
            _ => None,
        };
        let misdated = match (number("misdated_from")?, number("misdated_to")?, number("misdated_until")?) {
            (Some(from), Some(to), Some(until)) => Some(MisdatedRange { from, to, until }),
            _ => None,
        };
        Ok(Self { trusted: row.get("trusted")?, version: row.get("version")?, pause, misdated })
    }
}
