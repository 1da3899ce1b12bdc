//! Moves the rollups of days whose raw events are deleted, with the numbers of their readers.

use super::{Current, Days, list};
use crate::encoding::put_slice;
use crate::remote::Shared;
use crate::remote::day_readers::DayReaders;
use crate::remote::ledger::{LedgerError, LedgerTransaction};
use crate::sqlite::export::{Export, Rollups};
use crate::views::Failure;

pub(super) struct RollupPart {
    /// The last day.
    pub(super) until: i64,
    rollups: Rollups,
    days: Days,
    /// The encoded readers of days.
    readers: Vec<(i64, Vec<u8>)>,
}

impl RollupPart {
    /// The next days, up to the day `until` if it is known. `None` if there is no further day.
    pub(super) async fn read(
        from: &Export,
        current: &Current,
        until: Option<i64>,
    ) -> Result<Option<Self>, Failure> {
        let span = (current.state.after, until);
        let mut rollups = from.rollups(&current.project, &current.pages, span, current.part_rows).await?;
        let days = std::mem::take(&mut rollups.days);
        let Some(until) = days.keys().last().copied() else { return Ok(None) };
        let mut readers = Vec::new();
        for (day, site, pages) in std::mem::take(&mut rollups.readers) {
            readers.push((day, DayReaders { site, pages }.encode()?));
        }
        Ok(Some(Self { until, rollups, days, readers }))
    }

    pub(super) async fn send(&self, to: &Shared, project: i64, token: &str) -> Result<(), Failure> {
        let Rollups { daily, hourly, names, .. } = &self.rollups;
        let of_path = |rows: &[(i64, String, u8, u64)]| {
            let mut out = Vec::new();
            for (at, path, class, n) in rows {
                put_start(&mut out, project, None, *at);
                put_end(&mut out, path, *class, *n);
            }
            out
        };
        let mut of_names = Vec::new();
        for (about, day, name, class, n) in names {
            put_start(&mut of_names, project, Some(*about), *day);
            put_end(&mut of_names, name, *class, *n);
        }
        for (table, columns, rows) in [
            ("views_daily", "project, day, path", of_path(daily)),
            ("views_hourly", "project, hour, path", of_path(hourly)),
            ("views_names", "project, about, day, name", of_names),
        ] {
            if !rows.is_empty() {
                let insert =
                    format!("INSERT INTO {table} ({columns}, class, generation, n) FORMAT RowBinary");
                to.ready().await?.insert(&insert, &format!("{token}-{table}"), rows).await?;
            }
        }
        Ok(())
    }

    pub(super) async fn record(
        &self,
        tx: &mut dyn LedgerTransaction,
        project: i64,
        raw_from_day: i64,
    ) -> Result<(), LedgerError> {
        tx.touch_days(project, &list(&self.days), raw_from_day).await?;
        for (day, readers) in &self.readers {
            tx.set_visitors(project, *day, readers).await?;
        }
        // These days have no raw events to delete.
        tx.raw_deleted(project, raw_from_day).await
    }
}

fn put_start(out: &mut Vec<u8>, project: i64, about: Option<u8>, at: i64) {
    out.extend(project.to_le_bytes());
    out.extend(about);
    // Days and hours since 1970: no event is older.
    out.extend(u32::try_from(at).unwrap_or_default().to_le_bytes());
}

fn put_end(out: &mut Vec<u8>, name: &str, class: u8, n: u64) {
    put_slice(out, name.as_bytes());
    out.push(class);
    // The generation of a day that was never rewritten.
    out.extend(0_u32.to_le_bytes());
    out.extend(n.to_le_bytes());
}
