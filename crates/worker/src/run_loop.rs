//! Runs a leased job to its end: one run, one more for each follow-up that arrives meanwhile, and the
//! handling of their results.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use failpoints::with_failpoints;
use futures_util::FutureExt;
use store::{Ending, Job, Lease, Outcome, StoreError};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::backoff::MAX_POSTPONEMENTS;
use super::context::last_number;
use super::find_pull::add_pull;
use super::give_up::give_up;
use super::outcome::{Stop, aborted_ending, failed_ending};
use super::run::execute;
use super::{backoff, pause, recheck};
use crate::job_permit::JobPermit;
use crate::shared::Shared;
use app::metrics::{Counter, Labels};

/// The delay before the next request to a store that failed.
const RETRY_DELAY: Duration = Duration::from_secs(2);
/// The maximum delay while the store can't be written.
const MAX_RETRY_DELAY: Duration = Duration::from_secs(15);

/// Runs the leased job to its end, or until `alive` ends. It begins with local work.
pub(super) async fn run_to_end(app: &Shared, lease: Lease, permit: JobPermit, alive: &CancellationToken) {
    let Job { id, project, attempt, .. } = &lease.job;
    // An error span, so that a log of errors alone still names the job.
    let span = tracing::error_span!("job", job.id = %id, project.id = %project, attempt);
    span.in_scope(|| tracing::info!("leased job {id}, attempt {attempt}"));
    run_until_answered(app, lease, &Arc::new(permit), alive).instrument(span).await;
}

/// Starts another run while follow-ups have no answer.
async fn run_until_answered(
    app: &Shared,
    mut lease: Lease,
    permit: &Arc<JobPermit>,
    alive: &CancellationToken,
) {
    loop {
        let (ending, read_up_to) = match run_once(app, &lease, permit, alive).await {
            Ok(result) => {
                permit.release(); // to store the ending can take long
                result
            }
            Err(stop) => return release(app, &lease, stop, alive).await,
        };
        match finish(app, &lease, ending, read_up_to, alive).await {
            Some(next) => lease = next,
            None => return,
        }
    }
}

/// Returns the ending, and the number of the last message that it answers. A failure answers all messages
/// that waited when the run began.
async fn run_once(
    app: &Shared,
    lease: &Lease,
    permit: &Arc<JobPermit>,
    alive: &CancellationToken,
) -> Result<(Ending, u32), Stop> {
    let waiting = app.queue.unread(lease).await?;
    // Dropping the run kills the git program that it waits for.
    let run = async {
        permit.begin(app, lease).await?;
        match lease.is_given_up() {
            true => give_up(app, lease).await.map(|ending| (ending, last_number(&waiting))),
            false => execute(app, lease, &waiting, alive, permit).await,
        }
    };
    let result = tokio::select! {
        result = catch_panic(run) => result,
        // The editor may still compute for a moment. It keeps the permit until then.
        () = alive.cancelled() => Err(Stop::Release("the worker stops the job".into())),
    };
    let result = match result {
        Err(Stop::Unclassified { sentence, spent }) => {
            Err(recheck::classify_failure(app, lease, sentence, spent).await)
        }
        other => other,
    };
    if !matches!(result, Err(Stop::Machine(_) | Stop::Wait(_))) {
        app.delays.reset(&lease.job.id);
    }
    let (failed, read_up_to) = match result {
        Err(Stop::Failed(sentence)) => (failed_ending(sentence), last_number(&waiting)),
        Err(Stop::Aborted { sentence, diff, spent }) => {
            let ending = aborted_ending(sentence, Some(diff), spent);
            (ending, spent.read_up_to.max(last_number(&waiting)))
        }
        Err(Stop::Postpone { sentence, .. }) if lease.resume.put_off >= MAX_POSTPONEMENTS => {
            let sentence = format!("{sentence}; Docwright gave up after {MAX_POSTPONEMENTS} attempts");
            (failed_ending(sentence), last_number(&waiting))
        }
        other => return other,
    };
    let ending = tokio::select! {
        result = catch_panic(add_pull(app, lease, failed.clone())) => result,
        () = alive.cancelled() => Err(Stop::Release("the worker stops the job".into())),
    };
    match ending {
        Err(Stop::Failed(_)) => Ok((failed, read_up_to)),
        other => other.map(|ending| (ending, read_up_to)),
    }
}

