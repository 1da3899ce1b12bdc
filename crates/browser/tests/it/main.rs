//! Tests the dashboard of a real server in Debian's chromium, driven by chromedriver.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod attacks;
mod findings;
mod junk;
mod keys;
mod pages;
mod people;
mod readers;
mod settings;
mod story;
mod support;
