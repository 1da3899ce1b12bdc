//! Watching a job: a line for each step, whether somebody is there to see it or a log is.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use wire::{AgentJob, JobEvent};

use super::{Client, job};
use crate::args::{OneJob, Watching};
use crate::output;

const POLL: Duration = Duration::from_millis(200);

/// How the end of a job is told to a script.
pub(crate) fn exit_code(job: &AgentJob) -> ExitCode {
    match job.status.as_str() {
        "failed" => ExitCode::from(3),
        "completed" if job.pr_link.is_none() => ExitCode::from(5),
        _ => ExitCode::SUCCESS,
    }
}

/// Tells the events after the first `seen` until the job ends; answers the job as it ended.
pub(crate) async fn until_the_end(
    client: &Client,
    which: &OneJob,
    watching: &Watching,
    mut seen: usize,
) -> anyhow::Result<AgentJob> {
    let started = Instant::now();
    loop {
        // The status is asked for first, so that the events of an ended job are all there.
        let job = job::show(client, which).await?;
        let events = job::events(client, which).await?;
        events.iter().skip(seen).for_each(|event: &JobEvent| output::say(job::line(event)));
        seen = seen.max(events.len());
        if job.status != "active" {
            return Ok(job);
        }
        if started.elapsed() >= Duration::from_secs(watching.timeout) {
            anyhow::bail!(
                "the job still runs after {} s and goes on; see it later with `docwright job view {} {}`",
                watching.timeout,
                which.project,
                which.id
            );
        }
        tokio::time::sleep(POLL).await;
    }
}
