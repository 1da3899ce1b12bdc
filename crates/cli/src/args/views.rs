//! Declares `docwright views`, `visitors`, `report`, `reclassify` and `forget`.

use clap::{Args as Arguments, Subcommand};

#[derive(Subcommand)]
pub(crate) enum ReportCommand {
    /// Show views by hour, day, week or month
    Series(SeriesReport),
    /// Show which programs read, who operates them, and their class, including crawlers
    Agents(Report),
    /// Show the hosts that readers come from
    Referrers(Report),
    /// Show what the operators of AI assistants read, and the readers whom their assistants send
    AiReferrals(ReferralReport),
    /// Show paths that were not found, and the pages that link to them
    NotFound(Views),
    /// Show paths that were redirected
    Redirected(Views),
    /// Show the readers and the most viewed pages of the last 30 minutes; with --json, also views by minute
    Live(LiveReport),
    /// Show what merged pull requests did for the readers of the pages that they changed
    Effect(EffectReport),
    /// Show a week: readers, new and resolved findings, and what merges did
    Weekly(WeeklyReport),
}

#[derive(Arguments)]
pub(crate) struct Views {
    /// The project's ID
    #[arg(value_name = "PROJECT")]
    pub(crate) project: String,
    #[command(flatten)]
    pub(crate) dates: DateRange,
    /// Show only pages whose path begins with this text: /guides/
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Option<String>,
    /// Sort by total, human or ai, largest first; or by path [default: total]
    #[arg(long, value_name = "BY")]
    pub(crate) sort: Option<String>,
    #[command(flatten)]
    pub(crate) pagination: Pagination,
    #[command(flatten)]
    pub(crate) format: OutputFormat,
}

#[derive(Arguments)]
pub(crate) struct Report {
    /// The project's ID
    #[arg(value_name = "PROJECT")]
    pub(crate) project: String,
    #[command(flatten)]
    pub(crate) dates: DateRange,
    #[command(flatten)]
    pub(crate) pagination: Pagination,
    #[command(flatten)]
    pub(crate) format: OutputFormat,
}

#[derive(Arguments)]
pub(crate) struct SeriesReport {
    /// The project's ID
    #[arg(value_name = "PROJECT")]
    pub(crate) project: String,
    /// Show one row per hour, day, week or month, in UTC [default: day]
    #[arg(long, value_name = "STEP")]
    pub(crate) interval: Option<String>,
    #[command(flatten)]
    pub(crate) dates: DateRange,
    /// Show only pages whose path begins with this text: /guides/
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Option<String>,
    #[command(flatten)]
    pub(crate) format: OutputFormat,
}

#[derive(Arguments)]
pub(crate) struct ReferralReport {
    /// The project's ID
    #[arg(value_name = "PROJECT")]
    pub(crate) project: String,
    #[command(flatten)]
    pub(crate) dates: DateRange,
    #[command(flatten)]
    pub(crate) format: OutputFormat,
}

#[derive(Arguments)]
pub(crate) struct LiveReport {
    /// The project's ID
    #[arg(value_name = "PROJECT")]
    pub(crate) project: String,
    #[command(flatten)]
    pub(crate) format: OutputFormat,
}

#[derive(Arguments)]
pub(crate) struct EffectReport {
    /// The project's ID
    #[arg(value_name = "PROJECT")]
    pub(crate) project: String,
    #[command(flatten)]
    pub(crate) dates: DateRange,
    /// List up to this many merges, 1 to 50 [default: 20]
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u32>,
    /// Skip this many merges
    #[arg(long, value_name = "N")]
    pub(crate) offset: Option<u64>,
    /// Print the report as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Arguments)]
pub(crate) struct WeeklyReport {
    /// The project's ID
    #[arg(value_name = "PROJECT")]
    pub(crate) project: String,
    /// Show the week of this day, Monday to Sunday [default: the last week that is over]
    #[arg(long, value_name = "DATE")]
    pub(crate) week: Option<String>,
    /// Print the report as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Arguments)]
pub(crate) struct Reclassify {
    /// The project's ID
    #[arg(value_name = "PROJECT")]
    pub(crate) project: String,
    /// Begin with this day [default: the first day that has raw views]
    #[arg(long, value_name = "DATE")]
    pub(crate) from: Option<String>,
    /// Print {"events", "changed", "table"} as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Arguments)]
pub(crate) struct Forget {
    /// The project's ID
    #[arg(value_name = "PROJECT")]
    pub(crate) project: String,
    /// Remove paths that match this glob: /junk/** (quote it, or your shell expands it)
    #[arg(long, value_name = "GLOB")]
    pub(crate) path: String,
    /// Remove the views without asking
    #[arg(long)]
    pub(crate) yes: bool,
    /// Print {"views", "pages", "removed"} as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Arguments)]
pub(crate) struct DateRange {
    /// Begin with this day or time: 2026-03-01, 2026-03-01T12:00:00Z
    #[arg(long, value_name = "DATE")]
    pub(crate) from: Option<String>,
    /// End before this day or time
    #[arg(long, value_name = "DATE")]
    pub(crate) to: Option<String>,
}

#[derive(Arguments)]
pub(crate) struct Pagination {
    /// List up to this many rows, 1 to 250 [default: 50; with --csv, all]
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u32>,
    /// Skip this many rows
    #[arg(long, value_name = "N")]
    pub(crate) offset: Option<u64>,
}

#[derive(Arguments)]
pub(crate) struct OutputFormat {
    /// Print the report as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the report as CSV
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
}
