//! JSON types of the HTTP API, which the server and the CLI share. Their comments are descriptions in the
//! API's OpenAPI document.

mod findings;
mod reports;
mod schema;
mod transcript;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

pub use findings::{
    DismissFinding, Effect, EffectChange, EffectMeasures, Evidence, EvidenceDay, EvidencePath,
    EvidenceReferrer, Finding, FindingCount, FindingJob, FindingList, FixFindings, MergeEffect, MergeEffects,
    Period, RedirectCandidate, SummaryCount, WeeklySummary,
};
pub use reports::{
    AgentViews, Agents, AiReferrals, ClassViews, ForgetPaths, LinkingPage, Live, MissingPage, NotFound,
    OperatorReferrals, Point, ReclassifyResult, Redirected, Referrer, Referrers, RemovalResult, Series,
};
pub use transcript::{JobUsage, ModelMessage, ToolCall, ToolResult, TranscriptLine};

/// A request to create a job. Optional fields override the project's defaults.
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
    /// One of the models that the project allows. By default, the project's model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Quotations for the agent, such as logs or tickets. The agent doesn't follow instructions in them.
    /// `prompt` and `context` together can have at most 100,000 characters, including labels.
    #[schema(max_items = 20)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Vec<Quotation>>,
}

impl CreateJob {
    pub fn new(prompt: impl Into<String>) -> Self {
        Self { prompt: prompt.into(), r#ref: None, branch: None, draft: None, model: None, context: None }
    }
}

/// A follow-up message to a job. The agent continues on the same branch.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct FollowUp {
    #[schema(schema_with = schema::prompt)]
    pub prompt: String,
    /// Quotations for the agent, such as logs or tickets. The agent doesn't follow instructions in them.
    /// `prompt` and `context` together can have at most 100,000 characters, including labels.
    #[schema(max_items = 20)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Vec<Quotation>>,
}

/// Text by other people or programs, such as a log, a ticket or a page view.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Quotation {
    #[schema(schema_with = schema::label)]
    pub label: String,
    #[schema(schema_with = schema::quotation_text)]
    pub text: String,
}

/// Jobs, newest first.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobList {
    pub jobs: Vec<AgentJob>,
    /// Whether there are more results after these.
    pub has_more: bool,
}

/// An agent job. All fields are always present, except `createdBy`.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentJob {
    pub id: String,
    #[schema(schema_with = schema::status)]
    pub status: String,
    pub source: Source,
    /// The model that makes the changes.
    pub model: String,
    /// The URL of the pull request. Null during the first run, and when no change was needed.
    #[schema(required, format = "uri")]
    pub pr_link: Option<String>,
    #[schema(format = DateTime)]
    pub created_at: String,
    #[schema(required, format = DateTime)]
    pub archived_at: Option<String>,
    /// Who created the job. Null when it wasn't recorded. Missing when the response of an earlier version is
    /// replayed.
    #[serde(default)]
    pub created_by: Option<JobCreator>,
}

/// The pull request of a job.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobPull {
    #[schema(schema_with = schema::pull_state)]
    pub state: String,
    #[schema(required)]
    pub number: Option<u64>,
    #[schema(format = "uri")]
    pub url: String,
    /// The branch with the changes. Another job's branch if the job ended as `already_proposed`.
    pub head: String,
    /// The branch to merge into.
    #[schema(required)]
    pub base: Option<String>,
    /// When this state became known.
    #[schema(required, format = DateTime)]
    pub known_at: Option<String>,
    /// When the host last confirmed the state. Null if it wasn't asked since the server started.
    #[schema(required, format = DateTime)]
    pub checked_at: Option<String>,
}

/// A member of the organization, a user of a login link, or an API key.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobCreator {
    #[schema(schema_with = schema::creator)]
    pub r#type: String,
    /// The name of the member, the login link or the API key.
    pub name: String,
    /// The first characters of the API key. Null if the creator isn't a key.
    #[schema(required)]
    pub key_prefix: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Source {
    /// The URL of the repository.
    pub repository: String,
    /// The branch that the agent works on.
    pub r#ref: String,
}

/// An event of a job. `message` is for people. The other fields depend on `type`.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct JobEvent {
    /// From 1, without gaps.
    #[schema(minimum = 1)]
    pub number: u64,
    #[schema(format = DateTime)]
    pub at: String,
    /// For example `created`, `step` or `ended`.
    pub r#type: String,
    #[serde(flatten)]
    pub data: Map<String, Value>,
}

/// Views by page and by group of readers.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PageViews {
    /// Totals over all pages, independent of `limit` and `offset`.
    pub totals: Totals,
    /// Most views first, then by path.
    pub views: Vec<PageView>,
    /// Whether there are more results after these.
    pub has_more: bool,
}

/// Daily visitors by page. Each visitor counts once per day, and days are added up.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PageVisitors {
    /// Totals over all pages, independent of `limit` and `offset`.
    pub totals: Totals,
    /// Most visitors first, then by path.
    pub visitors: Vec<PageView>,
    /// Whether there are more results after these.
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

/// A page view from a server or a log. `path` or `url` is required; the other fields are optional.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ViewEvent {
    /// The page. Query, fragment, trailing slash and `index.html` are ignored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Instead of `path`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// In ISO 8601 format. By default, the current time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    /// Only `GET` requests count as views.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Only 2xx and 304 count as views.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_agent: Option<String>,
    /// Used to count visitors, and never stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ip: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub referrer: Option<String>,
    /// The `Accept` header of the request. A client that prefers `text/markdown` is not a browser.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accept: Option<String>,
    /// Events with the same ID within 7 days count once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event_id: Option<String>,
}

/// A page view from a script in the page. `path` or `url` is required. The request contains the other
/// information.
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

/// The result of `POST /v1/analytics/{projectId}/events`. `accepted` counts the events that are on disk,
/// including `duplicates`, which were there before.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = Taken)]
pub struct IngestResult {
    pub accepted: u64,
    pub duplicates: u64,
    pub rejected: Vec<RejectedEvent>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = Rejected)]
pub struct RejectedEvent {
    /// The number of the line or array item, from 1.
    pub line: u64,
    pub message: String,
}

/// How far a file was imported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ImportProgress {
    /// The number of imported bytes, uncompressed.
    pub bytes: u64,
    /// The SHA-256 hash of these bytes.
    #[schema(required)]
    pub hash: Option<String>,
}

/// An error. `error` says what happened and what to do.
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
