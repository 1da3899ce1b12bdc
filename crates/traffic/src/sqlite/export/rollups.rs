//! Reads the rollups of days whose raw events are deleted.

use std::collections::BTreeMap;

use super::{Export, ExportedPages, ExportedProject};
use crate::cells::{CLASSES, Cell, each_cell};
use crate::distinct_readers::DistinctReaders;
use crate::name_counts::each_name;
use crate::views::{Failure, Readers};

/// The rollups of some days, by path instead of page number.
#[derive(Debug, Default)]
pub(crate) struct Rollups {
    /// Day, path, class, and reads.
    pub(crate) daily: Vec<(i64, String, u8, u64)>,
    /// Hour, path, class, and reads.
    pub(crate) hourly: Vec<(i64, String, u8, u64)>,
    /// Kind, day, name, class, and times.
    pub(crate) names: Vec<(u8, i64, String, u8, u64)>,
    /// The days, and whether each has or had reads.
    pub(crate) days: BTreeMap<i64, bool>,
    /// The readers of the site and of each page, of days whose readers are known.
    pub(crate) readers: Vec<(i64, Readers, BTreeMap<String, Readers>)>,
}

impl Rollups {
    pub(crate) fn rows(&self) -> usize {
        self.daily.len() + self.hourly.len() + self.names.len()
    }
}

impl Export {
    /// Days before the raw events, after a day: up to the day `until`, or until they have `max_rows`.
    pub(crate) async fn rollups(
        &self,
        project: &ExportedProject,
        pages: &ExportedPages,
        (after, until): (i64, Option<i64>),
        max_rows: usize,
    ) -> Result<Rollups, Failure> {
        let last = until.unwrap_or(i64::MAX).min(project.raw_from_day() - 1);
        let days = "SELECT day FROM day WHERE project = $1 AND day > $2 AND day <= $3
            UNION SELECT day FROM named WHERE project = $1 AND day > $2 AND day <= $3 ORDER BY day";
        let days = sqlx::query_scalar(days).bind(project.id).bind(after).bind(last);
        let days: Vec<i64> = days.fetch_all(&mut *self.reader().await?).await?;
        let mut found = Rollups::default();
        for day in days {
            self.add_day(project.id, pages, day, &mut found).await?;
            if until.is_none() && found.rows() >= max_rows {
                break;
            }
        }
        Ok(found)
    }

    async fn add_day(
        &self,
        project: i64,
        pages: &ExportedPages,
        day: i64,
        found: &mut Rollups,
    ) -> Result<(), Failure> {
        let mut connection = self.reader().await?;
        let of_day = sqlx::query_as("SELECT cells, visitors FROM day WHERE project = ? AND day = ?");
        let of_day = of_day.bind(project).bind(day).fetch_optional(&mut *connection);
        let of_day: Option<(Vec<u8>, Option<Vec<u8>>)> = of_day.await?;
        found.days.insert(day, of_day.is_some());
        if let Some((cells, visitors)) = of_day {
            add_cells(&mut found.daily, pages, day, &cells)?;
            if let Some(visitors) = visitors {
                let (site, readers) = name_readers(&DistinctReaders::decode(&visitors)?, pages);
                found.readers.push((day, site, readers));
            }
        }
        let hours = "SELECT hour, cells FROM hour WHERE project = ? AND hour >= ? AND hour < ? ORDER BY hour";
        let hours = sqlx::query_as(hours).bind(project).bind(day * 24).bind((day + 1) * 24);
        let hours: Vec<(i64, Vec<u8>)> = hours.fetch_all(&mut *connection).await?;
        for (hour, cells) in hours {
            add_cells(&mut found.hourly, pages, hour, &cells)?;
        }
        let names =
            sqlx::query_as("SELECT about, names FROM named WHERE project = ? AND day = ? ORDER BY about");
        let names: Vec<(u8, Vec<u8>)> = names.bind(project).bind(day).fetch_all(&mut *connection).await?;
        for (about, packed) in names {
            each_name(&packed, |name, cell| {
                let times = by_class(cell).map(|(class, n)| (about, day, name.to_owned(), class, n));
                found.names.extend(times);
            })?;
        }
        Ok(())
    }
}

fn add_cells(
    rows: &mut Vec<(i64, String, u8, u64)>,
    pages: &ExportedPages,
    at: i64,
    cells: &[u8],
) -> Result<(), Failure> {
    each_cell(cells, |page, cell| {
        rows.extend(by_class(cell).map(|(class, n)| (at, pages.path(page).to_owned(), class, n)));
    })?;
    Ok(())
}

/// The classes that a cell counts.
fn by_class(cell: &Cell) -> impl Iterator<Item = (u8, u64)> {
    let classes: [u8; CLASSES] = std::array::from_fn(|class| class as u8);
    let counts = *cell;
    classes.into_iter().zip(counts).filter(|(_, n)| *n > 0)
}

fn name_readers(distinct: &DistinctReaders, pages: &ExportedPages) -> (Readers, BTreeMap<String, Readers>) {
    let mut named = BTreeMap::<String, Readers>::new();
    for (page, readers) in distinct.pages() {
        named.entry(pages.path(page).to_owned()).or_default().add(readers);
    }
    (distinct.site(), named)
}
