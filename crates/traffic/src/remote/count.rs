//! Counts the reads of a range, by page.

use std::cmp::Reverse;
use std::collections::HashMap;

use super::Shared;
use super::rows::Answer;
use super::snapshot::report;
use super::snapshot::{Moment, tally};
use super::sql::Conditions;
use crate::list_query::ListQuery;
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
        let counts = report!(self, project, |moment| {
            let mut pages = self.pages(moment, range).await?;
            pages.retain(|path, _| query.matches(|| path));
            Ok(counts(pages, query))
        });
        Ok(counts?.unwrap_or_default())
    }

    async fn pages(&self, moment: &Moment, range: &Range) -> Result<HashMap<String, Tally>, Failure> {
        let parts = RangeParts::from_range(range, moment.ledger.raw_from);
        let reads = Conditions::new(&moment.ledger).reads(&parts);
        let sql = format!(
            "SELECT toString(path), sumIf(n, class = 0), sumIf(n, class = 1) FROM ({reads}) GROUP BY path"
        );
        let rows = self.ready().await?.query(sql).await?;
        let (mut answer, mut pages) = (Answer::new(&rows), HashMap::<String, Tally>::new());
        while !answer.is_empty() {
            let path = answer.string()?.to_owned();
            pages.entry(path).or_default().add(answer.u64()?, answer.u64()?);
        }
        for read in moment.reads().filter(|read| parts.contains(read.at)) {
            let Tally { human, ai } = tally(read.class, 1);
            pages.entry(read.path.to_owned()).or_default().add(human, ai);
        }
        Ok(pages)
    }
}

fn counts(pages: HashMap<String, Tally>, query: &ListQuery) -> Counts {
    let mut totals = Tally::default();
    pages.values().for_each(|page| totals.add(page.human, page.ai));
    let readers = |Tally { human, ai }| Readers { human, ai, total: human + ai };
    let (pages, has_more) = top(pages.into_iter().map(|(path, reads)| (path, readers(reads))), query);
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
