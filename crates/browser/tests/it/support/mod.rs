//! Starts a site and a browser, and ends both with the test.

mod browser;
mod driver;
mod forms;
mod neighbours;
mod requests;
mod site;

pub(crate) use browser::{Browser, Look};
pub(crate) use fakehost::git;
pub(crate) use forms::MARKUP;
pub(crate) use neighbours::{Neighbours, PASSWORD};
pub(crate) use site::Site;
