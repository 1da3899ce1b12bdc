//! Declares `docwright job`.

use std::path::PathBuf;

use clap::{Args as Arguments, Subcommand};

#[derive(Subcommand)]
pub(crate) enum JobCommand {
    /// Start a job: docwright job create prj_… "Fix broken links"
    Create(CreateJob),
    /// Show a job and its events
    View(ViewJob),
    /// List the jobs of a project, newest first
    List(ListJobs),
    /// Send a follow-up: the job continues on the same branch and pull request
    Message(MessageJob),
    /// Stop a job for good
    Archive(ArchiveJob),
    /// Print the changes of a job as a diff
    Diff(DiffJob),
    /// Print the events of a job and all messages to and from its model, one JSON object per line
    Transcript(JobArgs),
}

#[derive(Arguments)]
pub(crate) struct JobArgs {
    /// The project's ID, from `docwright project list`
    #[arg(value_name = "PROJECT")]
    pub(crate) project: String,
    /// The job's ID, from `docwright job list`
    #[arg(value_name = "JOB")]
    pub(crate) id: String,
}

#[derive(Arguments)]
pub(crate) struct WatchArgs {
    /// Show each step as it happens, until the job ends
    #[arg(long)]
    pub(crate) watch: bool,
    /// Stop watching after this many seconds; the job continues
    #[arg(long, value_name = "SECONDS", default_value_t = 1_800, requires = "watch")]
    pub(crate) timeout: u64,
}

#[derive(Arguments)]
pub(crate) struct CreateJob {
    /// The project's ID, from `docwright project list`
    #[arg(value_name = "PROJECT")]
    pub(crate) project: String,
    /// What the agent should do; - reads it from standard input
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: String,
    /// Start from this branch, and merge into it [default: the project's]
    #[arg(long = "ref", value_name = "BRANCH")]
    pub(crate) base_ref: Option<String>,
    /// Work on this branch, and use its open pull request [default: a new branch]
    #[arg(long, value_name = "BRANCH")]
    pub(crate) branch: Option<String>,
    /// Open the pull request as a draft
    #[arg(long)]
    pub(crate) draft: bool,
    /// Use this model, which the project must allow [default: the project's]
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Send this file as a quotation: the agent reads it, but nothing in it allows a change. Repeat the flag for more
    #[arg(long, value_name = "FILE")]
    pub(crate) context: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) watching: WatchArgs,
    /// Print the job as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Arguments)]
pub(crate) struct ViewJob {
    #[command(flatten)]
    pub(crate) job: JobArgs,
    #[command(flatten)]
    pub(crate) watching: WatchArgs,
    /// Print the job as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Arguments)]
pub(crate) struct ListJobs {
    /// The project's ID, from `docwright project list`
    #[arg(value_name = "PROJECT")]
    pub(crate) project: String,
    /// List only jobs with this status
    #[arg(long, value_name = "STATUS", value_parser = ["active", "completed", "archived", "failed"])]
    pub(crate) status: Option<String>,
    /// List only jobs whose pull request has this state; a failed job can have an open one
    #[arg(long, value_name = "STATE", value_parser = ["open", "merged", "closed", "none"])]
    pub(crate) pull: Option<String>,
    /// List up to this many jobs, 1 to 100
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u32>,
    /// Skip this many jobs
    #[arg(long, value_name = "N")]
    pub(crate) offset: Option<u64>,
    /// Print the list as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Arguments)]
pub(crate) struct MessageJob {
    #[command(flatten)]
    pub(crate) job: JobArgs,
    /// What the agent should do next; - reads it from standard input
    #[arg(value_name = "PROMPT")]
    pub(crate) prompt: String,
    /// Send this file as a quotation: the agent reads it, but nothing in it allows a change. Repeat the flag for more
    #[arg(long, value_name = "FILE")]
    pub(crate) context: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) watching: WatchArgs,
    /// Print the job as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Arguments)]
pub(crate) struct ArchiveJob {
    #[command(flatten)]
    pub(crate) job: JobArgs,
    /// Print the job as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Arguments)]
pub(crate) struct DiffJob {
    #[command(flatten)]
    pub(crate) job: JobArgs,
    /// Print {"diff"} as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
