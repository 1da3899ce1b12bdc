//! Counts distinct readers by day. The ledger keeps the numbers of a day until the day gets another view.
//!
//! Days are read and counted a few at a time, so that memory is bounded by their pages, whatever the range is. What was
//! counted is stored at once: a report that is interrupted continues there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::Shared;
use super::count::top;
use super::day_readers::{DayReaders, Visit};
use super::engine::{EngineError, QueryLimits};
use super::ledger::DayRecord;
use super::rows::Answer;
use super::schema::DAY_OF_AT;
use super::snapshot::Moment;
use super::snapshot::report;
use super::sql::{Conditions, quote};
use super::transaction::transact;
use crate::encoding::DamagedData;
use crate::list_query::ListQuery;
use crate::range::Range;
use crate::range_parts::{DAY, Span, days_in};
use crate::views::{Failure, Readers, Visitors};

/// Visits that a query can have as literals. If more wait, they are shipped first.
pub(super) const MAX_LITERALS: usize = 5_000;
/// Days that are read from the ledger at once, and counted by one query at most.
const MAX_DAYS: usize = 31;
/// A query that took less lets the next one count one more day.
const QUICK: Duration = Duration::from_secs(1);

/// The visits that wait, by day.
type WaitingVisits<'m> = BTreeMap<i64, Vec<Visit<'m>>>;

/// The days that one query counts: fewer after a query was refused as too large or too slow, because the next ones are
/// probably refused, too.
pub(super) struct DaysPerQuery(AtomicUsize);

impl Default for DaysPerQuery {
    fn default() -> Self {
        Self(AtomicUsize::new(MAX_DAYS))
    }
}

impl DaysPerQuery {
    fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    fn grow(&self) {
        self.0.store((self.get() + 1).min(MAX_DAYS), Ordering::Relaxed);
    }

    /// After a query of `days` days was refused. Each try can take seconds, so there are few until one day is left.
    fn shrink(&self, days: usize) {
        self.0.store((days / 4).max(1), Ordering::Relaxed);
    }
}

impl Shared {
    pub(super) async fn visitors(
        &self,
        project: &str,
        range: &Range,
        query: &ListQuery,
    ) -> Result<Visitors, Failure> {
        // A query for no pages asks for the totals only.
        let decode = if query.limit == 0 { DayReaders::decode_site } else { DayReaders::decode };
        let report = report!(self, project, |moment| {
            let (mut totals, mut pages) = (Readers::default(), BTreeMap::<String, Readers>::new());
            let add = |_, day: DayReaders| {
                totals.add(&day.site);
                let listed = |(path, _): &(String, _)| query.limit > 0 && query.matches(|| path);
                for (path, readers) in day.pages.into_iter().filter(listed) {
                    pages.entry(path).or_default().add(&readers);
                }
            };
            self.each_day_readers(moment, days_in(range), decode, add).await?;
            let (pages, has_more) = top(pages.into_iter(), query);
            Ok(Visitors { totals, pages, has_more: has_more && query.limit > 0 })
        });
        Ok(report?.unwrap_or_default())
    }

    /// Counts and stores the readers of the raw events before a day, which are about to be deleted.
    pub(super) async fn keep_readers_before(&self, moment: &Moment, day: i64) -> Result<(), Failure> {
        let from = moment.ledger.raw_from.div_euclid(DAY);
        self.each_day_readers(moment, (from, day), DayReaders::decode_site, |_, _| {}).await
    }

    /// Calls `with` for the readers of every day that has any. Counts the days that changed, and stores their numbers.
    /// `decode` reads stored numbers.
    pub(super) async fn each_day_readers(
        &self,
        moment: &Moment,
        days: Span,
        decode: fn(&[u8]) -> Result<DayReaders, DamagedData>,
        mut with: impl FnMut(i64, DayReaders),
    ) -> Result<(), Failure> {
        let (project, raw_from) = (moment.ledger.project, moment.ledger.raw_from.div_euclid(DAY));
        let mut waiting = waiting_visits(moment, days);
        if waiting.range(raw_from..).map(|(_, visits)| visits.len()).sum::<usize>() > MAX_LITERALS {
            return Err(self.ship_and_retry(moment).await?);
        }
        let mut first = days.0;
        loop {
            let waits_from = waiting.keys().next().copied();
            let (end, records) = transact!(self.ledger, |tx| {
                let stored_from = tx.next_day(project, first).await?.filter(|day| *day < days.1);
                let Some(from) = stored_from.into_iter().chain(waits_from).min() else {
                    return Ok((None, Vec::new()));
                };
                let end = (from + MAX_DAYS as i64).min(days.1);
                Ok((Some(end), tx.days(project, from, end).await?))
            })?;
            let Some(end) = end else { return Ok(()) };
            let later = waiting.split_off(&end);
            let mut recent = waiting.split_off(&raw_from);
            let mut late = std::mem::replace(&mut waiting, later);
            let mut changed = Vec::new();
            for record in records {
                match &record.visitors {
                    Some(stored) if !recent.contains_key(&record.day) => {
                        let mut readers = decode(stored)?;
                        // They were hashed with another salt, so none of them is counted already.
                        if let Some(visits) = late.remove(&record.day) {
                            readers.add(&DayReaders::from_visits(visits));
                        }
                        with(record.day, readers);
                    }
                    None if record.day < raw_from => {}
                    _ => changed.push(record),
                }
            }
            late.into_iter().for_each(|(day, visits)| with(day, DayReaders::from_visits(visits)));
            self.count_days(moment, &changed, &mut recent, &mut with).await?;
            first = end;
        }
    }

