//! A host, a model or a machine in trouble delays a job and does not fail it: the job goes back in line and waits, and
//! holds no worker meanwhile.

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

const FIRST: Duration = Duration::from_secs(5);
const LONGEST: Duration = Duration::from_secs(5 * 60);
/// About four hours of trouble without getting on.
pub(super) const MOST: u32 = 50;
/// Jobs whose delays are counted: one that another worker goes on with is never taken off the list.
const MAX_DELAYS: usize = 10_000;

/// Gives the job back until they may be better.
pub(super) async fn put_off(
    app: &Shared,
    lease: &Lease,
    sentence: &str,
    told: Option<Duration>,
) -> Result<(), StoreError> {
    let wait = told.unwrap_or_else(|| spread(doubled(lease.resume.put_off)));
    let seconds = wait.as_secs().max(1);
    let until = app.clock.now().saturating_add(wait).unwrap_or(Timestamp::MAX);
    let event = NewEvent::new("waiting", format!("{sentence}; trying again in {seconds} s"));
    let event = event.with("seconds", seconds).with("until", rfc3339(until));
    with_failpoints("put-off", app.queue.put_off(lease, wait, event)).await
}

/// The same for trouble of the machine, which never ends a job.
pub(super) async fn delay(app: &Shared, lease: &Lease, trouble: &Trouble) -> Result<(), StoreError> {
    let wait = spread(doubled(app.delays.one_more(&lease.job.id)));
    let seconds = wait.as_secs().max(1);
    let until = app.clock.now().saturating_add(wait).unwrap_or(Timestamp::MAX);
    let (what, advice) = (capitalized(&trouble.description()), capitalized(trouble.advice()));
    let message = format!("{what}. {advice}; the job goes on by itself. Trying again in {seconds} s");
    let event = NewEvent::new("waiting", message).with("cause", trouble.cause.as_str());
    let event = event.with("seconds", seconds).with("until", rfc3339(until));
    app.queue.delay(lease, wait, event).await
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// How often each job was delayed in a row by trouble of this machine. Only the length of the next wait hangs on it, so
/// it is in memory.
#[derive(Default)]
pub(crate) struct Delays(Mutex<HashMap<JobId, u32>>);

impl Delays {
    /// How often the job was delayed before.
    fn one_more(&self, job: &JobId) -> u32 {
        let mut all = self.locked();
        if all.len() >= MAX_DELAYS {
            all.clear();
        }
        let times = all.entry(job.clone()).or_default();
        *times = times.saturating_add(1);
        *times - 1
    }

    pub(super) fn over(&self, job: &JobId) {
        self.locked().remove(job);
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<JobId, u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn doubled(times: u32) -> Duration {
    FIRST.saturating_mul(1 << times.min(16)).min(LONGEST)
}

/// Up to a quarter longer, so that all who wait do not come back at once.
fn spread(wait: Duration) -> Duration {
    let random = RandomState::new().hash_one(()) % 1000;
    wait + wait / 4 * u32::try_from(random).unwrap_or_default() / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_in_a_row_are_counted_by_job() {
        let (delays, one, other) = (Delays::default(), JobId("1".into()), JobId("2".into()));
        assert_eq!([&one, &one, &other, &one].map(|job| delays.one_more(job)), [0, 1, 0, 2]);
        delays.over(&one);
        assert_eq!([&one, &other].map(|job| delays.one_more(job)), [0, 1]);
        for n in 0..MAX_DELAYS {
            delays.one_more(&JobId(format!("job {n}")));
        }
        assert!(delays.locked().len() <= MAX_DELAYS);
    }

    #[test]
    fn waits_grow_and_end() {
        let waits: Vec<_> = (0..8).map(|times| doubled(times).as_secs()).collect();
        assert_eq!(waits, [5, 10, 20, 40, 80, 160, 300, 300]);
        assert_eq!(doubled(u32::MAX), LONGEST);
        for _ in 0..100 {
            let wait = spread(FIRST);
            assert!((FIRST..=FIRST * 5 / 4).contains(&wait), "{wait:?}");
        }
    }
}
