//! What Gitea and Forgejo have as GitHub has it.

use net::RemoteMessage;
use reqwest::Method;
use serde_json::{Value, json};

use super::api::{Api, with};
use super::dialect::Merge;
use super::pull::{HubPull, reviewer, says};
use crate::{Error, PullRequest, Result};

pub(super) async fn has_branch(api: &Api, branch: &str) -> Result<bool> {
    let answer = api.get(api.at(&["branches", branch])).await?;
    api.read_if_there::<Value>(answer).map(|found| found.is_some())
}

pub(super) async fn has_folder(api: &Api, branch: &str, folder: &str) -> Result<bool> {
    let path: Vec<_> = ["contents"].into_iter().chain(folder.split('/')).collect();
    let answer = api.get(with(api.at(&path), &[("ref", branch)])).await?;
    // A folder is a list of what is in it.
    Ok(api.read_if_there::<Value>(answer)?.is_some_and(|found| found.is_array()))
}

pub(super) async fn get(api: &Api, number: u64) -> Result<Option<HubPull>> {
    let answer = api.get(api.at(&["pulls", &number.to_string()])).await?;
    api.read_if_there(answer)
}

pub(super) async fn change(api: &Api, number: u64, change: Value) -> Result<()> {
    let answer = api.send(Method::PATCH, api.at(&["pulls", &number.to_string()]), change).await?;
    api.done(answer).map(drop)
}

/// One after the other: a name that is not taken must not be in the way of the rest.
pub(super) async fn ask_for_review(api: &Api, number: u64, reviewers: &[String]) -> Result<()> {
    let mut all = Ok(());
    for name in reviewers {
        let url = api.at(&["pulls", &number.to_string(), "requested_reviewers"]);
        let asked = api.send(Method::POST, url, reviewer(name)).await;
        all = all.and(asked.and_then(|answer| match answer.status {
            // Of the person: the pull request was there a moment ago.
            404 => Err(Error::Denied(format!("{} has no user {name} who could review it", api.line.host))),
            _ => api.done(answer).map(drop),
        }));
    }
    all
}

/// In the first way of merging that the repository allows.
pub(super) async fn merge(
    api: &Api,
    pull: &PullRequest,
    method: Method,
    names: (&str, &str),
) -> Result<Merge> {
    let (style, guard) = names;
    let mut said = RemoteMessage::default();
    for way in ["merge", "squash", "rebase"] {
        let url = api.at(&["pulls", &pull.number.to_string(), "merge"]);
        let body = json!({ style: way, guard: pull.head_commit.as_str() });
        let answer = api.send(method.clone(), url, body).await?;
        match answer.status {
            405 if says(answer.said.text(), &["not allowed"]) => said = answer.said,
            409 if says(answer.said.text(), &["head out of date", "head branch was modified"]) => {
                return Ok(Merge::Moved);
            }
            // The base moved meanwhile.
            409 if says(answer.said.text(), &["push out of date"]) => {
                return Ok(Merge::NotYet(answer.said.to_string()));
            }
            409 if says(answer.said.text(), &["rejected"]) => return Ok(Merge::No(answer.said.to_string())),
            // Gitea shows what git said, and says nothing itself.
            409 => return Ok(Merge::Conflict),
            405 => return Ok(no(api, pull, answer.said).await),
            _ => return api.done(answer).map(|_| Merge::Done),
        }
    }
    Ok(Merge::No(said.to_string()))
}

async fn no(api: &Api, pull: &PullRequest, said: RemoteMessage) -> Merge {
    // The words say as much of a draft; only this tells a conflict from it.
    let is_draft = says(said.text(), &["draft", "work in progress"]);
    match get(api, pull.number).await {
        _ if says(said.text(), &["try again later"]) => Merge::NotYet(said.to_string()),
        Ok(Some(now)) if now.mergeable == Some(false) && !is_draft => Merge::Conflict,
        _ => Merge::No(said.to_string()),
    }
}
