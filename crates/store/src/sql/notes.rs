//! Stores what a run reports about itself.

use super::jobs::append;
use super::leases::{drop_failed_diff, mark_read};
use super::{Connection, conversation, sql, suspects};
use crate::encoding::to_signed;
use crate::note::ValidNote;
use crate::{Activity, Change, JobId, Result};

/// Answers the month's tokens after the last entry of the conversation.
pub(super) async fn store(
    db: &mut Connection<'_>,
    job: &JobId,
    run: u32,
    now: i64,
    notes: &[ValidNote],
) -> Result<u64> {
    let mut month = 0;
    for note in notes {
        match note {
            ValidNote::Event(event) => append(db, job, now, event).await?,
            ValidNote::Entry(entry, tokens) => {
                month = conversation::add(db, job, now, entry, *tokens).await?
            }
            ValidNote::Activity(activity) => set_activity(db, job, *activity).await?,
            ValidNote::Survived => suspects::set_survived(db, job, now).await?,
            ValidNote::Base(base_ref, commit) => set_base(db, job, base_ref, commit).await?,
            ValidNote::Change(change, read) => set_change(db, job, run, change, *read).await?,
            ValidNote::Pushed => set_pushed(db, job).await?,
        }
    }
    Ok(month)
}

async fn set_activity(db: &mut Connection<'_>, job: &JobId, activity: Activity) -> Result<()> {
    let set = sql("UPDATE jobs SET activity = $1 WHERE id = $2");
    db.execute(set.bind(activity.as_str()).bind(&job.0)).await.map(drop)
}

async fn set_base(db: &mut Connection<'_>, job: &JobId, base_ref: &str, commit: &str) -> Result<()> {
    let set =
        sql("UPDATE jobs SET base_ref = $1, base_commit = $2, origin = coalesce(origin, $2), put_off = 0
         WHERE id = $3");
    db.execute(set.bind(base_ref).bind(commit).bind(&job.0)).await.map(drop)
}

async fn set_pushed(db: &mut Connection<'_>, job: &JobId) -> Result<()> {
    db.execute(sql("UPDATE job_changes SET pushed = true WHERE job = $1").bind(&job.0)).await.map(drop)
}

async fn set_change(
    db: &mut Connection<'_>,
    job: &JobId,
    run: u32,
    change: &Change,
    read: u32,
) -> Result<()> {
    mark_read(db, job, read).await?;
    drop_failed_diff(db, job).await?;
    let (added, removed) = change.lines();
    let lines = sql("UPDATE jobs SET added = $1, removed = $2 WHERE id = $3");
    db.execute(lines.bind(to_signed(added)).bind(to_signed(removed)).bind(&job.0)).await?;
    let insert = sql("INSERT INTO job_changes (job, head_commit, title, body, report, diff, run, pushed)
         VALUES ($1, $2, $3, $4, $5, $6, $7, false)
         ON CONFLICT (job) DO UPDATE
         SET head_commit = excluded.head_commit, title = excluded.title, body = excluded.body,
             report = excluded.report, diff = excluded.diff, run = excluded.run, pushed = false")
    .bind(&job.0)
    .bind(&change.head_commit)
    .bind(&change.title)
    .bind(&change.body)
    .bind(change.report.to_string())
    .bind(&change.diff)
    .bind(run);
    db.execute(insert).await.map(drop)
}
