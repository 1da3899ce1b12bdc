//! Holds what the API, the dashboard and the worker share: storage, hosts, models, limits and settings.

pub mod address;
pub mod address_limit;
mod allow_path;
mod app;
mod backends;
pub mod bodies;
pub mod csv;
pub mod directory;
pub mod fair_semaphore;
pub mod findings;
pub mod hosts;
mod intake;
pub mod metrics;
pub mod models;
pub mod origin;
pub mod passwords;
pub mod path;
pub mod proxy_hint;
mod quoted_line;
pub mod readiness;
pub mod refused_files;
pub mod sample;
pub mod settings;
pub mod sign_in_limit;
pub mod streams;
pub mod time;
pub mod transcript;
pub mod views_owner;
pub mod watch;

pub use allow_path::parse_allow_path;
pub use app::{Admin, App, AppParts};
pub use backends::{check_database_connection, inspect_shared_views};
pub use quoted_line::quoted_line;
