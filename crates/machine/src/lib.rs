//! Recognizes trouble of the machine: a full, read-only or failing disk, a quota that is used up, too many open files.
//!
//! Such trouble is nobody's fault and passes, so whoever meets it waits and tries again instead of failing. This is the
//! one place that classifies it: by the number of an I/O error, however deep in a chain of errors, and by the words
//! that the C library has for these numbers, which other programs print.

mod cause;
mod probe;
mod trouble;

pub use cause::Cause;
pub use probe::{disk_trouble, open_files_trouble, prove_write, read_trouble};
pub use trouble::Trouble;
