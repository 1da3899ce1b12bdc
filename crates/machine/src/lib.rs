//! Recognizes trouble of the machine: a full, read-only or failing disk, an exceeded quota, too many open
//! files.
//!
//! Such trouble is temporary and not the fault of a request, so the server waits and retries instead of
//! failing. This crate is the only code that classifies it: by the errno anywhere in a chain of errors, and
//! by the messages of the C library in the output of other programs.

mod cause;
mod probe;
mod trouble;

pub use cause::Cause;
pub use probe::{disk_trouble, open_files_trouble, probe_write, read_trouble};
pub use trouble::Trouble;
