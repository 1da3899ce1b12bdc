//! Keeps what a run tells of itself.

use sqlx::PgConnection;

use super::jobs::append;
use super::leases::{drop_diff, mark_read};
use super::{conversation, text};
use crate::kept::kept;
use crate::note::Checked;
use crate::{Change, JobId, Lease, Result};

/// Answers the month's tokens after the last entry of the conversation.
pub(super) async fn keep(db: &mut PgConnection, lease: &Lease, now: i64, notes: &[Checked]) -> Result<u64> {
    let job = &lease.job.id;
    let mut month = 0;
    for note in notes {
        match note {
            Checked::Event(event) => append(db, job, now, event).await?,
            Checked::Said(entry, tokens) => month = conversation::say(db, job, now, entry, *tokens).await?,
            Checked::Base(base_ref, commit) => set_base(db, job, base_ref, commit).await?,
            Checked::Change(change, read) => set_change(db, lease, change, *read).await?,
            Checked::Pushed => set_pushed(db, job).await?,
        }
    }
    Ok(month)
}

async fn set_base(db: &mut PgConnection, job: &JobId, base_ref: &str, commit: &str) -> Result<()> {
    let set = "UPDATE jobs SET base_ref = $1, base_commit = $2, origin = coalesce(origin, $2), put_off = 0
        WHERE id = $3";
    sqlx::query(set).bind(base_ref).bind(commit).bind(&job.0).execute(db).await?;
    Ok(())
}

async fn set_pushed(db: &mut PgConnection, job: &JobId) -> Result<()> {
    sqlx::query("UPDATE job_changes SET pushed = true WHERE job = $1").bind(&job.0).execute(db).await?;
    Ok(())
}

async fn set_change(db: &mut PgConnection, lease: &Lease, change: &Change, read: u32) -> Result<()> {
    mark_read(db, &lease.job.id, read).await?;
    drop_diff(db, &lease.job.id).await?;
    let (added, removed) = change.lines();
    let figures = sqlx::query("UPDATE jobs SET added = $1, removed = $2 WHERE id = $3");
    figures.bind(kept(added)).bind(kept(removed)).bind(&lease.job.id.0).execute(&mut *db).await?;
    let keep = "INSERT INTO job_changes VALUES ($1, $2, $3, $4, $5, $6, $7)
        ON CONFLICT (job) DO UPDATE
        SET head_commit = excluded.head_commit, title = excluded.title, body = excluded.body,
            report = excluded.report, diff = excluded.diff, run = excluded.run, pushed = false";
    sqlx::query(keep)
        .bind(&lease.job.id.0)
        .bind(&change.head_commit)
        .bind(text(&change.title))
        .bind(text(&change.body))
        .bind(change.report.to_string())
        .bind(text(&change.diff))
        .bind(i64::from(lease.job.run))
        .execute(db)
        .await?;
    Ok(())
}
