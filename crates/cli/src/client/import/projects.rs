//! Which projects there are, for who named one that is not: told where the server is the one of this machine's data
//! directory, since whoever can read that may know.

use store::DataDir;

use crate::admin;
use crate::args::Data;
use crate::client::{Client, refusal};
use crate::settings::Sources;

/// More of them are in `docwright project list`.
const MOST: usize = 10;

/// The error, with the projects that were to be had.
pub(super) async fn told(sources: &Sources, client: &Client, error: anyhow::Error) -> anyhow::Error {
    match refusal::is_no_such_project(&error) {
        true => refusal::with(error, &known(sources, client).await.unwrap_or_default()),
        false => error,
    }
}

async fn known(sources: &Sources, client: &Client) -> Option<String> {
    let data = Data::default();
    let url = DataDir::find(&sources.data(&data).ok()?.data).ok()?.url()?;
    if url.trim_end_matches('/') != client.base() {
        return None;
    }
    let projects = admin::open(sources, &data).await.ok()?.accounts.projects(None).await.ok()?;
    let named = projects.iter().take(MOST).map(|project| format!("{} ({})", project.id, project.name));
    let named = named.collect::<Vec<_>>().join(", ");
    (!named.is_empty())
        .then(|| format!(". There is {named}{}", if projects.len() > MOST { ", …" } else { "" }))
}
