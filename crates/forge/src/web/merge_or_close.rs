//! Merges a pull request on a web host, or closes it without merging.

use failpoints::with_failpoints;
use tokio::time::sleep;

use super::Web;
use super::host_api::MergeOutcome;
use crate::{Error, Oid, PullRequest, Result, State};

/// The number of attempts while the host is still checking whether it can merge.
const MAX_ATTEMPTS: u32 = 6;

pub(super) async fn merge(web: &Web, number: u64, seen: Option<&Oid>) -> Result<PullRequest> {
    let mut attempt = 1;
    loop {
        let pull = pull(web, number).await?;
        match pull.state {
            State::Merged => return Ok(pull),
            State::Closed => return Err(Error::Refused(format!("pull request #{number} is closed"))),
            State::Open if seen.is_some_and(|seen| *seen != pull.head_commit) => {
                return Err(head_moved_error(&pull));
            }
            State::Open => {}
        }
        match merge_once(web, &pull).await? {
            MergeOutcome::Merged => return self::pull(web, number).await,
            MergeOutcome::HeadMoved => return Err(head_moved_error(&pull)),
            MergeOutcome::Conflict => return Err(Error::Conflict { base: pull.base, files: Vec::new() }),
            MergeOutcome::Pending(_) if attempt < MAX_ATTEMPTS => sleep(web.client.backoff(attempt)).await,
            MergeOutcome::Pending(message) | MergeOutcome::Refused(message) => {
                let host = &web.context.host;
                return Err(Error::Refused(format!(
                    "{host} refused to merge pull request #{number}: {message}"
                )));
            }
        }
        attempt += 1;
    }
}

/// Checks after a failure whether the host merged and only the response was lost.
async fn merge_once(web: &Web, pull: &PullRequest) -> Result<MergeOutcome> {
    match web.host_api.merge(pull).await {
        Err(error) => match self::pull(web, pull.number).await {
            Ok(now) if now.state == State::Merged => Ok(MergeOutcome::Merged),
            _ => Err(error),
        },
        done => done,
    }
}

pub(super) async fn close(web: &Web, number: u64) -> Result<PullRequest> {
    let current = pull(web, number).await?;
    match current.state {
        State::Open => {
            with_failpoints("close", web.host_api.close(number)).await?;
            pull(web, number).await
        }
        State::Closed => Ok(current),
        State::Merged => Err(Error::Refused(format!("pull request #{number} is already merged"))),
    }
}

async fn pull(web: &Web, number: u64) -> Result<PullRequest> {
    web.host_api.get(number).await?.ok_or(Error::NoSuchPull(number))
}

fn head_moved_error(pull: &PullRequest) -> Error {
    let head = &pull.head;
    Error::Refused(format!("`{head}` changed after you reviewed it: review it again, then merge"))
}
