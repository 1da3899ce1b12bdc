//! Sums names over a range: whole days from the rollup, the rest from raw events, and what waits.
//!
//! ClickHouse lists the names with the most requests and sums the others, so that an answer is bounded, whatever names
//! strangers request.

use super::Shared;
use super::rows::Answer;
use super::schema::names_of_row;
use super::snapshot::Moment;
use super::snapshot::report;
use super::sql::Conditions;
use crate::cells::{CLASSES, Cell};
use crate::list_query::ListQuery;
use crate::name_counts::NameCounts;
use crate::names::{MAX_NAMES_PER_REPORT, NameKind, add_rows};
use crate::range::Range;
use crate::range_parts::RangeParts;
use crate::views::Failure;

/// Which names a report needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Names {
    /// Those with the most requests. The others count as other.
    Top,
    /// None: all of them count as other.
    Totals,
}

impl Names {
    pub(super) fn listed(query: &ListQuery) -> Self {
        match query {
            ListQuery { limit: 0, offset: 0, path: None, .. } => Self::Totals,
            _ => Self::Top,
        }
    }

    fn max(self) -> usize {
        match self {
            Self::Top => MAX_NAMES_PER_REPORT,
            Self::Totals => 0,
        }
    }
}

impl Shared {
    pub(super) async fn names<const N: usize>(
        &self,
        project: &str,
        range: &Range,
        kinds: [NameKind; N],
        wanted: Names,
    ) -> Result<[NameCounts; N], Failure> {
        let max = wanted.max();
        let names = report!(self, project, |moment| self.sum_names(moment, range, kinds, max).await);
        Ok(names?.unwrap_or_else(|| kinds.map(|_| NameCounts::with_capacity(0))))
    }

    /// At most `max` names. Names that only wait come after those that ClickHouse has.
    async fn sum_names<const N: usize>(
        &self,
        moment: &Moment,
        range: &Range,
        kinds: [NameKind; N],
        max: usize,
    ) -> Result<[NameCounts; N], Failure> {
        let parts = RangeParts::with_whole_days(range, moment.ledger.raw_from);
        let rows = self.ready().await?.query(query(moment, &parts, &kinds, max)).await?;
        let mut all = kinds.map(|_| NameCounts::with_capacity(max));
        let mut totals = [[0; CLASSES]; N];
        let mut answer = Answer::new(&rows);
        while !answer.is_empty() {
            let (about, is_total, name) = (answer.u8()?, answer.u8()? == 1, answer.string()?);
            let mut cell = Cell::default();
            for count in &mut cell {
                *count = answer.u64()?;
            }
            let Some(kind) = kinds.iter().position(|kind| *kind as u8 == about) else { continue };
            match is_total {
                true => totals[kind] = cell,
                false => all[kind].add(name, &cell),
            }
        }
        for ((names, total), kind) in all.iter_mut().zip(totals).zip(kinds) {
            names.add_rest(&total);
            for block in &moment.waiting {
                add_rows(names, block, kind, |at| parts.contains(at));
            }
        }
        Ok(all)
    }
}

/// The total of each kind, and its `max` names with the most requests. The columns are the kind, whether the row is a
/// total, the name, and a count for each class.
fn query(moment: &Moment, parts: &RangeParts, kinds: &[NameKind], max: usize) -> String {
    let of_kind = |kind: NameKind| {
        let (about, source, counts) = (kind as u8, source(moment, parts, kind), class_counts(kind));
        let mut parts = vec![format!(
            "SELECT toUInt8({about}) AS about, toUInt8(1) AS is_total, '' AS name, {counts} FROM ({source})"
        )];
        if max > 0 {
            parts.push(format!(
                "SELECT * FROM (SELECT toUInt8({about}) AS about, toUInt8(0) AS is_total, name, {counts} \
                 FROM ({source}) GROUP BY name ORDER BY sum(n) DESC, name LIMIT {max})"
            ));
        }
        parts.join(" UNION ALL ")
    };
    kinds.iter().map(|kind| of_kind(*kind)).collect::<Vec<_>>().join(" UNION ALL ")
}

/// Only products are counted for classes beyond human and assistant. The other names are many: each count needs memory.
fn class_counts(kind: NameKind) -> String {
    let has_all = matches!(kind, NameKind::Agents | NameKind::Verifications);
    let count = |class| match has_all || class < 2 {
        true => format!("sumIf(n, class = {class}) AS c{class}"),
        false => format!("toUInt64(0) AS c{class}"),
    };
    (0..CLASSES).map(count).collect::<Vec<_>>().join(", ")
}

/// The names of one kind, with the columns `name`, `class` and `n`.
fn source(moment: &Moment, parts: &RangeParts, kind: NameKind) -> String {
    let conditions = Conditions::new(&moment.ledger);
    let (about, days) = (kind as u8, conditions.days(parts.days));
    let mut source = format!("SELECT name, class, n FROM views_names WHERE about = {about} AND {days}");
    if !parts.edges.is_empty() {
        source.push_str(&format!(
            " UNION ALL SELECT entry.2 AS name, class, toUInt64(1) AS n \
             FROM (SELECT class, {} FROM views WHERE {}) WHERE entry.1 = {about}",
            names_of_row("0"),
            conditions.raw(&parts.edges)
        ));
    }
    source
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_without_rows_needs_only_totals() {
        #[track_caller]
        fn check(query: ListQuery, expected: Names) {
            assert_eq!(Names::listed(&query), expected, "{query:?}");
        }
        check(ListQuery::new(0, 0), Names::Totals);
        check(ListQuery::new(1, 0), Names::Top);
        // Whether there are more rows after the offset.
        check(ListQuery::new(0, 7), Names::Top);
        // The total of the paths that match.
        check(ListQuery { path: Some("/a".into()), ..ListQuery::new(0, 0) }, Names::Top);
    }
}
