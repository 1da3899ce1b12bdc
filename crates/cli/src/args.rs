//! The command line, as `--help` tells it.

mod backup;
mod data;
mod host;
mod import;
mod job;
mod key;
mod model;
mod project;
mod pull;
mod user;
mod views;

use std::path::PathBuf;

use clap::{Args as Arguments, Parser, Subcommand};
use clap_complete::Shell;
use store::parse_name;

pub(crate) use backup::{Backup, Restore};
pub(crate) use data::{Data, quoted};
pub(crate) use host::HostArgs;
pub(crate) use import::Import;
pub(crate) use job::{
    ArchiveJob, CreateJob, DiffJob, JobCommand, ListJobs, MessageJob, OneJob, ViewJob, Watching,
};
pub(crate) use key::{CreateKey, KeyCommand, RevokeKey};
pub(crate) use model::{ListModels, ModelCommand, ModelKey, TestModel};
pub(crate) use project::{
    Changes, CreateProject, DeleteProject, HookOfProject, ProjectCommand, UpdateProject, ViewProject,
};
pub(crate) use pull::{ListPulls, MergePull, OnePull, PullCommand};
pub(crate) use user::{
    Audit, EndSession, InviteUser, RemoveUser, UserCommand, UserPassword, WithdrawInvitation,
};
pub(crate) use views::{
    Forget, Form, LiveReport, Part, Reclassify, Report, ReportCommand, SeriesReport, Views, When,
};

use crate::{log, serve};

