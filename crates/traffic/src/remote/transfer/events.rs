//! Moves raw events. ClickHouse fills the rollups of their days.

use super::{Current, Days, list};
use crate::event::Kind;
use crate::range_parts::DAY;
use crate::remote::Shared;
use crate::remote::ledger::{LedgerError, LedgerTransaction};
use crate::remote::rows::{COLUMNS, Placement, put_row};
use crate::sqlite::export::Export;
use crate::views::Failure;

pub(super) struct EventPart {
    /// The last block.
    pub(super) until: i64,
    pub(super) events: u64,
    rows: Vec<u8>,
    days: Days,
}

impl EventPart {
    /// The next events, up to the block `until` if it is known. `None` if there is no further block.
    pub(super) async fn read(
        from: &Export,
        current: &Current,
        until: Option<i64>,
    ) -> Result<Option<Self>, Failure> {
        let (project, span) = (&current.project, (current.state.after, until));
        let found = from.raw_events(project.id, &current.pages, span, current.part_rows).await?;
        if found.blocks.is_empty() {
            return Ok(None);
        }
        let mut part = Self { until: found.last, events: 0, rows: Vec::new(), days: Days::new() };
        for block in &found.blocks {
            // A block can have older events, which are in the rollups alone.
            for row in block.rows.iter().filter(|row| row.at >= project.raw_from) {
                let is_folded = current.full_days.is_folded(project.id, block, row);
                let placement = Placement { project: project.id, generation: 0, is_folded };
                put_row(&mut part.rows, block, row, placement);
                part.events += 1;
                *part.days.entry(row.at.div_euclid(DAY)).or_default() |= row.kind == Kind::Read;
            }
        }
        Ok(Some(part))
    }

    pub(super) async fn send(&self, to: &Shared, token: &str) -> Result<(), Failure> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let insert = format!("INSERT INTO views ({COLUMNS}) FORMAT RowBinary");
        Ok(to.ready().await?.insert(&insert, token, self.rows.clone()).await?)
    }

    pub(super) async fn record(
        &self,
        tx: &mut dyn LedgerTransaction,
        project: i64,
        raw_from_day: i64,
    ) -> Result<(), LedgerError> {
        match self.days.is_empty() {
            true => Ok(()),
            false => tx.touch_days(project, &list(&self.days), raw_from_day).await,
        }
    }
}
