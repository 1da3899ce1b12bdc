//! Counts the reads of a range, by page.
//!
//! ClickHouse sorts the pages and returns those that the query lists. Pages with reads that wait are looked up by name,
//! because these reads can change their place.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::Shared;
use super::rows::Answer;
use super::snapshot::report;
use super::snapshot::{Moment, tally};
use super::sql::{Conditions, quote, quote_all};
use super::visitors::MAX_LITERALS;
use crate::list_query::{ListQuery, Sort};
use crate::range::Range;
use crate::range_parts::RangeParts;
use crate::views::{Counts, Failure, PageCount, Readers, Tally};

impl Shared {
    pub(super) async fn count(
        &self,
        project: &str,
        range: &Range,
        query: &ListQuery,
    ) -> Result<Counts, Failure> {
        let counts = report!(self, project, |moment| self.count_pages(moment, range, query).await);
        Ok(counts?.unwrap_or_default())
    }

    async fn count_pages(
        &self,
        moment: &Moment,
        range: &Range,
        query: &ListQuery,
    ) -> Result<Counts, Failure> {
        let parts = RangeParts::from_range(range, moment.ledger.raw_from);
        let mut waiting = HashMap::<&str, Tally>::new();
        for read in moment.reads().filter(|read| parts.contains(read.at) && query.matches(|| read.path)) {
            let Tally { human, ai } = tally(read.class, 1);
            waiting.entry(read.path).or_default().add(human, ai);
        }
        let rows = self.ready().await?.query(list(moment, &parts, query, &waiting)).await?;
        let (mut answer, mut pages, mut totals) =
            (Answer::new(&rows), HashMap::<&str, Tally>::new(), Tally::default());
        while !answer.is_empty() {
            let (path, human, ai) = (answer.string()?, answer.u64()?, answer.u64()?);
            // No page has an empty path: this is the total.
            match path {
                "" => totals.add(human, ai),
                path => pages.entry(path).or_default().add(human, ai),
            }
        }
        for (path, reads) in waiting {
            pages.entry(path).or_default().add(reads.human, reads.ai);
            totals.add(reads.human, reads.ai);
        }
        Ok(counts(totals, pages, query))
    }
}

/// The total, the first pages up to the end of the query's list, and the pages of reads that wait. The columns are the
/// path, which is empty for the total, and the reads by humans and by AI assistants.
fn list(moment: &Moment, parts: &RangeParts, query: &ListQuery, waiting: &HashMap<&str, Tally>) -> String {
    let reads = Conditions::new(&moment.ledger).reads(parts);
    let reads = match &query.path {
        Some(start) => format!("SELECT * FROM ({reads}) WHERE startsWith(toString(path), {})", quote(start)),
        None => reads,
    };
    let counts = "sumIf(n, class = 0) AS human, sumIf(n, class = 1) AS ai";
    let total = format!("SELECT '' AS name, {counts} FROM ({reads})");
    let pages = format!("SELECT toString(path) AS name, {counts} FROM ({reads})");
    if waiting.len() > MAX_LITERALS {
        return format!("{total} UNION ALL {pages} GROUP BY name");
    }
    let key = match query.sort {
        Sort::Total => "human + ai DESC, name",
        Sort::Human => "human DESC, name",
        Sort::Ai => "ai DESC, name",
        Sort::Path => "name",
    };
    // One more, to know whether there are more.
    let end = query.offset.saturating_add(u64::from(query.limit)).saturating_add(1);
    let (mut others, mut same) = (String::new(), String::new());
    if !waiting.is_empty() {
        let paths = quote_all(waiting.keys().copied());
        others = format!("WHERE toString(path) NOT IN ({paths})");
        same = format!(" UNION ALL {pages} WHERE toString(path) IN ({paths}) GROUP BY name");
    }
    format!(
        "{total} UNION ALL SELECT * FROM ({pages} {others} GROUP BY name ORDER BY {key} LIMIT {end}){same}"
    )
}

fn counts(totals: Tally, pages: HashMap<&str, Tally>, query: &ListQuery) -> Counts {
    let readers = |Tally { human, ai }| Readers { human, ai, total: human + ai };
    let pages = pages.into_iter().map(|(path, reads)| (path.to_owned(), readers(reads)));
    let (pages, has_more) = top(pages, query);
    let page = |(path, Readers { human, ai, .. })| PageCount { path, human, ai };
    Counts { totals, pages: pages.into_iter().map(page).collect(), has_more }
}

/// The pages that a query lists, in its order, and whether there are more.
pub(super) fn top(
    pages: impl Iterator<Item = (String, Readers)>,
    query: &ListQuery,
) -> (Vec<(String, Readers)>, bool) {
    let mut pages: Vec<(String, Readers)> =
        pages.filter(|(path, readers)| readers.total > 0 && query.matches(|| path)).collect();
    let key = |readers: &Readers| Reverse(query.sort.key(readers.human, readers.ai, readers.total));
    pages.sort_unstable_by(|(path, one), (other, next)| {
        key(one).cmp(&key(next)).then_with(|| path.cmp(other))
    });
    query.paginate(pages)
}
