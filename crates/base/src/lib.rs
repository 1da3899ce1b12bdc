//! Foundations of `store` and `traffic`: a clock that tests can move, a guard against clock jumps, a request
//! coalescer, descriptions of schema migrations, small files, and SQLite with migrations and group commit.

mod clock;
mod coalescer;
mod schema_change;
mod small_file;
pub mod sqlite;

pub use clock::{
    Clock, ClockGuard, ClockName, ClockRecord, ClockWatch, Cutoff, MisdatedRange, Pause, PauseCause, Reading,
    SystemClock, TestClock,
};
pub use coalescer::Coalescer;
pub use schema_change::{SchemaChange, description_problem, pending_changes};
pub use small_file::read_small_file;
