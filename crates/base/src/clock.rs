//! Time, from one place. No code of ours asks the system for it anywhere else,
//! so a test moves a minute or a year without waiting for it.

use std::sync::Mutex;

use jiff::{SignedDuration, Timestamp};

pub trait Clock: Send + Sync + 'static {
    fn now(&self) -> Timestamp;

    /// Milliseconds since 1970, the form in which time is kept on disk.
    fn now_ms(&self) -> i64 {
        self.now().as_millisecond()
    }

    /// What a database with a clock of its own is told that the time is; `None`: its clock is right.
    fn told(&self) -> Option<Timestamp> {
        None
    }
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
pub struct TestClock(Mutex<Timestamp>);

impl TestClock {
    pub fn at(start: Timestamp) -> Self {
        Self(Mutex::new(start))
    }

    pub fn advance(&self, by: SignedDuration) {
        let mut now = self.lock();
        *now = now.saturating_add(by).unwrap_or(Timestamp::MAX);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Timestamp> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        *self.lock()
    }

    fn told(&self) -> Option<Timestamp> {
        Some(self.now())
    }
}
