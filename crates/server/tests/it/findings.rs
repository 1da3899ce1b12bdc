//! Tests findings as stories: readers miss a page, a job fixes it, its pull request is merged, and views show whether that
//! helped.

mod fixture;
mod kinds;
mod requests;
mod states;

pub(crate) use fixture::open_finding;
