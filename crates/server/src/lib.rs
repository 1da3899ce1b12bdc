//! A running server: mounts the API, the dashboard and the worker, and looks after itself.

mod chores;
mod connections;
mod retry;
mod serve;

pub use api::openapi;
pub use app::bodies::{Bodies, Room};
pub use app::hosts::{
    HOOK_SECRET, HOST_KEY, HostKey, Repository, Updated, Wanted, parse_docs_path, parse_host_kind,
};
pub use app::models::{OFFLINE, keep_model_key, model_key, remove_model_key};
pub use app::origin::parse_site;
pub use app::passwords::{Passwords, parse_password};
pub use app::refused_files::RefusedFile;
pub use app::settings::{Bounds, DAY, Limits, Proxies, ProxyHeader, Settings, USUAL_URL, parse_public_url};
pub use app::streams::Streams;
pub use app::{Admin, App, parse_allow_path, sample};
pub use chores::{do_chores, make_room};
pub use net::NetworkPolicy;
pub use serve::{Server, Workshop};
pub use worker::Worker;

pub use agent::Limits as AgentLimits;
/// The models that settings name, for whoever reads settings and tries them.
pub use agent::model;

/// The embedded host as [`Admin::host`] shows it, and the git that it needs.
pub use forge::{CommitLine, Host, Local, PullRequest, State as PullState, check_program as check_git};
