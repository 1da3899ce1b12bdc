//! Reclassifies raw events with the current table of agents, day by day.

use std::collections::BTreeMap;

use super::Shared;
use super::lease::ProjectLease;
use super::ledger::LedgerSnapshot;
use super::rewrite::{RowChange, span_of};
use super::rows::Answer;
use super::sql::{Conditions, quote_all};
use crate::classify::{classify, product};
use crate::range_parts::DAY;
use crate::reports::ReclassifyProgress;
use crate::series_steps::EVENT_TIMES;
use crate::views::Failure;

/// Bounds the events that one request processes.
const MAX_EVENTS: u64 = 500_000;

impl Shared {
    pub(super) async fn reclassify(&self, project: &str, from: i64) -> Result<ReclassifyProgress, Failure> {
        let Some(lease) = self.lease(project).await? else { return Ok(ReclassifyProgress::default()) };
        let mut done = self.reclassify_leased(&lease, from).await;
        if done.is_ok() {
            done = self.delete_old_generations(&lease).await.and(done);
        }
        self.release(&lease).await;
        done
    }

    async fn reclassify_leased(
        &self,
        lease: &ProjectLease,
        from: i64,
    ) -> Result<ReclassifyProgress, Failure> {
        self.ship_leased(lease).await?;
        let mut done = ReclassifyProgress { next: Some(from), ..ReclassifyProgress::default() };
        while let Some(from) = done.next.filter(|_| done.events < MAX_EVENTS) {
            let ledger = self.leased_snapshot(lease).await?;
            // Earlier days may have lost some events, so their rollups must stay.
            let kept_from = ledger.now.div_euclid(DAY) - i64::from(self.limits.raw_days);
            let from = from.div_euclid(DAY).max(ledger.raw_from.div_euclid(DAY)).max(kept_from);
            let Some(day) = self.next_raw_day(&ledger, from).await? else {
                done.next = None;
                break;
            };
            let (events, changed) = self.reclassify_day(lease, &ledger, day).await?;
            done = ReclassifyProgress {
                events: done.events + events,
                changed: done.changed + changed,
                next: Some((day + 1) * DAY),
            };
        }
        Ok(done)
    }

    /// The first day from `from` on that has raw events.
    async fn next_raw_day(&self, ledger: &LedgerSnapshot, from: i64) -> Result<Option<i64>, Failure> {
        let raw = Conditions::new(ledger).raw(&[(from.saturating_mul(DAY), EVENT_TIMES.1)]);
        let sql = format!("SELECT count(), toInt64(min(toUnixTimestamp64Milli(at))) FROM views WHERE {raw}");
        let rows = self.ready().await?.query(sql).await?;
        let mut answer = Answer::new(&rows);
        let (events, first) = (answer.u64()?, answer.u64()?.cast_signed());
        Ok((events > 0).then(|| first.div_euclid(DAY)))
    }

    /// Returns the number of events of the day, and how many of them changed.
    async fn reclassify_day(
        &self,
        lease: &ProjectLease,
        ledger: &LedgerSnapshot,
        day: i64,
    ) -> Result<(u64, u64), Failure> {
        let raw = Conditions::new(ledger).raw(&[span_of(day)]);
        let sql = format!(
            "SELECT toString(agent) AS name, toUInt8(markdown) AS form, class, toString(product) AS made_by, count() \
             FROM views WHERE {raw} GROUP BY name, form, class, made_by"
        );
        let rows = self.ready().await?.query(sql).await?;
        let (mut answer, mut events, mut changes) = (Answer::new(&rows), 0, Changes::default());
        while !answer.is_empty() {
            let (agent, markdown) = (answer.string()?, answer.u8()? == 1);
            let (class, known, count) = (answer.u8()?, answer.string()?, answer.u64()?);
            events += count;
            changes.add(agent, markdown, class, known, count);
        }
        if let Some(change) = changes.row_change() {
            self.rewrite_raw(lease, ledger, day, &change).await?;
        }
        Ok((events, changes.changed))
    }
}

/// The new classes and products by user agent.
#[derive(Default)]
struct Changes<'a> {
    changed: u64,
    /// As HTML and as Markdown.
    classes: [BTreeMap<&'a str, u8>; 2],
    products: BTreeMap<&'a str, &'static str>,
}

impl<'a> Changes<'a> {
    fn add(&mut self, agent: &'a str, markdown: bool, class: u8, known: &str, count: u64) {
        let new = classify(Some(agent), markdown).code();
        if new != class {
            self.changed += count;
            self.classes[usize::from(markdown)].insert(agent, new);
        }
        let name = product(Some(agent));
        if name != known {
            self.products.insert(agent, name);
        }
    }

    fn row_change(&self) -> Option<RowChange> {
        let [html, markdown] = &self.classes;
        if html.is_empty() && markdown.is_empty() && self.products.is_empty() {
            return None;
        }
        let class = |classes: &BTreeMap<&str, u8>| {
            let numbers: Vec<String> = classes.values().map(u8::to_string).collect();
            transform(classes.keys().copied(), &numbers.join(", "), "UInt8", "class")
        };
        let products = quote_all(self.products.values().copied());
        let products = transform(self.products.keys().copied(), &products, "String", "toString(product)");
        let class = format!("if(markdown, {}, {})", class(markdown), class(html));
        Some(RowChange { class, product: products, ..RowChange::default() })
    }
}

fn transform<'a>(agents: impl Iterator<Item = &'a str>, to: &str, kind: &str, otherwise: &str) -> String {
    match quote_all(agents) {
        none if none.is_empty() => otherwise.to_owned(),
        agents => format!(
            "transform(toString(agent), [{agents}]::Array(String), [{to}]::Array({kind}), {otherwise})"
        ),
    }
}
