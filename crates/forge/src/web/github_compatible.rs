//! The parts of GitHub's API that Gitea and Forgejo share.

use net::RemoteMessage;
use reqwest::Method;
use serde_json::{Value, json};

use super::api::{Api, with_query};
use super::host_api::MergeOutcome;
use super::pull::{GitHubPull, contains_any, reviewer};
use crate::{Error, PullRequest, Result};

pub(super) async fn has_branch(api: &Api, branch: &str) -> Result<bool> {
    let response = api.get(api.url(&["branches", branch])).await?;
    api.parse_optional::<Value>(response).map(|found| found.is_some())
}

pub(super) async fn has_folder(api: &Api, branch: &str, folder: &str) -> Result<bool> {
    let path: Vec<_> = ["contents"].into_iter().chain(folder.split('/')).collect();
    let response = api.get(with_query(api.url(&path), &[("ref", branch)])).await?;
    // For a folder, the response is a list of its entries.
    Ok(api.parse_optional::<Value>(response)?.is_some_and(|found| found.is_array()))
}

pub(super) async fn get(api: &Api, number: u64) -> Result<Option<GitHubPull>> {
    let response = api.get(api.url(&["pulls", &number.to_string()])).await?;
    api.parse_optional(response)
}

pub(super) async fn change(api: &Api, number: u64, change: Value) -> Result<()> {
    let response = api.send(Method::PATCH, api.url(&["pulls", &number.to_string()]), change).await?;
    api.check_status(response).map(drop)
}

/// Sends one request per reviewer, so that an unknown name does not affect the others.
pub(super) async fn request_review(api: &Api, number: u64, reviewers: &[String]) -> Result<()> {
    let mut result = Ok(());
    for name in reviewers {
        let url = api.url(&["pulls", &number.to_string(), "requested_reviewers"]);
        let requested = api.send(Method::POST, url, reviewer(name)).await;
        result = result.and(requested.and_then(|response| match response.status {
            // The pull request exists, so the missing resource is the user.
            404 => Err(Error::Denied(format!(
                "{} has no user {name}: check the reviewers of the project",
                api.client.host
            ))),
            _ => api.check_status(response).map(drop),
        }));
    }
    result
}

/// Merges with the first merge style that the repository allows.
pub(super) async fn merge(
    api: &Api,
    pull: &PullRequest,
    method: Method,
    names: (&str, &str),
) -> Result<MergeOutcome> {
    let (style_key, head_key) = names;
    let mut message = RemoteMessage::default();
    for merge_style in ["merge", "squash", "rebase"] {
        let url = api.url(&["pulls", &pull.number.to_string(), "merge"]);
        let body = json!({ style_key: merge_style, head_key: pull.head_commit.as_str() });
        let response = api.send(method.clone(), url, body).await?;
        match response.status {
            405 if contains_any(response.message.text(), &["not allowed"]) => message = response.message,
            409 if contains_any(
                response.message.text(),
                &["head out of date", "head branch was modified"],
            ) =>
            {
                return Ok(MergeOutcome::HeadMoved);
            }
            // Another push moved the base.
            409 if contains_any(response.message.text(), &["push out of date"]) => {
                return Ok(MergeOutcome::Pending(response.message.to_string()));
            }
            409 if contains_any(response.message.text(), &["rejected"]) => {
                return Ok(MergeOutcome::Refused(response.message.to_string()));
            }
            // Gitea returns git's output without an explanation.
            409 => return Ok(MergeOutcome::Conflict),
            405 => return Ok(refusal_outcome(api, pull, response.message).await),
            _ => return api.check_status(response).map(|_| MergeOutcome::Merged),
        }
    }
    Ok(MergeOutcome::Refused(message.to_string()))
}

async fn refusal_outcome(api: &Api, pull: &PullRequest, message: RemoteMessage) -> MergeOutcome {
    // `mergeable` is false for a conflict and for a draft. The message tells them apart.
    let is_draft = contains_any(message.text(), &["draft", "work in progress"]);
    match get(api, pull.number).await {
        _ if contains_any(message.text(), &["try again later"]) => MergeOutcome::Pending(message.to_string()),
        Ok(Some(now)) if now.mergeable == Some(false) && !is_draft => MergeOutcome::Conflict,
        _ => MergeOutcome::Refused(message.to_string()),
    }
}