/// Turns a panic into a failure. The process and its heartbeat survive a panic, so no other worker would ever
/// lease the job.
async fn catch_panic<T>(run: impl Future<Output = Result<T, Stop>>) -> Result<T, Stop> {
    let sentence = "the run failed because of a bug in Docwright; look for the cause in the server's log";
    AssertUnwindSafe(run).catch_unwind().await.unwrap_or_else(|_| Err(Stop::Failed(sentence.into())))
}

/// Returns the job to the queue, with a delay if the reason asks for one.
async fn release(app: &Shared, lease: &Lease, stop: Stop, alive: &CancellationToken) {
    let id = &lease.job.id;
    if let Stop::Release(reason) | Stop::Failed(reason) | Stop::Postpone { sentence: reason, .. } = &stop {
        tracing::info!("job {id} returns to the queue: {reason}");
    }
    if let Stop::Machine(trouble) = &stop {
        tracing::warn!("job {id} is delayed: {trouble} ({})", trouble.detail());
        if backoff::delay_for_machine(app, lease, trouble).await.is_ok() {
            return app.metrics.count_run("put_off");
        }
    }
    if let Stop::Wait(sentence) = &stop
        && backoff::delay_for_job(app, lease, sentence).await.is_ok()
    {
        return app.metrics.count_run("put_off");
    }
    if let Stop::Postpone { sentence, retry_after } = &stop
        && backoff::postpone(app, lease, sentence, *retry_after).await.is_ok()
    {
        return app.metrics.count_run("put_off");
    }
    // Also after a lost lease: if the job is to be archived, the archive waits for this call.
    let beat = || app.queue.heartbeat(&lease.worker);
    match release_with_retries(&app.stop, alive, beat, || {
        with_failpoints("release", app.queue.release(lease))
    })
    .await
    {
        Ok(()) => app.metrics.count_run("given_back"),
        Err(StoreError::LeaseLost(_)) => {
            tracing::warn!("another worker has job {id} now, or the job was stopped");
            app.metrics.add(Counter::LeaseLosses, Labels::default(), 1);
        }
        Err(error) => tracing::warn!("job {id} waits until its lease expires: {error}"),
    }
    // An immediate retry is likely to fail the same way.
    pause(alive, RETRY_DELAY).await;
}

/// Retries until the store answers, or until `alive` ends and the lease expires. While this worker sends
/// heartbeats, no other worker can lease the job.
///
/// While the store can't be written, no worker can lease the job even after its lease expired. Then the
/// retries continue until the server stops. A heartbeat comes before each retry, so that the store doesn't
/// count a death against the job.
async fn release_with_retries<B, F>(
    stop: &CancellationToken,
    alive: &CancellationToken,
    mut beat: impl FnMut() -> B,
    mut release: impl FnMut() -> F,
) -> Result<(), StoreError>
where
    B: Future<Output = Result<(), StoreError>>,
    F: Future<Output = Result<(), StoreError>>,
{
    let mut retries = Retries::default();
    loop {
        match release().await {
            Err(error) if should_retry(&error, stop, alive) => {
                tracing::warn!("cannot return the job to the queue yet: {error}");
                retries.wait(&error, stop, alive, &mut beat).await;
            }
            result => return result,
        }
    }
}

fn should_retry(error: &StoreError, stop: &CancellationToken, alive: &CancellationToken) -> bool {
    match error {
        StoreError::LeaseLost(_) => false,
        StoreError::Machine(_) => !stop.is_cancelled(),
        _ => !alive.is_cancelled(),
    }
}

/// The number of retries so far, which determines the next delay.
#[derive(Default)]
struct Retries(u32);

impl Retries {
    async fn wait<B>(
        &mut self,
        error: &StoreError,
        stop: &CancellationToken,
        alive: &CancellationToken,
        beat: impl FnOnce() -> B,
    ) where
        B: Future<Output = Result<(), StoreError>>,
    {
        if !matches!(error, StoreError::Machine(_)) {
            return pause(alive, RETRY_DELAY).await;
        }
        pause(stop, RETRY_DELAY.saturating_mul(1 << self.0.min(16)).min(MAX_RETRY_DELAY)).await;
        self.0 += 1;
        if let Err(error) = beat().await {
            tracing::debug!("the store refused the heartbeat: {error}");
        }
    }
}

