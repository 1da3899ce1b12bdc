//! Counts the reads of a range, by page.

use std::cmp::{Ordering, Reverse};

use super::project::{Project, SharedProject};
use crate::range_parts::{RangeParts, Span};
use base::sqlite::ReadPool;

use crate::block::{Read, each_read};
use crate::cells::each_cell;
use crate::classify::Class;
use crate::list_query::ListQuery;
use crate::pages::Pages;
use crate::range::Range;
use crate::views::{Counts, Failure, PageCount, Readers, Tally};

/// `None` when the data on disk changed in the meantime: retry.
pub(super) async fn count(
    reads: &ReadPool,
    shared: &SharedProject,
    range: &Range,
    query: &ListQuery,
) -> Result<Option<Counts>, Failure> {
    let (id, version, parts) = {
        let project = shared.read();
        (project.id, project.disk_version, RangeParts::from_range(range, project.raw_from))
    };
    let mut edges = Edges::default();
    edges.add_hours(reads, id, &parts.hours).await?;
    edges.add_raw_events(reads, id, &parts.raw_spans).await?;
    let project = shared.read();
    if project.disk_version != version {
        return Ok(None);
    }
    Ok(sum(&project, &parts, &edges).map(|pages| counts(&project.pages, &pages, query)))
}

/// The compacted reads at the edges of a range, which are not whole days.
#[derive(Default)]
struct Edges(Vec<(u32, Tally)>);

impl Edges {
    async fn add_hours(&mut self, reads: &ReadPool, project: i64, spans: &[Span]) -> Result<(), Failure> {
        for (from, to) in spans {
            let cells: Vec<Vec<u8>> =
                sqlx::query_scalar("SELECT cells FROM hour WHERE project = ? AND hour >= ? AND hour < ?")
                    .bind(project)
                    .bind(from)
                    .bind(to)
                    .fetch_all(&mut *reads.acquire().await?)
                    .await?;
            for cells in cells {
                each_cell(&cells, |page, cell| {
                    self.0.push((page, Tally { human: cell[0], ai: cell[1] }));
                })?;
            }
        }
        Ok(())
    }

    async fn add_raw_events(
        &mut self,
        reads: &ReadPool,
        project: i64,
        spans: &[Span],
    ) -> Result<(), Failure> {
        for (from, to) in spans {
            let blocks: Vec<Vec<u8>> =
                sqlx::query_scalar("SELECT block FROM block WHERE project = ? AND last >= ? AND first < ?")
                    .bind(project)
                    .bind(from)
                    .bind(to)
                    .fetch_all(&mut *reads.acquire().await?)
                    .await?;
            for block in blocks {
                each_read(&block, |read, _| {
                    if (*from..*to).contains(&read.at) {
                        self.0.push((read.page, tally(read)));
                    }
                })?;
            }
        }
        Ok(())
    }
}

pub(super) fn tally(read: Read) -> Tally {
    let is_class = |class| u64::from(read.class == class);
    Tally { human: is_class(Class::Human), ai: is_class(Class::Assistant) }
}

/// Sums the reads by page. Reads in the journal are in the prefix sums, but not in the blocks and cells on
/// disk.
fn sum(project: &Project, parts: &RangeParts, edges: &Edges) -> Option<Vec<Tally>> {
    let mut pages = vec![Tally::default(); project.pages.len()];
    project.prefix_sums.as_ref()?.sum(parts.days.0, parts.days.1, &mut pages);
    let mut add = |page: u32, reads: Tally| {
        if let Some(sum) = pages.get_mut(page as usize) {
            sum.add(reads.human, reads.ai);
        }
    };
    edges.0.iter().for_each(|(page, reads)| add(*page, *reads));
    if !parts.edges.is_empty() {
        let inside = |at: i64| parts.edges.iter().any(|(from, to)| (*from..*to).contains(&at));
        project.recent.iter().filter(|read| inside(read.at)).for_each(|read| add(read.page, tally(*read)));
    }
    Some(pages)
}

fn counts(names: &Pages, pages: &[Tally], query: &ListQuery) -> Counts {
    let mut totals = Tally::default();
    let wanted = (0..).zip(pages).filter(|(page, _)| query.matches(|| names.path(*page)));
    wanted.for_each(|(_, page)| totals.add(page.human, page.ai));
    let (top, has_more) = top(names, query, pages.len(), |page| {
        let Tally { human, ai } = pages[page as usize];
        Readers { human, ai, total: human + ai }
    });
    let page = |number: u32| {
        let Tally { human, ai } = pages[number as usize];
        PageCount { path: names.path(number).to_owned(), human, ai }
    };
    Counts { totals, pages: top.into_iter().map(page).collect(), has_more }
}

/// The page numbers that a query lists, in its order, and whether there are more. Only the listed pages are
/// sorted, so the cost is linear in the number of pages.
pub(super) fn top(
    names: &Pages,
    query: &ListQuery,
    pages: usize,
    numbers: impl Fn(u32) -> Readers,
) -> (Vec<u32>, bool) {
    let key = |page: u32| {
        let Readers { human, ai, total } = numbers(page);
        query.sort.key(human, ai, total)
    };
    let order = |left: &u32, right: &u32| -> Ordering {
        let by_key = Reverse(key(*left)).cmp(&Reverse(key(*right)));
        by_key.then_with(|| names.path(*left).cmp(names.path(*right)))
    };
    let is_listed = |page: &u32| numbers(*page).total > 0 && query.matches(|| names.path(*page));
    let mut some: Vec<u32> = (0..pages as u32).filter(is_listed).collect();
    let offset = usize::try_from(query.offset).unwrap_or(usize::MAX);
    let end = offset.saturating_add(query.limit as usize);
    let has_more = some.len() > end;
    if has_more {
        some.select_nth_unstable_by(end, order);
        some.truncate(end);
    }
    if offset >= some.len() {
        return (Vec::new(), has_more);
    }
    if offset > 0 {
        some.select_nth_unstable_by(offset, order);
    }
    let mut listed = some.split_off(offset);
    listed.sort_unstable_by(order);
    (listed, has_more)
}
