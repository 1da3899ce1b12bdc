//! Merges a pull request, or closes it without.

use failpoints::with_failpoints;
use tokio::time::sleep;

use super::Web;
use super::dialect::Merge;
use crate::{Error, Oid, PullRequest, Result, State};

/// How often a host is asked that has not found out yet whether it can merge.
const TRIES: u32 = 6;

pub(super) async fn merge(web: &Web, number: u64, seen: Option<&Oid>) -> Result<PullRequest> {
    let mut tried = 1;
    loop {
        let pull = pull(web, number).await?;
        match pull.state {
            State::Merged => return Ok(pull),
            State::Closed => return Err(Error::Refused(format!("pull request #{number} is closed"))),
            State::Open if seen.is_some_and(|seen| *seen != pull.head_commit) => return Err(moved(&pull)),
            State::Open => {}
        }
        match merge_once(web, &pull).await? {
            Merge::Done => return self::pull(web, number).await,
            Merge::Moved => return Err(moved(&pull)),
            Merge::Conflict => return Err(Error::Conflict { base: pull.base, files: Vec::new() }),
            Merge::NotYet(_) if tried < TRIES => sleep(web.line.pause(tried)).await,
            Merge::NotYet(said) | Merge::No(said) => {
                let host = &web.place.host;
                return Err(Error::Refused(format!("{host} does not merge pull request #{number}: {said}")));
            }
        }
        tried += 1;
    }
}

/// An answer may be lost after the merge was made.
async fn merge_once(web: &Web, pull: &PullRequest) -> Result<Merge> {
    match web.dialect.merge(pull).await {
        Err(error) => match self::pull(web, pull.number).await {
            Ok(now) if now.state == State::Merged => Ok(Merge::Done),
            _ => Err(error),
        },
        done => done,
    }
}

pub(super) async fn close(web: &Web, number: u64) -> Result<PullRequest> {
    let there = pull(web, number).await?;
    match there.state {
        State::Open => {
            with_failpoints("close", web.dialect.close(number)).await?;
            pull(web, number).await
        }
        State::Closed => Ok(there),
        State::Merged => Err(Error::Refused(format!("pull request #{number} is merged already"))),
    }
}

async fn pull(web: &Web, number: u64) -> Result<PullRequest> {
    web.dialect.get(number).await?.ok_or(Error::NoSuchPull(number))
}

fn moved(pull: &PullRequest) -> Error {
    let head = &pull.head;
    Error::Refused(format!("`{head}` has moved since you looked: look at it again, then merge"))
}
