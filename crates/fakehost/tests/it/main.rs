//! Tests the fake host with real clients: the git program and an HTTP client.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod app;
mod client;
mod faults;
mod git;
mod gitea;
mod github;
mod gitlab;
mod program;
mod webhooks;
