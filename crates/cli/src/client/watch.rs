//! Watching a job until it ends, or until the watcher's patience does.

use std::process::ExitCode;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;
use wire::AgentJob;

use super::Client;
use super::live::View;
use super::stream::{News, follow};
use crate::args::{OneJob, Watching};

/// How the end of a job is told to a script.
pub(crate) fn exit_code(job: &AgentJob) -> ExitCode {
    match job.status.as_str() {
        "failed" => ExitCode::from(3),
        "completed" if job.pr_link.is_none() => ExitCode::from(5),
        _ => ExitCode::SUCCESS,
    }
}

/// Shows the events after number `seen` until the job ends; answers the job as it ended.
pub(crate) async fn until_the_end(
    client: &Client,
    which: &OneJob,
    watching: &Watching,
    seen: u64,
) -> anyhow::Result<AgentJob> {
    let deadline = Instant::now() + Duration::from_secs(watching.timeout);
    let (tell, mut told) = mpsc::channel(64);
    let mut following = std::pin::pin!(follow(client, which, seen, tell));
    let mut view = View::new();
    let ended = loop {
        tokio::select! {
            biased;
            Some(news) = told.recv() => show(&mut view, news),
            ended = &mut following => break ended,
            () = tokio::time::sleep_until(deadline) => break Err(anyhow::anyhow!(
                "the job still runs after {} s and goes on; see it later with `docwright job view {} {} --watch`",
                watching.timeout,
                which.project,
                which.id
            )),
            () = view.frame() => view.draw(),
        }
    };
    while let Ok(news) = told.try_recv() {
        show(&mut view, news);
    }
    view.finish(ended.as_ref().is_ok_and(|job| job.status != "failed"));
    ended
}

fn show(view: &mut View, news: News) {
    match news {
        News::Event(event) => view.step(&event),
        News::Away => view.say("  The server does not answer just now; trying again"),
    }
}
