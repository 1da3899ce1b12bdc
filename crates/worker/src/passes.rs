//! Sees a leased job through to its end: pass after pass, and whatever becomes of one.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use failpoints::with_failpoints;
use futures_util::FutureExt;
use store::{Ending, Job, Lease, Outcome, StoreError};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::give_up::give_up;
use super::outcome::{Stop, ended, failed};
use super::run::{last, pass};
use super::{doubt, later, pause};
use crate::shared::Shared;
use app::metrics::{Counter, Labels};

/// How long to wait before the store is asked again.
const AGAIN: Duration = Duration::from_secs(2);
/// The longest wait for a store that cannot be written.
const LONGEST: Duration = Duration::from_secs(15);

/// Runs the leased job to its end, or until `alive` is over.
pub(super) async fn see_through(app: &Shared, lease: Lease, alive: &CancellationToken) {
    let Job { id, project, attempt, .. } = &lease.job;
    // Of the highest level, so that a log of errors alone still says which job.
    let span = tracing::error_span!("job", job.id = %id, project.id = %project, attempt);
    span.in_scope(|| tracing::info!("leased job {id}, attempt {attempt}"));
    passes(app, lease, alive).instrument(span).await;
}

/// A follow-up that comes while it runs makes one pass more.
async fn passes(app: &Shared, mut lease: Lease, alive: &CancellationToken) {
    loop {
        let (ending, read) = match one_pass(app, &lease, alive).await {
            Ok(done) => done,
            Err(other) => return let_go(app, &lease, other, alive).await,
        };
        match finish(app, &lease, ending, read, alive).await {
            Some(next) => lease = next,
            None => return,
        }
    }
}

/// A failure is an answer, too: to all that had been asked when the pass began.
async fn one_pass(app: &Shared, lease: &Lease, alive: &CancellationToken) -> Result<(Ending, u32), Stop> {
    let waiting = app.queue.unread(lease).await?;
    // Dropping the pass kills the git program that it waits for.
    let run = async {
        match lease.is_given_up() {
            true => give_up(app, lease).await.map(|ending| (ending, last(&waiting))),
            false => pass(app, lease, &waiting, alive).await,
        }
    };
    let result = tokio::select! {
        result = unbroken(run) => result,
        () = alive.cancelled() => Err(Stop::GiveBack("it was told to stop".into())),
    };
    let result = match result {
        Err(Stop::Doubtful { sentence, spent }) => Err(doubt::settled(app, lease, sentence, spent).await),
        other => other,
    };
    if !matches!(result, Err(Stop::Machine(_))) {
        app.delays.over(&lease.job.id);
    }
    match result {
        Err(Stop::Failed(sentence)) => Ok((failed(sentence), last(&waiting))),
        Err(Stop::Ended { sentence, diff, spent }) => {
            Ok((ended(sentence, Some(diff), spent), spent.read.max(last(&waiting))))
        }
        Err(Stop::Later { sentence, .. }) if lease.resume.put_off >= later::MOST => {
            Ok((failed(format!("{sentence}; it was tried {} times", later::MOST)), last(&waiting)))
        }
        other => other,
    }
}

/// A panic ends the job: its process lives and beats on, so nobody else would ever take it up.
async fn unbroken<T>(pass: impl Future<Output = Result<T, Stop>>) -> Result<T, Stop> {
    let broke = "the run broke off by a fault of Docwright's own; the server's log has the cause";
    AssertUnwindSafe(pass).catch_unwind().await.unwrap_or_else(|_| Err(Stop::Failed(broke.into())))
}

async fn let_go(app: &Shared, lease: &Lease, why: Stop, alive: &CancellationToken) {
    let id = &lease.job.id;
    if let Stop::GiveBack(why) | Stop::Failed(why) | Stop::Later { sentence: why, .. } = &why {
        tracing::info!("job {id} is given back: {why}");
    }
    if let Stop::Machine(trouble) = &why {
        tracing::warn!("job {id} is delayed: {trouble} ({})", trouble.detail());
        if later::delay(app, lease, trouble).await.is_ok() {
            return app.metrics.run_ended("put_off");
        }
    }
    if let Stop::Later { sentence, after } = &why
        && later::put_off(app, lease, sentence, *after).await.is_ok()
    {
        return app.metrics.run_ended("put_off");
    }
    // Also after a lost lease: if the job is to be archived, this is what the archive waits for.
    let beat = || app.queue.heartbeat(&lease.worker);
    match until_answered(&app.stop, alive, beat, || with_failpoints("release", app.queue.release(lease)))
        .await
    {
        Ok(()) => app.metrics.run_ended("given_back"),
        Err(StoreError::LeaseLost(_)) => {
            tracing::warn!("job {id} passed to another worker, or was stopped");
            app.metrics.add(Counter::LeaseLosses, Labels::default(), 1);
        }
        Err(error) => tracing::warn!("job {id} will be taken up when its lease ends: {error}"),
    }
    // What went wrong is likely to go wrong again at once.
    pause(alive, AGAIN).await;
}

