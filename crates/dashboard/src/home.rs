//! The projects of an organization, each with its newest job and a week of its readers.

use axum::extract::State;
use axum::response::Response;
use jiff::SignedDuration;
use store::{Filter, Project};
use traffic::{Interval, Range};

use super::session::{SignedIn, nav};
use super::view::{Home, ProjectRow, Section, Spark};
use super::{Oops, jobs, page};
use app::App;

const DAY: SignedDuration = SignedDuration::from_hours(24);
const DAYS: i32 = 7;

/// `GET /`
pub(crate) async fn show(State(app): State<App>, visitor: SignedIn) -> Result<Response, Oops> {
    let mut projects = Vec::new();
    for project in app.accounts.projects(Some(&visitor.organization)).await? {
        let latest = app.jobs.list(&project.id, &Filter { limit: 1, ..Filter::default() }).await?.items;
        let latest = jobs::rows(&app, &project, &latest).pop();
        let spark = spark(&app, &project).await?;
        projects.push(ProjectRow { project: nav(&project), latest, spark });
    }
    let owner = visitor.session.is_owner();
    Ok(page(&Home { shell: visitor.shell("Projects", Section::Projects), projects, owner }))
}

/// The running day is the last of them.
async fn spark(app: &App, project: &Project) -> Result<Option<Spark>, Oops> {
    if !app.keeps_views() {
        return Ok(None);
    }
    let day = DAY.as_millis() as i64;
    let end = (app.clock.now_ms().div_euclid(day) + 1) * day;
    let range = Range::new(Some(end - i64::from(DAYS) * day), Some(end))?;
    let series = app.reports.series(&project.id.0, &range, Interval::Day, None).await?;
    let days: Vec<_> = series.points.iter().map(|point| (point.reads.human, point.reads.ai)).collect();
    Ok(Some(Spark::new(&days)))
}
