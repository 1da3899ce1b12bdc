//! Counts deaths of workers against the jobs that they had leased.

use super::jobs::append;
use super::{Connection, FromRow, Row, sql};
use crate::suspects::{Dead, DeathCount, SUSPECT_DEATHS, Suspect, step, waits_alone};
use crate::{Activity, Job, JobId, MAX_DEATHS, Result, WorkerId};

/// Returns jobs of dead workers to the queue. `rows` have [`dead_columns`](crate::suspects::dead_columns) and are
/// locked. `living` is not dead, although its lease expired: no death is counted.
pub(crate) async fn requeue_dead(
    db: &mut Connection<'_>,
    rows: Vec<Row>,
    living: Option<&WorkerId>,
) -> Result<()> {
    let now = db.now().await?;
    for row in rows {
        let (id, worker, dead) = (JobId(row.get("id")?), row.get::<&str>("worker")?, Dead::from_row(&row)?);
        let is_living = living.is_some_and(|living| living.0 == worker);
        let count = if is_living { dead.count } else { dead.counted() };
        let requeue = sql("UPDATE jobs
             SET worker = NULL, suspect_since = $1, deaths = $2, died_step = $3, steady_ms = $4,
               survived_step = CASE WHEN $5 THEN died_step ELSE survived_step END WHERE id = $6");
        let requeue = requeue.bind(now).bind(count.deaths).bind(count.died_step).bind(count.steady_ms);
        db.execute(requeue.bind(!is_living && dead.is_forgiven()).bind(&id.0)).await?;
        if count.deaths == SUSPECT_DEATHS && count != dead.count {
            append(db, &id, now, &waits_alone()).await?;
        }
    }
    Ok(())
}

/// Records that the worker of this suspect runs it until now. Other jobs have the worker next.
pub(super) async fn set_alone(db: &mut Connection<'_>, suspect: &JobId, now: i64) -> Result<()> {
    let set = sql("UPDATE workers SET alone_at = $1 WHERE id = (SELECT worker FROM jobs WHERE id = $2)");
    db.execute(set.bind(now).bind(&suspect.0)).await.map(drop)
}

/// Resets the count of a suspect that has passed the step in which its workers died.
pub(super) async fn clear(db: &mut Connection<'_>, id: &JobId, now: i64) -> Result<()> {
    let clear =
        concat!("UPDATE jobs SET deaths = 0 WHERE id = $1 AND deaths > 0 AND ", step!(), " > died_step");
    match db.execute(sql(clear).bind(&id.0)).await? {
        0 => Ok(()),
        _ => set_alone(db, id, now).await,
    }
}

/// The next death in this step makes it a suspect again, which can't survive a second time: a job whose call fails before
/// another one kills its worker would never be given up.
pub(super) async fn set_survived(db: &mut Connection<'_>, id: &JobId, now: i64) -> Result<()> {
    let survived = sql("UPDATE jobs SET deaths = $1, survived_step = died_step
         WHERE id = $2 AND deaths = $3 AND (survived_step IS NULL OR survived_step <> died_step)");
    match db.execute(survived.bind(SUSPECT_DEATHS - 1).bind(&id.0).bind(SUSPECT_DEATHS)).await? {
        0 => Ok(()),
        _ => set_alone(db, id, now).await,
    }
}

/// Whether the job's change is on its branch; `None` without a change. A change is stored before it is pushed, so a job
/// that has one may have a pull request that it does not know.
pub(super) async fn has_pushed(db: &mut Connection<'_>, job: &Job) -> Result<Option<bool>> {
    let change = sql("SELECT pushed FROM job_changes WHERE job = $1").bind(&job.id.0);
    db.row(change).await?.map(|row| row.get("pushed")).transpose()
}

impl FromRow for Dead {
    fn from_row(row: &Row) -> Result<Self> {
        let count = DeathCount {
            deaths: row.number("deaths")?,
            died_step: row.get("died_step")?,
            steady_ms: row.get("steady_ms")?,
        };
        Ok(Self {
            count,
            waited: row.get::<&str>("activity")? == Activity::Waiting.as_str(),
            is_doubtful: row.get("is_doubtful")?,
            step: row.get("step")?,
            leased_at: row.get("leased_at")?,
            step_began_at: row.get("said_at")?,
            worker_alive_until: row.get("alive_until")?,
        })
    }
}

impl FromRow for Suspect {
    fn from_row(row: &Row) -> Result<Self> {
        let is_to_archive = row.get::<Option<i64>>("archive_asked_at")?.is_some();
        Ok(Self {
            is_over: is_to_archive || row.number::<u32>("deaths")? >= MAX_DEATHS,
            waits_since: row.get("suspect_since")?,
            steady_ms: row.get("steady_ms")?,
            worker_since: row.get("worker_since")?,
            worker_alone_at: row.get("worker_alone_at")?,
            worker_has_suspect: row.get("worker_has_suspect")?,
            worker_is_idle: row.get("worker_is_idle")?,
            worker_is_nearest: row.get("worker_is_nearest")?,
        })
    }
}
