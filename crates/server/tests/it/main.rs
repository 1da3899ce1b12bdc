//! Docwright from outside: a real server on a real port, real git, a real database, and a
//! clock that the test moves.

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
mod coding;
mod collect;
mod contract;
mod crash;
mod dates;
mod deletion;
mod described;
mod directory;
mod fixture;
mod follow_ups;
mod forged;
mod given_up;
mod hosts;
mod imports;
mod invitations;
mod job_pages;
mod jobs;
mod keys;
mod large;
mod licences;
mod metrics;
mod newcomer;
mod operations;
mod order;
mod pages;
mod people;
mod postgres;
mod provider;
mod pull_states;
mod raw;
mod readers;
mod reports;
mod retention;
mod settings;
mod signing_in;
mod steps;
mod support;
mod tenancy;
mod transcript;
mod views;
mod walls;
mod watch;
mod welcome;
