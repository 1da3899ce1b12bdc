//! A repository host for tests: GitHub, GitLab, Gitea or Forgejo on a port of this machine, over
//! real bare repositories that are served with git's own `http-backend`.
//!
//! It keeps state (repositories, tokens, pull requests) and answers out of it, in the hosts' own
//! words; it can be told to fail ([`Faults`]); it remembers what it was asked ([`Seen`]); it tells
//! others what happened ([`FakeHost::hook`]). Nothing that is shipped depends on it.

mod access;
mod app;
mod backend;
mod control;
mod door;
mod faults;
mod git;
mod gitea;
mod github;
mod gitlab;
mod handle;
mod hooks;
mod log;
mod near;
mod paging;
mod pulls;
mod serve;
mod state;

pub use access::Access;
pub use app::TEST_APP_KEY;
pub use faults::{Effect, Fault, Faults};
pub use handle::{FakeHost, Repo};
pub use hooks::Delivery;
pub use log::Seen;
pub use near::{bare_repository, git};
pub use pulls::{Pull, PullState};
pub use state::{Settings, User};

/// Whose API is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
#[value(rename_all = "lower")]
pub enum Kind {
    /// At the root, as api.github.com has it, and under `/api/v3`, as an Enterprise server does.
    GitHub,
    GitLab,
    Gitea,
    Forgejo,
}
