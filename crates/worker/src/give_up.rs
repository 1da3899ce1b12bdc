//! Ends a job that kills its workers.
//!
//! The job may have opened its pull request before the last worker died, so its host is asked for it first.
//! Nothing else of the job runs.

use forge::PullRequest;
use store::{Ending, LastChange, Lease, MAX_DEATHS, Outcome};

use super::backoff::MAX_POSTPONEMENTS;
use super::find_pull::{find_pull, is_published, lookup_failed};
use super::outcome::{Stop, completed_ending, pull_sentence};
use crate::shared::Shared;

pub(super) async fn give_up(app: &Shared, lease: &Lease) -> Result<Ending, Stop> {
    let job = &lease.job;
    let Some(last) = app.queue.last_change(lease).await? else { return Ok(Ending::gave_up(job, None)) };
    match find_pull(app, job, &last).await {
        Ok(Some(pull)) => Ok(end_with(pull, lease, last)),
        Ok(None) => Ok(Ending::gave_up(job, Some(last.pushed))),
        Err(Stop::Failed(sentence)) => Ok(fail_without_answer(lease, &last, &sentence)),
        Err(Stop::Postpone { sentence, .. }) if lease.resume.put_off >= MAX_POSTPONEMENTS => {
            Ok(fail_without_answer(lease, &last, &sentence))
        }
        Err(other) => Err(other),
    }
}

/// A follow-up can kill its workers before it pushes, while the pull request of an earlier run is open.
fn end_with(pull: PullRequest, lease: &Lease, last: LastChange) -> Ending {
    if !is_published(&lease.job, &last, &pull) {
        let ending =
            Ending::gave_up(&store::Job { pr_link: Some(pull.url.clone()), ..lease.job.clone() }, None);
        let message = format!("{}. {}", ending.message, pull_sentence(&pull));
        return Ending { outcome: Outcome::Failed { pr_link: Some(pull.url) }, message, ..ending };
    }
    let ending = completed_ending(pull, last.change.report);
    let message = format!(
        "{}. The job opened it before its worker stopped {MAX_DEATHS} times in the same step",
        ending.message
    );
    Ending { message, ..ending }
}

fn fail_without_answer(lease: &Lease, last: &LastChange, sentence: &str) -> Ending {
    let ending = Ending::gave_up(&lease.job, Some(last.pushed));
    let message = format!(
        "The job was given up: its worker stopped {MAX_DEATHS} times in the same step. {}. The host's answer was: \
         {sentence}",
        lookup_failed(&lease.job)
    );
    Ending { message, ..ending }
}