/// An AI agent that edits your docs repository by pull request, and page views that tell
/// human readers from AI ones. Try it: docwright demo
#[derive(Parser)]
#[command(name = "docwright", version, after_help = SETTINGS_HELP)]
pub(crate) struct Args {
    /// A settings file [default: docwright/docwright.toml in the XDG configuration directory, if there is one]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const SETTINGS_HELP: &str = "\
Every setting can be a flag (--public-url), an environment variable (DOCWRIGHT_PUBLIC_URL), the
content of a file that DOCWRIGHT_PUBLIC_URL_FILE names, or a line of the settings file
(public_url = \"…\"); the first of these wins. Secrets are never flags.

Exit codes: 0 done, 1 error, 2 wrong usage, 3 the watched job failed, 4 not allowed,
5 the watched job changed nothing.";

const CHECK_HELP: &str =
    "Exit codes: 0 nothing was found, 1 something was found or the folder cannot be read.";

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Shows the whole thing with nothing set up: a sample docs repository, a job, a pull request
    Demo(Demo),
    /// Runs the server: API, pages and worker
    Serve(Serve),
    /// Works off jobs beside servers that share a PostgreSQL database, and serves nothing
    Worker(WorkOnly),
    /// Prints a link that signs a browser in, once, within 15 minutes
    Login(Login),
    /// Organizations keep projects and keys apart
    Org {
        #[command(subcommand)]
        command: OrgCommand,
    },
    /// A project is a docs repository with its jobs, keys and readers
    Project {
        #[command(subcommand)]
        command: ProjectCommand,
    },
    /// API keys, for scripts and CI
    Key {
        #[command(subcommand)]
        command: KeyCommand,
    },
    /// People with an account: who they are, invited, removed
    User {
        #[command(subcommand)]
        command: UserCommand,
    },
    /// Who did what: sign-ins, keys, people, jobs, settings, merges
    Audit(Audit),
    /// The models that the settings name
    Model {
        #[command(subcommand)]
        command: ModelCommand,
    },
    /// Agent jobs, over HTTP: needs DOCWRIGHT_API_KEY, and DOCWRIGHT_URL for another server
    Job {
        #[command(subcommand)]
        command: JobCommand,
    },
    /// Pull requests of a project, on the machine that the server runs on
    Pull {
        #[command(subcommand)]
        command: PullCommand,
    },
    /// Page views, over HTTP: needs DOCWRIGHT_API_KEY, and DOCWRIGHT_URL for another server
    Views(Views),
    /// Distinct readers a day, over HTTP as `views`
    Visitors(Views),
    /// More questions about readers, over HTTP as `views`
    Report {
        #[command(subcommand)]
        command: ReportCommand,
    },
    /// Applies this version's table of agents to the raw views that are kept, over HTTP: needs a key that writes
    Reclassify(Reclassify),
    /// Removes the page views of junk paths from all reports, over HTTP: needs a key that writes
    Forget(Forget),
    /// Sends in logs of web servers, over HTTP: each line counts once, however often it is imported
    #[command(after_help = import::HELP)]
    Import(Import),
    /// Prints the API's description, OpenAPI 3.1, as a server here would serve it
    Openapi(Openapi),
    /// Checks the pages of a folder: links, anchors, images, front matter, navigation, Markdown and MDX
    #[command(after_help = CHECK_HELP)]
    Check(Check),
    /// Looks at everything that a server here needs, and says what to do about what is wrong
    Doctor(Doctor),
    /// Backs up the data directory, beside a running server
    #[command(after_help = backup::BACKUP_HELP)]
    Backup(Backup),
    /// Restores a backup into a data directory, once all of it is verified
    #[command(after_help = backup::RESTORE_HELP)]
    Restore(Restore),
    /// Prints completions for a shell: docwright completions bash
    Completions(Completions),
    /// Prints the manual as one page, or writes a page for each command
    Man(Man),
}

/// A bad value is refused where it was typed. A good one is kept as it is: it is understood
/// later, like the same setting of the environment or the file.
fn checked<T, E>(parse: fn(&str) -> Result<T, E>) -> impl Fn(&str) -> Result<String, E> + Clone {
    move |text| parse(text).map(|_| text.to_owned())
}

#[derive(Arguments)]
pub(crate) struct Demo {
    /// Exit once the pull request is there, instead of going on serving
    #[arg(long)]
    pub(crate) once: bool,
    /// Print one JSON object with the addresses and the key on standard output
    #[arg(long)]
    pub(crate) json: bool,
    /// The address to listen on [default: 127.0.0.1:4747, or a free port if that is taken]
    #[arg(long, value_name = "ADDRESS", value_parser = checked(serve::parse_listen))]
    pub(crate) listen: Option<String>,
    /// Keep the demo's data in this new directory [default: a temporary one, removed at the end]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
}

#[derive(Arguments, Default)]
pub(crate) struct Serve {
    /// The address to listen on [default: 127.0.0.1:4747]
    #[arg(long, value_name = "ADDRESS", value_parser = checked(serve::parse_listen))]
    pub(crate) listen: Option<String>,
    #[command(flatten)]
    pub(crate) data: Data,
    /// How the server is reached from outside, for links [default: the address it listens on]
    #[arg(long, value_name = "URL", value_parser = checked(server::parse_public_url))]
    pub(crate) public_url: Option<String>,
    /// A proxy whose word about a client's address is believed; can be given again
    #[arg(long, value_name = "CIDR", value_parser = checked(serve::parse_proxies))]
    pub(crate) trusted_proxy: Vec<String>,
    /// The header that the proxy writes it in: X-Forwarded-For or Forwarded [default: X-Forwarded-For]
    #[arg(long, value_name = "NAME", value_parser = checked(serve::parse_proxy_header))]
    pub(crate) proxy_header: Option<String>,
    /// Jobs and follow-ups a project may ask for within an hour [default: 100]
    #[arg(long, value_name = "N", value_parser = checked(serve::parse_number))]
    pub(crate) jobs_per_hour: Option<String>,
    /// Questions about page views an organization may ask within an hour [default: 1000]
    #[arg(long, value_name = "N", value_parser = checked(serve::parse_number))]
    pub(crate) reads_per_hour: Option<String>,
    /// Page views that browsers at one address may send within a minute [default: 300]
    #[arg(long, value_name = "N", value_parser = checked(serve::parse_number))]
    pub(crate) beacons_per_minute: Option<String>,
    /// Days for which raw page views are kept; counts by the hour stay [default: 396]
    #[arg(long, value_name = "N", value_parser = checked(serve::parse_number))]
    pub(crate) views_days: Option<String>,
    /// Megabytes of page views in memory, of all projects together [default: 256]
    #[arg(long, value_name = "N", value_parser = checked(serve::parse_number))]
    pub(crate) views_memory: Option<String>,
    /// Pages that may be new to a project within a day; more are counted as one [default: 100000]
    #[arg(long, value_name = "N", value_parser = checked(serve::parse_number))]
    pub(crate) new_pages_per_day: Option<String>,
    /// Jobs that run at once; 0 leaves them all to others on the same database [default: 4]
    #[arg(long, value_name = "N", value_parser = checked(serve::parse_count))]
    pub(crate) workers: Option<String>,
    /// Jobs of one project that run at once, on all servers together [default: as many as run]
    #[arg(long, value_name = "N", value_parser = checked(serve::parse_number))]
    pub(crate) project_jobs: Option<String>,
    /// Days for which transcripts and single steps of ended jobs are kept; 0: for ever [default: 90]
    #[arg(long, value_name = "N", value_parser = checked(serve::parse_count))]
    pub(crate) transcript_days: Option<String>,
    /// Days after which a job's own branch goes, if its pull request is merged or closed; 0: never [default: 90]
    #[arg(long, value_name = "N", value_parser = checked(serve::parse_count))]
    pub(crate) branch_days: Option<String>,
    /// Whether page views are kept here, of several servers on one database: yes or no
    /// [default: yes, unless another one keeps them]
    #[arg(long, value_name = "YES|NO", value_parser = checked(serve::parse_wish))]
    pub(crate) page_views: Option<String>,
    /// What is logged: a level, or a list such as info,access=off [default: info]
    #[arg(long, value_name = "FILTER", value_parser = checked(log::parse_filter))]
    pub(crate) log: Option<String>,
    /// How it is logged: text or json [default: text on a terminal, else json]
    #[arg(long, value_name = "FORMAT", value_parser = checked(log::parse_format))]
    pub(crate) log_format: Option<String>,
    /// Serve counts for Prometheus at /metrics, to everybody who can reach the server
    #[arg(long)]
    pub(crate) metrics: bool,
}

#[derive(Arguments)]
#[command(mut_arg("database_url", |url| url.help("The PostgreSQL database that the servers share; one with a password goes into DOCWRIGHT_DATABASE_URL")))]
pub(crate) struct WorkOnly {
    #[command(flatten)]
    pub(crate) data: Data,
    /// How the servers are reached from outside, for links to pull requests of repositories that are paths
    #[arg(long, value_name = "URL", value_parser = checked(server::parse_public_url))]
    pub(crate) public_url: Option<String>,
    /// Jobs that run at once [default: 4]
    #[arg(long, value_name = "N", value_parser = checked(serve::parse_number))]
    pub(crate) workers: Option<String>,
    /// Jobs of one project that run at once, on all servers together [default: as many as run]
    #[arg(long, value_name = "N", value_parser = checked(serve::parse_number))]
    pub(crate) project_jobs: Option<String>,
    /// What is logged: a level, or a list [default: info]
    #[arg(long, value_name = "FILTER", value_parser = checked(log::parse_filter))]
    pub(crate) log: Option<String>,
    /// How it is logged: text or json [default: text on a terminal, else json]
    #[arg(long, value_name = "FORMAT", value_parser = checked(log::parse_format))]
    pub(crate) log_format: Option<String>,
}

#[derive(Arguments)]
pub(crate) struct Login {
    /// The organization to sign in to; needed when there are several
    #[arg(long, value_name = "NAME")]
    pub(crate) organization: Option<String>,
    /// A name for the link and for the session that begins with it, such as "Ada's laptop"
    #[arg(long, value_name = "NAME", default_value = store::DEFAULT_LOGIN_NAME, value_parser = |text: &str| store::parse_name("a login link", text))]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) data: Data,
    /// How the server is reached from a browser [default: as the server itself says]
    #[arg(long, value_name = "URL", value_parser = checked(server::parse_public_url))]
    pub(crate) public_url: Option<String>,
    /// Print {"loginUrl"} as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Subcommand)]
pub(crate) enum OrgCommand {
    /// Makes an organization
    Create(CreateOrganization),
    /// Lists organizations
    List(ListOrganizations),
    /// Deletes an organization with its projects, keys and sessions, for good
    Delete(DeleteOrganization),
}

#[derive(Arguments)]
pub(crate) struct CreateOrganization {
    /// Its name
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
    /// Its name, or its id
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Really: there is no way back
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
    /// Only of this organization
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
    /// The folder that the docs are in, or the whole checkout
    #[arg(value_name = "PATH")]
    pub(crate) path: PathBuf,
    /// Print {"findings"} as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Arguments)]
pub(crate) struct Doctor {
    #[command(flatten)]
    pub(crate) data: Data,
    /// The clock is right: resume deletion that was paused because the clock jumped
    #[arg(long)]
    pub(crate) confirm_clock: bool,
    /// Print {"ok", "checks"} as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Arguments)]
pub(crate) struct Openapi {
    /// How the server is reached [default: as `serve` would say]
    #[arg(long, value_name = "URL", value_parser = checked(server::parse_public_url))]
    pub(crate) public_url: Option<String>,
}

#[derive(Arguments)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: Shell,
}

#[derive(Arguments)]
pub(crate) struct Man {
    /// Write docwright.1, docwright-job.1, docwright-job-create.1 and so on into this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}
