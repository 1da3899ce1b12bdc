//! Decides what hurts the readers of a documentation site, and whether a merge helped them.
//!
//! A detector of [`kinds`] turns counts and repository facts into [`Candidate`]s. [`next`] moves a finding through its
//! [`State`]s, from open to resolved. [`Effect`] compares the days before a merge with the days after it.
//!
//! This crate does no I/O and reads no clock: the caller passes the day and all counts, so the same input always gives
//! the same answer. Every list it keeps is bounded.

mod candidate;
mod days;
mod effect;
mod evidence;
mod facts;
mod kind;
pub mod kinds;
mod settings;
mod site_pages;
mod state;
mod text;

pub use candidate::Candidate;
pub use effect::{
    Change, Counts, Effect, MIN_BEFORE, Measure, Measured, Period, RateRatio, ReaderDay, Subject, Verdict,
};
pub use evidence::{Day, Evidence, MAX_DAYS, MAX_MEMBERS, MAX_PAGES, MAX_REFERRERS, Member};
pub use facts::{Facts, JobStatus, PullRequest, PullRequestStatus};
pub use kind::Kind;
pub use settings::{Settings, SettingsError, StaleTier};
pub use site_pages::SitePages;
pub use state::{FindingState, Note, State, next};
