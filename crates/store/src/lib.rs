//! What is kept: organizations, projects, keys, sessions, jobs with their events and
//! conversations, pull requests of the embedded host, secrets. Domain types with their
//! transitions, the traits that promise to keep them, and the SQLite and the PostgreSQL that do.
//! Knows no HTTP and no agent.

mod account;
mod actor;
mod backup;
mod clock;
mod coalesced;
mod conversation;
mod data_dir;
mod directory_watch;
mod encoding;
mod home;
mod id;
mod job;
mod key;
mod name;
mod note;
mod people;
mod postgres;
mod progress;
mod prompt;
mod pull;
mod queue;
mod secret;
mod sql;
mod sqlite;
mod suspects;
mod sweep;
mod terms;
mod upkeep;

use machine::Trouble;

pub use account::{
    Accounts, Author, DEFAULT_LOGIN_NAME, HostApp, Hosting, HumanReads, LinkSession, NewProject,
    Organization, Project, ProjectChange, Session, Sessions,
};
pub use actor::Actor;
pub use backup::{CopiedProject, DATABASE_SCHEMA, copied_projects, is_sealed_with, move_repositories};
pub use clock::Clocks;
pub use conversation::{ConversationEntry, MAX_ENTRY_BYTES, Tokens};
pub use data_dir::{DataDir, DataDirError, Held, RESTORE_DRAFT, RESTORE_PREVIOUS};
pub use directory_watch::{DirectoryLost, DirectoryWatch};
pub use home::{ViewsHome, ViewsWish};
pub use id::{InviteId, JobId, KeyId, OrganizationId, PersonId, ProjectId, SessionId, Token, WorkerId};
pub use job::{Archived, Event, Filter, Job, JobCounts, JobStore, NewEvent, NewJob, Page, Status};
pub use key::{Allow, AllowError, ApiKey, Expiry, KeyRef, KeyText, NewKey, Scope};
pub use name::parse_name;
pub use note::Note;
pub use people::{
    AuditEntry, Invite, MemberKeys, NewAuditEntry, NewInvite, NewPerson, PasswordHash, People, Person,
    Removal, Role, parse_person_name,
};
pub use postgres::{DatabaseUrl, PostgresStore};
pub use progress::Progress;
pub use prompt::{MAX_LABEL_CHARS, MAX_PROMPT_CHARS, MAX_QUOTATIONS, Prompt, PromptError, Quotation};
pub use pull::{Merge, NewPull, Pull, PullState, Pulls};
pub use queue::{Change, Ending, LEASE, Lease, Message, Outcome, Queue, Resume};
pub use secret::{MasterKey, SecretError, Secrets};
pub use sqlite::SqliteStore;
pub use suspects::{MAX_DEATHS, MAX_SUSPECT_WAIT, STEADY};
pub use sweep::{Sweep, Sweeps};
pub use terms::{IdempotencyKey, Limit, Rates, Receipt, Render, Terms, Usage};
pub use upkeep::Upkeep;

/// All that a backend keeps.
pub trait Store:
    Accounts
    + Sessions
    + People
    + Secrets
    + JobStore
    + Queue
    + Rates
    + Pulls
    + Sweeps
    + Upkeep
    + ViewsHome
    + Clocks
{
}

impl<
    T: Accounts
        + Sessions
        + People
        + Secrets
        + JobStore
        + Queue
        + Rates
        + Pulls
        + Sweeps
        + Upkeep
        + ViewsHome
        + Clocks,
> Store for T
{
}

pub type Result<T, E = StoreError> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The lease passed to another worker, or the job was stopped; the caller must drop its work.
    #[error("the lease on job {0} was lost")]
    LeaseLost(JobId),
    /// The name is taken; the sentence says by what.
    #[error("{0}")]
    Taken(String),
    /// The member was removed while the request was on its way.
    #[error("{0} is no member of the organization any more; sign in again")]
    NotAMember(String),
    /// It would be no better the next time: the job cannot go on.
    #[error("an entry of the conversation {0}")]
    BadEntry(String),
    #[error(transparent)]
    Open(#[from] base::sqlite::OpenError),
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The transaction was aborted (deadlock or serialization failure); it can be retried.
    #[error("the database broke the write off for the sake of another one")]
    Aborted,
    /// The machine is in trouble, such as by a full disk: the same works once it is not.
    #[error("the database cannot be used just now: {0}")]
    Machine(#[source] Trouble),
    #[error("the database did not answer: {0}")]
    Database(String),
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        // PostgreSQL's codes of a serialization failure and a deadlock.
        match error.as_database_error().and_then(|error| error.code()).as_deref() {
            Some("40001" | "40P01") => Self::Aborted,
            _ => match base::sqlite::trouble(&error).or_else(|| postgres::trouble(&error)) {
                Some(trouble) => Self::Machine(trouble),
                None => Self::Database(error.to_string()),
            },
        }
    }
}

impl From<base::sqlite::WriteError> for StoreError {
    fn from(error: base::sqlite::WriteError) -> Self {
        match error.trouble {
            Some(trouble) => Self::Machine(trouble),
            None => Self::Database(error.to_string()),
        }
    }
}
