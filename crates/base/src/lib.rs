//! The ground that `store` and `traffic` stand on: a clock that tests can move, a guard against one that jumps, work
//! that a crowd shares, and the one way in which SQLite is opened, migrated, read and written.

mod clock;
pub mod sqlite;
mod together;

pub use clock::{
    Clock, ClockGuard, ClockName, ClockRecord, ClockWatch, Cutoff, Misdated, Pause, PauseCause, Reading,
    SystemClock, TestClock,
};
pub use together::Together;
