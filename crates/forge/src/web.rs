//! Implements [`Host`] for GitHub, GitLab, Gitea and Forgejo.
//!
//! Each host implements the trait [`HostApi`] (`host_api.rs`) for its REST API. The logic that all hosts
//! share is here, in `open.rs` and in `merge_or_close.rs`.

mod address;
mod api;
mod api_errors;
mod app;
mod auth;
mod gitea;
mod github;
mod github_compatible;
mod gitlab;
mod host_api;
mod kind;
mod merge_or_close;
mod open;
mod pull;
mod webhooks;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use machine::Trouble;
use net::{NetworkPolicy, Secret};
use tokio::sync::Mutex;

use address::{Address, Endpoints};
use api::{Api, ApiClient, append_path};
use api_errors::{Identity, RepositoryContext};
use app::App;
pub use app::AppKey;
use auth::Auth;
use host_api::HostApi;
pub use kind::HostKind;
pub use webhooks::{Webhook, WebhookError, WebhookEvent, read_webhook};

use crate::{Error, Host, HttpRemote, NewPull, Oid, PullRequest, Remote, Result, valid_branch};

/// How Docwright authenticates to a host.
#[derive(Debug, Clone, Default)]
pub enum Credential {
    /// Anonymous access: enough to read a public repository.
    #[default]
    None,
    Token(Secret),
    /// A GitHub App. The installation is looked up if it is not given.
    App {
        id: String,
        installation: Option<u64>,
        key: AppKey,
    },
}

/// Limits for requests to a host's API.
#[derive(Debug, Clone, Copy)]
pub struct WebLimits {
    /// The timeout of one request.
    pub timeout: Duration,
    pub max_response_bytes: usize,
    /// The backoff before the first retry. It doubles with every retry.
    pub retry_delay: Duration,
}

impl Default for WebLimits {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(30),
            max_response_bytes: 8 << 20,
            retry_delay: Duration::from_millis(500),
        }
    }
}

/// The time in seconds since 1970, from a clock that tests can move.
pub type Now = Arc<dyn Fn() -> i64 + Send + Sync>;

pub struct WebSettings {
    /// `https://host/owner/repository`.
    pub url: String,
    /// Detected if it is not given.
    pub kind: Option<HostKind>,
    pub credential: Credential,
    pub reach: NetworkPolicy,
    /// Added to every new pull request, if the host accepts them.
    pub labels: Vec<String>,
    /// Requested for every new pull request; `organization/team` names a team.
    pub reviewers: Vec<String>,
    pub limits: WebLimits,
    pub now: Now,
}

impl WebSettings {
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            kind: None,
            credential: Credential::None,
            reach: NetworkPolicy::default(),
            labels: Vec::new(),
            reviewers: Vec::new(),
            limits: WebLimits::default(),
            now: Arc::new(|| Timestamp::now().as_second()),
        }
    }
}

/// A repository on a web host. Keep it: it reuses connections and an app's token.
pub struct Web {
    context: Arc<RepositoryContext>,
    web_url: String,
    remote: HttpRemote,
    client: Arc<ApiClient>,
    host_api: Box<dyn HostApi>,
    labels: Vec<String>,
    reviewers: Vec<String>,
}

impl Web {
    /// Sends no request if the kind of the host is known.
    pub async fn open(settings: WebSettings) -> Result<Self> {
        let address = Address::parse(&settings.url, settings.reach.allow_private)?;
        let http = net::client(settings.reach).build();
        let http = http.map_err(|error| match Trouble::find(&error) {
            Some(trouble) => Error::Machine(trouble),
            None => {
                Error::Denied(format!("the HTTP client could not be created: {}", net::root_cause(&error)))
            }
        })?;
        let client = Arc::new(ApiClient {
            http,
            host: address.host().to_owned(),
            limits: settings.limits,
            now: settings.now,
        });
        let kind = match settings.kind.or_else(|| address.known_kind()) {
            Some(kind) => kind,
            None => kind::detect(&client, &address.origin).await?,
        };
        let endpoints = address.endpoints(kind)?;
        let api = api(&client, &endpoints, settings.credential)?;
        let remote = HttpRemote::new(client.http.clone(), endpoints.clone, api.auth.clone());
        Ok(Self {
            context: api.context.clone(),
            web_url: endpoints.web.to_string(),
            remote,
            client,
            host_api: match kind {
                HostKind::GitHub => Box::new(github::GitHub(api)),
                HostKind::GitLab => Box::new(gitlab::GitLab(api)),
                HostKind::Gitea | HostKind::Forgejo => Box::new(gitea::Gitea(api)),
            },
            labels: settings.labels,
            reviewers: settings.reviewers,
        })
    }

