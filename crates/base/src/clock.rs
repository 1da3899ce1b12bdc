//! Provides the time through one trait, so that a test can move it by a minute or a year without waiting.
//!
//! The server, the worker, the store and the page views take dates from here, never from the system clock. PostgreSQL
//! uses its own clock. The command line, `forge` (reflogs, ages of lock files) and `net` (`Retry-After` without a
//! `Date`) read the system clock. Timeouts use `Instant`.

mod guard;
mod record;
mod watch;

use std::sync::Mutex;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rustix::time::{ClockId, clock_gettime};

pub use guard::{ClockGuard, ClockName};
pub use record::{ClockRecord, MisdatedRange, Pause, PauseCause};
pub use watch::{ClockWatch, Cutoff, Reading};

pub trait Clock: Send + Sync + 'static {
    fn now(&self) -> Timestamp;

    /// Milliseconds since 1970, the unit of every time on disk.
    fn now_ms(&self) -> i64 {
        self.now().as_millisecond()
    }

    /// The time since a fixed moment before the process started. It cannot be set. On Linux and macOS it advances
    /// while the machine sleeps; on other systems it may stop.
    fn monotonic(&self) -> Duration {
        time_since_boot()
    }

    /// The time that a database with its own clock uses in tests. `None`: the database uses its own clock.
    fn test_override(&self) -> Option<Timestamp> {
        None
    }
}

/// `std::time::Instant` stops while the machine sleeps, so each night of a laptop would look like a clock
/// jump.
fn time_since_boot() -> Duration {
    #[cfg(target_os = "linux")]
    let clock = ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    let clock = ClockId::Monotonic;
    let time = clock_gettime(clock);
    let nanoseconds = u32::try_from(time.tv_nsec).unwrap_or_default();
    Duration::new(u64::try_from(time.tv_sec).unwrap_or_default(), nanoseconds)
}

#[derive(Debug, Default, Clone, Copy)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// A clock that stands still until a test moves it.
#[derive(Debug)]
pub struct TestClock(Mutex<TestTime>);

#[derive(Debug)]
struct TestTime {
    wall: Timestamp,
    monotonic: Duration,
}

impl TestClock {
    pub fn at(start: Timestamp) -> Self {
        Self(Mutex::new(TestTime { wall: start, monotonic: Duration::ZERO }))
    }

    /// Lets time pass. Monotonic time never goes back, so a negative duration is the same as [`Self::jump`].
    pub fn advance(&self, by: SignedDuration) {
        self.jump(by);
        self.lock().monotonic += by.try_into().unwrap_or(Duration::ZERO);
    }

    /// Sets the clock: wall time moves, and no time passes.
    pub fn jump(&self, by: SignedDuration) {
        let mut time = self.lock();
        time.wall = time.wall.saturating_add(by).unwrap_or(Timestamp::MAX);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, TestTime> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        self.lock().wall
    }

    fn monotonic(&self) -> Duration {
        self.lock().monotonic
    }

    fn test_override(&self) -> Option<Timestamp> {
        Some(self.now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn system_monotonic_time_does_not_go_back() {
        let first = SystemClock.monotonic();
        assert!(first > Duration::ZERO && SystemClock.monotonic() >= first);
    }

    #[test]
    fn a_jump_moves_wall_time_and_not_monotonic_time() {
        let clock = TestClock::at(Timestamp::UNIX_EPOCH);
        clock.advance(SignedDuration::from_secs(5));
        clock.jump(SignedDuration::from_secs(100));
        clock.advance(SignedDuration::from_secs(-50));
        assert_eq!((clock.now().as_second(), clock.monotonic().as_secs()), (55, 5));
    }
}
