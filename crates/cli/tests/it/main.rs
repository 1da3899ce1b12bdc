//! Tests the program as a process, with real signals and output.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod admin;
mod ansi;
mod backup;
mod backup_load;
mod check;
#[path = "../../../store/tests/it/cluster.rs"]
mod cluster;
mod demo;
mod directory;
mod doctor;
#[allow(dead_code, reason = "no test here kills ClickHouse")]
#[path = "../../../traffic/tests/it/engine.rs"]
mod engine;
mod eval;
mod exits;
mod findings;
mod forget;
mod hosts;
mod import;
mod jobs;
mod kill;
mod kill_fetch;
mod kill_views;
mod log;
mod manual;
mod model_keys;
mod models;
mod moving;
mod postgres;
mod pulls;
mod ranges;
mod restore;
mod support;
mod terminal;
mod tls;
mod trouble;
mod upgrade;
