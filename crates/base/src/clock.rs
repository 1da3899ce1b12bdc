//! Time, from one place. No code of ours asks the system for it anywhere else,
//! so a test moves a minute or a year without waiting for it.

mod guard;
mod record;
mod watch;

use std::sync::Mutex;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rustix::time::{ClockId, clock_gettime};

pub use guard::{ClockGuard, ClockName};
pub use record::{ClockRecord, Misdated, Pause, PauseCause};
pub use watch::{ClockWatch, Cutoff, Reading};

pub trait Clock: Send + Sync + 'static {
    fn now(&self) -> Timestamp;

    /// Milliseconds since 1970, the form in which time is kept on disk.
    fn now_ms(&self) -> i64 {
        self.now().as_millisecond()
    }

    /// The time since a moment in the past that stays the same while the process runs. Nobody can set it, and it
    /// goes on while the machine sleeps.
    fn monotonic(&self) -> Duration {
        time_since_boot()
    }

    /// What a database with a clock of its own is told that the time is; `None`: its clock is right.
    fn told(&self) -> Option<Timestamp> {
        None
    }
}

/// `std::time::Instant` stands still while a machine sleeps: each night of a laptop would look as if somebody had
/// set the clock ahead.
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

/// Stands still until it is told to move.
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

    /// Time passes. Monotonic time never goes back, so less than nothing is a [`Self::jump`].
    pub fn advance(&self, by: SignedDuration) {
        self.jump(by);
        self.lock().monotonic += by.try_into().unwrap_or(Duration::ZERO);
    }

    /// Somebody sets the clock: wall time moves, and no time passes.
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

    fn told(&self) -> Option<Timestamp> {
        Some(self.now())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn monotonic_time_of_the_system_goes_on() {
        let first = SystemClock.monotonic();
        assert!(first > Duration::ZERO && SystemClock.monotonic() >= first);
    }

    #[test]
    fn a_jump_moves_wall_time_alone() {
        let clock = TestClock::at(Timestamp::UNIX_EPOCH);
        clock.advance(SignedDuration::from_secs(5));
        clock.jump(SignedDuration::from_secs(100));
        clock.advance(SignedDuration::from_secs(-50));
        assert_eq!((clock.now().as_second(), clock.monotonic().as_secs()), (55, 5));
    }
}
