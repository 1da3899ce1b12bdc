//! Stores organizations, projects, API keys, sessions, jobs with their events and conversations, pull requests of the
//! embedded host, and secrets.
//!
//! The crate has the domain types with their transitions, the storage traits, and their implementation on SQLite and
//! PostgreSQL. It knows neither HTTP nor the agent.

mod account;
mod actor;
mod backup;
mod clock;
mod coalesced;
mod conversation;
mod data_dir;
mod directory_watch;
mod encoding;
mod findings;
mod id;
mod job;
mod key;
mod move_marker;
mod name;
mod note;
mod people;
mod postgres;
mod progress;
mod prompt;
mod proposal;
mod pull;
mod queue;
mod schema;
mod secret;
mod sql;
mod sqlite;
mod suspects;
mod sweep;
mod terms;
mod transfer;
mod upkeep;
mod views_directory;

use machine::Trouble;

pub use account::{
    Accounts, Author, DEFAULT_LOGIN_NAME, FieldChange, HostApp, Hosting, HumanReads, KeyAndProject,
    LinkSession, NewProject, Organization, Project, ProjectChange, Session, Sessions,
};
pub use actor::Actor;
pub use backup::{CopiedProject, copied_projects, is_sealed_with, move_repositories};
pub use clock::Clocks;
pub use conversation::{ConversationEntry, MAX_ENTRY_BYTES, Tokens};
pub use data_dir::{DataDir, DataDirError, DataDirLock, RESTORE_DRAFT, RESTORE_PREVIOUS};
pub use directory_watch::{DirectoryLost, DirectoryWatch};
pub use findings::{
    Chore, ChoreLease, Finding, FindingCount, FindingEvent, FindingFilter, FindingJob, FindingPeriod,
    FindingSort, FindingUpdate, Findings, HurtReaders, MAX_FINDINGS, MAX_FINDINGS_PER_JOB, SiteScan,
};
pub use id::{
    FindingId, InviteId, JobId, KeyId, OrganizationId, PersonId, ProjectId, SessionId, Token, WorkerId,
};
pub use job::{
    Archived, Event, Filter, Job, JobCounts, JobStore, NewEvent, NewJob, Page, PullFilter, Status,
};
pub use key::{Allow, AllowError, ApiKey, Expiry, KeyRef, KeyText, NewKey, Scope};
pub use move_marker::MoveMarker;
pub use name::{is_invisible, parse_name};
pub use note::{Activity, Note};
pub use people::{
    AuditEntry, Invite, MemberKeys, NewAuditEntry, NewInvite, NewPerson, PasswordHash, People, Person,
    Removal, Role, parse_person_name,
};
pub use postgres::{DatabaseUrl, PostgresInspection, PostgresLedger, PostgresStore, inspect_postgres};
pub use progress::Progress;
pub use prompt::{MAX_LABEL_CHARS, MAX_PROMPT_CHARS, MAX_QUOTATIONS, Prompt, PromptError, Quotation};
pub use proposal::{ClaimKind, Proposal, ProposalHolder, Proposals};
pub use pull::{Merge, NewPull, Pull, PullState, Pulls};
pub use queue::{
    Change, Ending, LEASE, LastChange, Lease, LeaseLimits, Message, Outcome, Queue, Resume, unknown_pull,
};
pub use schema::{DATABASE_SCHEMA, POSTGRES_SCHEMA, pending_postgres_changes, pending_sqlite_changes};
pub use secret::{MasterKey, SecretError, Secrets};
pub use sqlite::SqliteStore;
pub use suspects::{MAX_DEATHS, MAX_LOOKUP_DEATHS, MAX_SUSPECT_WAIT, MIN_WORKER_AGE};
pub use sweep::{Sweep, Sweeps};
pub use terms::{IdempotencyKey, Limit, Rates, Receipt, Render, Terms, Usage};
pub use transfer::{CopiedTable, Transfer, TransferError, TransferPlan, TransferState};
pub use upkeep::Upkeep;
pub use views_directory::{SHARED_VIEWS, ViewsChoice, ViewsDirectory, ViewsHome};

/// All storage traits.
pub trait Store:
    Accounts
    + Sessions
    + People
    + Secrets
    + JobStore
    + Queue
    + Proposals
    + Rates
    + Pulls
    + Sweeps
    + Findings
    + Upkeep
    + ViewsDirectory
    + Clocks
{
}

impl<B: sql::Backend + ViewsDirectory> Store for B {}

pub type Result<T, E = StoreError> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another worker has the lease, or the job was stopped; the caller must drop its work.
    #[error("the lease on job {0} was lost")]
    LeaseLost(JobId),
    /// The name is taken. The message says by what.
    #[error("{0}")]
    Taken(String),
    /// The member was removed while the request was in flight.
    #[error("{0} is no member of the organization any more; sign in again")]
    NotAMember(String),
    /// A retry cannot help: the job cannot go on.
    #[error("an entry of the conversation {0}")]
    BadEntry(String),
    #[error(transparent)]
    Open(#[from] base::sqlite::OpenError),
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// The transaction was aborted (deadlock or serialization failure); it can be retried.
    #[error("the database aborted the transaction (deadlock or serialization failure); retry it")]
    Aborted,
    /// The machine has a problem, such as a full disk. The write can be retried when the problem is solved.
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
