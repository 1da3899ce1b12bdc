//! Declares `docwright finding`.

use clap::{Args as Arguments, Subcommand};

use super::WatchArgs;

#[derive(Subcommand)]
pub(crate) enum FindingCommand {
    /// List findings, the ones that hurt the most readers first
    List(ListFindings),
    /// Show a finding: its paths, the pages that readers may mean, and what its merge did
    View(ViewFinding),
    /// Start a job that fixes findings: docwright finding fix prj_… fnd_… --watch
    Fix(FixFindings),
    /// Dismiss a finding; it comes back only if its requests grow
    Dismiss(DismissFinding),
}

#[derive(Arguments)]
pub(crate) struct FindingArgs {
    /// The project's ID, from `docwright project list`
    #[arg(value_name = "PROJECT")]
    pub(crate) project: String,
    /// The finding's ID, from `docwright finding list`
    #[arg(value_name = "FINDING")]
    pub(crate) id: String,
}

#[derive(Arguments)]
pub(crate) struct ListFindings {
    /// The project's ID, from `docwright project list`
    #[arg(value_name = "PROJECT")]
    pub(crate) project: String,
    /// List only findings in this state
    #[arg(long, value_name = "STATE", value_parser = ["open", "proposed", "in-review", "shipped", "resolved", "persists", "dismissed"])]
    pub(crate) state: Option<String>,
    /// List only findings of this kind
    #[arg(long, value_name = "KIND", value_parser = ["not-found", "moved", "dead-link", "stale"])]
    pub(crate) kind: Option<String>,
    /// List only findings that hurt readers of this class
    #[arg(long, value_name = "CLASS", value_parser = ["human", "ai"])]
    pub(crate) class: Option<String>,
    /// Sort by this, largest first [default: score, the readers hurt per day]
    #[arg(long, value_name = "BY", value_parser = ["score", "human", "ai", "total", "newest"])]
    pub(crate) sort: Option<String>,
    /// List up to this many findings, 1 to 100
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u32>,
    /// Skip this many findings
    #[arg(long, value_name = "N")]
    pub(crate) offset: Option<u64>,
    /// Print the list as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Arguments)]
pub(crate) struct ViewFinding {
    #[command(flatten)]
    pub(crate) finding: FindingArgs,
    /// Print the finding as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Arguments)]
pub(crate) struct FixFindings {
    /// The project's ID, from `docwright project list`
    #[arg(value_name = "PROJECT")]
    pub(crate) project: String,
    /// The IDs of up to 100 findings that one job can fix, from `docwright finding list`
    #[arg(value_name = "FINDING", required = true)]
    pub(crate) ids: Vec<String>,
    /// Give the agent this instruction [default: the one for this kind of findings]
    #[arg(long, value_name = "PROMPT")]
    pub(crate) prompt: Option<String>,
    /// Use this model, which the project must allow [default: the project's]
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    #[command(flatten)]
    pub(crate) watching: WatchArgs,
    /// Print the job as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Arguments)]
pub(crate) struct DismissFinding {
    #[command(flatten)]
    pub(crate) finding: FindingArgs,
    /// Say why nothing is to be done, in up to 500 characters
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
    /// Print the finding as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
