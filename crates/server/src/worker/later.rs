//! A host or a model in trouble delays a job and does not fail it: the job goes back in line and waits, and holds
//! no worker meanwhile.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use failpoints::around;
use jiff::Timestamp;
use store::{Lease, NewEvent, StoreError};

use crate::app::App;
use crate::time::rfc3339;

const FIRST: Duration = Duration::from_secs(5);
const LONGEST: Duration = Duration::from_secs(5 * 60);
/// About four hours of trouble without getting on.
pub(super) const MOST: u32 = 50;

/// Gives the job back until they may be better.
pub(super) async fn put_off(
    app: &App,
    lease: &Lease,
    sentence: &str,
    told: Option<Duration>,
) -> Result<(), StoreError> {
    let wait = told.unwrap_or_else(|| spread(doubled(lease.resume.put_off)));
    let seconds = wait.as_secs().max(1);
    let until = app.clock.now().saturating_add(wait).unwrap_or(Timestamp::MAX);
    let event = NewEvent::new("waiting", format!("{sentence}; trying again in {seconds} s"));
    let event = event.with("seconds", seconds).with("until", rfc3339(until));
    around("put-off", app.queue.put_off(lease, wait, event)).await
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
