//! Repositories and pull requests, against the real git program in temporary folders.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod cache;
mod edits;
mod hostile;
mod locate;
mod merge;
mod power;
mod pulls;
mod smart;
mod stale;
mod support;
mod trouble;
mod web;
