//! The dashboard as people have it: Debian's chromium, driven through chromedriver, at a real server.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod attacks;
mod junk;
mod keys;
mod pages;
mod people;
mod readers;
mod settings;
mod story;
mod support;
