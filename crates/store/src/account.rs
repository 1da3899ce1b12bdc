//! Organizations with their projects and API keys, and sessions of the dashboard.

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
    /// A path on this machine, or a URL on a host.
    pub repository: String,
    pub hosting: Hosting,
    /// The branch to start from and merge into; `None` is the host's default branch.
    pub base_ref: Option<String>,
    pub docs_path: Option<String>,
    /// Origins of the documentation site. The server accepts the beacon from these.
    pub sites: Vec<String>,
    /// The model of jobs that name no model.
    pub model: String,
    /// Models that a job may name; empty: all models of the server.
    pub models: Vec<String>,
    /// Globs of paths that jobs may change although the guard refuses changes there.
    pub allow_paths: Vec<String>,
    pub human_reads: HumanReads,
    pub created_at: Timestamp,
}

/// The source of human readers. Both the script on the page and the web server's log see them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HumanReads {
    /// For a site that has only one of the two.
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
        let found = all.into_iter().find(|source| source.as_str() == text);
        found.ok_or_else(|| "human reads are counted from beacon, server or both".into())
    }
}

impl Project {
    /// The project's own model is always allowed.
    pub fn allows(&self, model: &str) -> bool {
        self.models.is_empty() || self.model == model || self.models.iter().any(|name| name == model)
    }
}

/// How a project uses the host of its repository.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Hosting {
    /// The name of the kind of host.
    pub kind: Option<String>,
    /// The app that the sealed key belongs to; `None`: the secret is a token.
    pub app: Option<HostApp>,
    /// Labels of every pull request.
    pub labels: Vec<String>,
    pub reviewers: Vec<String>,
    /// The author of commits; `None`: Docwright.
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

/// A change of an optional field.
#[derive(Debug, Clone, Default)]
pub enum FieldChange<T> {
    #[default]
    Keep,
    Clear,
    Set(T),
}

impl<T> FieldChange<T> {
    pub fn is_keep(&self) -> bool {
        matches!(self, Self::Keep)
    }

    fn apply(self, field: &mut Option<T>) {
        match self {
            Self::Keep => {}
            Self::Clear => *field = None,
            Self::Set(value) => *field = Some(value),
        }
    }
}

/// Replaces the field's value: `None` clears it.
impl<T> From<Option<T>> for FieldChange<T> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Clear, Self::Set)
    }
}

/// Fields of a project to change. A field that is `None` keeps its value.
#[derive(Debug, Clone, Default)]
pub struct ProjectChange {
    pub name: Option<String>,
    pub repository: Option<String>,
    pub host_kind: FieldChange<String>,
    pub host_app: FieldChange<HostApp>,
    pub labels: Option<Vec<String>>,
    pub reviewers: Option<Vec<String>>,
    /// Without an author, Docwright is the author.
    pub author: FieldChange<Author>,
    /// Without a base, jobs start from the host's default branch.
    pub base_ref: FieldChange<String>,
    /// Without a docs path, the docs are the whole repository.
    pub docs_path: FieldChange<String>,
    pub sites: Option<Vec<String>>,
    pub model: Option<String>,
    pub models: Option<Vec<String>>,
    pub allow_paths: Option<Vec<String>>,
    pub human_reads: Option<HumanReads>,
}

impl ProjectChange {
    /// Applies the change to the project.
    pub fn apply(self, project: &mut Project) {
        fn set<T>(field: &mut T, value: Option<T>) {
            if let Some(value) = value {
                *field = value;
            }
        }
        set(&mut project.name, self.name);
        set(&mut project.repository, self.repository);
        self.host_kind.apply(&mut project.hosting.kind);
        self.host_app.apply(&mut project.hosting.app);
        set(&mut project.hosting.labels, self.labels);
        set(&mut project.hosting.reviewers, self.reviewers);
        self.author.apply(&mut project.hosting.author);
        self.base_ref.apply(&mut project.base_ref);
        self.docs_path.apply(&mut project.docs_path);
        set(&mut project.sites, self.sites);
        set(&mut project.model, self.model);
        set(&mut project.models, self.models);
        set(&mut project.allow_paths, self.allow_paths);
        set(&mut project.human_reads, self.human_reads);
    }
}

/// How long a one-time login link works.
pub(crate) const LOGIN_LINK_LIFETIME: SignedDuration = SignedDuration::from_mins(15);
/// How long a session lasts.
pub(crate) const SESSION_LIFETIME: SignedDuration = SignedDuration::from_hours(24 * 14);
/// People read `last used`, so once a minute is exact enough. It saves a write for each request.
pub(crate) const LAST_USED: SignedDuration = SignedDuration::from_mins(1);

