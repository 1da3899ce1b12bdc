//! Declares the commands, their arguments and their help.

mod backup;
mod data;
mod eval;
mod finding;
mod host;
mod import;
mod job;
mod key;
mod model;
mod move_installation;
mod project;
mod pull;
mod ranges;
mod upgrade;
mod user;
mod views;

use std::path::PathBuf;

use clap::{Args as Arguments, Parser, Subcommand};
use clap_complete::Shell;
use store::parse_name;

pub(crate) use backup::{Backup, Restore};
pub(crate) use data::{Data, quote};
pub(crate) use eval::Eval;
pub(crate) use finding::{
    DismissFinding, FindingArgs, FindingCommand, FixFindings, ListFindings, ViewFinding,
};
pub(crate) use host::HostArgs;
pub(crate) use import::Import;
pub(crate) use job::{
    ArchiveJob, CreateJob, DiffJob, JobArgs, JobCommand, ListJobs, MessageJob, ViewJob, WatchArgs,
};
pub(crate) use key::{CreateKey, KeyCommand, RevokeKey};
pub(crate) use model::{ListModels, ModelCommand, ModelKey, TestModel};
pub(crate) use move_installation::Move;
pub(crate) use project::{
    CreateProject, DeleteProject, ProjectChanges, ProjectCommand, ProjectHook, UpdateProject, ViewProject,
};
pub(crate) use pull::{ListPulls, MergePull, PullArgs, PullCommand};
pub(crate) use ranges::{CheckRanges, Ranges, RangesCommand};
pub(crate) use upgrade::Upgrade;
pub(crate) use user::{
    Audit, EndSession, InviteUser, RemoveUser, UserCommand, UserPassword, WithdrawInvitation,
};
pub(crate) use views::{
    DateRange, EffectReport, Forget, LiveReport, OutputFormat, Pagination, Reclassify, ReferralReport,
    Report, ReportCommand, SeriesReport, Views, WeeklyReport,
};

use crate::settings::{ServeFlags, WorkerFlags, parse_listen, parse_worker_count};

