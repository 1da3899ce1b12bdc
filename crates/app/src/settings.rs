//! Defines the operator's settings. The command line reads them from flags, the environment and a file.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use forge::WebLimits;
use ipnet::IpNet;
use net::NetworkPolicy;
use store::{DatabaseUrl, LeaseLimits, ViewsChoice};
use traffic::ViewsUrl;

/// The URL of a server with default settings.
pub const DEFAULT_URL: &str = "http://127.0.0.1:4747";

pub const DAY: Duration = Duration::from_secs(24 * 60 * 60);

#[derive(Debug, Clone)]
pub struct Settings {
    pub listen: SocketAddr,
    pub data: PathBuf,
    /// PostgreSQL; `None`: SQLite, in the data directory.
    pub database_url: Option<DatabaseUrl>,
    /// ClickHouse, for page views; `None`: the data directory of one server.
    pub views_url: Option<ViewsUrl>,
    /// The ClickHouse cluster that replicates the page views.
    pub views_cluster: Option<String>,
    /// The URL of this server for clients, without a trailing slash. `None`: the address that it listens on.
    pub public_url: Option<String>,
    /// The certificates of the server in a PEM file. `None`: the server speaks plain HTTP.
    pub tls_cert: Option<PathBuf>,
    /// The private key of the server's certificate in a PEM file.
    pub tls_key: Option<PathBuf>,
    pub proxies: Proxies,
    pub master_key_file: Option<PathBuf>,
    pub limits: Limits,
    /// Limits and retention of page views.
    pub views: traffic::Limits,
    pub bounds: Bounds,
    /// The maximum number of jobs that do local work at the same time. With 0, this server runs none.
    pub workers: usize,
    /// The maximum number of jobs that this process has leased, including those that wait for a model.
    pub jobs_in_flight: u32,
    /// The maximum number of leased jobs of one project, on all servers together. `None`: a quarter of
    /// `jobs_in_flight`.
    pub project_jobs: Option<u32>,
    /// The retention of conversations and single steps of ended jobs. `None`: forever.
    pub transcripts: Option<Duration>,
    /// The retention of branches of merged and closed pull requests. `None`: forever.
    pub branches: Option<Duration>,
    /// The maximum disk space of all repository caches, in bytes.
    pub caches: u64,
    /// Whether this server stores the page views, if several share a database.
    pub page_views: ViewsChoice,
    /// Whether `/metrics` exists.
    pub metrics: bool,
    /// By the name that projects use. `offline` always exists.
    pub models: BTreeMap<String, agent::model::Settings>,
    /// The limits of one run with a model.
    pub agent: agent::Limits,
    /// Which addresses of repository hosts the server may connect to.
    pub hosts: NetworkPolicy,
    /// The first delay before a retry after an error of a host. It doubles each time.
    pub host_retry_delay: Duration,
}

impl Settings {
    pub fn new(data: PathBuf) -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 4747)),
            data,
            database_url: None,
            views_url: None,
            views_cluster: None,
            public_url: None,
            tls_cert: None,
            tls_key: None,
            proxies: Proxies::default(),
            master_key_file: None,
            limits: Limits::default(),
            views: traffic::Limits::default(),
            bounds: Bounds::default(),
            workers: 4,
            jobs_in_flight: 256,
            project_jobs: None,
            transcripts: Some(DAY * 90),
            branches: Some(DAY * 90),
            caches: 20 << 30,
            page_views: ViewsChoice::default(),
            metrics: false,
            models: BTreeMap::new(),
            agent: agent::Limits::default(),
            hosts: NetworkPolicy::default(),
            host_retry_delay: WebLimits::default().retry_delay,
        }
    }

    /// Fails if settings contradict each other.
    pub fn check(&self) -> Result<(), &'static str> {
        match (&self.database_url, &self.views_url, &self.views_cluster) {
            (None, Some(_), _) => Err(
                "views_url needs database_url: page views in ClickHouse have their ledger in PostgreSQL. Set DOCWRIGHT_DATABASE_URL, too",
            ),
            (_, None, Some(_)) => Err(
                "views_cluster needs views_url: it names the ClickHouse cluster that has the page views. Set DOCWRIGHT_VIEWS_URL, too",
            ),
            (_, Some(_), _) if self.page_views == ViewsChoice::Leave => Err(
                "with views_url, every server takes page views. Leave out one of views_url and page_views",
            ),
            _ => Ok(()),
        }
    }

    /// One project gets a quarter of the jobs in flight by default, and one organization three quarters, so that a
    /// model that stalls doesn't stop the jobs of others.
    pub fn lease_limits(&self) -> LeaseLimits {
        let quarter = self.jobs_in_flight / 4;
        LeaseLimits {
            project: self.project_jobs.unwrap_or(quarter.max(1)),
            organization: self.jobs_in_flight - quarter,
        }
    }
}

/// Rate limits, per hour unless stated otherwise.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Jobs and follow-ups, per project.
    pub jobs: u32,
    /// Queries of page views, per organization.
    pub reads: u32,
    /// Page views from browsers, per address and minute.
    pub beacons: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { jobs: 100, reads: 1_000, beacons: 300 }
    }
}

/// Limits of concurrent use, so that neither memory nor file descriptors run out.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// The server uses fewer if the process may not open so many files.
    pub connections: usize,
    /// Bytes of all request bodies that are being received or processed.
    pub bodies: usize,
    /// Bytes of all large responses that clients haven't read yet.
    pub answers: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { connections: 4096, bodies: 20 << 20, answers: 16 << 20 }
    }
}

/// The proxies that may name a client's address, and the header that they use.
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
        found.ok_or_else(|| "the proxy header must be X-Forwarded-For or Forwarded".into())
    }
}

/// Checks a public URL, and removes a trailing slash.
pub fn parse_public_url(text: &str) -> Result<String, String> {
    let trimmed = text.trim_end_matches('/');
    let host = trimmed.strip_prefix("https://").or_else(|| trimmed.strip_prefix("http://"));
    let is_valid = |host: &str| {
        !host.is_empty()
            && !host.contains(['?', '#', '@', '"', '<', '>', '\\'])
            && !host.contains(char::is_whitespace)
    };
    match host {
        Some(host) if is_valid(host) && !trimmed.contains(char::is_control) => Ok(trimmed.to_owned()),
        _ => Err("a public URL must look like https://docs-tools.example.com".into()),
    }
}
