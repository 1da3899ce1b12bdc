//! The audit log of an organization. The table keeps its first name, `deeds`.

use super::{Backend, Connection, FromRow, Row, sql};
use crate::{Actor, AuditEntry, JobId, NewAuditEntry, OrganizationId, ProjectId, Result};

pub(super) async fn record(store: &impl Backend, entry: &NewAuditEntry) -> Result<()> {
    let insert = sql("INSERT INTO deeds (organization, at, who, what, about)
         VALUES ($1, docwright_now_ms(), $2, $3, $4)");
    let insert = insert.bind(&entry.organization.0).bind(&entry.who).bind(&entry.what).bind(&entry.about);
    store.execute(insert).await.map(drop)
}

pub(super) async fn list(
    store: &impl Backend,
    organization: &OrganizationId,
    before: Option<u64>,
    limit: u32,
) -> Result<Vec<AuditEntry>> {
    let select = sql("SELECT number, at, who, what, about FROM deeds
         WHERE organization = $1 AND number < $2 ORDER BY number DESC LIMIT $3");
    let before = before.and_then(|number| i64::try_from(number).ok()).unwrap_or(i64::MAX);
    store.all(select.bind(&organization.0).bind(before).bind(limit)).await
}

/// Records what an actor did to a job, in the log of the job's organization.
pub(super) async fn record_job(
    db: &mut Connection<'_>,
    (project, job): (&ProjectId, &JobId),
    actor: Option<&Actor>,
    what: &str,
    now: i64,
) -> Result<()> {
    let Some(actor) = actor else { return Ok(()) };
    let insert = sql("INSERT INTO deeds (organization, at, who, what, about)
         SELECT organization, $1, $2, $3, name || ' ' || $4 FROM projects WHERE id = $5");
    let insert = insert.bind(now).bind(actor.to_string()).bind(what).bind(&job.0).bind(&project.0);
    db.execute(insert).await.map(drop)
}

impl FromRow for AuditEntry {
    fn from_row(row: &Row) -> Result<Self> {
        Ok(Self {
            number: row.number("number")?,
            at: row.time("at")?,
            who: row.get("who")?,
            what: row.get("what")?,
            about: row.get("about")?,
        })
    }
}
