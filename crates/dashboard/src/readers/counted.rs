//! The numbers of the reader pages. What is counted in memory is waited for; what has to be read from
//! disk, and may take long where a lot is read, gets a moment, and is left for later if that is over.

use std::time::Duration;

use store::{Merge, ProjectId};
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout_at};
use traffic::{Agents, Counts, Failure, ListQuery, Live, NotFound, Range, Referrers, Series, Tally};

use super::asked::{Asked, start};
use crate::Oops;
use app::App;

/// So that a page begins to arrive within 50 ms, however much there is to count.
const MOMENT: Duration = Duration::from_millis(30);
/// Rows of a panel.
pub(super) const SOME: u32 = 8;
const MOST_MERGES: u32 = 20;

pub(super) struct Counted {
    pub(super) counts: Counts,
    pub(super) before: Tally,
    pub(super) series: Series,
    pub(super) merges: Vec<Merge>,
    /// Of the range and of the one before; `None` of what was not counted in time.
    pub(super) visitors: Option<(u64, u64)>,
    pub(super) not_found: Option<(NotFound, Tally)>,
    pub(super) agents: Option<Agents>,
    pub(super) referrers: Option<Referrers>,
    pub(super) live: Option<Live>,
}

pub(super) async fn count(app: &App, id: &ProjectId, asked: &Asked) -> Result<Counted, Oops> {
    let (now, before, project) = (asked.now(), asked.before(), &*id.0);
    let (some, none) = (asked.portion(SOME), asked.portion(0));
    let deadline = (!asked.wait).then(|| Instant::now() + MOMENT);
    let (counts, counts_before, series, merges) = tokio::join!(
        app.views.count(project, &now, &some),
        app.views.count(project, &before, &none),
        app.reports.series(project, &now, asked.interval(), asked.path.as_deref()),
        app.pulls.merges(id, start(asked.from), start(asked.to), MOST_MERGES),
    );
    let disk = Disk { app: app.clone(), project: project.to_owned(), now, before, some, none };
    let (visitors, not_found, agents, referrers, live) = tokio::try_join!(
        soon(deadline, disk.clone().visitors()),
        soon(deadline, disk.clone().not_found()),
        soon(deadline, disk.clone().agents()),
        soon(deadline, disk.clone().referrers()),
        soon(deadline, disk.live()),
    )?;
    Ok(Counted {
        counts: counts?,
        before: counts_before?.totals,
        series: series?,
        merges: merges?,
        visitors,
        not_found,
        agents,
        referrers,
        live,
    })
}

/// Whether anybody ever read anything.
pub(super) async fn is_new(app: &App, id: &ProjectId) -> Result<bool, Failure> {
    Ok(app.views.count(&id.0, &Range::default(), &ListQuery::new(0, 0)).await?.totals.total() == 0)
}

/// On a thread of its own, so that nobody's counting keeps the others' pages waiting.
async fn soon<T: Send + 'static>(
    deadline: Option<Instant>,
    asked: impl Future<Output = Result<T, Failure>> + Send + 'static,
) -> Result<Option<T>, Oops> {
    let Some(deadline) = deadline else { return Ok(Some(asked.await?)) };
    let runtime = Handle::current();
    let counting = spawn_blocking(move || runtime.block_on(timeout_at(deadline, asked)));
    match timeout_at(deadline, counting).await {
        Ok(counted) => Ok(counted?.ok().transpose()?),
        Err(_) => Ok(None),
    }
}

/// Questions that are answered from disk.
#[derive(Clone)]
struct Disk {
    app: App,
    project: String,
    now: Range,
    before: Range,
    some: ListQuery,
    none: ListQuery,
}

impl Disk {
    /// Of the whole site: readers of several pages cannot be added up.
    async fn visitors(self) -> Result<(u64, u64), Failure> {
        let (views, none) = (&self.app.views, ListQuery::new(0, 0));
        let now = views.visitors(&self.project, &self.now, &none).await?.totals.total;
        Ok((now, views.visitors(&self.project, &self.before, &none).await?.totals.total))
    }

    async fn not_found(self) -> Result<(NotFound, Tally), Failure> {
        let reports = &self.app.reports;
        let now = reports.not_found(&self.project, &self.now, &self.some).await?;
        Ok((now, reports.not_found(&self.project, &self.before, &self.none).await?.totals))
    }

    async fn agents(self) -> Result<Agents, Failure> {
        self.app.reports.agents(&self.project, &self.now, &self.some).await
    }

    async fn referrers(self) -> Result<Referrers, Failure> {
        self.app.reports.referrers(&self.project, &self.now, &self.some).await
    }

    async fn live(self) -> Result<Live, Failure> {
        self.app.reports.live(&self.project).await
    }
}
