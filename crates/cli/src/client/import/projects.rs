//! Lists the projects in the error about an unknown project. It does so only for the server of this machine's data
//! directory: a user who can read the directory may know all projects.

use store::DataDir;

use crate::admin;
use crate::args::Data;
use crate::client::{Client, errors};
use crate::settings::Sources;

const MAX_PROJECTS: usize = 10;

pub(super) async fn add_known_projects(
    sources: &Sources,
    client: &Client,
    error: anyhow::Error,
) -> anyhow::Error {
    match errors::is_no_such_project(&error) {
        true => errors::append(error, &list_projects(sources, client).await.unwrap_or_default()),
        false => error,
    }
}

async fn list_projects(sources: &Sources, client: &Client) -> Option<String> {
    let data = Data::default();
    let url = DataDir::find(&sources.admin_settings(&data).ok()?.data).ok()?.url()?;
    if url.trim_end_matches('/') != client.base() {
        return None;
    }
    let projects = admin::open(sources, &data).await.ok()?.accounts.projects(None).await.ok()?;
    let names =
        projects.iter().take(MAX_PROJECTS).map(|project| format!("{} ({})", project.id, project.name));
    let names = names.collect::<Vec<_>>().join(", ");
    (!names.is_empty()).then(|| {
        format!(". Known projects: {names}{}", if projects.len() > MAX_PROJECTS { ", …" } else { "" })
    })
}
