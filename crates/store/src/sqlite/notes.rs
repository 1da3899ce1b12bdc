//! Keeps what a run tells of itself.

use sqlx::SqliteConnection;

use super::conversation;
use super::jobs::append;
use super::leases::{drop_diff, mark_read};
use crate::kept::kept;
use crate::note::Checked;
use crate::{Change, JobId, Result};

/// Answers the month's tokens after the last entry of the conversation.
pub(super) async fn keep(
    db: &mut SqliteConnection,
    job: &JobId,
    now: i64,
    run: u32,
    notes: Vec<Checked>,
) -> Result<u64> {
    let mut month = 0;
    for note in notes {
        match note {
            Checked::Event(event) => append(db, &job.0, now, event).await?,
            Checked::Said(entry, tokens) => month = conversation::say(db, job, now, entry, tokens).await?,
            Checked::Base(base_ref, commit) => set_base(db, job, base_ref, commit).await?,
            Checked::Change(change, read) => set_change(db, job, *change, read, run).await?,
            Checked::Pushed => set_pushed(db, job).await?,
        }
    }
    Ok(month)
}

async fn set_base(db: &mut SqliteConnection, job: &JobId, base_ref: String, commit: String) -> Result<()> {
    let set = "UPDATE jobs SET base_ref = ?1, base_commit = ?2, origin = coalesce(origin, ?2), put_off = 0
        WHERE id = ?3";
    sqlx::query(set).bind(base_ref).bind(commit).bind(&job.0).execute(db).await?;
    Ok(())
}

async fn set_pushed(db: &mut SqliteConnection, job: &JobId) -> Result<()> {
    sqlx::query("UPDATE job_changes SET pushed = 1 WHERE job = ?").bind(&job.0).execute(db).await?;
    Ok(())
}

async fn set_change(
    db: &mut SqliteConnection,
    job: &JobId,
    change: Change,
    read: u32,
    run: u32,
) -> Result<()> {
    mark_read(db, job, read).await?;
    drop_diff(db, job).await?;
    let (added, removed) = change.lines();
    let figures = sqlx::query("UPDATE jobs SET added = ?, removed = ? WHERE id = ?");
    figures.bind(kept(added)).bind(kept(removed)).bind(&job.0).execute(&mut *db).await?;
    sqlx::query("INSERT OR REPLACE INTO job_changes VALUES (?, ?, ?, ?, ?, ?, ?, 0)")
        .bind(&job.0)
        .bind(change.head_commit)
        .bind(change.title)
        .bind(change.body)
        .bind(change.report.to_string())
        .bind(change.diff)
        .bind(run)
        .execute(db)
        .await?;
    Ok(())
}