/// Edit your docs with an AI agent that opens pull requests, and see which humans and AI agents read them. To try it,
/// run: docwright demo
#[derive(Parser)]
#[command(name = "docwright", version, after_help = SETTINGS_HELP)]
pub(crate) struct Args {
    /// Read settings from this file [default: docwright/docwright.toml in the XDG configuration directory, if it exists]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const SETTINGS_HELP: &str = "\
You can set each setting as a flag (--public-url), as an environment variable
(DOCWRIGHT_PUBLIC_URL), as the content of the file that DOCWRIGHT_PUBLIC_URL_FILE names, or in
the settings file (public_url = \"…\"). The first one that has a value wins. Secrets are never
flags.

Exit codes: 0 done, 1 error, 2 wrong usage, 3 the watched job failed, 4 not allowed,
5 the watched job changed nothing, 6 not ready for an upgrade.";

const HEALTH_HELP: &str = "It asks the server at DOCWRIGHT_URL, or else the one that listens on this machine: at the address of the setting
listen, or at 127.0.0.1:4747. It needs no API key. The exit code is 0 if the server is ready, and 1 if it isn't.";
const CHECK_HELP: &str = "Exit codes: 0 no problems, 1 there are problems or the folder cannot be read.";

#[derive(Subcommand)]
#[expect(clippy::large_enum_variant, reason = "a process has one")]
pub(crate) enum Command {
    /// Show a sample docs repository, a job and its pull request, without any setup
    Demo(Demo),
    /// Run the server: API, dashboard and worker
    Serve(Serve),
    /// Run jobs beside servers that share a PostgreSQL database, without an API or a dashboard
    Worker(Worker),
    /// Print a link that signs a browser in, once, within 15 minutes
    Login(Login),
    /// Manage organizations, which keep projects, members and API keys apart
    Org {
        #[command(subcommand)]
        command: OrgCommand,
    },
    /// Manage projects: a docs repository with its jobs, API keys and readers
    Project {
        #[command(subcommand)]
        command: ProjectCommand,
    },
    /// Manage API keys, for scripts and CI
    Key {
        #[command(subcommand)]
        command: KeyCommand,
    },
    /// Manage members: invite and remove them, set passwords, end sessions
    User {
        #[command(subcommand)]
        command: UserCommand,
    },
    /// Show who did what: sign-ins, API keys, members, jobs, settings, merges
    Audit(Audit),
    /// List and test the models in the settings, and store their keys
    Model {
        #[command(subcommand)]
        command: ModelCommand,
    },
    /// Compare models on tasks of your own docs, without publishing anything
    #[command(after_help = eval::HELP)]
    Eval(Eval),
    /// Start and follow agent jobs, over HTTP: set DOCWRIGHT_API_KEY, and DOCWRIGHT_URL for another server
    Job {
        #[command(subcommand)]
        command: JobCommand,
    },
    /// Show what hurts readers, and start jobs that fix it, over HTTP like `job`
    Finding {
        #[command(subcommand)]
        command: FindingCommand,
    },
    /// Review and merge pull requests of a project, on the machine that the server runs on
    Pull {
        #[command(subcommand)]
        command: PullCommand,
    },
    /// Show page views, over HTTP: set DOCWRIGHT_API_KEY, and DOCWRIGHT_URL for another server
    Views(Views),
    /// Show distinct visitors per day, over HTTP like `views`
    Visitors(Views),
    /// Show other reports about readers, over HTTP like `views`
    Report {
        #[command(subcommand)]
        command: ReportCommand,
    },
    /// Apply this version's table of user agents to the stored raw views, over HTTP: needs an API key with the scope
    /// write
    Reclassify(Reclassify),
    /// Remove the page views of junk paths from all reports, over HTTP: needs an API key with the scope write
    Forget(Forget),
    /// Import logs of web servers, over HTTP: each line counts once, however often you import it
    #[command(after_help = import::HELP)]
    Import(Import),
    /// Print the OpenAPI 3.1 description of the API, as a server with these settings serves it
    Openapi(Openapi),
    /// Check the pages of a folder: links, anchors, images, front matter, navigation, Markdown and MDX
    #[command(after_help = CHECK_HELP)]
    Check(Check),
    /// List the address ranges that verify agents, and check files with new ones
    #[command(after_help = ranges::HELP)]
    Ranges(Ranges),
    /// Ask a running server whether it can do its work, as a container's health check
    #[command(after_help = HEALTH_HELP)]
    Health,
    /// Check everything that a server on this machine needs, and say how to fix each problem
    Doctor(Doctor),
    /// Check what an upgrade to this version would change, and whether you can go back
    #[command(after_help = upgrade::HELP)]
    Upgrade(Upgrade),
    /// Back up the data directory while the server runs
    #[command(after_help = backup::BACKUP_HELP)]
    Backup(Backup),
    /// Verify a backup, then restore it into a data directory
    #[command(after_help = backup::RESTORE_HELP)]
    Restore(Restore),
    /// Move an installation from SQLite to PostgreSQL, while its server is stopped
    #[command(after_help = move_installation::HELP)]
    Move(Move),
    /// Print a completion script for your shell: docwright completions bash
    Completions(Completions),
    /// Print the manual as one page, or write one page for each command
    Man(Man),
}

/// Refuses an invalid value of a flag, and keeps a valid one as text: settings from all sources are parsed later, in
/// the same way.
fn checked<T, E>(parse: fn(&str) -> Result<T, E>) -> impl Fn(&str) -> Result<String, E> + Clone {
    move |text| parse(text).map(|_| text.to_owned())
}

#[derive(Arguments)]
pub(crate) struct Demo {
    /// Exit after the pull request is open, instead of serving on
    #[arg(long)]
    pub(crate) once: bool,
    /// Print the addresses and the API key as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Listen on this address [default: 127.0.0.1:4747, or a free port if that one is taken]
    #[arg(long, value_name = "ADDRESS", value_parser = checked(parse_listen))]
    pub(crate) listen: Option<String>,
    /// Keep the data of the demo in this new directory [default: a temporary directory, removed at the end]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
}

#[derive(Arguments)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) data: Data,
    /// With `--page-views yes`: start even though this data directory lacks the page views of the database, and give them up
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) settings: ServeFlags,
}

