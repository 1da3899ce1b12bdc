//! Counting reads.

use std::cmp::{Ordering, Reverse};

use sqlx::SqlitePool;

use super::parts::{Parts, Span};
use super::project::{Project, Shared};
use crate::block::{Read, each_read};
use crate::cells::each_cell;
use crate::classify::Class;
use crate::pages::Pages;
use crate::portion::Portion;
use crate::range::Range;
use crate::views::{Counts, Failure, PageCount, Readers, Tally};

/// `None` when the project's views were sorted anew meanwhile: then ask again.
pub(super) async fn count(
    reads: &SqlitePool,
    shared: &Shared,
    range: &Range,
    portion: &Portion,
) -> Result<Option<Counts>, Failure> {
    let (id, folds, parts) = {
        let project = shared.read();
        (project.id, project.folds, Parts::of(range, project.raw_from))
    };
    let mut edges = Edges::default();
    edges.add_hours(reads, id, &parts.hours).await?;
    edges.add_bits(reads, id, &parts.bits).await?;
    let project = shared.read();
    if project.folds != folds {
        return Ok(None);
    }
    Ok(sum(&project, &parts, &edges).map(|pages| counts(&project.pages, &pages, portion)))
}

/// Reads at the ends of a range that are folded, from the disk.
#[derive(Default)]
struct Edges(Vec<(u32, Tally)>);

impl Edges {
    async fn add_hours(&mut self, reads: &SqlitePool, project: i64, spans: &[Span]) -> Result<(), Failure> {
        for (from, to) in spans {
            let cells: Vec<Vec<u8>> =
                sqlx::query_scalar("SELECT cells FROM hour WHERE project = ? AND hour >= ? AND hour < ?")
                    .bind(project)
                    .bind(from)
                    .bind(to)
                    .fetch_all(reads)
                    .await?;
            for cells in cells {
                each_cell(&cells, |page, cell| {
                    self.0.push((page, Tally { human: cell[0], ai: cell[1] }));
                })?;
            }
        }
        Ok(())
    }

    async fn add_bits(&mut self, reads: &SqlitePool, project: i64, spans: &[Span]) -> Result<(), Failure> {
        for (from, to) in spans {
            let blocks: Vec<Vec<u8>> =
                sqlx::query_scalar("SELECT block FROM block WHERE project = ? AND last >= ? AND first < ?")
                    .bind(project)
                    .bind(from)
                    .bind(to)
                    .fetch_all(reads)
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
    let one = |class| u64::from(read.class == class);
    Tally { human: one(Class::Human), ai: one(Class::Assistant) }
}

/// Reads by page. What is not folded is in the index as well, but not on disk.
fn sum(project: &Project, parts: &Parts, edges: &Edges) -> Option<Vec<Tally>> {
    let mut pages = vec![Tally::default(); project.pages.len()];
    project.index.as_ref()?.sum(parts.days.0, parts.days.1, &mut pages);
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

fn counts(names: &Pages, pages: &[Tally], portion: &Portion) -> Counts {
    let mut totals = Tally::default();
    let wanted = (0..).zip(pages).filter(|(page, _)| portion.wants(|| names.path(*page)));
    wanted.for_each(|(_, page)| totals.add(page.human, page.ai));
    let (top, has_more) = top(names, portion, pages.len(), |page| {
        let Tally { human, ai } = pages[page as usize];
        Readers { human, ai, total: human + ai }
    });
    let page = |number: u32| {
        let Tally { human, ai } = pages[number as usize];
        PageCount { path: names.path(number).to_owned(), human, ai }
    };
    Counts { totals, pages: top.into_iter().map(page).collect(), has_more }
}

/// The pages of a portion: those with most first, then by path; none that has nothing. Only the
/// portion is sorted, so that the whole costs one look a page.
pub(super) fn top(
    names: &Pages,
    portion: &Portion,
    pages: usize,
    numbers: impl Fn(u32) -> Readers,
) -> (Vec<u32>, bool) {
    let key = |page: u32| {
        let Readers { human, ai, total } = numbers(page);
        portion.sort.key(human, ai, total)
    };
    let order = |one: &u32, other: &u32| -> Ordering {
        let by_key = Reverse(key(*one)).cmp(&Reverse(key(*other)));
        by_key.then_with(|| names.path(*one).cmp(names.path(*other)))
    };
    let listed = |page: &u32| numbers(*page).total > 0 && portion.wants(|| names.path(*page));
    let mut some: Vec<u32> = (0..pages as u32).filter(listed).collect();
    let offset = usize::try_from(portion.offset).unwrap_or(usize::MAX);
    let end = offset.saturating_add(portion.limit as usize);
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
    let mut portion = some.split_off(offset);
    portion.sort_unstable_by(order);
    (portion, has_more)
}
