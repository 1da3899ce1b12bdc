//! Integration tests of the public API.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod backend;
mod clock;
#[path = "../../../store/tests/it/cluster.rs"]
mod cluster;
mod conversion;
mod engine;
mod forget;
mod import_parts;
mod name_quota;
mod path_days;
mod random;
mod reclassify;
mod recount;
mod remote;
mod retention;
mod sqlite;
mod transfer;
mod user_agents;
mod verification;
mod views;