    /// Counts the readers of days whose raw events are stored, with those that wait. Stores the numbers of days that no
    /// view waits for.
    async fn count_days(
        &self,
        moment: &Moment,
        changed: &[DayRecord],
        waiting: &mut WaitingVisits<'_>,
        with: &mut impl FnMut(i64, DayReaders),
    ) -> Result<(), Failure> {
        let days: BTreeSet<i64> =
            changed.iter().map(|record| record.day).chain(waiting.keys().copied()).collect();
        let days: Vec<i64> = days.into_iter().collect();
        let mut rest = &days[..];
        while let [first, ..] = rest {
            let (some, later) = rest.split_at(self.days_per_query.get().min(rest.len()));
            let end = later.first().copied().unwrap_or(i64::MAX);
            let later_waiting = waiting.split_off(&end);
            let started = Instant::now();
            let counted = match self.query_days(moment, some, waiting).await? {
                Ok(counted) => counted,
                Err(EngineError::TooLarge(_) | EngineError::TooSlow(_)) if some.len() > 1 => {
                    self.engine.check_silence().await?;
                    waiting.extend(later_waiting);
                    self.days_per_query.shrink(some.len());
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            if started.elapsed() < QUICK {
                self.days_per_query.grow();
            }
            let stored = changed.iter().filter(|record| (*first..end).contains(&record.day));
            // A day may have been rewritten since the moment. Its earlier rows say nothing about it then.
            let stored = stored.filter(|record| {
                !waiting.contains_key(&record.day)
                    && moment.ledger.generation(record.day) == record.generation
            });
            self.store_counted(moment.ledger.project, stored, &counted).await?;
            counted.into_iter().for_each(|(day, readers)| with(day, readers));
            *waiting = later_waiting;
            rest = later;
        }
        Ok(())
    }

    async fn query_days(
        &self,
        moment: &Moment,
        days: &[i64],
        waiting: &WaitingVisits<'_>,
    ) -> Result<Result<BTreeMap<i64, DayReaders>, EngineError>, Failure> {
        let spans: Vec<Span> = days.iter().map(|day| (day * DAY, (day + 1) * DAY)).collect();
        let sql = format!(
            "SELECT day, path, uniqExactIf(visitor, class = 0), uniqExactIf(visitor, class = 1), uniqExact(visitor) \
             FROM ({}) GROUP BY GROUPING SETS ((day, path), (day))",
            visits_source(moment, &spans, waiting)
        );
        // Some days that are refused are tried one by one, so that is decided early.
        let limits = if days.len() > 1 { QueryLimits::PART } else { QueryLimits::REPORT };
        let rows = match self.ready().await?.query_within(sql, limits).await {
            Ok(rows) => rows,
            Err(error) => return Ok(Err(error)),
        };
        let (mut answer, mut counted) = (Answer::new(&rows), BTreeMap::<i64, DayReaders>::new());
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
        Ok(Ok(counted))
    }

    async fn store_counted(
        &self,
        project: i64,
        records: impl Iterator<Item = &DayRecord>,
        counted: &BTreeMap<i64, DayReaders>,
    ) -> Result<(), Failure> {
        let (none, mut encoded) = (DayReaders::default(), Vec::new());
        for record in records {
            let readers = counted.get(&record.day).unwrap_or(&none);
            encoded.push((record, readers.encode()?));
        }
        if encoded.is_empty() {
            return Ok(());
        }
        Ok(transact!(self.ledger, |tx| {
            for (day, visitors) in &encoded {
                tx.store_visitors(project, day, visitors).await?;
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
