//! Organizations, their projects and keys, and who is signed in.

use std::str::FromStr;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{
    ApiKey, KeyId, KeyText, NewKey, OrganizationId, Person, PersonId, ProjectId, Result, Role, SessionId,
    Token,
};

#[derive(Debug, Clone)]
pub struct Organization {
    pub id: OrganizationId,
    pub name: String,
    pub created_at: Timestamp,
}

#[derive(Debug, Clone)]
pub struct Project {
    pub id: ProjectId,
    pub organization: OrganizationId,
    pub name: String,
    /// A path on this machine, or an address on a host.
    pub repository: String,
    pub hosting: Hosting,
    /// The branch to start from and merge into; `None` is the host's default.
    pub base_ref: Option<String>,
    pub docs_path: Option<String>,
    /// Origins of the documentation site, from which the beacon is taken.
    pub sites: Vec<String>,
    /// The one for jobs that name none.
    pub model: String,
    /// Those that a job may name; none here: every one of the server.
    pub models: Vec<String>,
    /// Globs of paths that jobs may change although the guard refuses them.
    pub allow_paths: Vec<String>,
    pub human_reads: HumanReads,
    pub created_at: Timestamp,
}

/// Who is believed about human readers: the script on the page and the log of the web server both see them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HumanReads {
    /// For a site that has one of the two.
    #[default]
    Both,
    Beacon,
    Server,
}

impl HumanReads {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Both => "both",
            Self::Beacon => "beacon",
            Self::Server => "server",
        }
    }
}

impl FromStr for HumanReads {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let all = [Self::Both, Self::Beacon, Self::Server];
        let found = all.into_iter().find(|one| one.as_str() == text);
        found.ok_or_else(|| "human reads are counted from beacon, server or both".into())
    }
}

impl Project {
    /// The project's own model is always one of those that it allows.
    pub fn allows(&self, model: &str) -> bool {
        self.models.is_empty() || self.model == model || self.models.iter().any(|name| name == model)
    }
}

/// What a host is to a project whose repository is on one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Hosting {
    /// Which kind of host it is, by its name.
    pub kind: Option<String>,
    /// The app that the sealed key is of; `None`: it is a token.
    pub app: Option<HostApp>,
    /// Given to every pull request.
    pub labels: Vec<String>,
    pub reviewers: Vec<String>,
    /// Whom commits are by; `None`: us.
    pub author: Option<Author>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct HostApp {
    pub id: String,
    /// Looked up when it is not given.
    pub installation: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Author {
    pub name: String,
    pub email: String,
}

#[derive(Debug, Clone)]
pub struct NewProject {
    pub organization: OrganizationId,
    pub name: String,
    pub repository: String,
    pub hosting: Hosting,
    pub base_ref: Option<String>,
    pub docs_path: Option<String>,
    pub sites: Vec<String>,
    pub model: String,
    pub models: Vec<String>,
    pub allow_paths: Vec<String>,
}

impl NewProject {
    pub(crate) fn project(&self, now: Timestamp) -> Project {
        let new = self.clone();
        Project {
            id: ProjectId::random(),
            organization: new.organization,
            name: new.name,
            repository: new.repository,
            hosting: new.hosting,
            base_ref: new.base_ref,
            docs_path: new.docs_path,
            sites: new.sites,
            model: new.model,
            models: new.models,
            allow_paths: new.allow_paths,
            human_reads: HumanReads::default(),
            created_at: now,
        }
    }
}

/// What to change of a project; what is `None` stays as it is.
#[derive(Debug, Clone, Default)]
pub struct ProjectChange {
    pub name: Option<String>,
    pub repository: Option<String>,
    pub host_kind: Option<Option<String>>,
    pub host_app: Option<Option<HostApp>>,
    pub labels: Option<Vec<String>>,
    pub reviewers: Option<Vec<String>>,
    /// `Some(None)`: us again.
    pub author: Option<Option<Author>>,
    /// `Some(None)`: the host's default again.
    pub base_ref: Option<Option<String>>,
    /// `Some(None)`: all of the repository again.
    pub docs_path: Option<Option<String>>,
    pub sites: Option<Vec<String>>,
    pub model: Option<String>,
    pub models: Option<Vec<String>>,
    pub allow_paths: Option<Vec<String>>,
    pub human_reads: Option<HumanReads>,
}

impl ProjectChange {
    /// The project as it is with the change.
    pub fn apply(self, project: &mut Project) {
        fn set<T>(field: &mut T, to: Option<T>) {
            if let Some(to) = to {
                *field = to;
            }
        }
        set(&mut project.name, self.name);
        set(&mut project.repository, self.repository);
        set(&mut project.hosting.kind, self.host_kind);
        set(&mut project.hosting.app, self.host_app);
        set(&mut project.hosting.labels, self.labels);
        set(&mut project.hosting.reviewers, self.reviewers);
        set(&mut project.hosting.author, self.author);
        set(&mut project.base_ref, self.base_ref);
        set(&mut project.docs_path, self.docs_path);
        set(&mut project.sites, self.sites);
        set(&mut project.model, self.model);
        set(&mut project.models, self.models);
        set(&mut project.allow_paths, self.allow_paths);
        set(&mut project.human_reads, self.human_reads);
    }
}

/// How long a one-time login link works.
pub(crate) const LOGIN_LINK: SignedDuration = SignedDuration::from_mins(15);
/// How long a session lasts.
pub(crate) const SESSION: SignedDuration = SignedDuration::from_hours(24 * 14);
/// `last used` is for people: once a minute is exact enough and spares a write a request.
pub(crate) const LAST_USED: SignedDuration = SignedDuration::from_mins(1);

#[async_trait]
pub trait Accounts: Send + Sync {
    /// [`crate::StoreError::Taken`] when there is one of that name.
    async fn create_organization(&self, name: &str) -> Result<Organization>;
    /// Oldest first.
    async fn organizations(&self) -> Result<Vec<Organization>>;

    async fn create_project(&self, new: &NewProject) -> Result<Project>;
    async fn project(&self, id: &ProjectId) -> Result<Option<Project>>;
    /// Oldest first; of every organization when none is named.
    async fn projects(&self, organization: Option<&OrganizationId>) -> Result<Vec<Project>>;
    /// Answers the project as it is from now on, for the next job too; `None` when there is none.
    /// Two changes at once, of different things, are both made.
    async fn update_project(&self, id: &ProjectId, change: &ProjectChange) -> Result<Option<Project>>;

    /// The only time that the key's text is seen. It is kept as its SHA-256. A maker who was removed
    /// meanwhile gets none ([`crate::StoreError::NotAMember`]).
    async fn create_key(&self, new: &NewKey) -> Result<(ApiKey, KeyText)>;
    /// Also a revoked or expired one, which is not live.
    async fn key(&self, text: &KeyText) -> Result<Option<ApiKey>>;
    /// Newest first; of every organization when none is named.
    async fn keys(&self, organization: Option<&OrganizationId>) -> Result<Vec<ApiKey>>;
    /// False when this organization has no such key, or had revoked it before: then nothing changes.
    async fn revoke_key(&self, organization: &OrganizationId, key: &KeyId) -> Result<bool>;
    /// Notes that the key was used now, at most once a minute.
    async fn touch_key(&self, key: &ApiKey) -> Result<()>;
}

/// Whom a browser speaks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    pub organization: OrganizationId,
    /// `None`: whoever had a link that was made on the server's machine.
    pub person: Option<Person>,
    /// It began with such a link, so there is someone who has the machine.
    pub operator: bool,
    /// The name of that link; `None`: there was no link, or none with a name.
    pub name: Option<String>,
}

