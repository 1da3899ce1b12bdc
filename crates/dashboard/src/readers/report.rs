//! Loads the numbers of the readers page.
//!
//! Counts in memory are always awaited. Counts that need the disk get [`DISK_TIME`]; if that's too short, the page is
//! sent without them, and fetches them afterwards.

use std::time::Duration;

use store::{Merge, ProjectId};
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout_at};
use traffic::{Agents, Counts, Failure, ListQuery, Live, NotFound, Range, Referrers, Series, Tally};

use super::report_query::{ReportQuery, day_start};
use crate::PageError;
use app::App;

/// Short enough that the first byte of a page arrives within 50 ms.
const DISK_TIME: Duration = Duration::from_millis(30);
const PANEL_ROWS: u32 = 8;
const MAX_MERGES: u32 = 20;

/// Fields are `None` if they weren't counted in time. Pairs have the number of the period and of the previous period.
pub(super) struct ReaderReport {
    pub(super) counts: Counts,
    pub(super) previous: Tally,
    pub(super) series: Series,
    pub(super) merges: Vec<Merge>,
    pub(super) visitors: Option<(u64, u64)>,
    pub(super) not_found: Option<(NotFound, Tally)>,
    pub(super) agents: Option<Agents>,
    pub(super) referrers: Option<Referrers>,
    pub(super) live: Option<Live>,
}

pub(super) async fn load_report(
    app: &App,
    id: &ProjectId,
    query: &ReportQuery,
) -> Result<ReaderReport, PageError> {
    let (range, previous_range, project) = (query.range(), query.previous_range(), &*id.0);
    let (rows, no_rows) = (query.list_query(PANEL_ROWS), query.list_query(0));
    let deadline = (!query.wait).then(|| Instant::now() + DISK_TIME);
    let (counts, previous, series, merges) = tokio::join!(
        app.views.count(project, &range, &rows),
        app.views.count(project, &previous_range, &no_rows),
        app.reports.series(project, &range, query.interval(), query.path.as_deref()),
        app.pulls.merges(id, day_start(query.from), day_start(query.to), MAX_MERGES),
    );
    let disk =
        DiskCounts { app: app.clone(), project: project.to_owned(), range, previous_range, rows, no_rows };
    let (visitors, not_found, agents, referrers, live) = tokio::try_join!(
        count_until(deadline, disk.clone().visitors()),
        count_until(deadline, disk.clone().not_found()),
        count_until(deadline, disk.clone().agents()),
        count_until(deadline, disk.clone().referrers()),
        count_until(deadline, disk.live()),
    )?;
    Ok(ReaderReport {
        counts: counts?,
        previous: previous?.totals,
        series: series?,
        merges: merges?,
        visitors,
        not_found,
        agents,
        referrers,
        live,
    })
}

/// Whether the project never had a view.
pub(crate) async fn has_no_views(app: &App, id: &ProjectId) -> Result<bool, Failure> {
    Ok(app.views.count(&id.0, &Range::default(), &ListQuery::new(0, 0)).await?.totals.total() == 0)
}

/// Whether the project ever had a request that wasn't found. `None` if it wasn't counted in time.
pub(crate) async fn has_not_found(app: &App, id: &ProjectId, wait: bool) -> Result<Option<bool>, PageError> {
    let (app, project) = (app.clone(), id.0.clone());
    let count = async move {
        let none = ListQuery::new(0, 0);
        Ok(app.reports.not_found(&project, &Range::default(), &none).await?.totals.total() > 0)
    };
    count_until((!wait).then(|| Instant::now() + DISK_TIME), count).await
}

/// Returns `None` after the deadline. Counts on a separate thread, so that a slow count doesn't delay other pages.
async fn count_until<T: Send + 'static>(
    deadline: Option<Instant>,
    count: impl Future<Output = Result<T, Failure>> + Send + 'static,
) -> Result<Option<T>, PageError> {
    let Some(deadline) = deadline else { return Ok(Some(count.await?)) };
    let runtime = Handle::current();
    let task = spawn_blocking(move || runtime.block_on(timeout_at(deadline, count)));
    match timeout_at(deadline, task).await {
        Ok(result) => Ok(result?.ok().transpose()?),
        Err(_) => Ok(None),
    }
}

/// The counts that need the disk.
#[derive(Clone)]
struct DiskCounts {
    app: App,
    project: String,
    range: Range,
    previous_range: Range,
    rows: ListQuery,
    no_rows: ListQuery,
}

impl DiskCounts {
    /// Always of the whole site, because the visitors of several pages can't be added up.
    async fn visitors(self) -> Result<(u64, u64), Failure> {
        let (views, no_rows) = (&self.app.views, ListQuery::new(0, 0));
        let now = views.visitors(&self.project, &self.range, &no_rows).await?.totals.total;
        Ok((now, views.visitors(&self.project, &self.previous_range, &no_rows).await?.totals.total))
    }

    async fn not_found(self) -> Result<(NotFound, Tally), Failure> {
        let reports = &self.app.reports;
        let now = reports.not_found(&self.project, &self.range, &self.rows).await?;
        Ok((now, reports.not_found(&self.project, &self.previous_range, &self.no_rows).await?.totals))
    }

    async fn agents(self) -> Result<Agents, Failure> {
        self.app.reports.agents(&self.project, &self.range, &self.rows).await
    }

    async fn referrers(self) -> Result<Referrers, Failure> {
        self.app.reports.referrers(&self.project, &self.range, &self.rows).await
    }

    async fn live(self) -> Result<Live, Failure> {
        self.app.reports.live(&self.project).await
    }
}