/// Records the ending, with retries, so that a store that doesn't answer doesn't lose it. Returns the lease
/// of the next run if a follow-up arrived in the meantime.
async fn finish(
    app: &Shared,
    lease: &Lease,
    ending: Ending,
    read_up_to: u32,
    alive: &CancellationToken,
) -> Option<Lease> {
    let (id, mut retries) = (&lease.job.id, Retries::default());
    loop {
        match with_failpoints("finish", app.queue.finish(lease, ending.clone(), read_up_to)).await {
            Ok(next) => {
                // Don't log the ending's sentence: it may quote the prompt.
                let outcome = outcome_label(&ending.outcome);
                tracing::info!(outcome, "job {id} ended as {outcome}; its events say more");
                app.metrics.count_run(outcome);
                app.metrics.add_tokens(&lease.job.model, &ending.usage);
                return next;
            }
            Err(StoreError::LeaseLost(_)) => {
                release(app, lease, Stop::LeaseLost, alive).await;
                return None;
            }
            Err(error) => {
                tracing::error!("cannot record the end of job {id}: {error}");
                if !should_retry(&error, &app.stop, alive) {
                    return None;
                }
                retries.wait(&error, &app.stop, alive, || app.queue.heartbeat(&lease.worker)).await;
            }
        }
    }
}

/// The value of the metric's label `outcome`.
fn outcome_label(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Failed { .. } => "failed",
        Outcome::AlreadyProposed { .. } => "already_proposed",
        Outcome::Completed { pr_link: None } => "unchanged",
        Outcome::Completed { pr_link: Some(_) } => "completed",
    }
}

#[cfg(test)]
mod tests {
    use machine::{Cause, Trouble};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_release_is_retried_until_the_store_answers() {
        let (alive, down) = (CancellationToken::new(), || Err(StoreError::Database("it is down".into())));
        let mut requests = 0;
        let release = || {
            requests += 1;
            let answer = if requests < 5 { down() } else { Ok(()) };
            async { answer }
        };
        let (stop, mut beats) = (CancellationToken::new(), 0);
        let mut beat = || {
            beats += 1;
            async { Ok(()) }
        };
        assert!(release_with_retries(&stop, &alive, &mut beat, release).await.is_ok());
        assert_eq!(requests, 5);
        // A worker without a heartbeat doesn't retry.
        alive.cancel();
        assert!(release_with_retries(&stop, &alive, &mut beat, || async { down() }).await.is_err());
        assert_eq!(beats, 0);
    }

    /// The heartbeat can't be written either, so the store soon takes the worker for dead. That death must
    /// not count against the job.
    #[tokio::test(start_paused = true)]
    async fn a_release_is_retried_while_the_store_cannot_be_written() {
        let full = || Err(StoreError::Machine(Trouble::new(Cause::DiskFull, "")));
        let (stop, alive) = (CancellationToken::new(), CancellationToken::new());
        alive.cancel();
        let (mut requests, mut beats, began) = (0, 0, tokio::time::Instant::now());
        let beat = || {
            beats += 1;
            async { Ok(()) }
        };
        let release = || {
            requests += 1;
            let answer = if requests <= 6 { full() } else { Ok(()) };
            async { answer }
        };
        assert!(release_with_retries(&stop, &alive, beat, release).await.is_ok());
        assert_eq!((requests, beats), (7, 6));
        assert_eq!(began.elapsed().as_secs(), 2 + 4 + 8 + 15 + 15 + 15, "the delay doubles up to a maximum");
        stop.cancel();
        assert!(release_with_retries(&stop, &alive, || async { Ok(()) }, || async { full() }).await.is_err());
    }

    #[tokio::test]
    async fn a_panic_fails_the_job() {
        let panicked = catch_panic(async { if true { panic!("on purpose") } else { Ok(()) } }).await;
        assert!(matches!(panicked, Err(Stop::Failed(_))));
        assert!(catch_panic(async { Ok(()) }).await.is_ok());
    }
}
