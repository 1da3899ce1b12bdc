//! The fake host against real clients: git with its own HTTP, and an HTTP client for the APIs.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod app;
mod client;
mod faults;
mod git;
mod gitea;
mod github;
mod gitlab;
mod hooks;
mod program;
