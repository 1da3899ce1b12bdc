//! Findings: what hurts the readers of the docs, and what a merge did for them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Something that hurts the readers of the docs.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    pub id: String,
    /// `not-found`, `moved`, `dead-link`, or `stale`.
    pub kind: String,
    /// The path of the site that the finding is about.
    pub subject: String,
    /// The page that the subject certainly means, if there is one.
    #[schema(required)]
    pub target: Option<String>,
    /// `open`, `proposed` (a job works on it), `in-review` (its pull request is open), `shipped`, `resolved`, `persists`,
    /// or `dismissed`.
    pub state: String,
    /// What the state alone doesn't say, such as why a finding was dismissed.
    #[schema(required)]
    pub note: Option<String>,
    /// The readers that it hurts per day, as an estimate that is comparable between kinds.
    pub score: f64,
    /// Requests by humans that failed, in the last days of the project's window. For dead links and stale pages: views of
    /// the pages that have the fault.
    pub human: u64,
    pub ai: u64,
    pub total: u64,
    /// The first and the last day of these requests.
    #[schema(required)]
    pub first_seen: Option<String>,
    #[schema(required)]
    pub last_seen: Option<String>,
    /// The job that is to fix it.
    #[schema(required)]
    pub job: Option<FindingJob>,
    #[schema(required)]
    pub merged_on: Option<String>,
    /// The day on which readers got the merged change, as far as page views show it.
    #[schema(required)]
    pub shipped_on: Option<String>,
    pub found_at: String,
    /// The last change of the state.
    pub changed_at: String,
    /// Lists leave it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// Pages that readers may have looked for, the most likely one first. Lists leave them out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidates: Option<Vec<RedirectCandidate>>,
    /// Missing in lists, and until a day has passed since the merge shipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<Effect>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FindingJob {
    pub id: String,
    pub status: String,
    #[schema(required)]
    pub pr_link: Option<String>,
    /// `open`, `merged`, or `closed`.
    #[schema(required)]
    pub pr_state: Option<String>,
}

/// The findings of a project.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FindingList {
    pub findings: Vec<Finding>,
    pub has_more: bool,
    /// The number of findings of each kind and state, whatever the filter is.
    pub counts: Vec<FindingCount>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FindingCount {
    pub kind: String,
    pub state: String,
    pub count: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
    /// Days without requests are left out.
    pub days: Vec<EvidenceDay>,
    /// The paths that the finding groups, such as `/setup` and `/Setup.md`.
    pub paths: Vec<EvidencePath>,
    /// Further paths, which aren't listed.
    pub more_paths: u64,
    pub referrers: Vec<EvidenceReferrer>,
    /// Pages that link to the subject.
    pub pages: Vec<String>,
    pub more_pages: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvidenceDay {
    pub day: String,
    pub human: u64,
    pub ai: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvidencePath {
    pub path: String,
    pub human: u64,
    pub ai: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvidenceReferrer {
    pub referrer: String,
    pub requests: u64,
}

/// A page that a path may mean.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RedirectCandidate {
    pub path: String,
    pub reason: String,
}

/// What readers did before a merge, and after it shipped: the same number of days each. It claims no cause.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Effect {
    /// The paths that are counted.
    pub paths: Vec<String>,
    /// The days of each period.
    pub days: u32,
    pub before: Period,
    pub after: Period,
    pub human: EffectMeasures,
    pub ai: EffectMeasures,
    pub total: EffectMeasures,
    /// The numbers in words, for both classes together.
    pub summary: Vec<String>,
}

/// Days in UTC, both included.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Period {
    pub first: String,
    pub last: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EffectMeasures {
    pub not_found: EffectChange,
    pub views: EffectChange,
    pub visitors: EffectChange,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EffectChange {
    pub before: u64,
    pub after: u64,
    /// The whole site. For not-found requests, all requests.
    pub site_before: u64,
    pub site_after: u64,
    /// The change of the paths divided by the change of the rest of the site, with its 95% interval.
    #[schema(required)]
    pub ratio: Option<f64>,
    #[schema(required)]
    pub ratio_low: Option<f64>,
    #[schema(required)]
    pub ratio_high: Option<f64>,
    /// `better`, `worse`, `no-change` (no change that can be told from chance), or `too-few` (too few readers to tell).
    pub verdict: String,
}

/// Merged pull requests with their effect on the pages that they changed.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MergeEffects {
    pub merges: Vec<MergeEffect>,
    pub has_more: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct MergeEffect {
    pub job: String,
    pub title: String,
    pub pr_link: String,
    pub merged_at: String,
    /// The findings that the job was to fix.
    pub findings: Vec<String>,
    /// `null` if the merge changed no page, or until a day has passed since the merge.
    #[schema(required)]
    pub effect: Option<Effect>,
}

/// Creates a job that fixes findings.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct FixFindings {
    /// The ids of the findings. Leave it out where the path names the finding.
    #[schema(max_items = 100)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<String>,
    /// Replaces the instruction that Docwright suggests for this kind of findings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// One of the models that the project allows. By default, the project's model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// Dismisses a finding.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct DismissFinding {
    /// Why nothing is to be done.
    #[schema(min_length = 1, max_length = 500)]
    pub reason: String,
}

/// A week of findings and merges.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WeeklySummary {
    /// The first and the last day, both included.
    pub week: Period,
    pub views: SummaryCount,
    pub not_found: SummaryCount,
    /// Findings that were found in the week, the ones that hurt most readers first.
    pub new: Vec<Finding>,
    /// Findings whose state changed in the week to `resolved`.
    pub resolved: Vec<Finding>,
    /// Findings whose state changed in the week to `persists`.
    pub persisting: Vec<Finding>,
    /// How many there are: the lists have at most 50.
    pub new_total: u64,
    pub resolved_total: u64,
    pub persisting_total: u64,
    /// All findings in the state `open`, now.
    pub open: u64,
    pub merges: Vec<MergeEffect>,
}

/// A count of the week, and of the week before.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SummaryCount {
    pub human: u64,
    pub ai: u64,
    pub total: u64,
    pub total_before: u64,
}