#[derive(Arguments)]
#[command(mut_arg("database_url", |arg| arg.help("Use this PostgreSQL database, which the servers share; if the URL has a password, set DOCWRIGHT_DATABASE_URL instead of the flag")))]
#[command(mut_arg("workers", |arg| arg.value_parser(checked(parse_worker_count))))]
#[command(mut_arg("public_url", |arg| arg.help("Use this URL of the servers in links to pull requests of repositories on this machine")))]
pub(crate) struct Worker {
    #[command(flatten)]
    pub(crate) data: Data,
    #[command(flatten)]
    pub(crate) settings: WorkerFlags,
}

#[derive(Arguments)]
pub(crate) struct Login {
    /// Sign in to this organization; required if there are several
    #[arg(long, value_name = "NAME")]
    pub(crate) organization: Option<String>,
    /// Name the link and its session, for example "Ada's laptop"
    #[arg(long, value_name = "NAME", default_value = store::DEFAULT_LOGIN_NAME, value_parser = |text: &str| store::parse_name("a login link", text))]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) data: Data,
    /// Use this URL of the server in the link [default: the server's own public URL]
    #[arg(long, value_name = "URL", value_parser = checked(server::parse_public_url))]
    pub(crate) public_url: Option<String>,
    /// Print {"loginUrl"} as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Subcommand)]
pub(crate) enum OrgCommand {
    /// Create an organization
    Create(CreateOrganization),
    /// List organizations
    List(ListOrganizations),
    /// Delete an organization with its projects, API keys and sessions, for good
    Delete(DeleteOrganization),
}

#[derive(Arguments)]
pub(crate) struct CreateOrganization {
    /// The name of the organization
    #[arg(long, value_name = "NAME", value_parser = |text: &str| parse_name("an organization", text))]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) data: Data,
    /// Print the organization as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Arguments)]
pub(crate) struct DeleteOrganization {
    /// The name or the ID of the organization
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Confirm: you can't undo this
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) data: Data,
}

#[derive(Arguments)]
pub(crate) struct ListOrganizations {
    #[command(flatten)]
    pub(crate) data: Data,
    /// Print a JSON array
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Arguments)]
pub(crate) struct List {
    /// List only this organization
    #[arg(long, value_name = "NAME")]
    pub(crate) organization: Option<String>,
    #[command(flatten)]
    pub(crate) data: Data,
    /// Print a JSON array
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Arguments)]
pub(crate) struct Check {
    /// The folder with the docs, or the whole checkout
    #[arg(value_name = "PATH")]
    pub(crate) path: PathBuf,
    /// Print the problems as JSON: {"findings"}
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Arguments)]
pub(crate) struct Doctor {
    #[command(flatten)]
    pub(crate) data: Data,
    /// Confirm that the clock is right, and resume deletion that was paused because the clock jumped
    #[arg(long)]
    pub(crate) confirm_clock: bool,
    /// Print {"ok", "checks"} as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Arguments)]
pub(crate) struct Openapi {
    /// Describe the API at this URL of the server [default: the public URL of `serve`]
    #[arg(long, value_name = "URL", value_parser = checked(server::parse_public_url))]
    pub(crate) public_url: Option<String>,
}

#[derive(Arguments)]
pub(crate) struct Completions {
    /// The shell that you use
    #[arg(value_name = "SHELL")]
    pub(crate) shell: Shell,
}

#[derive(Arguments)]
pub(crate) struct Man {
    /// Write docwright.1, docwright-job.1, docwright-job-create.1 and so on to this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}
