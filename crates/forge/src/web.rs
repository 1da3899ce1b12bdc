//! Repositories on the web: GitHub, GitLab, Gitea and Forgejo.
//!
//! Every host says the same few things in words of its own (`dialect.rs`); what they are said for, and
//! in which order, is here and in `web/open.rs`, once for all of them.

mod address;
mod api;
mod app;
mod auth;
mod dialect;
mod gitea;
mod github;
mod gitlab;
mod hooks;
mod hub;
mod kind;
mod open;
mod pull;
mod settle;
mod trouble;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use machine::Trouble;
use net::{NetworkPolicy, Secret};
use tokio::sync::Mutex;

use address::{Address, Home};
use api::{Api, Line, below};
use app::App;
pub use app::AppKey;
use auth::Auth;
use dialect::Dialect;
pub use hooks::{Hook, HookError, HookEvent, read_hook};
pub use kind::HostKind;
use trouble::{Place, Who};

use crate::{Error, Host, HttpRemote, NewPull, Oid, PullRequest, Remote, Result, valid_branch};

/// Who we are to a host.
#[derive(Debug, Clone, Default)]
pub enum Credential {
    /// Enough to read what everybody may.
    #[default]
    None,
    Token(Secret),
    /// Of GitHub. Its installation is looked up when it is not given.
    App {
        id: String,
        installation: Option<u64>,
        key: AppKey,
    },
}

/// How much patience a host is met with.
#[derive(Debug, Clone, Copy)]
pub struct WebLimits {
    /// For one answer.
    pub wait: Duration,
    /// Of one answer, in bytes.
    pub answer: usize,
    /// Before something is tried again; twice as long each time after.
    pub pause: Duration,
}

impl Default for WebLimits {
    fn default() -> Self {
        Self { wait: Duration::from_secs(30), answer: 8 << 20, pause: Duration::from_millis(500) }
    }
}

/// The time in seconds since 1970, from a clock that tests can move.
pub type Now = Arc<dyn Fn() -> i64 + Send + Sync>;

pub struct WebSettings {
    /// `https://host/owner/repository`.
    pub url: String,
    /// Found out when it is not given.
    pub kind: Option<HostKind>,
    pub credential: Credential,
    pub reach: NetworkPolicy,
    /// For every pull request that is opened, as far as the host takes them.
    pub labels: Vec<String>,
    /// The same; `organization/team` for a team.
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

/// A repository on the web. It keeps connections, and an app's token, for as long as it is kept.
pub struct Web {
    place: Arc<Place>,
    web_url: String,
    remote: HttpRemote,
    line: Arc<Line>,
    dialect: Box<dyn Dialect>,
    labels: Vec<String>,
    reviewers: Vec<String>,
}

impl Web {
    /// Asks nobody anything when the kind of the host is known.
    pub async fn open(settings: WebSettings) -> Result<Self> {
        let address = Address::parse(&settings.url, settings.reach.allow_private)?;
        let http = net::client(settings.reach).build();
        let http = http.map_err(|error| match Trouble::find(&error) {
            Some(trouble) => Error::Machine(trouble),
            None => Error::Denied(format!("no HTTP client can be made: {}", net::root_cause(&error))),
        })?;
        let line = Arc::new(Line {
            http,
            host: address.host().to_owned(),
            limits: settings.limits,
            now: settings.now,
        });
        let kind = match settings.kind.or_else(|| address.known_kind()) {
            Some(kind) => kind,
            None => kind::ask(&line, &address.origin).await?,
        };
        let home = address.home(kind)?;
        let api = api(&line, &home, settings.credential)?;
        let remote = HttpRemote::new(line.http.clone(), home.clone, api.auth.clone());
        Ok(Self {
            place: api.place.clone(),
            web_url: home.web.to_string(),
            remote,
            line,
            dialect: match kind {
                HostKind::GitHub => Box::new(github::GitHub(api)),
                HostKind::GitLab => Box::new(gitlab::GitLab(api)),
                HostKind::Gitea | HostKind::Forgejo => Box::new(gitea::Gitea(api)),
            },
            labels: settings.labels,
            reviewers: settings.reviewers,
        })
    }

