//! What the crate promises, as a user of it sees it.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod clock;
mod forget;
mod kept;
mod old;
mod parts;
mod random;
mod reclassify;
mod recount;
mod sqlite;
mod user_agents;
mod views;
