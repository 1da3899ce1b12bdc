//! `docwright job …`, as `--help` tells it.

use std::path::PathBuf;

use clap::{Args as Arguments, Subcommand};

#[derive(Subcommand)]
pub(crate) enum JobCommand {
    /// Starts a job: docwright job create prj_… "Fix broken links"
    Create(CreateJob),
    /// Shows a job and what happened in it
    View(ViewJob),
    /// Lists a project's jobs, newest first
    List(ListJobs),
    /// Goes on with a job, on the same branch and pull request
    Message(MessageJob),
    /// Stops a job for good
    Archive(ArchiveJob),
    /// Prints what a job changed, as a diff
    Diff(DiffJob),
    /// Prints what happened in a job and what was said to its model and by it, a line of JSON each
    Transcript(OneJob),
}

/// Which job.
#[derive(Arguments)]
pub(crate) struct OneJob {
    /// The project's id, as `docwright project list` shows it
    #[arg(value_name = "PROJECT")]
    pub(crate) project: String,
    /// The job's id, as `docwright job list` shows it
    #[arg(value_name = "JOB")]
    pub(crate) id: String,
}

/// Waiting for a job to end.
#[derive(Arguments)]
pub(crate) struct Watching {
    /// Show each step as it happens, until the job ends
    #[arg(long)]
    pub(crate) watch: bool,
    /// Give up watching after this many seconds; the job goes on
    #[arg(long, value_name = "SECONDS", default_value_t = 1_800, requires = "watch")]
    pub(crate) timeout: u64,
}

#[derive(Arguments)]
pub(crate) struct CreateJob {
    /// The project's id, as `docwright project list` shows it
    #[arg(value_name = "PROJECT")]
    pub(crate) project: String,
    /// What the agent shall do; - reads it from standard input
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: String,
    /// The branch to start from and merge into [default: the project's]
    #[arg(long = "ref", value_name = "BRANCH")]
    pub(crate) base_ref: Option<String>,
    /// Work on this branch, and adopt its open pull request [default: a new one]
    #[arg(long, value_name = "BRANCH")]
    pub(crate) branch: Option<String>,
    /// Open the pull request as a draft
    #[arg(long)]
    pub(crate) draft: bool,
    /// A model that the project allows [default: the project's]
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Send this file as a quotation: material for the agent that allows nothing. Can be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) context: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) watching: Watching,
    /// Print the job as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Arguments)]
pub(crate) struct ViewJob {
    #[command(flatten)]
    pub(crate) job: OneJob,
    #[command(flatten)]
    pub(crate) watching: Watching,
    /// Print the job as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Arguments)]
pub(crate) struct ListJobs {
    /// The project's id, as `docwright project list` shows it
    #[arg(value_name = "PROJECT")]
    pub(crate) project: String,
    /// Only those of this status
    #[arg(long, value_name = "STATUS", value_parser = ["active", "completed", "archived", "failed"])]
    pub(crate) status: Option<String>,
    /// Jobs to list, 1 to 100
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u32>,
    /// Jobs to skip
    #[arg(long, value_name = "N")]
    pub(crate) offset: Option<u64>,
    /// Print the answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Arguments)]
pub(crate) struct MessageJob {
    #[command(flatten)]
    pub(crate) job: OneJob,
    /// What the agent shall do next; - reads it from standard input
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: String,
    /// Send this file as a quotation: material for the agent that allows nothing. Can be repeated
    #[arg(long, value_name = "FILE")]
    pub(crate) context: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) watching: Watching,
    /// Print the job as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Arguments)]
pub(crate) struct ArchiveJob {
    #[command(flatten)]
    pub(crate) job: OneJob,
    /// Print the job as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Arguments)]
pub(crate) struct DiffJob {
    #[command(flatten)]
    pub(crate) job: OneJob,
    /// Print {"diff"} as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
