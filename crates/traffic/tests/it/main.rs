//! Integration tests of the public API.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod clock;
mod conversion;
mod forget;
mod import_parts;
mod path_days;
mod random;
mod reclassify;
mod recount;
mod retention;
mod sqlite;
mod user_agents;
mod verification;
mod views;