#[async_trait]
pub trait Accounts: Send + Sync {
    /// [`crate::StoreError::Taken`] when an organization has the name.
    async fn create_organization(&self, name: &str) -> Result<Organization>;
    /// Oldest first.
    async fn organizations(&self) -> Result<Vec<Organization>>;

    async fn create_project(&self, new: &NewProject) -> Result<Project>;
    async fn project(&self, id: &ProjectId) -> Result<Option<Project>>;
    /// Oldest first; of all organizations if none is given.
    async fn projects(&self, organization: Option<&OrganizationId>) -> Result<Vec<Project>>;
    /// Answers the changed project; `None` when there is none. Two concurrent changes of different fields are both
    /// applied.
    async fn update_project(&self, id: &ProjectId, change: &ProjectChange) -> Result<Option<Project>>;

    /// Only this call answers the key's text: the store has its SHA-256. Fails with [`crate::StoreError::NotAMember`] when
    /// the creator was removed meanwhile.
    async fn create_key(&self, new: &NewKey) -> Result<(ApiKey, KeyText)>;
    /// Also finds a revoked or expired key, which is not live.
    async fn key(&self, text: &KeyText) -> Result<Option<ApiKey>>;
    /// The same as [`Self::key`] and [`Self::project`], in one read.
    async fn key_and_project(&self, text: &KeyText, project: &ProjectId) -> Result<KeyAndProject>;
    /// Newest first; of all organizations if none is given.
    async fn keys(&self, organization: Option<&OrganizationId>) -> Result<Vec<ApiKey>>;
    /// False, without a change, when this organization has no such key or had revoked it before.
    async fn revoke_key(&self, organization: &OrganizationId, key: &KeyId) -> Result<bool>;
    /// Records that the key was used now, at most once a minute.
    async fn touch_key(&self, key: &ApiKey) -> Result<()>;
}

/// What a request names: they need not belong together.
pub type KeyAndProject = (Option<ApiKey>, Option<Project>);

/// A session of the dashboard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    pub organization: OrganizationId,
    /// `None`: the session belongs to a login link, which was created on the server's machine.
    pub person: Option<Person>,
    /// The session began with a login link, so its user has access to the machine.
    pub operator: bool,
    /// The name of the login link; `None`: there was no link, or it had no name.
    pub name: Option<String>,
}

/// The default name of a login link.
pub const DEFAULT_LOGIN_NAME: &str = "command line";

/// A session that began with a login link, as owners see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkSession {
    pub id: SessionId,
    pub organization: OrganizationId,
    /// `None`: it began before links had names.
    pub name: Option<String>,
    /// The member that the session was assigned to.
    pub member: Option<String>,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
}

impl Session {
    pub fn is_owner(&self) -> bool {
        self.person.as_ref().is_none_or(|person| person.role == Role::Owner)
    }
}

/// Sign-in to the dashboard, by links that work once.
#[async_trait]
pub trait Sessions: Send + Sync {
    /// Creates a link that signs in to the organization once, within 15 minutes. The session has the link's name.
    async fn create_named_login(&self, organization: &OrganizationId, name: &str) -> Result<Token>;
    /// Creates a link with the default name.
    async fn create_login(&self, organization: &OrganizationId) -> Result<Token> {
        self.create_named_login(organization, DEFAULT_LOGIN_NAME).await
    }
    /// Whether the link still works. Does not use it up.
    async fn login_works(&self, link: &Token) -> Result<bool>;
    /// Uses the link up and starts a session; `None` when it is unknown, used or too old.
    async fn use_login(&self, link: &Token) -> Result<Option<Token>>;
    /// Starts a member's session; `None` when there is no such member.
    async fn start_session(&self, person: &PersonId) -> Result<Option<Token>>;
    /// Assigns a session to a member, under a new token; `None` when the session has ended, or the member belongs to
    /// another organization.
    async fn assign_session_to_member(&self, session: &Token, person: &PersonId) -> Result<Option<Token>>;
    async fn session(&self, session: &Token) -> Result<Option<Session>>;
    async fn end_session(&self, session: &Token) -> Result<()>;
    /// Ends all sessions of the same member, or all sessions of the organization without a member.
    async fn end_sessions(&self, of: &Session) -> Result<()>;
    /// The live sessions that began with a login link, oldest first; of all organizations if none is given.
    async fn link_sessions(&self, organization: Option<&OrganizationId>) -> Result<Vec<LinkSession>>;
    /// Ends a session that began with a login link. `None` when this organization has no such session.
    async fn end_link_session(
        &self,
        organization: &OrganizationId,
        id: &SessionId,
    ) -> Result<Option<LinkSession>>;
    /// Whether any session is live. If not, a starting server prints how to sign in.
    async fn has_live_session(&self) -> Result<bool>;
}
