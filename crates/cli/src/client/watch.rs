//! Watches a job until it ends or the timeout passes.

use std::process::ExitCode;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;
use wire::AgentJob;

use super::Client;
use super::progress::ProgressView;
use super::stream::{Update, follow};
use crate::args::{JobArgs, WatchArgs};

/// The exit code that tells a script how the job ended.
pub(crate) fn exit_code(job: &AgentJob) -> ExitCode {
    match job.status.as_str() {
        "failed" => ExitCode::from(3),
        "completed" if job.pr_link.is_none() => ExitCode::from(5),
        _ => ExitCode::SUCCESS,
    }
}

/// Shows the events after number `last_event` until the job ends, and returns the ended job.
pub(crate) async fn until_end(
    client: &Client,
    job: &JobArgs,
    watching: &WatchArgs,
    last_event: u64,
) -> anyhow::Result<AgentJob> {
    let deadline = Instant::now() + Duration::from_secs(watching.timeout);
    let (sender, mut updates) = mpsc::channel(64);
    let mut following = std::pin::pin!(follow(client, job, last_event, sender));
    let mut view = ProgressView::new();
    let ended = loop {
        tokio::select! {
            biased;
            Some(update) = updates.recv() => show(&mut view, update),
            ended = &mut following => break ended,
            () = tokio::time::sleep_until(deadline) => break Err(anyhow::anyhow!(
                "the job still runs after {} seconds, and continues: to follow it again, run `docwright job view {} {} --watch`",
                watching.timeout,
                job.project,
                job.id
            )),
            () = view.next_frame() => view.draw(),
        }
    };
    while let Ok(update) = updates.try_recv() {
        show(&mut view, update);
    }
    view.finish_step(ended.as_ref().is_ok_and(|job| job.status != "failed"));
    ended
}

fn show(view: &mut ProgressView, update: Update) {
    match update {
        Update::Event(event) => view.start_step(&event),
        Update::Disconnected => view.print_message("  The server does not answer; trying again"),
    }
}