    pub fn kind(&self) -> HostKind {
        self.context.kind
    }

    /// `owner/repository`, as in webhooks.
    pub fn path(&self) -> &str {
        &self.context.path
    }

    async fn check_token(&self, base: &str) -> Result<()> {
        if !self.client.retry(|| crate::smart_http::may_push(&self.remote)).await? {
            return Err(Error::Denied(self.context.cannot_push_message()));
        }
        self.host_api.check_can_open(base).await
    }

    fn empty_error(&self) -> Error {
        Error::Repository(format!("{} is empty: push a first commit to it", self.context.path))
    }
}

impl fmt::Debug for Web {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.web_url, self.context.kind)
    }
}

fn api(client: &Arc<ApiClient>, endpoints: &Endpoints, credential: Credential) -> Result<Api> {
    let repository = match endpoints.kind {
        HostKind::GitLab => append_path(&endpoints.api, &["projects", &endpoints.path]),
        _ => endpoints
            .path
            .split('/')
            .fold(append_path(&endpoints.api, &["repos"]), |url, part| append_path(&url, &[part])),
    };
    let context = |identity| {
        Arc::new(RepositoryContext {
            kind: endpoints.kind,
            host: client.host.clone(),
            path: endpoints.path.clone(),
            identity,
        })
    };
    let (identity, auth) = match credential {
        Credential::None => (Identity::Anonymous, Auth::Token(None)),
        Credential::Token(token) => (Identity::Token, Auth::Token(Some(token))),
        Credential::App { .. } if endpoints.kind != HostKind::GitHub => {
            return Err(Error::BadName(format!(
                "{} does not support GitHub Apps: give a token",
                client.host
            )));
        }
        Credential::App { id, installation, key } => {
            let (root, repository) = (endpoints.api.clone(), repository.clone());
            let (client, context, token) = (client.clone(), context(Identity::App), Mutex::new(None));
            let app = App { client, context, root, repository, id, key, installation, token };
            (Identity::App, Auth::App(Box::new(app)))
        }
    };
    let (client, auth) = (client.clone(), Arc::new(auth));
    Ok(Api { client, auth, context: context(identity), root: endpoints.api.clone(), repository })
}

#[async_trait]
impl Host for Web {
    async fn default_branch(&self) -> Result<String> {
        let details = self.host_api.repository().await?;
        details.default_branch.ok_or_else(|| self.empty_error())
    }

    async fn check(&self, branch: Option<&str>) -> Result<String> {
        branch.map_or(Ok(()), valid_branch)?;
        let details = self.host_api.repository().await?;
        if details.is_archived {
            return Err(Error::Repository(api_errors::archived_message(&self.context.path)));
        }
        if let Some(refusal) = details.refusal {
            return Err(Error::Denied(refusal));
        }
        if details.is_empty {
            return Err(self.empty_error());
        }
        let branch =
            branch.map(str::to_owned).or(details.default_branch).ok_or_else(|| self.empty_error())?;
        if !self.host_api.has_branch(&branch).await? {
            return Err(Error::NoSuchBranch(branch));
        }
        if !details.is_token_specific {
            self.check_token(&branch).await?;
        }
        Ok(branch)
    }

    async fn has_folder(&self, branch: &str, folder: &str) -> Result<bool> {
        valid_branch(branch)?;
        crate::valid_path(folder)?;
        self.host_api.has_folder(branch, folder).await
    }

    fn remote(&self) -> Remote {
        Remote::Http(self.remote.clone())
    }

    fn web_url(&self) -> String {
        self.web_url.clone()
    }

    async fn find(&self, head: &str) -> Result<Vec<PullRequest>> {
        valid_branch(head)?;
        let mut found = self.host_api.find(head, None).await?;
        found.sort_unstable_by_key(|pull| pull.number);
        // A list that changes between two pages can contain a pull request twice.
        found.dedup_by_key(|pull| pull.number);
        Ok(found)
    }

    async fn open(&self, new: &NewPull) -> Result<PullRequest> {
        valid_branch(&new.head)?;
        valid_branch(&new.base)?;
        open::open(self, new).await
    }

    async fn get(&self, number: u64) -> Result<Option<PullRequest>> {
        self.host_api.get(number).await
    }

    async fn merge(&self, number: u64, seen: Option<&Oid>) -> Result<PullRequest> {
        merge_or_close::merge(self, number, seen).await
    }

    async fn close(&self, number: u64) -> Result<PullRequest> {
        merge_or_close::close(self, number).await
    }
}
