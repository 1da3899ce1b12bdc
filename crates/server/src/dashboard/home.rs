//! The projects of an organization.

use axum::extract::State;
use axum::response::Response;
use store::Filter;

use super::session::{SignedIn, nav};
use super::view::{Home, ProjectRow, Section};
use super::{Oops, jobs, page};
use crate::app::App;

/// `GET /`
pub(crate) async fn show(State(app): State<App>, visitor: SignedIn) -> Result<Response, Oops> {
    let mut projects = Vec::new();
    for project in app.accounts.projects(Some(&visitor.organization)).await? {
        let latest = app.jobs.list(&project.id, &Filter { limit: 1, ..Filter::default() }).await?.items;
        let latest = jobs::rows(&app, &project, &latest).await?.pop();
        projects.push(ProjectRow { project: nav(&project), latest });
    }
    Ok(page(&Home { shell: visitor.shell("Projects", Section::Projects), projects }))
}
