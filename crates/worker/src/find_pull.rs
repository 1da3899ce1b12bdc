//! Finds the pull request of a job that ends without knowing it.
//!
//! A worker can die, or a host can refuse a later request, after the host opened the pull request. A job that
//! ends without its link would suggest that there is none, and a person would open a second one.

use std::sync::Arc;
use std::time::Duration;

use forge::{Host, PullRequest, State};
use store::{Ending, Job, LastChange, Lease, Outcome, PullState, unknown_pull};
use tokio::time::sleep;

use super::outcome::{Stop, completed_ending, pull_sentence};
use crate::shared::Shared;
use app::hosts::pull_number;

/// The list of a host can be stale, so a run that pushed asks for it more than once.
const LOOKUPS: u32 = 3;
const LOOKUP_INTERVAL: Duration = Duration::from_secs(1);

/// Adds the job's pull request to the ending of a failed run. If it's open with the run's change, the run
/// completed.
pub(super) async fn add_pull(app: &Shared, lease: &Lease, failed: Ending) -> Result<Ending, Stop> {
    if lease.job.has_own_pull() {
        return add_known_pull(app, lease, failed).await;
    }
    let Some(last) = app.queue.last_change(lease).await? else { return Ok(failed) };
    let sentence = &failed.message;
    let message = match find_pull(app, &lease.job, &last).await {
        Ok(Some(pull)) if is_published(&lease.job, &last, &pull) => {
            let ending = completed_ending(pull, last.change.report);
            let message = format!("{}. A later step failed: {sentence}", ending.message);
            return Ok(Ending { message, ..ending });
        }
        Ok(Some(pull)) => {
            let message = format!("{sentence}. {}", pull_sentence(&pull));
            return Ok(Ending { outcome: Outcome::Failed { pr_link: Some(pull.url) }, message, ..failed });
        }
        Ok(None) if last.pushed => format!("{sentence}. On the host, {}", unknown_pull(&lease.job, true)),
        Ok(None) => return Ok(failed),
        Err(stop @ (Stop::LeaseLost | Stop::Release(_) | Stop::Machine(_))) => return Err(stop),
        Err(_) if last.pushed => format!("{sentence}. {}", lookup_failed(&lease.job)),
        Err(_) => return Ok(failed),
    };
    Ok(Ending { message, ..failed })
}

/// Says that the pull request of an earlier run is still open. The run may have found out that it isn't.
async fn add_known_pull(app: &Shared, lease: &Lease, failed: Ending) -> Result<Ending, Stop> {
    let job = app.jobs.find(&lease.job.project, &lease.job.id).await?;
    let link = job.filter(|job| job.pr_state == Some(PullState::Open)).and_then(|job| job.pr_link);
    let Some(number) = link.as_deref().and_then(pull_number) else { return Ok(failed) };
    let message = format!("{}. Pull request #{number} is still open", failed.message);
    Ok(Ending { message, ..failed })
}

/// Says that the host didn't answer, and where to look.
pub(super) fn lookup_failed(job: &Job) -> String {
    format!(
        "Docwright does not know whether the job opened a pull request, and keeps looking for a while. Look on the \
         repository host for a pull request from the branch `{}` before you create a new job",
        job.branch
    )
}

/// The job's pull request, in any state. If the job adopted a branch, this can be a person's open pull
/// request that has the job's change.
pub(super) async fn find_pull(
    app: &Shared,
    job: &Job,
    last: &LastChange,
) -> Result<Option<PullRequest>, Stop> {
    let lookups = if last.pushed { LOOKUPS } else { 1 };
    for lookup in 0..lookups {
        if lookup > 0 {
            sleep(LOOKUP_INTERVAL).await;
        }
        let Some((_, pulls)) = pulls_of_branch(app, job).await? else { return Ok(None) };
        let adopted = pulls.iter().find(|pull| pull.state == State::Open && has_change(pull, last));
        if let Some(pull) = pulls.iter().find(|pull| is_own(job, pull)).or(adopted) {
            return Ok(Some(pull.clone()));
        }
    }
    Ok(None)
}

/// Whether the pull request has the change of the current run. A pull request that this run opened exists only
/// after the push.
pub(super) fn is_published(job: &Job, last: &LastChange, pull: &PullRequest) -> bool {
    last.run == job.run && (job.run == 1 && is_own(job, pull) || has_change(pull, last))
}

/// People may have added commits after the push.
fn has_change(pull: &PullRequest, last: &LastChange) -> bool {
    last.pushed || pull.head_commit.as_str() == last.change.head_commit
}

fn is_own(job: &Job, pull: &PullRequest) -> bool {
    pull.job.as_deref() == Some(job.id.0.as_str())
}

/// The pull request that the job opened, and its host. A pull request that the job adopted belongs to a
/// person.
pub(super) async fn own_pull(app: &Shared, job: &Job) -> forge::Result<Option<(Arc<dyn Host>, PullRequest)>> {
    let Some((host, pulls)) = pulls_of_branch(app, job).await? else { return Ok(None) };
    Ok(pulls.into_iter().find(|pull| is_own(job, pull)).map(|pull| (host, pull)))
}

/// `None`: the project was deleted.
async fn pulls_of_branch(
    app: &Shared,
    job: &Job,
) -> forge::Result<Option<(Arc<dyn Host>, Vec<PullRequest>)>> {
    let project = app.accounts.project(&job.project).await;
    let project = project.map_err(|error| forge::Error::Records(Box::new(error)))?;
    let Some(project) = project else { return Ok(None) };
    let host = app.hosts.open(&project).await?;
    let pulls = host.find(&job.branch).await?;
    Ok(Some((host, pulls)))
}
