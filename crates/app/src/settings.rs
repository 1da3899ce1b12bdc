//! What an operator can set; the command line fills it from flags, environment and file.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use forge::WebLimits;
use ipnet::IpNet;
use net::NetworkPolicy;
use store::{DatabaseUrl, ViewsChoice};

/// Where a server that was told nothing is reached.
pub const USUAL_URL: &str = "http://127.0.0.1:4747";

pub const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Debug, Clone)]
pub struct Settings {
    pub listen: SocketAddr,
    pub data: PathBuf,
    /// PostgreSQL; `None`: SQLite, in the data directory.
    pub database_url: Option<DatabaseUrl>,
    /// How this server is reached from outside, without a slash at its end. `None`: the
    /// address that it listens on.
    pub public_url: Option<String>,
    pub proxies: Proxies,
    pub master_key_file: Option<PathBuf>,
    pub limits: Limits,
    /// How much there may be of page views, and for how long.
    pub views: traffic::Limits,
    pub bounds: Bounds,
    /// Jobs at once; with 0 this server runs none.
    pub workers: usize,
    /// Jobs of one project at once, on all servers together.
    pub project_jobs: u32,
    /// How long the conversations and single steps of ended jobs are kept; `None`: for ever.
    pub transcripts: Option<Duration>,
    /// How long the branches of settled pull requests are kept; `None`: for ever.
    pub branches: Option<Duration>,
    /// What the caches of repositories may take on the disk, in bytes.
    pub caches: u64,
    /// Whether this server is to keep page views, of several on one database.
    pub page_views: ViewsChoice,
    /// Whether `/metrics` is there.
    pub metrics: bool,
    /// By the name that a project gives; `offline` is there without being named.
    pub models: BTreeMap<String, agent::model::Settings>,
    /// How much one run of a model may take.
    pub agent: agent::Limits,
    /// What repository hosts may be reached.
    pub hosts: NetworkPolicy,
    /// How long one that fails is left alone first; twice as long each time after.
    pub host_pause: Duration,
}

impl Settings {
    pub fn new(data: PathBuf) -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 4747)),
            data,
            database_url: None,
            public_url: None,
            proxies: Proxies::default(),
            master_key_file: None,
            limits: Limits::default(),
            views: traffic::Limits::default(),
            bounds: Bounds::default(),
            workers: 4,
            project_jobs: u32::MAX,
            transcripts: Some(DAY * 90),
            branches: Some(DAY * 90),
            caches: 20 << 30,
            page_views: ViewsChoice::default(),
            metrics: false,
            models: BTreeMap::new(),
            agent: agent::Limits::default(),
            hosts: NetworkPolicy::default(),
            host_pause: WebLimits::default().retry_delay,
        }
    }
}

/// How often things may be done: within an hour, if not said otherwise.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Jobs created and followed up, a project.
    pub jobs: u32,
    /// Questions about page views, an organization.
    pub reads: u32,
    /// Page views that browsers send, an address, within a minute.
    pub beacons: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { jobs: 100, reads: 1_000, beacons: 300 }
    }
}

/// What there may be at once, so that neither memory nor files run out.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Fewer, if the process may not open so many files.
    pub connections: usize,
    /// Bytes of all bodies that are being received or worked on.
    pub bodies: usize,
    /// Bytes of all large answers that clients have not read yet.
    pub answers: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { connections: 4096, bodies: 20 << 20, answers: 16 << 20 }
    }
}

/// Whose word about a client's address is believed, and in which header they write it.
#[derive(Debug, Clone, Default)]
pub struct Proxies {
    pub trusted: Vec<IpNet>,
    pub header: ProxyHeader,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ProxyHeader {
    #[default]
    XForwardedFor,
    Forwarded,
}

impl ProxyHeader {
    pub fn name(self) -> &'static str {
        match self {
            Self::XForwardedFor => "x-forwarded-for",
            Self::Forwarded => "forwarded",
        }
    }
}

impl FromStr for ProxyHeader {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = [Self::XForwardedFor, Self::Forwarded];
        let found = known.into_iter().find(|header| text.eq_ignore_ascii_case(header.name()));
        found.ok_or_else(|| "the proxy's header is X-Forwarded-For or Forwarded".into())
    }
}

/// Checks a public URL at the door and takes the slash off its end.
pub fn parse_public_url(text: &str) -> Result<String, String> {
    let trimmed = text.trim_end_matches('/');
    let host = trimmed.strip_prefix("https://").or_else(|| trimmed.strip_prefix("http://"));
    let sane = |host: &str| {
        !host.is_empty()
            && !host.contains(['?', '#', '@', '"', '<', '>', '\\'])
            && !host.contains(char::is_whitespace)
    };
    match host {
        Some(host) if sane(host) && !trimmed.contains(char::is_control) => Ok(trimmed.to_owned()),
        _ => Err("a public URL looks like https://docs-tools.example.com".into()),
    }
}
