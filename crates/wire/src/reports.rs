//! Reports of page views: by time, by who reads, by where they come from, and what they do not find.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{PageView, Totals, schema};

/// Reads by step of time.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Series {
    /// `hour`, `day`, `week` (from Monday) or `month`, in UTC.
    pub interval: String,
    pub totals: Totals,
    /// Every step of the range, in order, those without reads, too.
    pub series: Vec<Point>,
}

/// Reads within one step of time.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Point {
    /// When the step began.
    #[schema(format = DateTime)]
    pub at: String,
    pub human: u64,
    pub ai: u64,
    pub total: u64,
}

/// What reads, and how often: of every class, also of those that are in no total.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Agents {
    /// Every class, whatever `limit` and `offset` are.
    pub classes: Vec<ClassViews>,
    /// Most reads first, then by product.
    pub agents: Vec<AgentViews>,
    /// Whether there are more after this page.
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
    /// Who runs it; null where no table knows.
    #[schema(required)]
    pub operator: Option<String>,
    /// Such as `ChatGPT-User`; `(browsers)`, `(other bots)`, `(other tools)` and `(no user agent)` are all that
    /// no table knows.
    pub product: String,
    #[schema(schema_with = schema::class)]
    pub class: String,
    pub views: u64,
}

/// Where readers came from.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Referrers {
    /// Over all hosts, whatever `limit` and `offset` are.
    pub totals: Totals,
    /// Most reads first, then by host.
    pub referrers: Vec<Referrer>,
    /// Whether there are more after this page.
    pub has_more: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Referrer {
    /// `(none)` where none was told, `(other)` where there were too many.
    pub host: String,
    pub human: u64,
    pub ai: u64,
    pub total: u64,
}

/// Pages that readers looked for and that are not there (404, 410).
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NotFound {
    /// Over all of them, whatever `limit` and `offset` are.
    pub totals: Totals,
    /// Most looked for first, then by path.
    pub not_found: Vec<MissingPage>,
    /// Whether there are more after this page.
    pub has_more: bool,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct MissingPage {
    pub path: String,
    pub human: u64,
    pub ai: u64,
    pub total: u64,
    /// The pages that sent most there; five at most.
    pub referrers: Vec<SentFrom>,
}

#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct SentFrom {
    /// Host and path of the page with the link.
    pub referrer: String,
    pub views: u64,
}

/// The last 30 minutes.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Live {
    /// Distinct readers.
    pub readers: Totals,
    pub views: Totals,
    /// In order; the last one is not over.
    #[schema(min_items = 30, max_items = 30)]
    pub minutes: Vec<Point>,
    /// The ten that are read most.
    pub pages: Vec<PageView>,
}

/// What a piece of reclassifying came to.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Reclassified {
    /// Views that were looked at.
    pub events: u64,
    /// Those of them whose class is another one now.
    pub changed: u64,
    /// The version of the table of agents.
    pub table: String,
    /// The `dateFrom` to go on with; null when all is done.
    #[schema(required, format = Date)]
    pub next: Option<String>,
}

/// The paths whose views are to be removed.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ForgetPaths {
    /// A glob over whole paths: `*` stays within a folder, `**` does not, `{a,b}` is either; case matters.
    #[schema(min_length = 1, max_length = 2000, pattern = "^/")]
    pub path: String,
    /// Remove nothing, and say what would be removed.
    #[serde(default)]
    pub dry_run: bool,
}

/// What a piece of removing paths came to.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Forgotten {
    /// Views that were removed.
    pub views: u64,
    /// Pages whose names were removed; the last piece has them.
    pub pages: u64,
    /// The `dateFrom` to go on with; null when all is done.
    #[schema(required, format = Date)]
    pub next: Option<String>,
}
