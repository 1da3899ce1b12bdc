//! Removes the views of matching paths, day by day, and the names of the pages last.

use std::collections::HashSet;

use super::Shared;
use super::day_readers::DayReaders;
use super::lease::ProjectLease;
use super::lease::with_lease;
use super::ledger::LedgerSnapshot;
use super::rewrite::{RowChange, span_of};
use super::rows::Answer;
use super::series::ALL_DAYS;
use super::sql::{Conditions, quote_all};
use super::transaction::transact;
use crate::glob::PathGlob;
use crate::range_parts::DAY;
use crate::reports::RemovalProgress;
use crate::views::Failure;

/// Bounds the events that one request processes.
const MAX_EVENTS: u64 = 500_000;
/// The part of a name that is a path. Only missing and redirected paths have one.
const PATH_OF_NAME: &str = "splitByChar('\\t', name)[1]";

/// What one day has of the paths.
#[derive(Default)]
struct MatchingPaths {
    events: u64,
    views: u64,
    paths: Vec<String>,
}

impl Shared {
    pub(super) async fn forget_paths(
        &self,
        project: &str,
        paths: &PathGlob,
        from: i64,
        dry_run: bool,
    ) -> Result<RemovalProgress, Failure> {
        let Some(lease) = self.lease(project).await? else { return Ok(RemovalProgress::default()) };
        let mut done = self.forget_leased(&lease, paths, from, dry_run).await;
        if done.is_ok() && !dry_run {
            done = self.delete_old_generations(&lease).await.and(done);
        }
        self.release(&lease).await;
        done
    }

    async fn forget_leased(
        &self,
        lease: &ProjectLease,
        paths: &PathGlob,
        from: i64,
        dry_run: bool,
    ) -> Result<RemovalProgress, Failure> {
        self.ship_leased(lease).await?;
        let (mut events, mut done) = (0, RemovalProgress { next: Some(from), ..RemovalProgress::default() });
        while let Some(from) = done.next.filter(|_| events < MAX_EVENTS) {
            let ledger = self.leased_snapshot(lease).await?;
            let Some(day) =
                transact!(self.ledger, |tx| tx.next_day(lease.project, from.div_euclid(DAY)).await)?
            else {
                done.pages = self.forget_names(lease, &ledger, paths, dry_run).await?;
                done.next = None;
                break;
            };
            let is_raw = day * DAY >= ledger.raw_from;
            let found = self.find_in_day(&ledger, day, is_raw, paths).await?;
            if !found.paths.is_empty() && !dry_run {
                self.remove_from_day(lease, &ledger, day, is_raw, &found.paths).await?;
            }
            events += found.events;
            (done.views, done.next) = (done.views + found.views, Some((day + 1) * DAY));
        }
        Ok(done)
    }

    async fn find_in_day(
        &self,
        ledger: &LedgerSnapshot,
        day: i64,
        is_raw: bool,
        paths: &PathGlob,
    ) -> Result<MatchingPaths, Failure> {
        let conditions = Conditions::new(ledger);
        let sql = match is_raw {
            true => format!(
                "SELECT toString(path) AS of, count() FROM views WHERE {} GROUP BY of",
                conditions.raw(&[span_of(day)])
            ),
            false => {
                let days = conditions.days((day, day + 1));
                format!(
                    "SELECT of, sum(n) FROM (SELECT toString(path) AS of, n FROM views_daily WHERE {days} UNION ALL \
                     SELECT {PATH_OF_NAME} AS of, n FROM views_names WHERE about IN (2, 3) AND {days}) GROUP BY of"
                )
            }
        };
        let rows = self.ready().await?.query(sql).await?;
        let (mut answer, mut found) = (Answer::new(&rows), MatchingPaths::default());
        while !answer.is_empty() {
            let (path, count) = (answer.string()?, answer.u64()?);
            found.events += if is_raw { count } else { 0 };
            if paths.is_match(path) {
                found.views += count;
                found.paths.push(path.to_owned());
            }
        }
        Ok(found)
    }

    async fn remove_from_day(
        &self,
        lease: &ProjectLease,
        ledger: &LedgerSnapshot,
        day: i64,
        is_raw: bool,
        paths: &[String],
    ) -> Result<(), Failure> {
        let removed = quote_all(paths.iter().map(String::as_str));
        let path_stays = format!("path NOT IN ({removed})");
        if is_raw {
            let change = RowChange { stays: path_stays, ..RowChange::default() };
            return self.rewrite_raw(lease, ledger, day, &change).await;
        }
        let name_stays = format!("(about NOT IN (2, 3) OR {PATH_OF_NAME} NOT IN ({removed}))");
        let visitors = match transact!(self.ledger, |tx| tx.lock_visitors(lease.project, day).await)? {
            None => None,
            Some(stored) => {
                let removed: HashSet<&str> = paths.iter().map(String::as_str).collect();
                let mut readers = DayReaders::decode(&stored)?;
                readers.remove(|path| removed.contains(path));
                Some(readers.encode()?)
            }
        };
        self.rewrite_rollups(lease, ledger, day, (&path_stays, &name_stays), visitors).await
    }

    /// Removes the names of the pages that have no views left.
    async fn forget_names(
        &self,
        lease: &ProjectLease,
        ledger: &LedgerSnapshot,
        paths: &PathGlob,
        dry_run: bool,
    ) -> Result<u64, Failure> {
        let mut pages = transact!(self.ledger, |tx| tx.pages(lease.project).await)?;
        pages.retain(|path| paths.is_match(path));
        if dry_run || pages.is_empty() {
            return Ok(pages.len() as u64);
        }
        let days = Conditions::new(ledger).days(ALL_DAYS);
        let sql = format!("SELECT DISTINCT toString(path) FROM views_daily WHERE {days}");
        let rows = self.ready().await?.query(sql).await?;
        let (mut answer, mut read) = (Answer::new(&rows), HashSet::new());
        while !answer.is_empty() {
            read.insert(answer.string()?);
        }
        pages.retain(|path| !read.contains(&**path));
        if !pages.is_empty() {
            with_lease!(self, lease, |tx| tx.remove_pages(lease.project, &pages).await)?;
        }
        Ok(pages.len() as u64)
    }
}
