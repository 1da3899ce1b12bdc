//! Implements the reports: series, agents, referrers, not found, redirected, days of paths and live.

use async_trait::async_trait;

use super::names;
use super::snapshot::Snapshot;
use super::{SqliteViews, live, path_days, series};
use crate::range_parts::RangeParts;
use base::sqlite::ReadPool;

use crate::glob::PathGlob;
use crate::interval::Interval;
use crate::list_query::ListQuery;
use crate::live_report::empty_report;
use crate::name_counts::NameCounts;
use crate::name_reports::{agents, ai_referrals, not_found, redirected, referrers};
use crate::names::{NameKind, add_rows};
use crate::range::Range;
use crate::reports::{
    Agents, AiReferrals, Live, MAX_PATHS, NotFound, PathDays, PathDaysQuery, ReclassifyProgress, Redirected,
    Referrers, RemovalProgress, Reports, Series, SeriesError,
};
use crate::views::Failure;

#[async_trait]
impl Reports for SqliteViews {
    async fn series(
        &self,
        project: &str,
        range: &Range,
        interval: Interval,
        path: Option<&str>,
    ) -> Result<Series, SeriesError> {
        // Only hourly series read from disk: days are in memory.
        let _permit = if interval == Interval::Hour { Some(self.report_permit().await?) } else { None };
        loop {
            let query = series::SeriesQuery { range, interval, path };
            let Some(shared) = self.project_with_sums(project).await? else {
                return series::empty_series(&query);
            };
            if let Some(series) = series::series(self.database.reads(), &shared, &query).await? {
                return Ok(series);
            }
        }
    }

    async fn agents(&self, project: &str, range: &Range, query: &ListQuery) -> Result<Agents, Failure> {
        let [names, checked] =
            self.names(project, range, [NameKind::Agents, NameKind::Verifications]).await?;
        Ok(agents(&names, &checked, query))
    }

    async fn referrers(&self, project: &str, range: &Range, query: &ListQuery) -> Result<Referrers, Failure> {
        let [names] = self.names(project, range, [NameKind::Hosts]).await?;
        Ok(referrers(&names, query))
    }

    async fn ai_referrals(&self, project: &str, range: &Range) -> Result<Vec<AiReferrals>, Failure> {
        let [products, hosts] = self.names(project, range, [NameKind::Agents, NameKind::Hosts]).await?;
        Ok(ai_referrals(&products, &hosts))
    }

    async fn not_found(&self, project: &str, range: &Range, query: &ListQuery) -> Result<NotFound, Failure> {
        let [names] = self.names(project, range, [NameKind::Missing]).await?;
        Ok(not_found(&names, query))
    }

    async fn redirected(
        &self,
        project: &str,
        range: &Range,
        query: &ListQuery,
    ) -> Result<Redirected, Failure> {
        let [names] = self.names(project, range, [NameKind::Redirected]).await?;
        Ok(redirected(&names, query))
    }

    async fn path_days(
        &self,
        project: &str,
        range: &Range,
        query: &PathDaysQuery<'_>,
    ) -> Result<PathDays, Failure> {
        if query.paths.len() > MAX_PATHS {
            return Err(Failure::new(format!("more than {MAX_PATHS} paths")));
        }
        let _permit = self.report_permit().await?;
        loop {
            let Some(snapshot) = self.snapshot(project).await? else {
                return Ok(path_days::no_counts(query));
            };
            let report = path_days::path_days(&self.database, &snapshot, range, query).await?;
            if snapshot.is_current() {
                return Ok(report);
            }
        }
    }

    async fn live(&self, project: &str) -> Result<Live, Failure> {
        let _permit = self.report_permit().await?;
        let now = self.clock.now_ms();
        loop {
            let Some(snapshot) = self.snapshot(project).await? else { return Ok(empty_report(now)) };
            let live = live::live(self.database.reads(), &snapshot, now).await?;
            if snapshot.is_current() {
                return Ok(live);
            }
        }
    }

    async fn reclassify(&self, project: &str, from: i64) -> Result<ReclassifyProgress, Failure> {
        self.reclassify_bounded(project, from).await
    }

    async fn forget_paths(
        &self,
        project: &str,
        paths: &PathGlob,
        from: i64,
        dry_run: bool,
    ) -> Result<RemovalProgress, Failure> {
        self.forget_paths_bounded(project, paths, from, dry_run).await
    }
}

impl SqliteViews {
    /// The names of a range by kind, over all ingested views.
    async fn names<const N: usize>(
        &self,
        project: &str,
        range: &Range,
        about: [NameKind; N],
    ) -> Result<[NameCounts; N], Failure> {
        let _permit = self.report_permit().await?;
        loop {
            let Some(snapshot) = self.snapshot(project).await? else {
                return Ok(about.map(|_| NameCounts::with_capacity(0)));
            };
            if let Some(names) = names_in_range(self.database.reads(), &snapshot, range, about).await? {
                return Ok(names);
            }
        }
    }
}

/// `None` when raw events were deleted or compacted in the meantime: retry.
async fn names_in_range<const N: usize>(
    reads: &ReadPool,
    snapshot: &Snapshot,
    range: &Range,
    about: [NameKind; N],
) -> Result<Option<[NameCounts; N]>, Failure> {
    let (id, raw_from, version) = {
        let project = snapshot.shared.read();
        (project.id, project.raw_from, project.disk_version)
    };
    let parts = RangeParts::with_whole_days(range, raw_from);
    let mut all = about.map(|_| NameCounts::with_capacity(0));
    for (names, about) in all.iter_mut().zip(about) {
        *names = names::sum(reads, id, about, parts.days, &parts.edges).await?;
        if let Some(journal) = snapshot.journal() {
            add_rows(names, journal, about, |at| parts.contains(at));
        }
    }
    let project = snapshot.shared.read();
    // Several kinds must be of one moment.
    let is_current = project.raw_from == raw_from && (N == 1 || project.disk_version == version);
    drop(project);
    Ok((is_current && snapshot.is_current()).then_some(all))
}
