//! Says what is old enough to be deleted, and that nothing is while a clock jumps.
//!
//! Whoever deletes by age asks for a cutoff right then and deletes by that cutoff alone. The cutoff comes from the
//! same reading that was judged, so no deletion can slip in between a jump and the next look at the clock.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::Clock;
use super::record::{ClockRecord, Pause};
use super::watch::{ClockWatch, Cutoff, Reading};

/// Whose clock it is. With SQLite there is only the server's.
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

/// The clocks of one process. Deletion pauses for all of them when one cannot be trusted.
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
    /// Nothing is old enough until [`Self::watch`] has judged a clock.
    pub fn new(clock: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self { clock, watches: Mutex::default() })
    }

    /// With no record: the server's clock is taken to be right at this moment.
    pub fn trusting(clock: Arc<dyn Clock>) -> Arc<Self> {
        let guard = Self::new(clock);
        let now = guard.reading();
        guard.lock().server = Some(ClockWatch::start(&ClockRecord::first(None, now.wall), now));
        guard
    }

    /// The server's clock.
    pub fn reading(&self) -> Reading {
        self.reading_at(self.clock.now_ms())
    }

    /// Another clock, which shows `wall` just now.
    pub fn reading_at(&self, wall: i64) -> Reading {
        let monotonic = i64::try_from(self.clock.monotonic().as_millis()).unwrap_or(i64::MAX);
        Reading { wall, monotonic }
    }

    /// Judges a clock beside its record, and answers the record to keep if it has to change.
    pub fn watch(&self, name: ClockName, stored: &ClockRecord, now: Reading) -> Option<ClockRecord> {
        let mut watches = self.lock();
        let slot = match name {
            ClockName::Server => &mut watches.server,
            ClockName::Database => &mut watches.database,
        };
        let was_paused = slot.as_ref().is_some_and(ClockWatch::is_paused);
        let watch = match slot {
            Some(watch) if !watch.is_overruled_by(stored) => {
                watch.look(now);
                watch
            }
            _ => slot.insert(ClockWatch::start(stored, now)),
        };
        log_change(name, was_paused, watch);
        watch.unsaved(stored, now)
    }

    /// What is older than `age` by the server's clock.
    pub fn cutoff(&self, age: Duration) -> Cutoff {
        let (mut watches, now) = (self.lock(), self.reading());
        watches.look_at_server(now);
        match &watches.server {
            Some(server) if !watches.database.is_some_and(|database| database.is_paused()) => {
                server.cutoff(now.wall, milliseconds(age))
            }
            _ => Cutoff::NOTHING,
        }
    }

    /// What is older than `age` by the database's clock, which shows `now` just now.
    pub fn database_cutoff(&self, now: i64, age: Duration) -> Cutoff {
        let mut watches = self.lock();
        watches.look_at_server(self.reading());
        if let Some(database) = &mut watches.database {
            look(ClockName::Database, database, self.reading_at(now));
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

    /// Whether nothing is deleted because of its age.
    pub fn is_paused(&self) -> bool {
        self.trusted_now().is_none()
    }

    fn lock(&self) -> MutexGuard<'_, Watches> {
        self.watches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watches {
    fn look_at_server(&mut self, now: Reading) {
        if let Some(server) = &mut self.server {
            look(ClockName::Server, server, now);
        }
    }
}

fn look(name: ClockName, watch: &mut ClockWatch, now: Reading) {
    let was_paused = watch.is_paused();
    watch.look(now);
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
    fn nothing_is_old_before_a_clock_is_judged() {
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
    fn a_jump_is_seen_by_whoever_is_about_to_delete() {
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
        assert_ne!(guard.database_cutoff(clock.now_ms(), WEEK), Cutoff::NOTHING, "it is right again");
        let right = clock.now_ms();
        clock.jump(SignedDuration::from_hours(2));
        assert_eq!(guard.database_cutoff(right, WEEK), Cutoff::NOTHING);
    }
}
