//! Repositories and pull requests.
//!
//! [`Cache`] is the host-side git of one project: a bare repository that fetches a branch, opens a
//! [`Snapshot`] of a commit, writes a commit from edits, and pushes it. [`Host`] is where pull
//! requests live; [`Local`] is the embedded one, over a repository on this machine, and [`Web`] is
//! GitHub, GitLab, Gitea or Forgejo.
//!
//! Repository content is hostile. Nothing is ever checked out, and the git program runs only as
//! `git.rs` describes: no hook, filter, driver or setting of a repository takes part. Most of what
//! a repository on this machine is asked needs no program (`near.rs`).
//!
//! Knows no database, no agent and no HTTP server.

mod bare;
mod cache;
mod commit;
mod diff;
mod durable;
mod error;
mod folders;
mod git;
mod host;
mod journal;
mod leavings;
mod local;
mod name;
mod near;
mod remote;
mod shallow;
mod smart;
mod snapshot;
mod stale;
mod target;
mod web;

/// The setting by which hosts in a private network are called, for sentences that name it.
const ALLOW_PRIVATE: &str =
    "hosts_allow_private = true in docwright.toml, or DOCWRIGHT_HOSTS_ALLOW_PRIVATE=true";

/// The branches that only the agent makes: an empty ref among them is nobody's work.
const OWN_BRANCHES: &str = "docwright/";

pub use cache::Cache;
pub use commit::{NewCommit, Signature};
pub use durable::sync_tree;
pub use error::{Error, Result};
pub use git::check_program;
pub use host::{Host, NewPull, Oid, PullRecord, PullRecords, PullRequest, State};
pub use journal::recover_writes;
pub use leavings::clear_leavings;
pub use local::{CommitLine, Local, RepositoryProblem};
pub use name::{valid_branch, valid_path};
pub use remote::{Credentials, FileRemote, HttpRemote, Remote};
pub use snapshot::{Entry, Kind, Snapshot, TreeId, read_trouble};
pub use web::{
    AppKey, Credential, Hook, HookError, HookEvent, HostKind, Now, Web, WebLimits, WebSettings, read_hook,
};
