//! The JSON of the HTTP API: what the server writes and the command line reads. No I/O.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// `POST /v2/agent/{projectId}/job`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CreateJob {
    pub prompt: String,
    /// The branch to start from and merge into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r#ref: Option<String>,
    /// Work on this head, and adopt its open pull request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl CreateJob {
    pub fn new(prompt: impl Into<String>) -> Self {
        Self { prompt: prompt.into(), r#ref: None, branch: None, draft: None, model: None }
    }
}

/// `POST /v2/agent/{projectId}/job/{id}/message`
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FollowUp {
    pub prompt: String,
}

/// `GET /v2/agent/{projectId}/jobs`
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobList {
    pub jobs: Vec<AgentJob>,
    pub has_more: bool,
}

/// An agent job, with exactly these fields, every one always there.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentJob {
    pub id: String,
    /// `active`, `completed`, `archived` or `failed`.
    pub status: String,
    pub source: Source,
    pub model: String,
    pub pr_link: Option<String>,
    pub created_at: String,
    pub archived_at: Option<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Source {
    pub repository: String,
    pub r#ref: String,
}

/// Something that happened to a job; `data` holds `message` and what else there is to say.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct JobEvent {
    pub number: u64,
    pub at: String,
    pub r#type: String,
    #[serde(flatten)]
    pub data: Map<String, Value>,
}

/// `GET /v1/analytics/{projectId}/views`
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PageViews {
    pub totals: Totals,
    pub views: Vec<PageView>,
    pub has_more: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Totals {
    pub human: u64,
    pub ai: u64,
    pub total: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PageView {
    pub path: String,
    pub human: u64,
    pub ai: u64,
    pub total: u64,
}

/// One page view as a server or a log reports it: `path` or `url`, the rest as far as known.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ViewEvent {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ip: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub referrer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accept: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event_id: Option<String>,
}

/// The answer to `POST /v1/analytics/{projectId}/events`: `accepted` are on disk or were
/// there already; `duplicates` says how many of them were there already.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Taken {
    pub accepted: u64,
    pub duplicates: u64,
    pub rejected: Vec<Rejected>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Rejected {
    /// Counted from 1, in lines or in the array's items.
    pub line: u64,
    pub message: String,
}

/// The one shape of an error. The code for machines is the header `X-Error-Code`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Error {
    pub error: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub details: Vec<Detail>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Detail {
    pub message: String,
}
