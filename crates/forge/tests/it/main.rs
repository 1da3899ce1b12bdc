//! Tests repositories and pull requests with the real git program in temporary folders.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod cache;
mod edits;
mod history;
mod hostile;
mod locate;
mod machine_trouble;
mod merge;
mod power_cut;
mod pulls;
mod smart_http;
mod stale_locks;
mod support;
mod web;