/// Asks until the store answers, or the lease is to run out: as long as this worker is believed to be alive, nobody
/// else takes up what it holds, whether it works on it or not. While the store cannot be written, the lease runs out and
/// nobody can take the job up either: then it is asked until the server stops, and a heartbeat goes first, so that the
/// attempt is not held against the job.
async fn until_answered<B, F>(
    stop: &CancellationToken,
    alive: &CancellationToken,
    mut beat: impl FnMut() -> B,
    mut release: impl FnMut() -> F,
) -> Result<(), StoreError>
where
    B: Future<Output = Result<(), StoreError>>,
    F: Future<Output = Result<(), StoreError>>,
{
    let mut waits = Waits::default();
    loop {
        match release().await {
            Err(error) if is_worth_waiting(&error, stop, alive) => {
                tracing::warn!("the job is not given back yet: {error}");
                waits.after(&error, stop, alive, &mut beat).await;
            }
            answered => return answered,
        }
    }
}

fn is_worth_waiting(error: &StoreError, stop: &CancellationToken, alive: &CancellationToken) -> bool {
    match error {
        StoreError::LeaseLost(_) => false,
        StoreError::Machine(_) => !stop.is_cancelled(),
        _ => !alive.is_cancelled(),
    }
}

/// The waits between questions to a store that does not take the answer.
#[derive(Default)]
struct Waits(u32);

impl Waits {
    async fn after<B>(
        &mut self,
        error: &StoreError,
        stop: &CancellationToken,
        alive: &CancellationToken,
        beat: impl FnOnce() -> B,
    ) where
        B: Future<Output = Result<(), StoreError>>,
    {
        if !matches!(error, StoreError::Machine(_)) {
            return pause(alive, AGAIN).await;
        }
        pause(stop, AGAIN.saturating_mul(1 << self.0.min(16)).min(LONGEST)).await;
        self.0 += 1;
        if let Err(error) = beat().await {
            tracing::debug!("the heartbeat was not taken: {error}");
        }
    }
}

/// The outcome is known; a store that does not answer must not lose it. Answers the next run,
/// when a follow-up came in the meantime.
async fn finish(
    app: &Shared,
    lease: &Lease,
    ending: Ending,
    read: u32,
    alive: &CancellationToken,
) -> Option<Lease> {
    let (id, mut waits) = (&lease.job.id, Waits::default());
    loop {
        match with_failpoints("finish", app.queue.finish(lease, ending.clone(), read)).await {
            Ok(next) => {
                // Not the ending's sentence: that may quote the prompt.
                let outcome = how(&ending.outcome);
                tracing::info!(outcome, "job {id} ended as {outcome}; its events say more");
                app.metrics.run_ended(outcome);
                app.metrics.spent(&lease.job.model, &ending.usage);
                return next;
            }
            Err(StoreError::LeaseLost(_)) => {
                let_go(app, lease, Stop::LeaseLost, alive).await;
                return None;
            }
            Err(error) => {
                tracing::error!("the end of job {id} was not kept: {error}");
                if !is_worth_waiting(&error, &app.stop, alive) {
                    return None;
                }
                waits.after(&error, &app.stop, alive, || app.queue.heartbeat(&lease.worker)).await;
            }
        }
    }
}

fn how(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Failed => "failed",
        Outcome::Completed { pr_link: None } => "unchanged",
        Outcome::Completed { pr_link: Some(_) } => "completed",
    }
}

#[cfg(test)]
mod tests {
    use machine::{Cause, Trouble};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_job_is_given_back_however_long_the_store_does_not_answer() {
        let (alive, down) = (CancellationToken::new(), || Err(StoreError::Database("it is down".into())));
        let mut asked = 0;
        let release = || {
            asked += 1;
            let answer = if asked < 5 { down() } else { Ok(()) };
            async { answer }
        };
        let (stop, mut beats) = (CancellationToken::new(), 0);
        let mut beat = || {
            beats += 1;
            async { Ok(()) }
        };
        assert!(until_answered(&stop, &alive, &mut beat, release).await.is_ok());
        assert_eq!(asked, 5);
        // Whoever is not believed to be alive any more need not say so.
        alive.cancel();
        assert!(until_answered(&stop, &alive, &mut beat, || async { down() }).await.is_err());
        assert_eq!(beats, 0);
    }

    /// The heartbeat cannot be written either, so that the worker is soon believed to be dead. Its job must not be
    /// charged with that.
    #[tokio::test(start_paused = true)]
    async fn while_the_store_cannot_be_written_a_job_is_given_back_however_long_that_takes() {
        let full = || Err(StoreError::Machine(Trouble::new(Cause::DiskFull, "")));
        let (stop, alive) = (CancellationToken::new(), CancellationToken::new());
        alive.cancel();
        let (mut asked, mut beats, began) = (0, 0, tokio::time::Instant::now());
        let beat = || {
            beats += 1;
            async { Ok(()) }
        };
        let release = || {
            asked += 1;
            let answer = if asked <= 6 { full() } else { Ok(()) };
            async { answer }
        };
        assert!(until_answered(&stop, &alive, beat, release).await.is_ok());
        assert_eq!((asked, beats), (7, 6));
        assert_eq!(began.elapsed().as_secs(), 2 + 4 + 8 + 15 + 15 + 15, "it asks less and less often");
        stop.cancel();
        assert!(until_answered(&stop, &alive, || async { Ok(()) }, || async { full() }).await.is_err());
    }

    #[tokio::test]
    async fn a_panic_fails_the_job() {
        let broken = unbroken(async { if true { panic!("a fault") } else { Ok(()) } }).await;
        assert!(matches!(broken, Err(Stop::Failed(_))));
        assert!(unbroken(async { Ok(()) }).await.is_ok());
    }
}
