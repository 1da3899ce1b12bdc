//! Fetches, commits and pushes docs repositories, and opens, merges and closes pull requests.
//!
//! [`Cache`] is a project's bare repository: it fetches a branch, opens a [`Snapshot`] of a commit, writes a
//! commit from edits, and pushes it. [`Host`] is a service with pull requests: [`Local`] is the embedded one
//! for a repository on this machine, and [`Web`] is GitHub, GitLab, Gitea or Forgejo.
//!
//! Repository content is hostile. Nothing is ever checked out, and the git program runs only as `git.rs`
//! describes: it uses no hook, filter, driver or setting of a repository. Most operations on a local
//! repository run without the git program (`in_process.rs`).
//!
//! This crate does not depend on a database, an agent or an HTTP server.

mod bare;
mod blobs;
mod cache;
mod commit;
mod diff;
mod error;
mod fetch_counts;
mod fetch_state;
mod file_source;
mod file_transport;
mod fsync;
mod git;
mod history;
mod host;
mod in_process;
mod journal;
mod local;
mod name;
mod remote;
mod shallow;
mod smart_http;
mod snapshot;
mod stale_files;
mod stale_locks;
mod tree_cache;
mod web;

/// How to allow hosts in a private network, for error messages.
const ALLOW_PRIVATE: &str =
    "hosts_allow_private = true in docwright.toml, or DOCWRIGHT_HOSTS_ALLOW_PRIVATE=true";

/// The prefix of the agent's branches. Docwright may delete an empty ref with this prefix.
const OWN_BRANCHES: &str = "docwright/";

pub use cache::{Cache, HistoryCache};
pub use commit::{NewCommit, Signature};
pub use error::{Error, Result};
pub use fetch_counts::FetchCounts;
pub use fetch_state::{FetchMode, FetchState};
pub use file_source::FetchObserver;
pub use fsync::sync_tree;
pub use git::check_program;
pub use history::{History, HistoryLimits, Removed, Rename};
pub use host::{Host, NewPull, Oid, PullRecord, PullRecords, PullRequest, State};
pub use journal::recover_writes;
pub use local::{CommitLine, Local, RepositoryProblem};
pub use name::{valid_branch, valid_path};
pub use remote::{Credentials, FileRemote, HttpRemote, Remote};
pub use snapshot::{Entry, Kind, Presence, Snapshot, TreeId, read_trouble};
pub use stale_files::remove_stale_files;
pub use web::{
    AppKey, Credential, HostKind, Now, Web, WebLimits, WebSettings, Webhook, WebhookError, WebhookEvent,
    read_webhook,
};
