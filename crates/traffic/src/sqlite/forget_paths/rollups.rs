//! Removes paths from the rollups of days whose raw events are deleted: reads by page, visitors by page,
//! and missing and redirected paths.

use sqlx::SqliteConnection;

use super::Matches;
use crate::cells::{Cells, each_cell};
use crate::distinct_readers::DistinctReaders;
use crate::name_counts::NameCounts;
use crate::names::NameKind;
use crate::views::Failure;

/// The kinds of names that begin with a path.
const PATH_NAMES: [NameKind; 2] = [NameKind::Missing, NameKind::Redirected];
/// No limit, so that decoding drops no names.
const UNLIMITED_NAMES: usize = usize::MAX;

/// The number of matching views in the rollups of a day.
pub(super) async fn find(
    connection: &mut SqliteConnection,
    project: i64,
    day: i64,
    matches: &Matches,
) -> Result<u64, Failure> {
    let mut views = 0;
    if let Some(cells) = day_cells(connection, project, day).await? {
        each_cell(&cells, |page, cell| {
            views += if matches.has_page(page) { cell.iter().sum::<u64>() } else { 0 };
        })?;
    }
    for about in PATH_NAMES {
        if let Some(names) = path_names(connection, project, about, day).await? {
            views += decode_names(&names)?.remove(|name| matches.has_name(name));
        }
    }
    Ok(views)
}

pub(super) async fn remove(
    connection: &mut SqliteConnection,
    project: i64,
    day: i64,
    matches: &Matches,
) -> Result<(), Failure> {
    let hours = "SELECT hour, cells FROM hour WHERE project = ? AND hour >= ? AND hour < ?";
    let hours = sqlx::query_as(hours).bind(project).bind(day * 24).bind((day + 1) * 24);
    let hours: Vec<(i64, Vec<u8>)> = hours.fetch_all(&mut *connection).await?;
    for (hour, cells) in hours {
        let write = sqlx::query("UPDATE hour SET cells = ? WHERE project = ? AND hour = ?");
        let write = write.bind(remove_pages(&cells, matches)?).bind(project).bind(hour);
        write.execute(&mut *connection).await?;
    }
    if let Some(cells) = day_cells(connection, project, day).await? {
        let write = sqlx::query("UPDATE day SET cells = ?, folds = folds + 1 WHERE project = ? AND day = ?");
        let write = write.bind(remove_pages(&cells, matches)?).bind(project).bind(day);
        write.execute(&mut *connection).await?;
    }
    remove_visitors(connection, project, day, matches).await?;
    for about in PATH_NAMES {
        remove_path_names(connection, project, about, day, matches).await?;
    }
    Ok(())
}

async fn remove_visitors(
    connection: &mut SqliteConnection,
    project: i64,
    day: i64,
    matches: &Matches,
) -> Result<(), Failure> {
    let visitors = "SELECT visitors FROM day WHERE project = ? AND day = ?";
    let visitors: Option<Option<Vec<u8>>> =
        sqlx::query_scalar(visitors).bind(project).bind(day).fetch_optional(&mut *connection).await?;
    if let Some(visitors) = visitors.flatten() {
        let mut visitors = DistinctReaders::decode(&visitors)?;
        visitors.remove(|page| matches.has_page(page));
        let write = sqlx::query("UPDATE day SET visitors = ? WHERE project = ? AND day = ?");
        write.bind(visitors.encode()?).bind(project).bind(day).execute(connection).await?;
    }
    Ok(())
}

async fn remove_path_names(
    connection: &mut SqliteConnection,
    project: i64,
    about: NameKind,
    day: i64,
    matches: &Matches,
) -> Result<(), Failure> {
    let Some(names) = path_names(connection, project, about, day).await? else { return Ok(()) };
    let mut names = decode_names(&names)?;
    names.remove(|name| matches.has_name(name));
    let write = sqlx::query("UPDATE named SET names = ? WHERE project = ? AND about = ? AND day = ?");
    let write = write.bind(names.encode()?).bind(project).bind(about as u8).bind(day);
    write.execute(connection).await?;
    Ok(())
}

fn remove_pages(cells: &[u8], matches: &Matches) -> Result<Vec<u8>, Failure> {
    let mut kept = Cells::default();
    kept.add_encoded(cells)?;
    kept.remove(|page| matches.has_page(page));
    Ok(kept.encode()?)
}

fn decode_names(names: &[u8]) -> Result<NameCounts, Failure> {
    let mut all = NameCounts::with_capacity(UNLIMITED_NAMES);
    all.add_encoded(names)?;
    Ok(all)
}

async fn day_cells(
    connection: &mut SqliteConnection,
    project: i64,
    day: i64,
) -> Result<Option<Vec<u8>>, Failure> {
    let cells = sqlx::query_scalar("SELECT cells FROM day WHERE project = ? AND day = ?");
    Ok(cells.bind(project).bind(day).fetch_optional(connection).await?)
}

async fn path_names(
    connection: &mut SqliteConnection,
    project: i64,
    about: NameKind,
    day: i64,
) -> Result<Option<Vec<u8>>, Failure> {
    let names = sqlx::query_scalar("SELECT names FROM named WHERE project = ? AND about = ? AND day = ?");
    Ok(names.bind(project).bind(about as u8).bind(day).fetch_optional(connection).await?)
}
