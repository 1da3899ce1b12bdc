//! The dashboard as people have it: Debian's chromium, driven through chromedriver, at a real server.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod pages;
mod story;
mod support;
