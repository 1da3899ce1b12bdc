//! A site to look at and a browser to look with, both ended with the test.

mod browser;
mod driver;
mod requests;
mod site;

pub(crate) use browser::{Browser, Look};
pub(crate) use driver::installed;
pub(crate) use site::{Site, git};
