//! Opens one pull request a job, whatever becomes of the host's answers.
//!
//! A host takes one open pull request between two branches, and says so to whoever wants another; but
//! its lists are late, and an answer may be lost on the way. So: look first, then ask once; who is
//! told that there is one, or told nothing, looks again for a while; and only when the host shows
//! none even then is it asked once more.

use failpoints::with_failpoints;
use tokio::time::sleep;

use super::Web;
use super::dialect::Created;
use super::pull::{added, adopted};
use crate::{Error, NewPull, PullRequest, Result, State};

/// How often is looked for one that is known to be there, and for one that may be.
const KNOWN: u32 = 6;
const POSSIBLE: u32 = 3;

/// How often the host may have missed a push.
const PUSHED: u32 = 4;

pub(super) async fn open(web: &Web, new: &NewPull) -> Result<PullRequest> {
    if let Some(there) = look(web, new).await? {
        return follow_up(web, there, new).await;
    }
    let mut unheard = false;
    let mut tried = 1;
    loop {
        match with_failpoints("create", web.dialect.create(new)).await {
            Ok(Created::Now(pull)) => return Ok(dressed(web, pull).await),
            Ok(Created::There) => return known(web, new).await,
            Ok(Created::NotYet(_)) if tried < PUSHED => sleep(web.line.pause(tried)).await,
            Ok(Created::NotYet(error)) => return Err(missing(web, new, error).await),
            Err(Error::Later { after: None, sentence }) if !unheard => {
                unheard = true;
                tracing::info!("looking for the pull request of `{}`, because {sentence}", new.head);
                if let Some(pull) = wait_for(web, new, POSSIBLE).await? {
                    return Ok(dressed(web, pull).await);
                }
            }
            Err(error) => return Err(error),
        }
        tried += 1;
    }
}

/// Hosts say of the base what they say of the head.
async fn missing(web: &Web, new: &NewPull, error: Error) -> Error {
    match web.dialect.has_branch(&new.base).await {
        Ok(false) => Error::NoSuchBranch(new.base.clone()),
        _ => error,
    }
}

/// The one that can be adopted.
async fn look(web: &Web, new: &NewPull) -> Result<Option<PullRequest>> {
    Ok(adopted(with_failpoints("look", web.dialect.find(&new.head, Some(&new.base))).await?, new))
}

async fn wait_for(web: &Web, new: &NewPull, looks: u32) -> Result<Option<PullRequest>> {
    for tried in 1..=looks {
        sleep(web.line.pause(tried)).await;
        if let Some(pull) = look(web, new).await? {
            return Ok(Some(pull));
        }
    }
    Ok(None)
}

async fn known(web: &Web, new: &NewPull) -> Result<PullRequest> {
    match wait_for(web, new, KNOWN).await? {
        Some(there) => follow_up(web, there, new).await,
        None => {
            let sentence =
                format!("{} has a pull request for `{}` but does not show it yet", web.place.host, new.head);
            Err(Error::Later { sentence, after: None })
        }
    }
}

/// A follow-up adds what it did to what its pull request says, after all that people wrote there;
/// saying it twice changes nothing.
async fn follow_up(web: &Web, there: PullRequest, new: &NewPull) -> Result<PullRequest> {
    if there.job.as_deref() != Some(&new.job) || there.state != State::Open {
        return Ok(there);
    }
    // Lists may show what was there a while ago.
    let now = web.dialect.get(there.number).await?.unwrap_or(there);
    let now = match added(&now.body, &new.body, web.dialect.longest_body()) {
        Some(body) => {
            with_failpoints("body", web.dialect.set_body(now.number, &body)).await?;
            PullRequest { body, ..now }
        }
        None => now,
    };
    if new.is_first { Ok(dressed(web, now).await) } else { Ok(now) }
}

/// With labels and reviewers. They are a courtesy: a job does not fail for them.
async fn dressed(web: &Web, pull: PullRequest) -> PullRequest {
    let number = pull.number;
    if !web.labels.is_empty()
        && let Err(error) = with_failpoints("labels", web.dialect.add_labels(number, &web.labels)).await
    {
        tracing::warn!("pull request #{number} of {} has not all its labels: {error}", web.web_url);
    }
    if !web.reviewers.is_empty()
        && let Err(error) =
            with_failpoints("reviewers", web.dialect.ask_for_review(number, &web.reviewers)).await
    {
        tracing::warn!("pull request #{number} of {} has not all its reviewers: {error}", web.web_url);
    }
    pull
}
