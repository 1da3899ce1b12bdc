//! `docwright views`, `visitors`, `report …`, `reclassify` and `forget`, as `--help` tells them.

use clap::{Args as Arguments, Subcommand};

#[derive(Subcommand)]
pub(crate) enum ReportCommand {
    /// When they read: by hour, day, week or month
    Series(SeriesReport),
    /// What reads: products, who runs them, and their class, crawlers included
    Agents(Report),
    /// Where readers come from: the hosts with the links
    Referrers(Report),
    /// What readers do not find, and the pages that sent them there
    NotFound(Views),
    /// The last 30 minutes, by minute, and the pages that are read most
    Live(LiveReport),
}

#[derive(Arguments)]
pub(crate) struct Views {
    /// The project's id
    #[arg(value_name = "PROJECT")]
    pub(crate) project: String,
    #[command(flatten)]
    pub(crate) when: When,
    /// Only pages whose path begins so: /guides/
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Option<String>,
    /// The number that is largest first: total, human or ai; or path [default: total]
    #[arg(long, value_name = "BY")]
    pub(crate) sort: Option<String>,
    #[command(flatten)]
    pub(crate) part: Part,
    #[command(flatten)]
    pub(crate) form: Form,
}

#[derive(Arguments)]
pub(crate) struct Report {
    /// The project's id
    #[arg(value_name = "PROJECT")]
    pub(crate) project: String,
    #[command(flatten)]
    pub(crate) when: When,
    #[command(flatten)]
    pub(crate) part: Part,
    #[command(flatten)]
    pub(crate) form: Form,
}

#[derive(Arguments)]
pub(crate) struct SeriesReport {
    /// The project's id
    #[arg(value_name = "PROJECT")]
    pub(crate) project: String,
    /// The length of a step, in UTC: hour, day, week or month [default: day]
    #[arg(long, value_name = "STEP")]
    pub(crate) interval: Option<String>,
    #[command(flatten)]
    pub(crate) when: When,
    /// Only pages whose path begins so: /guides/
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Option<String>,
    #[command(flatten)]
    pub(crate) form: Form,
}

#[derive(Arguments)]
pub(crate) struct LiveReport {
    /// The project's id
    #[arg(value_name = "PROJECT")]
    pub(crate) project: String,
    #[command(flatten)]
    pub(crate) form: Form,
}

#[derive(Arguments)]
pub(crate) struct Reclassify {
    /// The project's id
    #[arg(value_name = "PROJECT")]
    pub(crate) project: String,
    /// From this day on [default: from the first that raw views are kept of]
    #[arg(long, value_name = "DATE")]
    pub(crate) from: Option<String>,
    /// Print {"events", "changed", "table"} as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Arguments)]
pub(crate) struct Forget {
    /// The project's id
    #[arg(value_name = "PROJECT")]
    pub(crate) project: String,
    /// The paths, as a glob: /junk/** (quote it, or your shell expands it)
    #[arg(long, value_name = "GLOB")]
    pub(crate) path: String,
    /// Remove them without asking
    #[arg(long)]
    pub(crate) yes: bool,
    /// Print {"views", "pages", "removed"} as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Arguments)]
pub(crate) struct When {
    /// From this day or moment on: 2026-03-01, 2026-03-01T12:00:00Z
    #[arg(long, value_name = "DATE")]
    pub(crate) from: Option<String>,
    /// Before this day or moment
    #[arg(long, value_name = "DATE")]
    pub(crate) to: Option<String>,
}

#[derive(Arguments)]
pub(crate) struct Part {
    /// Rows to list, 1 to 250 [default: 50; all as CSV]
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u32>,
    /// Rows to skip
    #[arg(long, value_name = "N")]
    pub(crate) offset: Option<u64>,
}

#[derive(Arguments)]
pub(crate) struct Form {
    /// Print the answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Print it as CSV
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
}
