//! Shows the projects of an organization, each with its newest job and its page views of the last week.

use axum::extract::State;
use axum::response::Response;
use jiff::SignedDuration;
use store::{Filter, Project};
use traffic::{Interval, Range, SeriesError};

use super::session::{SignedInUser, nav};
use super::view::{Home, ProjectRow, Section, Sparkline};
use super::{PageError, jobs, page};
use app::App;

const DAY: SignedDuration = SignedDuration::from_hours(24);
const DAYS: i32 = 7;

/// `GET /`
pub(crate) async fn show(State(app): State<App>, user: SignedInUser) -> Result<Response, PageError> {
    let mut projects = Vec::new();
    let mut has_views = app.stores_views();
    for project in app.accounts.projects(Some(&user.organization)).await? {
        let latest = app.jobs.list(&project.id, &Filter { limit: 1, ..Filter::default() }).await?.items;
        let latest = jobs::rows(&app, &project, &latest).pop();
        let sparkline = if has_views { sparkline(&app, &project).await? } else { None };
        // What doesn't answer for one project would keep the page waiting for each of the others.
        has_views = sparkline.is_some();
        projects.push(ProjectRow { project: nav(&project), latest, sparkline });
    }
    let is_owner = user.session.is_owner();
    Ok(page(&Home { shell: user.shell("Projects", Section::Projects), projects, is_owner }))
}

/// The last day is today, which is still counting. `None` while the page views are not available.
async fn sparkline(app: &App, project: &Project) -> Result<Option<Sparkline>, PageError> {
    let day = DAY.as_millis() as i64;
    let end = (app.clock.now_ms().div_euclid(day) + 1) * day;
    let range = Range::new(Some(end - i64::from(DAYS) * day), Some(end))?;
    let series = match app.reports.series(&project.id.0, &range, Interval::Day, None).await {
        Err(SeriesError::Failed(failure)) if failure.is_unavailable() || failure.is_too_large() => {
            return Ok(None);
        }
        series => series?,
    };
    let days: Vec<_> = series.points.iter().map(|point| (point.reads.human, point.reads.ai)).collect();
    Ok(Some(Sparkline::new(&days)))
}
