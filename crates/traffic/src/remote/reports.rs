//! Implements the reports.

use async_trait::async_trait;

use super::RemoteViews;
use super::names::Names;
use crate::glob::PathGlob;
use crate::interval::Interval;
use crate::list_query::ListQuery;
use crate::name_reports::{agents, ai_referrals, not_found, redirected, referrers};
use crate::names::NameKind;
use crate::range::Range;
use crate::reports::{
    Agents, AiReferrals, Live, MAX_PATHS, NotFound, PathDays, PathDaysQuery, ReclassifyProgress, Redirected,
    Referrers, RemovalProgress, Reports, Series, SeriesError,
};
use crate::views::Failure;

impl RemoteViews {
    /// Goes on if the request is dropped: a rewrite that is cut off would leave its project leased, and its rows behind.
    async fn finish<T: Send + 'static>(
        &self,
        rewrite: impl Future<Output = Result<T, Failure>> + Send + 'static,
    ) -> Result<T, Failure> {
        match self.0.in_background {
            true => tokio::spawn(rewrite).await.map_err(Failure::new)?,
            false => rewrite.await,
        }
    }
}

#[async_trait]
impl Reports for RemoteViews {
    async fn series(
        &self,
        project: &str,
        range: &Range,
        interval: Interval,
        path: Option<&str>,
    ) -> Result<Series, SeriesError> {
        self.0.shared.series(project, range, interval, path).await
    }

    async fn agents(&self, project: &str, range: &Range, query: &ListQuery) -> Result<Agents, Failure> {
        let kinds = [NameKind::Agents, NameKind::Verifications];
        let [names, checked] = self.0.shared.names(project, range, kinds, Names::listed(query)).await?;
        Ok(agents(&names, &checked, query))
    }

    async fn referrers(&self, project: &str, range: &Range, query: &ListQuery) -> Result<Referrers, Failure> {
        let names = Names::listed(query);
        let [names] = self.0.shared.names(project, range, [NameKind::Hosts], names).await?;
        Ok(referrers(&names, query))
    }

    async fn ai_referrals(&self, project: &str, range: &Range) -> Result<Vec<AiReferrals>, Failure> {
        let kinds = [NameKind::Agents, NameKind::Hosts];
        let [products, hosts] = self.0.shared.names(project, range, kinds, Names::Top).await?;
        Ok(ai_referrals(&products, &hosts))
    }

    async fn not_found(&self, project: &str, range: &Range, query: &ListQuery) -> Result<NotFound, Failure> {
        let names = Names::listed(query);
        let [names] = self.0.shared.names(project, range, [NameKind::Missing], names).await?;
        Ok(not_found(&names, query))
    }

    async fn redirected(
        &self,
        project: &str,
        range: &Range,
        query: &ListQuery,
    ) -> Result<Redirected, Failure> {
        let names = Names::listed(query);
        let [names] = self.0.shared.names(project, range, [NameKind::Redirected], names).await?;
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
        self.0.shared.path_days(project, range, query).await
    }

    async fn live(&self, project: &str) -> Result<Live, Failure> {
        self.0.shared.live(project).await
    }

    async fn reclassify(&self, project: &str, from: i64) -> Result<ReclassifyProgress, Failure> {
        let (shared, project) = (self.0.shared.clone(), project.to_owned());
        self.finish(async move { shared.reclassify(&project, from).await }).await
    }

    async fn forget_paths(
        &self,
        project: &str,
        paths: &PathGlob,
        from: i64,
        dry_run: bool,
    ) -> Result<RemovalProgress, Failure> {
        let (shared, project, paths) = (self.0.shared.clone(), project.to_owned(), paths.clone());
        self.finish(async move { shared.forget_paths(&project, &paths, from, dry_run).await }).await
    }
}
