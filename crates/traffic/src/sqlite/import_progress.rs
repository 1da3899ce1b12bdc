//! Records how far files were imported, so that each part of a file counts once.
//!
//! A part is accepted only if it is the next one of its file. Its progress is recorded in the transaction
//! that writes its views. So a file counts once even if it is sent twice, by two clients at the same time, or
//! after a crash.

use std::collections::HashMap;

use base::sqlite::ReadPool;
use sqlx::SqliteConnection;

use super::keeper::Batch;
use crate::views::{Failure, FilePart, Progress};

pub(super) async fn progress(
    reads: &ReadPool,
    project: &str,
    file: &str,
) -> Result<Option<Progress>, Failure> {
    let row: Option<(i64, String)> = sqlx::query_as(
        "SELECT bytes, hash FROM import WHERE file = ? AND project = (SELECT id FROM project WHERE name = ?)",
    )
    .bind(file)
    .bind(project)
    .fetch_optional(&mut *reads.acquire().await?)
    .await?;
    Ok(row.map(|(bytes, hash)| Progress { bytes: bytes.unsigned_abs(), hash }))
}

/// Keeps the batches that are the next part of their file, or no part of a file. The others get the current
/// offset.
pub(super) async fn accept_next_parts(
    reads: &ReadPool,
    project: i64,
    batches: Vec<Batch>,
) -> Result<Vec<Batch>, (Failure, Vec<Batch>)> {
    let files: Vec<_> = batches.iter().filter_map(|batch| Some(batch.part.as_ref()?.file.clone())).collect();
    let mut offsets = match load_offsets(reads, project, files).await {
        Ok(offsets) => offsets,
        Err(failure) => return Err((failure, batches)),
    };
    let mut kept = Vec::with_capacity(batches.len());
    for batch in batches {
        match offset_mismatch(batch.part.as_ref(), &mut offsets) {
            Some(offset) => batch.respond(Ok(Err(offset))),
            None => kept.push(batch),
        }
    }
    Ok(kept)
}

/// The current offset of the file, if the part does not begin there. Otherwise advances the offset for later
/// batches of the group.
fn offset_mismatch(part: Option<&FilePart>, offsets: &mut HashMap<String, u64>) -> Option<u64> {
    let part = part?;
    let offset = offsets.entry(part.file.clone()).or_default();
    if *offset != part.from {
        return Some(*offset);
    }
    *offset = part.to.bytes;
    None
}

async fn load_offsets(
    reads: &ReadPool,
    project: i64,
    files: Vec<String>,
) -> Result<HashMap<String, u64>, Failure> {
    let mut offsets = HashMap::new();
    for file in files {
        let bytes: Option<i64> =
            sqlx::query_scalar("SELECT bytes FROM import WHERE project = ? AND file = ?")
                .bind(project)
                .bind(&file)
                .fetch_optional(&mut *reads.acquire().await?)
                .await?;
        offsets.insert(file, bytes.unwrap_or_default().unsigned_abs());
    }
    Ok(offsets)
}

pub(super) async fn record(
    connection: &mut SqliteConnection,
    project: i64,
    part: &FilePart,
    now: i64,
) -> Result<(), Failure> {
    let bytes = i64::try_from(part.to.bytes).map_err(Failure::new)?;
    sqlx::query("REPLACE INTO import (project, file, bytes, hash, at) VALUES (?, ?, ?, ?, ?)")
        .bind(project)
        .bind(&part.file)
        .bind(bytes)
        .bind(&part.to.hash)
        .bind(now)
        .execute(connection)
        .await?;
    Ok(())
}
