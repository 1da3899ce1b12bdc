//! The last thirty minutes, by the ledger's clock.

use std::collections::{BTreeMap, HashMap};

use super::Shared;
use super::day_readers::Visit;
use super::rows::Answer;
use super::snapshot::report;
use super::snapshot::{Moment, tally};
use super::sql::Conditions;
use super::visitors::{MAX_LITERALS, visits_source};
use crate::live_report::{MINUTE, MINUTES, empty_report, top_pages};
use crate::range_parts::{DAY, Span};
use crate::reports::Live;
use crate::views::{Failure, PageCount, Readers, Tally};

impl Shared {
    pub(super) async fn live(&self, project: &str) -> Result<Live, Failure> {
        let live = report!(self, project, |moment| {
            let mut live = empty_report(moment.ledger.now);
            let from = live.minutes[0].at;
            let span = (from, from + MINUTES * MINUTE);
            let mut pages = HashMap::<String, Tally>::new();
            let mut add = |at: i64, path: &str, reads: Tally| {
                let index = usize::try_from((at - from).div_euclid(MINUTE)).ok();
                let Some(point) = index.and_then(|index| live.minutes.get_mut(index)) else { return };
                let page = pages.entry(path.to_owned()).or_default();
                for sum in [&mut point.reads, &mut live.totals, page] {
                    sum.add(reads.human, reads.ai);
                }
            };
            self.each_minute(moment, span, &mut add).await?;
            moment.reads().for_each(|read| add(read.at, read.path, tally(read.class, 1)));
            live.readers = self.live_readers(moment, span).await?;
            let page = |(path, Tally { human, ai })| PageCount { path, human, ai };
            live.pages = top_pages(pages.into_iter().map(page).collect());
            Ok(live)
        });
        Ok(live?.unwrap_or_else(|| empty_report(self.clock.now_ms())))
    }

    async fn each_minute(
        &self,
        moment: &Moment,
        span: Span,
        add: &mut (dyn FnMut(i64, &str, Tally) + Send),
    ) -> Result<(), Failure> {
        let raw = Conditions::new(&moment.ledger).raw(&[span]);
        let sql = format!(
            "SELECT toUInt64(intDiv(toUnixTimestamp64Milli(at), {MINUTE})) AS minute, toString(path) AS page, \
             countIf(class = 0), countIf(class = 1) FROM views WHERE kind = 0 AND class < 2 AND {raw} \
             GROUP BY minute, page"
        );
        let rows = self.ready().await?.query(sql).await?;
        let mut answer = Answer::new(&rows);
        while !answer.is_empty() {
            let (minute, path) = (answer.u64()?.cast_signed(), answer.string()?);
            add(minute * MINUTE, path, Tally { human: answer.u64()?, ai: answer.u64()? });
        }
        Ok(())
    }

    async fn live_readers(&self, moment: &Moment, span: Span) -> Result<Readers, Failure> {
        let mut waiting = BTreeMap::<i64, Vec<Visit<'_>>>::new();
        for read in moment.reads().filter(|read| (span.0..span.1).contains(&read.at)) {
            if let Some(visitor) = read.visitor {
                // The path does not matter here.
                let visit = Visit { path: "", visitor, class: read.class };
                waiting.entry(read.at.div_euclid(DAY)).or_default().push(visit);
            }
        }
        for visits in waiting.values_mut() {
            visits.sort_unstable();
            visits.dedup();
        }
        if waiting.values().map(Vec::len).sum::<usize>() > MAX_LITERALS {
            return Err(self.ship_and_retry(moment).await?);
        }
        let sql = format!(
            "SELECT uniqExactIf(visitor, class = 0), uniqExactIf(visitor, class = 1), uniqExact(visitor) FROM ({})",
            visits_source(moment, &[span], &waiting)
        );
        let rows = self.ready().await?.query(sql).await?;
        let mut answer = Answer::new(&rows);
        Ok(Readers { human: answer.u64()?, ai: answer.u64()?, total: answer.u64()? })
    }
}
