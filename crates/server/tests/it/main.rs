//! Tests Docwright from outside: with a real server on a real port, real git, a real database, and a clock
//! that the test moves.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod agent;
mod archive;
mod attacks;
mod bad_requests;
mod bounds;
mod choices;
mod clock;
#[path = "../../../store/tests/it/cluster.rs"]
mod cluster;
mod collect;
mod compression;
mod context;
mod contract;
mod crash;
mod dates;
mod deletion;
mod dependencies;
mod directory;
mod disk;
#[allow(dead_code, reason = "some tests of other crates need more")]
#[path = "../../../traffic/tests/it/engine.rs"]
mod engine;
mod files_on_demand;
mod finding_pages;
mod findings;
mod fixture;
mod follow_ups;
mod forged;
mod forget;
mod given_up;
mod headers;
mod hosts;
mod imports;
mod in_flight;
mod invitations;
mod job_pages;
mod job_pulls;
mod jobs;
mod keys;
mod large;
mod licenses;
mod machine_trouble;
mod member_access;
mod metrics;
mod newcomer;
mod openapi;
mod operations;
mod order;
mod pages;
mod people;
mod postgres;
mod private_words;
mod proposals;
mod provider;
mod pull_states;
mod raw;
mod readers;
mod reports;
mod retention;
mod settings;
mod shared_views;
mod shares;
mod signing_in;
mod site_history;
mod steps;
mod support;
mod tenancy;
mod tls;
mod transcript;
mod views;
mod watch;
mod welcome;
