//! Sums names over a range: whole days from the rollup, the rest from raw events, and what waits.

use super::Shared;
use super::rows::Answer;
use super::schema::names_of_row;
use super::snapshot::Moment;
use super::snapshot::report;
use super::sql::Conditions;
use crate::cells::{CLASSES, Cell};
use crate::name_counts::NameCounts;
use crate::names::{MAX_NAMES_PER_REPORT, NameKind, add_rows};
use crate::range::Range;
use crate::range_parts::RangeParts;
use crate::views::Failure;

impl Shared {
    pub(super) async fn names<const N: usize>(
        &self,
        project: &str,
        range: &Range,
        kinds: [NameKind; N],
    ) -> Result<[NameCounts; N], Failure> {
        let names = report!(self, project, |moment| self.sum_names(moment, range, kinds).await);
        Ok(names?.unwrap_or_else(|| kinds.map(|_| NameCounts::with_capacity(0))))
    }

    async fn sum_names<const N: usize>(
        &self,
        moment: &Moment,
        range: &Range,
        kinds: [NameKind; N],
    ) -> Result<[NameCounts; N], Failure> {
        let parts = RangeParts::with_whole_days(range, moment.ledger.raw_from);
        let rows = self.ready().await?.query(query(moment, &parts, &kinds)).await?;
        let mut all = kinds.map(|_| NameCounts::with_capacity(MAX_NAMES_PER_REPORT));
        let mut answer = Answer::new(&rows);
        while !answer.is_empty() {
            let (about, name, class, n) = (answer.u8()?, answer.string()?, answer.u8()?, answer.u64()?);
            let counts = kinds.iter().zip(&mut all).find(|(kind, _)| **kind as u8 == about);
            if let Some((_, names)) = counts {
                names.add(name, &cell(class, n));
            }
        }
        for (names, kind) in all.iter_mut().zip(kinds) {
            for block in &moment.waiting {
                add_rows(names, block, kind, |at| parts.contains(at));
            }
        }
        Ok(all)
    }
}

pub(super) fn cell(class: u8, n: u64) -> Cell {
    let mut cell = [0; CLASSES];
    if let Some(count) = cell.get_mut(usize::from(class)) {
        *count = n;
    }
    cell
}

fn query(moment: &Moment, parts: &RangeParts, kinds: &[NameKind]) -> String {
    let conditions = Conditions::new(&moment.ledger);
    let kinds: Vec<String> = kinds.iter().map(|kind| (*kind as u8).to_string()).collect();
    let kinds = kinds.join(", ");
    let days = conditions.days(parts.days);
    let mut source =
        format!("SELECT about, name, class, n FROM views_names WHERE about IN ({kinds}) AND {days}");
    if !parts.edges.is_empty() {
        source.push_str(&format!(
            " UNION ALL SELECT toUInt8(entry.1) AS about, entry.2 AS name, class, toUInt64(1) AS n \
             FROM (SELECT class, {} FROM views WHERE {}) WHERE about IN ({kinds})",
            names_of_row("0"),
            conditions.raw(&parts.edges)
        ));
    }
    format!("SELECT about, name, class, sum(n) FROM ({source}) GROUP BY about, name, class ORDER BY name")
}
