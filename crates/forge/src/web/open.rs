//! Opens one pull request per job, even if responses of the host are lost.
//!
//! A host allows one open pull request between two branches and refuses another. But its lists are eventually
//! consistent, and a response can be lost. So: look for an existing pull request, then send one create
//! request. If the host says that one exists, or the response is lost, look again for a while. Only if the
//! list still shows none, send a second create request.

use failpoints::with_failpoints;
use tokio::time::sleep;

use super::Web;
use super::host_api::CreateOutcome;
use super::pull::{append_to_body, choose_existing};
use crate::{Error, NewPull, PullRequest, Result, State};

/// How often to look for a pull request that exists for certain, and for one that may exist.
const LOOKUPS_WHEN_KNOWN: u32 = 6;
const LOOKUPS_WHEN_UNCERTAIN: u32 = 3;

/// The number of create requests while the host has not processed the push.
const MAX_CREATE_ATTEMPTS: u32 = 4;

pub(super) async fn open(web: &Web, new: &NewPull) -> Result<PullRequest> {
    if let Some(existing) = find_existing(web, new).await? {
        return follow_up(web, existing, new).await;
    }
    let mut is_response_lost = false;
    let mut attempt = 1;
    loop {
        match with_failpoints("create", web.host_api.create(new)).await {
            Ok(CreateOutcome::Created(pull)) => return Ok(add_labels_and_reviewers(web, pull).await),
            Ok(CreateOutcome::AlreadyExists) => return wait_for_existing(web, new).await,
            Ok(CreateOutcome::HeadNotVisible(_)) if attempt < MAX_CREATE_ATTEMPTS => {
                sleep(web.client.backoff(attempt)).await
            }
            Ok(CreateOutcome::HeadNotVisible(error)) => {
                return Err(missing_branch_error(web, new, error).await);
            }
            Err(Error::Temporary { retry_after: None, sentence }) if !is_response_lost => {
                is_response_lost = true;
                tracing::info!("looking for the pull request of `{}`, because {sentence}", new.head);
                if let Some(pull) = wait_for(web, new, LOOKUPS_WHEN_UNCERTAIN).await? {
                    return Ok(add_labels_and_reviewers(web, pull).await);
                }
            }
            Err(error) => return Err(error),
        }
        attempt += 1;
    }
}

/// Hosts send the same error for a missing base and a missing head.
async fn missing_branch_error(web: &Web, new: &NewPull, error: Error) -> Error {
    match web.host_api.has_branch(&new.base).await {
        Ok(false) => Error::NoSuchBranch(new.base.clone()),
        _ => error,
    }
}

/// Finds a pull request to use instead of a new one.
async fn find_existing(web: &Web, new: &NewPull) -> Result<Option<PullRequest>> {
    Ok(choose_existing(with_failpoints("look", web.host_api.find(&new.head, Some(&new.base))).await?, new))
}

async fn wait_for(web: &Web, new: &NewPull, lookups: u32) -> Result<Option<PullRequest>> {
    for attempt in 1..=lookups {
        sleep(web.client.backoff(attempt)).await;
        if let Some(pull) = find_existing(web, new).await? {
            return Ok(Some(pull));
        }
    }
    Ok(None)
}

async fn wait_for_existing(web: &Web, new: &NewPull) -> Result<PullRequest> {
    match wait_for(web, new, LOOKUPS_WHEN_KNOWN).await? {
        Some(existing) => follow_up(web, existing, new).await,
        None => {
            let sentence = format!(
                "{} has a pull request for `{}` but does not show it yet: try again later",
                web.context.host, new.head
            );
            Err(Error::Temporary { sentence, retry_after: None })
        }
    }
}

/// Appends a follow-up's text to the body of the job's pull request. Idempotent.
async fn follow_up(web: &Web, existing: PullRequest, new: &NewPull) -> Result<PullRequest> {
    if existing.job.as_deref() != Some(&new.job) || existing.state != State::Open {
        return Ok(existing);
    }
    // Lists can be outdated, so read the pull request itself.
    let now = web.host_api.get(existing.number).await?.unwrap_or(existing);
    let now = match append_to_body(&now.body, &new.body, web.host_api.max_body_chars()) {
        Some(body) => {
            with_failpoints("body", web.host_api.set_body(now.number, &body)).await?;
            PullRequest { body, ..now }
        }
        None => now,
    };
    if new.is_first { Ok(add_labels_and_reviewers(web, now).await) } else { Ok(now) }
}

/// Adds labels and requests reviewers. Failures are only logged: a job does not fail because of them.
async fn add_labels_and_reviewers(web: &Web, pull: PullRequest) -> PullRequest {
    let number = pull.number;
    if !web.labels.is_empty()
        && let Err(error) = with_failpoints("labels", web.host_api.add_labels(number, &web.labels)).await
    {
        tracing::warn!("pull request #{number} of {} lacks some of its labels: {error}", web.web_url);
    }
    if !web.reviewers.is_empty()
        && let Err(error) =
            with_failpoints("reviewers", web.host_api.request_review(number, &web.reviewers)).await
    {
        tracing::warn!("pull request #{number} of {} lacks some of its reviewers: {error}", web.web_url);
    }
    pull
}
