//! The numbers of the reader pages. What is counted in memory is waited for; what has to be read from
//! disk, and may take long where a lot is read, gets a moment, and is left for later if that is over.

use std::time::Duration;

use store::{Merge, ProjectId};
use tokio::time::{Instant, timeout_at};
use traffic::{
    Agents, Counts, Failure, Live, NotFound, Portion, Range, Referrers, Series, SeriesError, Tally,
};

use super::asked::{Asked, start};
use crate::app::App;
use crate::dashboard::Oops;

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
    let (now, before, some, project) = (asked.now(), asked.before(), asked.portion(SOME), &*id.0);
    let none = asked.portion(0);
    let deadline = (!asked.wait).then(|| Instant::now() + MOMENT);
    let (counts, before_counts, series, merges, visitors, not_found, agents, referrers, live) = tokio::join!(
        app.views.count(project, &now, &some),
        app.views.count(project, &before, &none),
        app.reports.series(project, &now, asked.interval(), asked.path.as_deref()),
        app.pulls.merges(id, start(asked.from), start(asked.to), MOST_MERGES),
        soon(deadline, visitors(app, project, &now, &before)),
        soon(deadline, not_found(app, project, (&now, &some), (&before, &none))),
        soon(deadline, app.reports.agents(project, &now, &some)),
        soon(deadline, app.reports.referrers(project, &now, &some)),
        soon(deadline, app.reports.live(project)),
    );
    Ok(Counted {
        counts: counts?,
        before: before_counts?.totals,
        series: series.map_err(|error| match error {
            SeriesError::Failed(failure) => Oops::from(failure),
            other => Oops::from(other),
        })?,
        merges: merges?,
        visitors: visitors?,
        not_found: not_found?,
        agents: agents?,
        referrers: referrers?,
        live: live?,
    })
}

/// Whether anybody ever read anything.
pub(super) async fn is_new(app: &App, id: &ProjectId) -> Result<bool, Failure> {
    Ok(app.views.count(&id.0, &Range::default(), &Portion::new(0, 0)).await?.totals.total() == 0)
}

async fn soon<T>(
    deadline: Option<Instant>,
    asked: impl Future<Output = Result<T, Failure>>,
) -> Result<Option<T>, Failure> {
    match deadline {
        None => asked.await.map(Some),
        Some(deadline) => timeout_at(deadline, asked).await.ok().transpose(),
    }
}

/// Of the whole site: readers of several pages cannot be added up.
async fn visitors(app: &App, project: &str, now: &Range, before: &Range) -> Result<(u64, u64), Failure> {
    let none = Portion::new(0, 0);
    let now = app.views.visitors(project, now, &none).await?.totals.total;
    Ok((now, app.views.visitors(project, before, &none).await?.totals.total))
}

async fn not_found(
    app: &App,
    project: &str,
    (now, some): (&Range, &Portion),
    (before, none): (&Range, &Portion),
) -> Result<(NotFound, Tally), Failure> {
    let found = app.reports.not_found(project, now, some).await?;
    Ok((found, app.reports.not_found(project, before, none).await?.totals))
}
