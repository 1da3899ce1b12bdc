//! A fake repository host for tests: imitates GitHub, GitLab, Gitea or Forgejo on a local port, and serves
//! real bare repositories with git's `http-backend`.
//!
//! It is stateful (repositories, tokens, pull requests) and uses the hosts' own messages. Tests can inject
//! failures ([`Faults`]), read the requests ([`LoggedRequest`]) and receive webhooks ([`FakeHost::hook`]). No
//! released program depends on this crate.

mod access;
mod app;
mod control;
mod extractors;
mod fake_host;
mod faults;
mod git;
mod git_http;
mod gitea;
mod github;
mod gitlab;
mod local_repository;
mod paging;
mod pulls;
mod request_log;
mod serve;
mod state;
mod webhooks;

pub use access::Access;
pub use app::TEST_APP_KEY;
pub use fake_host::{FakeHost, Repo};
pub use faults::{Effect, Fault, Faults};
pub use local_repository::{bare_repository, git};
pub use pulls::{Pull, PullState};
pub use request_log::LoggedRequest;
pub use state::{Settings, User};
pub use webhooks::Delivery;

/// The host to imitate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
#[value(rename_all = "lower")]
pub enum Kind {
    /// The API is at the root, like api.github.com, and under `/api/v3`, like GitHub Enterprise.
    GitHub,
    GitLab,
    Gitea,
    Forgejo,
}
