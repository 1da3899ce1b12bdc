//! Foundations of `store` and `traffic`: a clock that tests can move, a guard against clock jumps, a request
//! coalescer, and SQLite with migrations and group commit.

mod clock;
mod coalescer;
pub mod sqlite;

pub use clock::{
    Clock, ClockGuard, ClockName, ClockRecord, ClockWatch, Cutoff, MisdatedRange, Pause, PauseCause, Reading,
    SystemClock, TestClock,
};
pub use coalescer::Coalescer;
