//! Loads a project from disk into memory.

use std::sync::Arc;

use base::sqlite::ReadPool;
use futures_util::TryStreamExt;
use sqlx::SqliteConnection;

use super::event_ids::{EventIds, Ids};
use super::project::{Project, SharedProject};
use crate::block::{Block, Row};
use crate::cells::each_cell;
use crate::pages::Pages;
use crate::prefix_sums::{PrefixSums, PrefixSumsBuilder};
use crate::views::Failure;

pub(super) async fn project_id(reads: &ReadPool, name: &str) -> Result<Option<i64>, Failure> {
    Ok(sqlx::query_scalar("SELECT id FROM project WHERE name = ?")
        .bind(name)
        .fetch_optional(&mut *reads.acquire().await?)
        .await?)
}

pub(super) async fn create(connection: &mut SqliteConnection, name: &str) -> Result<(), Failure> {
    let create = "INSERT INTO project (name) VALUES (?) ON CONFLICT DO NOTHING";
    sqlx::query(create).bind(name).execute(connection).await?;
    Ok(())
}

/// Loads a project without its prefix sums, which only reports need.
pub(super) async fn project(reads: &ReadPool, id: i64) -> Result<(Arc<SharedProject>, EventIds), Failure> {
    let raw_from = sqlx::query_scalar("SELECT raw_from FROM project WHERE id = ?")
        .bind(id)
        .fetch_one(&mut *reads.acquire().await?)
        .await?;
    let mut project = Project {
        id,
        raw_from,
        pages: pages(&mut *reads.acquire().await?, id).await?,
        recent: Vec::new(),
        journal_bytes: 0,
        prefix_sums: None,
        disk_version: 0,
    };
    let journal: Vec<(i64, Vec<u8>)> =
        sqlx::query_as("SELECT received, block FROM journal WHERE project = ? ORDER BY id")
            .bind(id)
            .fetch_all(&mut *reads.acquire().await?)
            .await?;
    let mut ids = Ids::new();
    for (received, block) in journal {
        let block = Block::decode(&block)?;
        project.journal_bytes += block.memory_bytes();
        let rows = block.rows;
        ids.extend(rows.iter().filter_map(|row| Some((row.id?, received))));
        project.add(rows.iter().filter_map(Row::read));
    }
    Ok((SharedProject::new(project), EventIds::load(reads, id, ids).await?))
}

pub(super) async fn pages(connection: &mut SqliteConnection, project: i64) -> Result<Pages, Failure> {
    let mut pages = Pages::new();
    let rows: Vec<(String, i64)> =
        sqlx::query_as("SELECT path, day FROM page WHERE project = ? ORDER BY number")
            .bind(project)
            .fetch_all(connection)
            .await?;
    for (path, day) in rows {
        if path.is_empty() {
            pages.add_removed();
        } else {
            pages.add(path.into(), day);
        }
    }
    Ok(pages)
}

/// Computes the prefix sums of a project's compacted reads.
pub(super) async fn prefix_sums(reads: &ReadPool, project: i64, pages: usize) -> Result<PrefixSums, Failure> {
    let select = "SELECT day, cells FROM day WHERE project = ? ORDER BY day";
    // Streamed, because all rows together are as large as the prefix sums.
    let mut connection = reads.acquire().await?;
    let mut days = sqlx::query_as::<_, (i64, Vec<u8>)>(select).bind(project).fetch(&mut *connection);
    let (mut sums, mut read) = (PrefixSumsBuilder::new(pages), Vec::new());
    while let Some((day, cells)) = days.try_next().await? {
        read.clear();
        each_cell(&cells, |page, cell| read.push((page, *cell)))?;
        sums.add_day(day, &read);
    }
    Ok(sums.build())
}
