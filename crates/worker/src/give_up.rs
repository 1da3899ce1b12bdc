//! Ends a job that kills its workers. It may have opened its pull request before the last of them died, so its host is
//! asked for that first; nothing else of the job is run.

use std::sync::Arc;
use std::time::Duration;

use forge::{Host, PullRequest};
use serde_json::Value;
use store::{Ending, Job, Lease, MAX_DEATHS};
use tokio::time::sleep;

use super::later;
use super::outcome::{Stop, completed};
use crate::shared::Shared;

/// A host's list can be late, so what was pushed is looked for more than once.
const LOOKS: u32 = 3;
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

pub(super) async fn give_up(app: &Shared, lease: &Lease) -> Result<Ending, Stop> {
    match find_pull(app, lease).await {
        Ok(Some(pull)) => Ok(complete_with(pull, lease)),
        Ok(None) => Ok(Ending::gave_up()),
        Err(Stop::Failed(why)) => Ok(fail_without_answer(&why)),
        Err(Stop::Later { sentence, .. }) if lease.resume.put_off >= later::MOST => {
            Ok(fail_without_answer(&sentence))
        }
        Err(other) => Err(other),
    }
}

async fn find_pull(app: &Shared, lease: &Lease) -> Result<Option<PullRequest>, Stop> {
    let looks = if lease.resume.pushed { LOOKS } else { 1 };
    for look in 0..looks {
        if look > 0 {
            sleep(LOOK_INTERVAL).await;
        }
        if let Some((_, pull)) = own_pull(app, &lease.job).await? {
            return Ok(Some(pull));
        }
    }
    Ok(None)
}

/// The pull request that the job opened, and its host. One that it adopted is somebody else's.
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
    let ending = completed(pull, report);
    let message = format!(
        "{}. The job had opened it before its worker stopped {MAX_DEATHS} times in the same step",
        ending.message
    );
    Ending { message, ..ending }
}

fn fail_without_answer(why: &str) -> Ending {
    let ending = Ending::gave_up();
    let message =
        format!("{}. Docwright does not know whether the job opened a pull request: {why}", ending.message);
    Ending { message, ..ending }
}
