//! Ends a job that kills its workers.
//!
//! The job may have opened its pull request before the last worker died, so its host is asked for it first.
//! Nothing else of the job runs.

use std::sync::Arc;
use std::time::Duration;

use forge::{Host, PullRequest};
use serde_json::Value;
use store::{Ending, Job, Lease, MAX_DEATHS};
use tokio::time::sleep;

use super::backoff::MAX_POSTPONEMENTS;
use super::outcome::{Stop, completed_ending};
use crate::shared::Shared;

/// The list of a host can be stale, so a run that pushed asks for it more than once.
const LOOKUPS: u32 = 3;
const LOOKUP_INTERVAL: Duration = Duration::from_secs(1);

pub(super) async fn give_up(app: &Shared, lease: &Lease) -> Result<Ending, Stop> {
    match find_pull(app, lease).await {
        Ok(Some(pull)) => Ok(complete_with(pull, lease)),
        Ok(None) => Ok(Ending::gave_up()),
        Err(Stop::Failed(sentence)) => Ok(fail_without_answer(&sentence)),
        Err(Stop::Postpone { sentence, .. }) if lease.resume.put_off >= MAX_POSTPONEMENTS => {
            Ok(fail_without_answer(&sentence))
        }
        Err(other) => Err(other),
    }
}

async fn find_pull(app: &Shared, lease: &Lease) -> Result<Option<PullRequest>, Stop> {
    let lookups = if lease.resume.pushed { LOOKUPS } else { 1 };
    for lookup in 0..lookups {
        if lookup > 0 {
            sleep(LOOKUP_INTERVAL).await;
        }
        if let Some((_, pull)) = own_pull(app, &lease.job).await? {
            return Ok(Some(pull));
        }
    }
    Ok(None)
}

/// The pull request that the job opened, and its host. A pull request that the job adopted belongs to a
/// person.
pub(super) async fn own_pull(app: &Shared, job: &Job) -> forge::Result<Option<(Arc<dyn Host>, PullRequest)>> {
    let project = app.accounts.project(&job.project).await;
    let project = project.map_err(|error| forge::Error::Records(Box::new(error)))?;
    let Some(project) = project else { return Ok(None) };
    let host = app.hosts.open(&project).await?;
    let pulls = host.find(&job.branch).await?;
    let own = pulls.into_iter().find(|pull| pull.job.as_deref() == Some(job.id.0.as_str()));
    Ok(own.map(|pull| (host, pull)))
}

fn complete_with(pull: PullRequest, lease: &Lease) -> Ending {
    let report = lease.resume.change.as_ref().map_or(Value::Null, |change| change.report.clone());
    let ending = completed_ending(pull, report);
    let message = format!(
        "{}. The job opened it before its worker stopped {MAX_DEATHS} times in the same step",
        ending.message
    );
    Ending { message, ..ending }
}

fn fail_without_answer(sentence: &str) -> Ending {
    let ending = Ending::gave_up();
    let message = format!(
        "{}. Docwright does not know whether the job opened a pull request: {sentence}",
        ending.message
    );
    Ending { message, ..ending }
}
