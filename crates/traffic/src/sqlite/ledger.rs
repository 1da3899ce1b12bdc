//! Up to where files were read. A part of a file is taken only if it is the next one, and is noted
//! in the transaction that writes its views: a file that is sent twice, by two at once, or after a
//! crash, is counted once.

use std::collections::HashMap;

use sqlx::{SqliteConnection, SqlitePool};

use super::keeper::Batch;
use crate::views::{Failure, Part, Progress};

pub(super) async fn progress(
    reads: &SqlitePool,
    project: &str,
    file: &str,
) -> Result<Option<Progress>, Failure> {
    let row: Option<(i64, String)> = sqlx::query_as(
        "SELECT bytes, hash FROM import WHERE file = ? AND project = (SELECT id FROM project WHERE name = ?)",
    )
    .bind(file)
    .bind(project)
    .fetch_optional(reads)
    .await?;
    Ok(row.map(|(bytes, hash)| Progress { bytes: bytes.unsigned_abs(), hash }))
}

/// The batches of a group that may be written, in order. The others are told where their file is.
pub(super) async fn in_turn(
    reads: &SqlitePool,
    project: i64,
    batches: Vec<Batch>,
) -> Result<Vec<Batch>, (Failure, Vec<Batch>)> {
    let files: Vec<_> = batches.iter().filter_map(|batch| Some(batch.part.as_ref()?.file.clone())).collect();
    let mut places = match places(reads, project, files).await {
        Ok(places) => places,
        Err(failure) => return Err((failure, batches)),
    };
    let mut kept = Vec::with_capacity(batches.len());
    for batch in batches {
        match out_of_turn(batch.part.as_ref(), &mut places) {
            Some(place) => batch.tell(Ok(Err(place))),
            None => kept.push(batch),
        }
    }
    Ok(kept)
}

/// Where the part's file is, if the part does not begin there. One that does moves it on, for those
/// that come after it in the group.
fn out_of_turn(part: Option<&Part>, places: &mut HashMap<String, u64>) -> Option<u64> {
    let part = part?;
    let place = places.entry(part.file.clone()).or_default();
    if *place != part.from {
        return Some(*place);
    }
    *place = part.to.bytes;
    None
}

async fn places(
    reads: &SqlitePool,
    project: i64,
    files: Vec<String>,
) -> Result<HashMap<String, u64>, Failure> {
    let mut places = HashMap::new();
    for file in files {
        let bytes: Option<i64> =
            sqlx::query_scalar("SELECT bytes FROM import WHERE project = ? AND file = ?")
                .bind(project)
                .bind(&file)
                .fetch_optional(reads)
                .await?;
        places.insert(file, bytes.unwrap_or_default().unsigned_abs());
    }
    Ok(places)
}

pub(super) async fn note(
    connection: &mut SqliteConnection,
    project: i64,
    part: &Part,
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