/// The name of a login link that was given no other.
pub const DEFAULT_LOGIN_NAME: &str = "command line";

/// A session that began with a login link, as owners see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkSession {
    pub id: SessionId,
    pub organization: OrganizationId,
    /// `None`: it began before links had names.
    pub name: Option<String>,
    /// The member that it was handed over to.
    pub member: Option<String>,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
}

impl Session {
    pub fn is_owner(&self) -> bool {
        self.person.as_ref().is_none_or(|person| person.role == Role::Owner)
    }
}

/// Signing in to the web face, by links that work once.
#[async_trait]
pub trait Sessions: Send + Sync {
    /// A link that signs in to the organization once, within 15 minutes. The session that begins with it
    /// has the link's name.
    async fn create_named_login(&self, organization: &OrganizationId, name: &str) -> Result<Token>;
    /// The same, under the default name.
    async fn create_login(&self, organization: &OrganizationId) -> Result<Token> {
        self.create_named_login(organization, DEFAULT_LOGIN_NAME).await
    }
    /// Whether the link would still work. Uses nothing up.
    async fn login_works(&self, link: &Token) -> Result<bool>;
    /// Uses the link up and starts a session; `None` when it is unknown, used or too old.
    async fn use_login(&self, link: &Token) -> Result<Option<Token>>;
    /// Starts a session of a person; `None` when there is no such person any more.
    async fn start_session(&self, person: &PersonId) -> Result<Option<Token>>;
    /// Makes a session the person's, under a new token; `None` when it has ended, or the person is of
    /// another organization.
    async fn hand_over(&self, session: &Token, person: &PersonId) -> Result<Option<Token>>;
    async fn session(&self, session: &Token) -> Result<Option<Session>>;
    async fn end_session(&self, session: &Token) -> Result<()>;
    /// Ends every session of the same person; of nobody, those that are nobody's in the organization.
    async fn end_sessions(&self, of: &Session) -> Result<()>;
    /// The live sessions that began with a login link, oldest first; of every organization when none is given.
    async fn link_sessions(&self, organization: Option<&OrganizationId>) -> Result<Vec<LinkSession>>;
    /// Ends one of them. `None` when this organization has no such session.
    async fn end_link_session(
        &self,
        organization: &OrganizationId,
        id: &SessionId,
    ) -> Result<Option<LinkSession>>;
    /// Whether any session is live: when not, a server that starts says how to sign in.
    async fn anyone_signed_in(&self) -> Result<bool>;
}
