//! Runs a server: mounts the API, the dashboard and the worker, accepts connections, and runs periodic
//! chores.

mod chores;
mod connections;
mod retry;
mod serve;
mod tls;

pub use api::openapi;
pub use app::bodies::{Bodies, ByteBudget};
pub use app::hosts::{
    HOOK_SECRET, HOST_KEY, HostKey, Repository, RepositoryRequest, UpdatedProject, is_token_refused,
    parse_docs_path, parse_host_kind,
};
pub use app::models::{OFFLINE, model_key, remove_model_key, store_model_key};
pub use app::origin::parse_site;
pub use app::passwords::{Passwords, parse_password};
pub use app::refused_files::RefusedFile;
pub use app::settings::{Bounds, DAY, DEFAULT_URL, Limits, Proxies, ProxyHeader, Settings, parse_public_url};
pub use app::streams::Streams;
pub use app::views_owner::{MAX_SILENCE, lag_sentence, silent_sentence};
pub use app::{Admin, App, AppParts, inspect_shared_views, parse_allow_path, sample};
pub use chores::{do_chores, shrink_caches};
pub use net::NetworkPolicy;
pub use serve::{Server, WorkerProcess};
pub use tls::check_tls;
pub use worker::Worker;

pub use agent::Limits as AgentLimits;
/// For the code that parses the settings of models and probes them.
pub use agent::model;
/// For `docwright eval`.
pub use agent::{Agent, Editor, Offline};

/// The embedded host that [`Admin::host`] returns, and the check of the git program.
pub use forge::{
    CommitLine, FetchMode, Host, Local, PullRequest, State as PullState, check_program as check_git,
};
