//! A job can be archived while its pull request is being opened: the host goes on with what it was
//! asked for. So its host is asked again afterwards, for a while; what it opened is closed and recorded.

use std::time::Duration;

use forge::{PullRequest, State};
use machine::Trouble;
use store::{NewEvent, PullState, StoreError, Sweep};
use tokio_util::sync::CancellationToken;

use super::give_up::own_pull;
use super::pause;
use crate::shared::Shared;

const EVERY: Duration = Duration::from_secs(5);
const FIRST: Duration = Duration::from_secs(5);
const LONGEST: Duration = Duration::from_secs(60 * 60);
/// Looks of a host that answers; the last of them comes half an hour after the first.
const LOOKS: u32 = 6;
/// A day of a host that does not.
const MOST: u32 = 30;

/// Until `stop`.
pub(super) async fn go_on(app: &Shared, stop: &CancellationToken) {
    while !stop.is_cancelled() {
        stop.run_until_cancelled(all_due(app)).await;
        pause(stop, EVERY).await;
    }
}

pub(super) async fn all_due(app: &Shared) {
    loop {
        match app.sweeps.next_sweep().await {
            Ok(Some(sweep)) => {
                if let Err(error) = one(app, &sweep).await {
                    tracing::warn!("what was found of archived job {} is not kept: {error}", sweep.job.id);
                }
            }
            Ok(None) => return,
            Err(error) => return tracing::warn!("archived jobs are not looked after: {error}"),
        }
    }
}

async fn one(app: &Shared, sweep: &Sweep) -> Result<(), StoreError> {
    match found(app, sweep).await {
        Ok(Some(pull)) => {
            let state = if pull.state == State::Merged { PullState::Merged } else { PullState::Closed };
            let message = format!(
                "Pull request #{} was found after the archive; it is {}",
                pull.number,
                state.as_str()
            );
            let event = NewEvent::new("pull_request", message).with("state", state.as_str());
            app.sweeps.finish_sweep(sweep, Some((&pull.url, state)), Some(event)).await
        }
        Ok(None) if sweep.tries >= LOOKS => app.sweeps.finish_sweep(sweep, None, None).await,
        Ok(None) => app.sweeps.sweep_again(sweep, wait(sweep.tries)).await,
        Err(error) if sweep.tries >= MOST && Trouble::find(&error).is_none() => {
            let message = format!(
                "It is not known whether the job left a pull request for {} on its host: {error}",
                sweep.job.branch
            );
            app.sweeps.finish_sweep(sweep, None, Some(NewEvent::new("warning", message))).await
        }
        Err(forge::Error::Temporary { retry_after: Some(after), .. }) => {
            app.sweeps.sweep_again(sweep, after.max(FIRST)).await
        }
        Err(_) => app.sweeps.sweep_again(sweep, wait(sweep.tries)).await,
    }
}

/// The job's own pull request, which is not open any more.
async fn found(app: &Shared, sweep: &Sweep) -> forge::Result<Option<PullRequest>> {
    let Some((host, pull)) = own_pull(app, &sweep.job).await? else { return Ok(None) };
    match pull.state {
        State::Open => host.close(pull.number).await.map(Some),
        State::Merged | State::Closed => Ok(Some(pull)),
    }
}

fn wait(tries: u32) -> Duration {
    FIRST.saturating_mul(4_u32.saturating_pow(tries.saturating_sub(1))).min(LONGEST)
}