    pub fn kind(&self) -> HostKind {
        self.place.kind
    }

    /// `owner/repository`, as hooks have it.
    pub fn path(&self) -> &str {
        &self.place.path
    }

    async fn check_token(&self, base: &str) -> Result<()> {
        if !self.line.again(|| crate::smart::may_push(&self.remote)).await? {
            return Err(Error::Denied(self.place.may_not_push()));
        }
        self.dialect.may_open(base).await
    }

    fn empty(&self) -> Error {
        Error::Repository(format!("{} is empty: push a first commit to it", self.place.path))
    }
}

impl fmt::Debug for Web {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.web_url, self.place.kind)
    }
}

fn api(line: &Arc<Line>, home: &Home, credential: Credential) -> Result<Api> {
    let repository = match home.kind {
        HostKind::GitLab => below(&home.api, &["projects", &home.path]),
        _ => home.path.split('/').fold(below(&home.api, &["repos"]), |url, part| below(&url, &[part])),
    };
    let place =
        |who| Arc::new(Place { kind: home.kind, host: line.host.clone(), path: home.path.clone(), who });
    let (who, auth) = match credential {
        Credential::None => (Who::Nobody, Auth::Token(None)),
        Credential::Token(token) => (Who::Token, Auth::Token(Some(token))),
        Credential::App { .. } if home.kind != HostKind::GitHub => {
            return Err(Error::BadName(format!("{} knows no GitHub App: give a token", line.host)));
        }
        Credential::App { id, installation, key } => {
            let (root, repository) = (home.api.clone(), repository.clone());
            let (line, place, token) = (line.clone(), place(Who::App), Mutex::new(None));
            let app = App { line, place, root, repository, id, key, installation, token };
            (Who::App, Auth::App(Box::new(app)))
        }
    };
    let (line, auth) = (line.clone(), Arc::new(auth));
    Ok(Api { line, auth, place: place(who), root: home.api.clone(), repository })
}

#[async_trait]
impl Host for Web {
    async fn default_branch(&self) -> Result<String> {
        let about = self.dialect.about().await?;
        about.default_branch.ok_or_else(|| self.empty())
    }

    async fn check(&self, branch: Option<&str>) -> Result<String> {
        branch.map_or(Ok(()), valid_branch)?;
        let about = self.dialect.about().await?;
        if about.is_archived {
            return Err(Error::Repository(trouble::archived(&self.place.path)));
        }
        if let Some(refusal) = about.refusal {
            return Err(Error::Denied(refusal));
        }
        if about.is_empty {
            return Err(self.empty());
        }
        let branch = branch.map(str::to_owned).or(about.default_branch).ok_or_else(|| self.empty())?;
        if !self.dialect.has_branch(&branch).await? {
            return Err(Error::NoSuchBranch(branch));
        }
        if !about.is_of_token {
            self.check_token(&branch).await?;
        }
        Ok(branch)
    }

    async fn has_folder(&self, branch: &str, folder: &str) -> Result<bool> {
        valid_branch(branch)?;
        crate::valid_path(folder)?;
        self.dialect.has_folder(branch, folder).await
    }

    fn remote(&self) -> Remote {
        Remote::Http(self.remote.clone())
    }

    fn web_url(&self) -> String {
        self.web_url.clone()
    }

    async fn find(&self, head: &str) -> Result<Vec<PullRequest>> {
        valid_branch(head)?;
        let mut found = self.dialect.find(head, None).await?;
        found.sort_unstable_by_key(|pull| pull.number);
        // A list that changes while it is read shows one twice.
        found.dedup_by_key(|pull| pull.number);
        Ok(found)
    }

    async fn open(&self, new: &NewPull) -> Result<PullRequest> {
        valid_branch(&new.head)?;
        valid_branch(&new.base)?;
        open::open(self, new).await
    }

    async fn get(&self, number: u64) -> Result<Option<PullRequest>> {
        self.dialect.get(number).await
    }

    async fn merge(&self, number: u64, seen: Option<&Oid>) -> Result<PullRequest> {
        settle::merge(self, number, seen).await
    }

    async fn close(&self, number: u64) -> Result<PullRequest> {
        settle::close(self, number).await
    }
}
