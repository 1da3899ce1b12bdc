//! The running Docwright: HTTP, pages and worker over the parts that `app` puts together.

mod address;
mod address_limit;
mod app;
mod bodies;
mod chores;
mod connections;
mod dashboard;
mod directory;
mod files;
mod hosts;
mod http;
mod metrics;
mod models;
mod origin;
mod passwords;
mod path;
mod proxy_hint;
mod readiness;
mod refused_files;
mod retry;
pub mod sample;
mod serve;
mod settings;
mod sign_in_limit;
mod streams;
mod time;
mod transcript;
mod watch;
mod worker;

pub use app::{Admin, App};
pub use bodies::{Bodies, Room};
pub use chores::{do_chores, make_room};
pub use hosts::{
    HOOK_SECRET, HOST_KEY, HostKey, Repository, Updated, Wanted, parse_docs_path, parse_host_kind,
};
pub use http::openapi;
pub use models::{OFFLINE, keep_model_key, model_key, remove_model_key};
pub use net::NetworkPolicy;
pub use origin::parse_site;
pub use passwords::{Passwords, parse_password};
pub use refused_files::RefusedFile;
pub use serve::{Server, Workshop};
pub use settings::{Bounds, DAY, Limits, Proxies, ProxyHeader, Settings, USUAL_URL, parse_public_url};
pub use streams::Streams;
pub use worker::{Worker, parse_allow_path};

pub use agent::Limits as AgentLimits;
/// The models that settings name, for whoever reads settings and tries them.
pub use agent::model;

/// The embedded host as [`Admin::host`] shows it, and the git that it needs.
pub use forge::{CommitLine, Host, Local, PullRequest, State as PullState, check_program as check_git};
