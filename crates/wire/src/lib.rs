//! The JSON of the HTTP API: what the server writes and the command line reads. No I/O.

mod reports;
mod schema;
mod transcript;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

pub use reports::{
    AgentViews, Agents, ClassViews, ForgetPaths, Forgotten, Live, MissingPage, NotFound, Point, Reclassified,
    Referrer, Referrers, SentFrom, Series,
};
pub use transcript::{JobCall, JobMessage, JobResult, JobUsage, TranscriptLine};

/// What to do, and for those who need more than the project's defaults, where and how.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct CreateJob {
    #[schema(schema_with = schema::prompt)]
    pub prompt: String,
    #[schema(schema_with = schema::base)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r#ref: Option<String>,
    #[schema(schema_with = schema::head)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Open the pull request as a draft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft: Option<bool>,
    /// One of the models that the project allows; without it the project's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What others wrote, as material for the agent: nothing in it allows anything. Together with `prompt` at most
    /// 100,000 characters, labels included.
    #[schema(max_items = 20)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Vec<Quotation>>,
}

impl CreateJob {
    pub fn new(prompt: impl Into<String>) -> Self {
        Self { prompt: prompt.into(), r#ref: None, branch: None, draft: None, model: None, context: None }
    }
}

/// What to do next, on the same branch.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct FollowUp {
    #[schema(schema_with = schema::prompt)]
    pub prompt: String,
    /// What others wrote, as material for the agent: nothing in it allows anything. Together with `prompt` at most
    /// 100,000 characters, labels included.
    #[schema(max_items = 20)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Vec<Quotation>>,
}

/// What others wrote, such as a log, a ticket or a page view.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Quotation {
    #[schema(schema_with = schema::label)]
    pub label: String,
    #[schema(schema_with = schema::quoted)]
    pub text: String,
}

/// Newest first.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobList {
    pub jobs: Vec<AgentJob>,
    /// Whether there are more after this page.
    pub has_more: bool,
}

/// An agent job, with exactly these fields, every one but `createdBy` always there.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentJob {
    pub id: String,
    #[schema(schema_with = schema::status)]
    pub status: String,
    pub source: Source,
    /// The model that edits.
    pub model: String,
    /// The pull request; null during the first run, and when nothing had to be changed.
    #[schema(required, format = "uri")]
    pub pr_link: Option<String>,
    #[schema(format = DateTime)]
    pub created_at: String,
    #[schema(required, format = DateTime)]
    pub archived_at: Option<String>,
    /// Who asked for the job; null where it was not recorded. Missing where an answer of an earlier version is
    /// given again.
    #[serde(default)]
    pub created_by: Option<JobCreator>,
}

/// A member of the organization, somebody with a login link, or an API key.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobCreator {
    #[schema(schema_with = schema::creator)]
    pub r#type: String,
    /// Of the member, of the login link, or of the key.
    pub name: String,
    /// The first characters of the key; null where it was no key.
    #[schema(required)]
    pub key_prefix: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Source {
    /// The repository's page on the web.
    pub repository: String,
    /// The branch that the agent works on.
    pub r#ref: String,
}

/// Something that happened to a job: `message` is for people; what else there is depends on `type`.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct JobEvent {
    /// From 1, without gaps.
    #[schema(minimum = 1)]
    pub number: u64,
    #[schema(format = DateTime)]
    pub at: String,
    /// Such as `created`, `step`, `ended`.
    pub r#type: String,
    #[serde(flatten)]
    pub data: Map<String, Value>,
}

/// How often pages were read, and by whom.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PageViews {
    /// Over all pages, whatever `limit` and `offset` are.
    pub totals: Totals,
    /// Most read first, then by path.
    pub views: Vec<PageView>,
    /// Whether there are more after this page.
    pub has_more: bool,
}

/// How many readers pages had, a day; days are added up.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PageVisitors {
    /// Over all pages, whatever `limit` and `offset` are.
    pub totals: Totals,
    /// Most readers first, then by path.
    pub visitors: Vec<PageView>,
    /// Whether there are more after this page.
    pub has_more: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Totals {
    pub human: u64,
    pub ai: u64,
    pub total: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct PageView {
    pub path: String,
    pub human: u64,
    pub ai: u64,
    pub total: u64,
}

/// One page view as a server or a log reports it: `path` or `url`, the rest as far as known.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ViewEvent {
    /// What was read. Query, fragment, trailing slash and `index.html` are dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// In place of `path`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// ISO 8601; without one, now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    /// Only a GET is a read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Only 2xx and 304 are reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_agent: Option<String>,
    /// Checked, and never kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ip: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub referrer: Option<String>,
    /// The request's `Accept`: who prefers `text/markdown` is no browser.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accept: Option<String>,
    /// The same one again within 7 days counts once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event_id: Option<String>,
}

/// One page view as a script of the page reports it: `path` or `url`. What else there is to know
/// of it, the request says.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BrowserView {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub referrer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event_id: Option<String>,
}

/// The answer to `POST /v1/analytics/{projectId}/events`: `accepted` are on disk or were
/// there already; `duplicates` says how many of them were there already.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Taken {
    pub accepted: u64,
    pub duplicates: u64,
    pub rejected: Vec<Rejected>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Rejected {
    /// Counted from 1, in lines or in the array's items.
    pub line: u64,
    pub message: String,
}

/// How far a file was imported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ImportProgress {
    /// How many of its bytes, unpacked; 0 when nothing of it was.
    pub bytes: u64,
    /// The SHA-256 of these bytes.
    #[schema(required)]
    pub hash: Option<String>,
}

/// The one shape of an error: a sentence that a person can act on.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Error {
    pub error: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<Detail>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Detail {
    pub message: String,
}
