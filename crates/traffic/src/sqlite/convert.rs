//! Converts databases of the first version, which had one row per event, to blocks.
//!
//! Each step is one transaction, so an interrupted conversion continues where it stopped.

use std::sync::Arc;

use base::sqlite::Database;
use futures_util::FutureExt;
use sqlx::{Row as _, SqliteConnection};

use super::event_ids::{self, Ids};
use super::{compaction, load};
use crate::block::{Block, Hash, PathRef, Row};
use crate::classify::Class;
use crate::encoding::DamagedData;
use crate::event::Kind;
use crate::pages::Pages;
use crate::ranges::Verification;
use crate::views::Failure;

const EVENTS_PER_STEP: i64 = 50_000;
const IDS_PER_STEP: i64 = 200_000;

pub(super) async fn convert(database: &Database) -> Result<(), Failure> {
    let old = "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'old_event')";
    if !sqlx::query_scalar::<_, bool>(old).fetch_one(&mut *database.reads().acquire().await?).await? {
        return Ok(());
    }
    while database.write(|connection| convert_events(connection).boxed()).await? {}
    while database.write(|connection| convert_ids(connection).boxed()).await? {}
    database.write(|connection| drop_old_tables(connection).boxed()).await
}

async fn drop_old_tables(connection: &mut SqliteConnection) -> Result<(), Failure> {
    sqlx::raw_sql("DROP TABLE old_event; DROP TABLE old_seen; DROP TABLE old_word")
        .execute(connection)
        .await?;
    Ok(())
}

/// Converts the next events of one project. Returns false when there are none.
async fn convert_events(connection: &mut SqliteConnection) -> Result<bool, Failure> {
    let Some(project) = next_project(connection, "SELECT project FROM old_event LIMIT 1").await? else {
        return Ok(false);
    };
    let rows = sqlx::query(
        "SELECT event.id, at, path.text, agent.text, referrer.text, status, kind, class, markdown
         FROM old_event AS event
         JOIN old_word AS path ON path.id = event.path
         LEFT JOIN old_word AS agent ON agent.id = event.agent
         LEFT JOIN old_word AS referrer ON referrer.id = event.referrer
         WHERE event.project = ? ORDER BY event.id LIMIT ?",
    )
    .bind(project)
    .bind(EVENTS_PER_STEP)
    .fetch_all(&mut *connection)
    .await?;
    let mut pages = load::pages(&mut *connection, project).await?;
    let known = pages.len();
    let mut block = Block::default();
    for row in &rows {
        let converted = convert_row(row, &mut block, &mut pages)?;
        block.rows.push(converted);
    }
    let last: i64 = rows.last().map_or(i64::MAX, |row| row.get(0));
    let new: Vec<(u32, Arc<str>)> = pages.since(known).map(|(number, path)| (number, path.clone())).collect();
    for (number, path) in new {
        let insert = "INSERT INTO page (project, number, path, day) VALUES (?, ?, ?, 0)";
        sqlx::query(insert).bind(project).bind(number).bind(&*path).execute(&mut *connection).await?;
    }
    sqlx::query("INSERT INTO journal (project, received, events, block) VALUES (?, 0, ?, ?)")
        .bind(project)
        .bind(rows.len() as i64)
        .bind(block.encode(&block.rows, 1)?)
        .execute(&mut *connection)
        .await?;
    compaction::compact(connection, project, 0).await?;
    sqlx::query("DELETE FROM old_event WHERE project = ? AND id <= ?")
        .bind(project)
        .bind(last)
        .execute(connection)
        .await?;
    Ok(true)
}

async fn next_project(connection: &mut SqliteConnection, sql: &'static str) -> Result<Option<i64>, Failure> {
    Ok(sqlx::query_scalar(sql).fetch_optional(connection).await?)
}

fn convert_row(row: &sqlx::sqlite::SqliteRow, block: &mut Block, pages: &mut Pages) -> Result<Row, Failure> {
    let path: &str = row.get(2);
    let kind = match row.get::<i64, _>(6) {
        0 => Kind::Read,
        1 => Kind::NotFound,
        _ => Kind::Other,
    };
    let class = usize::try_from(row.get::<i64, _>(7)).ok().and_then(|code| Class::ALL.get(code));
    let path = match kind {
        Kind::Read => PathRef::Page(pages.number(path, 0, u32::MAX, || true)),
        _ => PathRef::Text(block.texts.number(path)),
    };
    let mut text = |text: Option<&str>| text.map_or(0, |text| block.texts.number(text));
    Ok(Row {
        at: row.get(1),
        path,
        kind,
        class: *class.ok_or(DamagedData("unknown class"))?,
        markdown: row.get(8),
        status: row.get::<Option<u16>, _>(5).unwrap_or_default(),
        agent: text(row.get(3)),
        referrer: text(row.get(4)),
        verification: Verification::Unknown,
        visitor: None,
        id: None,
    })
}

/// Converts the next event ids of one project. Returns false when there are none.
async fn convert_ids(connection: &mut SqliteConnection) -> Result<bool, Failure> {
    let Some(project) = next_project(connection, "SELECT project FROM old_seen LIMIT 1").await? else {
        return Ok(false);
    };
    let rows: Vec<(Vec<u8>, i64)> =
        sqlx::query_as("SELECT hash, received FROM old_seen WHERE project = ? ORDER BY hash LIMIT ?")
            .bind(project)
            .bind(IDS_PER_STEP)
            .fetch_all(&mut *connection)
            .await?;
    let last = rows.last().map(|(hash, _)| hash.clone());
    let ids: Ids = rows
        .into_iter()
        .filter_map(|(hash, received)| Some((Hash::try_from(hash).ok()?, received)))
        .collect();
    event_ids::write(connection, project, ids).await?;
    sqlx::query("DELETE FROM old_seen WHERE project = ? AND hash <= ?")
        .bind(project)
        .bind(last)
        .execute(connection)
        .await?;
    Ok(true)
}
