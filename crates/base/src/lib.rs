//! The ground that `store` and `traffic` stand on: a clock that tests can move,
//! and the one way in which SQLite is opened, migrated, read and written.

mod clock;
pub mod sqlite;

pub use clock::{Clock, SystemClock, TestClock};
