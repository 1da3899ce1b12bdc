//! Finds pull requests that a host opened while their job was archived or failed.
//!
//! A job can end while its host opens the pull request, and the host doesn't stop. So a sweep asks the host
//! again for a while after the end. It records the pull request that it finds, and closes that of an archived
//! job.

use std::time::Duration;

use forge::{PullRequest, State};
use machine::Trouble;
use store::{NewEvent, PullState, Status, StoreError, Sweep};
use tokio_util::sync::CancellationToken;

use super::find_pull::own_pull;
use super::pause;
use crate::shared::Shared;
use app::hosts::stored_state;

const INTERVAL: Duration = Duration::from_secs(5);
const FIRST_DELAY: Duration = Duration::from_secs(5);
const MAX_DELAY: Duration = Duration::from_secs(60 * 60);
/// Requests to a host that answers. The last one comes half an hour after the first.
const MAX_LOOKUPS: u32 = 6;
/// Requests to a host that fails: about a day of them.
const MAX_FAILED_LOOKUPS: u32 = 30;

pub(super) async fn sweep_until_stopped(app: &Shared, stop: &CancellationToken) {
    while !stop.is_cancelled() {
        stop.run_until_cancelled(run_due_sweeps(app)).await;
        pause(stop, INTERVAL).await;
    }
}

pub(super) async fn run_due_sweeps(app: &Shared) {
    loop {
        match app.sweeps.next_sweep().await {
            Ok(Some(sweep)) => {
                if let Err(error) = run_sweep(app, &sweep).await {
                    tracing::warn!("cannot record the sweep of job {}: {error}", sweep.job.id);
                }
            }
            Ok(None) => return,
            Err(error) => return tracing::warn!("cannot read the next sweep: {error}"),
        }
    }
}

async fn run_sweep(app: &Shared, sweep: &Sweep) -> Result<(), StoreError> {
    match find_or_close(app, sweep).await {
        Ok(Some((pull, state))) => {
            let end = if sweep.job.status == Status::Archived { "was archived" } else { "failed" };
            let message = format!(
                "Pull request #{} was found after the job {end}; it is {}",
                pull.number,
                state.as_str()
            );
            let event = NewEvent::new("pull_request", message).with("state", state.as_str());
            app.sweeps.finish_sweep(sweep, Some((&pull.url, state)), Some(event)).await
        }
        Ok(None) if sweep.tries >= MAX_LOOKUPS => app.sweeps.finish_sweep(sweep, None, None).await,
        Ok(None) => app.sweeps.sweep_again(sweep, delay_after(sweep.tries)).await,
        Err(error) if sweep.tries >= MAX_FAILED_LOOKUPS && Trouble::find(&error).is_none() => {
            let message = format!(
                "Docwright does not know whether the job left a pull request for `{}` on its host. Look for it \
                 there. The last error is: {error}",
                sweep.job.branch
            );
            app.sweeps.finish_sweep(sweep, None, Some(NewEvent::new("warning", message))).await
        }
        Err(forge::Error::Temporary { retry_after: Some(after), .. }) => {
            app.sweeps.sweep_again(sweep, after.max(FIRST_DELAY)).await
        }
        Err(_) => app.sweeps.sweep_again(sweep, delay_after(sweep.tries)).await,
    }
}

/// Finds the job's own pull request. If it's open and the job is archived, closes it.
async fn find_or_close(app: &Shared, sweep: &Sweep) -> forge::Result<Option<(PullRequest, PullState)>> {
    let Some((host, pull)) = own_pull(app, &sweep.job).await? else { return Ok(None) };
    if pull.state != State::Open || sweep.job.status != Status::Archived {
        let state = stored_state(pull.state);
        return Ok(Some((pull, state)));
    }
    let closed = host.close(pull.number).await?;
    let state = if closed.state == State::Merged { PullState::Merged } else { PullState::Closed };
    Ok(Some((closed, state)))
}

fn delay_after(tries: u32) -> Duration {
    FIRST_DELAY.saturating_mul(4_u32.saturating_pow(tries.saturating_sub(1))).min(MAX_DELAY)
}
