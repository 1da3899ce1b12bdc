//! Counts distinct readers by day. The ledger keeps the numbers of a day until the day gets another view.

use std::collections::BTreeMap;

use super::Shared;
use super::count::top;
use super::day_readers::{DayReaders, Visit};
use super::ledger::DayRecord;
use super::rows::Answer;
use super::schema::DAY_OF_AT;
use super::snapshot::Moment;
use super::snapshot::report;
use super::sql::{Conditions, quote};
use super::transaction::transact;
use crate::list_query::ListQuery;
use crate::range::Range;
use crate::range_parts::{DAY, Span, days_in};
use crate::views::{Failure, Readers, Visitors};

/// Visits that a query can have as literals. If more wait, they are shipped first.
pub(super) const MAX_LITERALS: usize = 5_000;

/// The visits that wait, by day.
type WaitingVisits<'m> = BTreeMap<i64, Vec<Visit<'m>>>;

impl Shared {
    pub(super) async fn visitors(
        &self,
        project: &str,
        range: &Range,
        query: &ListQuery,
    ) -> Result<Visitors, Failure> {
        let report = report!(self, project, |moment| {
            let (mut totals, mut pages) = (Readers::default(), BTreeMap::<String, Readers>::new());
            for day in self.day_readers(moment, days_in(range)).await?.into_values() {
                totals.add(&day.site);
                for (path, readers) in day.pages {
                    pages.entry(path).or_default().add(&readers);
                }
            }
            let (pages, has_more) = top(pages.into_iter(), query);
            // A query for no pages asks for the totals only.
            Ok(Visitors { totals, pages, has_more: has_more && query.limit > 0 })
        });
        Ok(report?.unwrap_or_default())
    }

    /// The readers of every day that has any. Counts the days that changed, and stores their numbers.
    pub(super) async fn day_readers(
        &self,
        moment: &Moment,
        days: Span,
    ) -> Result<BTreeMap<i64, DayReaders>, Failure> {
        let project = moment.ledger.project;
        let records = transact!(self.ledger, |tx| tx.days(project, days.0, days.1).await)?;
        let mut waiting = waiting_visits(moment, days);
        let raw_from = moment.ledger.raw_from.div_euclid(DAY);
        let (mut all, mut changed) = (BTreeMap::new(), Vec::new());
        for record in records {
            match &record.visitors {
                Some(stored) if record.day < raw_from || !waiting.contains_key(&record.day) => {
                    all.insert(record.day, DayReaders::decode(stored)?);
                }
                None if record.day < raw_from => {}
                _ => changed.push(record),
            }
        }
        // Late readers were hashed with another salt, so none of them is counted already.
        let recent = waiting.split_off(&raw_from);
        for (day, visits) in waiting {
            all.entry(day).or_default().add(&DayReaders::from_visits(visits));
        }
        let counted = self.count_days(moment, &changed, &recent).await?;
        self.store_counted(project, &changed, &recent, &counted).await?;
        all.extend(counted);
        Ok(all)
    }

    /// Counts the readers of days whose raw events are stored, with those that wait.
    async fn count_days(
        &self,
        moment: &Moment,
        changed: &[DayRecord],
        waiting: &WaitingVisits<'_>,
    ) -> Result<BTreeMap<i64, DayReaders>, Failure> {
        let mut counted = BTreeMap::<i64, DayReaders>::new();
        if changed.is_empty() && waiting.is_empty() {
            return Ok(counted);
        }
        let literals: usize = waiting.values().map(Vec::len).sum();
        if literals > MAX_LITERALS {
            return Err(self.ship_and_retry(moment).await?);
        }
        let mut days: Vec<i64> =
            changed.iter().map(|record| record.day).chain(waiting.keys().copied()).collect();
        days.sort_unstable();
        days.dedup();
        let spans: Vec<Span> = days.iter().map(|day| (day * DAY, (day + 1) * DAY)).collect();
        let sql = format!(
            "SELECT day, path, uniqExactIf(visitor, class = 0), uniqExactIf(visitor, class = 1), uniqExact(visitor) \
             FROM ({}) GROUP BY GROUPING SETS ((day, path), (day))",
            visits_source(moment, &spans, waiting)
        );
        let rows = self.ready().await?.query(sql).await?;
        let mut answer = Answer::new(&rows);
        while !answer.is_empty() {
            let (day, path) = (i64::from(answer.u32()?), answer.string()?);
            let readers = Readers { human: answer.u64()?, ai: answer.u64()?, total: answer.u64()? };
            let day = counted.entry(day).or_default();
            // No page has an empty path: this is the site.
            if path.is_empty() {
                day.site = readers;
            } else {
                day.pages.insert(path.to_owned(), readers);
            }
        }
        Ok(counted)
    }

    /// Stores the numbers of days that no view waits for.
    async fn store_counted(
        &self,
        project: i64,
        changed: &[DayRecord],
        waiting: &WaitingVisits<'_>,
        counted: &BTreeMap<i64, DayReaders>,
    ) -> Result<(), Failure> {
        let mut encoded = Vec::new();
        for record in changed.iter().filter(|record| !waiting.contains_key(&record.day)) {
            let readers = counted.get(&record.day).cloned().unwrap_or_default();
            encoded.push((record.day, record.folds, readers.encode()?));
        }
        if encoded.is_empty() {
            return Ok(());
        }
        Ok(transact!(self.ledger, |tx| {
            for (day, folds, visitors) in &encoded {
                tx.store_visitors(project, *day, *folds, visitors).await?;
            }
            Ok(())
        })?)
    }
}

fn waiting_visits(moment: &Moment, days: Span) -> WaitingVisits<'_> {
    let mut visits = WaitingVisits::new();
    for read in moment.reads() {
        let day = read.at.div_euclid(DAY);
        if let Some(visitor) = read.visitor.filter(|_| (days.0..days.1).contains(&day)) {
            visits.entry(day).or_default().push(Visit { path: read.path, visitor, class: read.class });
        }
    }
    for visits in visits.values_mut() {
        visits.sort_unstable();
        visits.dedup();
    }
    visits
}

/// The visits of some days, raw and waiting, with the columns `day`, `path`, `class` and `visitor`.
pub(super) fn visits_source(moment: &Moment, spans: &[Span], waiting: &WaitingVisits<'_>) -> String {
    let raw = Conditions::new(&moment.ledger).raw(spans);
    let mut source = format!(
        "SELECT {DAY_OF_AT} AS day, toString(path) AS path, class, visitor FROM views \
         WHERE kind = 0 AND class < 2 AND visitor != 0 AND {raw}"
    );
    let literals: Vec<String> = waiting
        .iter()
        .flat_map(|(day, visits)| visits.iter().map(move |visit| (day, visit)))
        .map(|(day, visit)| {
            format!("({day}, {}, {}, {})", quote(visit.path), visit.class.code(), visit.visitor)
        })
        .collect();
    if !literals.is_empty() {
        source.push_str(&format!(
            " UNION ALL SELECT day, path, class, visitor FROM values('day UInt32, path String, class UInt8, visitor UInt64', {})",
            literals.join(", ")
        ));
    }
    source
}
