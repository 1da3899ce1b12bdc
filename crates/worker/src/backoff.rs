//! Delays jobs with exponential backoff and jitter while a host, a model or the machine is in trouble.
//!
//! The job returns to the queue, so it occupies no worker while it waits.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use failpoints::with_failpoints;
use jiff::Timestamp;
use machine::Trouble;
use store::{JobId, Lease, NewEvent, StoreError};

use crate::shared::Shared;
use app::time::rfc3339;

const FIRST_DELAY: Duration = Duration::from_secs(5);
const MAX_DELAY: Duration = Duration::from_secs(5 * 60);
/// How often a host or a model can delay a job without any progress: about four hours.
pub(super) const MAX_POSTPONEMENTS: u32 = 50;
/// The number of jobs in [`DelayCounts`]. A job that another worker continues is never removed from it.
const MAX_COUNTED_JOBS: usize = 10_000;

/// Returns the job to the queue until its host or its model may be available again.
pub(super) async fn postpone(
    app: &Shared,
    lease: &Lease,
    sentence: &str,
    retry_after: Option<Duration>,
) -> Result<(), StoreError> {
    let wait = retry_after.unwrap_or_else(|| with_jitter(exponential_delay(lease.resume.put_off)));
    let seconds = wait.as_secs().max(1);
    let until = app.clock.now().saturating_add(wait).unwrap_or(Timestamp::MAX);
    let event = NewEvent::new("waiting", format!("{sentence}; trying again in {seconds} s"));
    let event = event.with("seconds", seconds).with("until", rfc3339(until));
    with_failpoints("put-off", app.queue.put_off(lease, wait, event)).await
}

/// Returns the job to the queue because of trouble of the machine, which never ends a job.
pub(super) async fn delay_for_machine(
    app: &Shared,
    lease: &Lease,
    trouble: &Trouble,
) -> Result<(), StoreError> {
    let (what, advice) = (capitalize(&trouble.description()), capitalize(trouble.advice()));
    let event = NewEvent::new(
        "waiting",
        format!("{what}. {advice}; the job then continues by itself. Trying again in"),
    );
    delay(app, lease, event.with("cause", trouble.cause.as_str())).await
}

/// Returns the job to the queue until another job has opened its pull request, or has ended without one.
pub(super) async fn delay_for_job(app: &Shared, lease: &Lease, sentence: &str) -> Result<(), StoreError> {
    delay(app, lease, NewEvent::new("waiting", format!("{sentence}; trying again in"))).await
}

/// Delays the job without counting that. The duration is appended to the event's message.
async fn delay(app: &Shared, lease: &Lease, mut event: NewEvent) -> Result<(), StoreError> {
    let wait = with_jitter(exponential_delay(app.delays.increment(&lease.job.id)));
    let seconds = wait.as_secs().max(1);
    let until = app.clock.now().saturating_add(wait).unwrap_or(Timestamp::MAX);
    let message = event.data["message"].as_str().map(|message| format!("{message} {seconds} s"));
    event = event.with("message", message).with("seconds", seconds).with("until", rfc3339(until));
    app.queue.delay(lease, wait, event).await
}

fn capitalize(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Counts the consecutive delays of each job by trouble of this machine. Only the length of the next delay
/// depends on it, so it's only in memory.
#[derive(Default)]
pub(crate) struct DelayCounts(Mutex<HashMap<JobId, u32>>);

impl DelayCounts {
    /// Counts one more delay. Returns the number of earlier ones.
    fn increment(&self, job: &JobId) -> u32 {
        let mut all = self.lock();
        if all.len() >= MAX_COUNTED_JOBS {
            all.clear();
        }
        let count = all.entry(job.clone()).or_default();
        *count = count.saturating_add(1);
        *count - 1
    }

    pub(super) fn reset(&self, job: &JobId) {
        self.lock().remove(job);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<JobId, u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn exponential_delay(earlier_delays: u32) -> Duration {
    FIRST_DELAY.saturating_mul(1 << earlier_delays.min(16)).min(MAX_DELAY)
}

/// Adds up to a quarter, so that delayed jobs don't all resume at the same time.
fn with_jitter(wait: Duration) -> Duration {
    let random = RandomState::new().hash_one(()) % 1000;
    wait + wait / 4 * u32::try_from(random).unwrap_or_default() / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_delays_are_counted_per_job() {
        let (delays, first, second) = (DelayCounts::default(), JobId("1".into()), JobId("2".into()));
        assert_eq!([&first, &first, &second, &first].map(|job| delays.increment(job)), [0, 1, 0, 2]);
        delays.reset(&first);
        assert_eq!([&first, &second].map(|job| delays.increment(job)), [0, 1]);
        for n in 0..MAX_COUNTED_JOBS {
            delays.increment(&JobId(format!("job {n}")));
        }
        assert!(delays.lock().len() <= MAX_COUNTED_JOBS);
    }

    #[test]
    fn delays_double_up_to_a_maximum() {
        let delays: Vec<_> = (0..8).map(|earlier| exponential_delay(earlier).as_secs()).collect();
        assert_eq!(delays, [5, 10, 20, 40, 80, 160, 300, 300]);
        assert_eq!(exponential_delay(u32::MAX), MAX_DELAY);
        for _ in 0..100 {
            let wait = with_jitter(FIRST_DELAY);
            assert!((FIRST_DELAY..=FIRST_DELAY * 5 / 4).contains(&wait), "{wait:?}");
        }
    }
}
