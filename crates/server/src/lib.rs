//! The running Docwright: HTTP, pages and worker over the parts that `app` puts together.

mod app;
mod connections;
mod dashboard;
mod hosts;
mod http;
mod metrics;
mod path;
mod serve;
mod settings;
mod time;
mod worker;

pub use app::{Admin, App, MODELS};
pub use hosts::{Repository, parse_docs_path};
pub use http::openapi;
pub use serve::Server;
pub use settings::{Limits, Proxies, ProxyHeader, Settings, parse_public_url};
pub use worker::Worker;
