//! JSON types of the analytics reports: series, agents, referrers, not found, redirected and live.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{PageView, Totals, schema};

/// Views over time.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Series {
    /// `hour`, `day`, `week` (from Monday) or `month`, in UTC.
    pub interval: String,
    pub totals: Totals,
    /// Every step of the range in order, including steps without views.
    pub series: Vec<Point>,
}

/// The views of one step.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Point {
    /// The start of the step.
    #[schema(format = DateTime)]
    pub at: String,
    pub human: u64,
    pub ai: u64,
    pub total: u64,
}

/// Views by class and by product, including classes that are not part of any total.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Agents {
    /// Every class, independent of `limit` and `offset`.
    pub classes: Vec<ClassViews>,
    /// Most views first, then by product.
    pub agents: Vec<AgentViews>,
    /// Whether there are more results after these.
    pub has_more: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ClassViews {
    #[schema(schema_with = schema::class)]
    pub class: String,
    pub views: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct AgentViews {
    /// The operator of the product. Null if it isn't known.
    #[schema(required)]
    pub operator: Option<String>,
    /// For example `ChatGPT-User`. Unknown products are grouped as `(browsers)`, `(other bots)`, `(other
    /// tools)` and `(no user agent)`.
    pub product: String,
    #[schema(schema_with = schema::class)]
    pub class: String,
    pub views: u64,
    /// Views from the addresses that the operator publishes for the product.
    #[serde(default)]
    pub verified: u64,
    /// Views with the name of the product from other addresses.
    #[serde(default)]
    pub claimed: u64,
    /// Views whose address can't be compared: there was none, it belongs to a known proxy, or the operator
    /// publishes none.
    #[serde(default)]
    pub unknown: u64,
}

/// Views by referring host.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Referrers {
    /// Totals over all hosts, independent of `limit` and `offset`.
    pub totals: Totals,
    /// Most views first, then by host.
    pub referrers: Vec<Referrer>,
    /// Whether there are more results after these.
    pub has_more: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Referrer {
    /// `(none)` for views without a referrer, `(other)` for hosts beyond the maximum.
    pub host: String,
    /// The operator of the AI assistant at this host, such as `OpenAI`. Null for other hosts.
    #[serde(default)]
    #[schema(required)]
    pub ai_referral: Option<String>,
    pub human: u64,
    pub ai: u64,
    pub total: u64,
}

/// What the operators of AI assistants read, and the readers whom their assistants send.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct AiReferrals {
    /// Most referrals first. Operators without views and referrals are left out.
    pub operators: Vec<OperatorReferrals>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OperatorReferrals {
    pub operator: String,
    /// Views by assistants and AI crawlers of the operator.
    pub views: u64,
    /// Human views that came from an assistant of the operator.
    pub referrals: u64,
    /// `views` divided by `referrals`. Null without referrals.
    #[schema(required)]
    pub views_per_referral: Option<f64>,
}

/// Requests for missing pages (404, 410).
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NotFound {
    /// Totals over all missing pages, independent of `limit` and `offset`.
    pub totals: Totals,
    /// Most requests first, then by path.
    pub not_found: Vec<MissingPage>,
    /// Whether there are more results after these.
    pub has_more: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct MissingPage {
    pub path: String,
    pub human: u64,
    pub ai: u64,
    pub total: u64,
    /// The top referring pages; at most five.
    pub referrers: Vec<LinkingPage>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = SentFrom)]
pub struct LinkingPage {
    /// Host and path of the page with the link.
    pub referrer: String,
    pub views: u64,
}

/// Requests that were redirected (301, 302, 303, 307, 308).
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Redirected {
    /// Totals over all redirected paths, independent of `limit` and `offset`.
    pub totals: Totals,
    /// Most requests first, then by path.
    pub redirected: Vec<PageView>,
    /// Whether there are more results after these.
    pub has_more: bool,
}

/// The last 30 minutes.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Live {
    /// Distinct readers in the last 30 minutes.
    pub readers: Totals,
    pub views: Totals,
    /// In order. The last one is the current minute.
    #[schema(min_items = 30, max_items = 30)]
    pub minutes: Vec<Point>,
    /// The ten most-viewed pages.
    pub pages: Vec<PageView>,
}

/// The result of one step of reclassifying.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = Reclassified)]
pub struct ReclassifyResult {
    /// Processed views.
    pub events: u64,
    /// Views whose class changed.
    pub changed: u64,
    /// The version of the agent table.
    pub table: String,
    /// The `dateFrom` of the next step. Null when all is done.
    #[schema(required, format = Date)]
    pub next: Option<String>,
}

/// A request to remove the views of some paths.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ForgetPaths {
    /// A case-sensitive glob for whole paths: `*` matches within a folder, `**` across folders, `{a,b}`
    /// either one.
    #[schema(min_length = 1, max_length = 2000, pattern = "^/")]
    pub path: String,
    /// Count the views without removing them.
    #[serde(default)]
    pub dry_run: bool,
}

/// The result of one step of removing paths.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = Forgotten)]
pub struct RemovalResult {
    /// Removed views.
    pub views: u64,
    /// Pages whose names were removed. Only the last step removes names.
    pub pages: u64,
    /// The `dateFrom` of the next step. Null when all is done.
    #[schema(required, format = Date)]
    pub next: Option<String>,
}
