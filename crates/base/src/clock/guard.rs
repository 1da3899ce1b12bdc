//! Computes deletion cutoffs, and pauses deletion while a clock cannot be trusted.
//!
//! Code that deletes by age asks for a cutoff immediately before it deletes, and uses only that cutoff. The
//! cutoff comes from the same reading that was checked, so no deletion can happen between a clock jump and
//! its detection.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::Clock;
use super::record::{ClockRecord, Pause};
use super::watch::{ClockWatch, Cutoff, Reading};

/// The owner of a clock. With SQLite there is only the server's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockName {
    Server,
    Database,
}

impl fmt::Display for ClockName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Server => "the server's clock",
            Self::Database => "the database's clock",
        })
    }
}

/// The clocks that one process uses. When one cannot be trusted, deletion by all of them is paused.
pub struct ClockGuard {
    clock: Arc<dyn Clock>,
    watches: Mutex<Watches>,
}

#[derive(Default)]
struct Watches {
    server: Option<ClockWatch>,
    database: Option<ClockWatch>,
}

impl ClockGuard {
    /// Nothing may be deleted until [`Self::watch`] has checked a clock.
    pub fn new(clock: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self { clock, watches: Mutex::default() })
    }

    /// Without a record: trusts that the server's clock is right now.
    pub fn trusting(clock: Arc<dyn Clock>) -> Arc<Self> {
        let guard = Self::new(clock);
        let now = guard.reading();
        guard.lock().server = Some(ClockWatch::start(&ClockRecord::first(None, now.wall), now));
        guard
    }

    /// Reads the server's clock.
    pub fn reading(&self) -> Reading {
        self.reading_at(self.clock.now_ms())
    }

    /// A reading of another clock, which shows `wall` now.
    pub fn reading_at(&self, wall: i64) -> Reading {
        let monotonic = i64::try_from(self.clock.monotonic().as_millis()).unwrap_or(i64::MAX);
        Reading { wall, monotonic }
    }

    /// Checks a clock against its stored record. Returns the record to save, if it changed.
    pub fn watch(&self, name: ClockName, stored: &ClockRecord, now: Reading) -> Option<ClockRecord> {
        let mut watches = self.lock();
        let slot = match name {
            ClockName::Server => &mut watches.server,
            ClockName::Database => &mut watches.database,
        };
        let was_paused = slot.as_ref().is_some_and(ClockWatch::is_paused);
        let watch = match slot {
            Some(watch) if !watch.is_overruled_by(stored) => {
                watch.observe(now);
                watch
            }
            _ => slot.insert(ClockWatch::start(stored, now)),
        };
        log_change(name, was_paused, watch);
        watch.record_to_save(stored, now)
    }

    /// The cutoff for data older than `age` by the server's clock.
    pub fn cutoff(&self, age: Duration) -> Cutoff {
        let (mut watches, now) = (self.lock(), self.reading());
        watches.observe_server(now);
        match &watches.server {
            Some(server) if !watches.database.is_some_and(|database| database.is_paused()) => {
                server.cutoff(now.wall, milliseconds(age))
            }
            _ => Cutoff::NOTHING,
        }
    }

    /// The cutoff for data older than `age` by the database's clock, which shows `now`.
    pub fn database_cutoff(&self, now: i64, age: Duration) -> Cutoff {
        let mut watches = self.lock();
        watches.observe_server(self.reading());
        if let Some(database) = &mut watches.database {
            observe(ClockName::Database, database, self.reading_at(now));
        }
        match &watches.database {
            Some(database) if !watches.server.is_some_and(|server| server.is_paused()) => {
                database.cutoff(now, milliseconds(age))
            }
            _ => Cutoff::NOTHING,
        }
    }

    /// The time by the server's clock; `None` while deletion is paused.
    pub fn trusted_now(&self) -> Option<i64> {
        let now = self.cutoff(Duration::ZERO);
        (now != Cutoff::NOTHING).then_some(now.before)
    }

    /// Whether deletion by age is paused.
    pub fn is_paused(&self) -> bool {
        self.trusted_now().is_none()
    }

    fn lock(&self) -> MutexGuard<'_, Watches> {
        self.watches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watches {
    fn observe_server(&mut self, now: Reading) {
        if let Some(server) = &mut self.server {
            observe(ClockName::Server, server, now);
        }
    }
}

fn observe(name: ClockName, watch: &mut ClockWatch, now: Reading) {
    let was_paused = watch.is_paused();
    watch.observe(now);
    log_change(name, was_paused, watch);
}

fn log_change(name: ClockName, was_paused: bool, watch: &ClockWatch) {
    match watch.pause() {
        Some(Pause { cause, .. }) if !was_paused => tracing::warn!(
            "deletion is paused: {name} {cause}. Nothing is removed because of its age until the clock has been steady for 24 hours. If the clock is right, run `docwright doctor --confirm-clock`; if it is wrong, set it"
        ),
        None if was_paused => tracing::info!("deletion is resumed: {name} is trusted again"),
        _ => {}
    }
}

fn milliseconds(age: Duration) -> i64 {
    i64::try_from(age.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};

    use super::*;
    use crate::TestClock;

    const WEEK: Duration = Duration::from_secs(7 * 24 * 60 * 60);

    fn clock() -> Arc<TestClock> {
        Arc::new(TestClock::at("2026-11-15T12:00:00Z".parse::<Timestamp>().unwrap()))
    }

    #[test]
    fn nothing_is_deleted_before_a_clock_is_checked() {
        let clock = clock();
        let guard = ClockGuard::new(clock.clone());
        assert!(guard.is_paused());
        assert_eq!(guard.cutoff(WEEK), Cutoff::NOTHING);
        assert_eq!(guard.database_cutoff(clock.now_ms(), WEEK), Cutoff::NOTHING);
        let record = ClockRecord::first(None, clock.now_ms());
        assert_eq!(guard.watch(ClockName::Server, &record, guard.reading()), None);
        assert_eq!(guard.cutoff(WEEK).before, clock.now_ms() - 7 * 24 * 60 * 60 * 1000);
        assert_eq!(guard.cutoff(Duration::MAX), Cutoff::NOTHING, "for ever");
    }

    #[test]
    fn a_cutoff_after_a_jump_deletes_nothing() {
        let clock = clock();
        let guard = ClockGuard::trusting(clock.clone());
        clock.jump(SignedDuration::from_hours(500 * 24));
        assert_eq!(guard.cutoff(WEEK), Cutoff::NOTHING);
        clock.advance(SignedDuration::from_hours(24));
        assert_ne!(guard.cutoff(WEEK), Cutoff::NOTHING);
    }

    #[test]
    fn a_jump_of_one_clock_pauses_deletion_by_the_other() {
        let clock = clock();
        let guard = ClockGuard::trusting(clock.clone());
        let record = ClockRecord::first(None, clock.now_ms());
        guard.watch(ClockName::Database, &record, guard.reading());
        assert_ne!(guard.database_cutoff(clock.now_ms(), WEEK), Cutoff::NOTHING);
        let ahead = clock.now_ms() + 2 * 60 * 60 * 1000;
        assert_eq!(guard.database_cutoff(ahead, WEEK), Cutoff::NOTHING);
        assert_eq!(guard.cutoff(WEEK), Cutoff::NOTHING);
        assert_ne!(guard.database_cutoff(clock.now_ms(), WEEK), Cutoff::NOTHING, "the clock is right again");
        let right = clock.now_ms();
        clock.jump(SignedDuration::from_hours(2));
        assert_eq!(guard.database_cutoff(right, WEEK), Cutoff::NOTHING);
    }
}
