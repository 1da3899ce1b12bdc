//! Declares `docwright project`.

use clap::{ArgGroup, Args as Arguments, Subcommand};
use store::{HumanReads, parse_name};

use super::{Data, HostArgs, List};

#[derive(Subcommand)]
pub(crate) enum ProjectCommand {
    /// Create a project from a git repository, on a host or on this machine
    Create(CreateProject),
    /// List projects
    List(List),
    /// Show a project
    View(ViewProject),
    /// Change a project: the next job and the next page view use the new values
    #[command(override_usage = "docwright project update [OPTIONS] <PROJECT>")]
    Update(UpdateProject),
    /// Delete a project with its jobs, page views and secrets, for good; its repository stays
    Delete(DeleteProject),
    /// Show the address and the secret for the webhook of the repository host
    Hook(ProjectHook),
}

#[derive(Arguments)]
pub(crate) struct DeleteProject {
    /// The project's ID, from `docwright project list`
    #[arg(value_name = "PROJECT")]
    pub(crate) id: String,
    /// Confirm: you can't undo this
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) data: Data,
}

#[derive(Arguments)]
pub(crate) struct ProjectHook {
    /// The project's ID, from `docwright project list`
    #[arg(value_name = "PROJECT")]
    pub(crate) id: String,
    /// Create a new secret; the old one stops working
    #[arg(long)]
    pub(crate) rotate: bool,
    #[command(flatten)]
    pub(crate) data: Data,
    /// Print the address and the secret as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Arguments)]
pub(crate) struct CreateProject {
    /// Name the project
    #[arg(long, value_name = "NAME", value_parser = parse_project_name)]
    pub(crate) name: String,
    /// Use this docs repository: a URL such as https://github.com/acme/docs, or a path on this machine
    #[arg(long, value_name = "URL|PATH")]
    pub(crate) repository: String,
    /// Create the project in this organization; required if there are several
    #[arg(long, value_name = "NAME")]
    pub(crate) organization: Option<String>,
    /// Start from this branch, and merge into it [default: the repository's default branch]
    #[arg(long = "ref", value_name = "BRANCH")]
    pub(crate) base_ref: Option<String>,
    /// Use this folder of the repository as the docs [default: the whole repository]
    #[arg(long, value_name = "DIR", value_parser = server::parse_docs_path)]
    pub(crate) docs_path: Option<String>,
    /// Accept page views of the docs site at this origin, for example https://docs.acme.dev. Repeat the flag for more
    #[arg(long, value_name = "ORIGIN", value_parser = parse_site)]
    pub(crate) site: Vec<String>,
    /// Edit with this model; offline needs no account and no network
    #[arg(long, value_name = "NAME", default_value = "offline")]
    pub(crate) model: String,
    /// Also let jobs use this model. Repeat the flag for more [default: every model of the server]
    #[arg(long, value_name = "NAME")]
    pub(crate) allow_model: Vec<String>,
    /// Let jobs change files that match this glob, which the guard refuses otherwise, for example
    /// .github/workflows/*.yml. Repeat the flag for more
    #[arg(long, value_name = "GLOB", value_parser = parse_allow_path)]
    pub(crate) allow_path: Vec<String>,
    #[command(flatten)]
    pub(crate) host: HostArgs,
    #[command(flatten)]
    pub(crate) data: Data,
    /// Print the project as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Arguments)]
pub(crate) struct ViewProject {
    /// The project's ID, from `docwright project list`
    #[arg(value_name = "PROJECT")]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) data: Data,
    /// Print the project as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Arguments)]
#[command(group = ArgGroup::new("change").required(true).multiple(true).args(CHANGES))]
pub(crate) struct UpdateProject {
    /// The project's ID, from `docwright project list`
    #[arg(value_name = "PROJECT")]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) changes: ProjectChanges,
    #[command(flatten)]
    pub(crate) host: HostArgs,
    #[command(flatten)]
    pub(crate) data: Data,
    /// Print the project as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// An update needs at least one of these.
const CHANGES: [&str; 15] = [
    "name",
    "repository",
    "base_ref",
    "docs_path",
    "site",
    "model",
    "allow_model",
    "allow_path",
    "human_reads",
    "token_file",
    "app_key_file",
    "host",
    "label",
    "reviewer",
    "author",
];

/// A flag that is not set changes nothing.
#[derive(Arguments)]
pub(crate) struct ProjectChanges {
    /// Rename the project
    #[arg(long, value_name = "NAME", value_parser = parse_project_name)]
    pub(crate) name: Option<String>,
    /// Use this docs repository from now on
    #[arg(long, value_name = "URL|PATH")]
    pub(crate) repository: Option<String>,
    /// Start from this branch, and merge into it; "" is the repository's default branch
    #[arg(long = "ref", value_name = "BRANCH")]
    pub(crate) base_ref: Option<String>,
    /// Use this folder of the repository as the docs; "" is the whole repository
    #[arg(long, value_name = "DIR", value_parser = parse_docs_path)]
    pub(crate) docs_path: Option<String>,
    /// Replace the origins of the docs site by this one. Repeat the flag for more; "" is none
    #[arg(long, value_name = "ORIGIN", value_parser = parse_site)]
    pub(crate) site: Vec<String>,
    /// Edit with this model
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Replace the other models that jobs may use by this one. Repeat the flag for more; "" is every model of the
    /// server
    #[arg(long, value_name = "NAME")]
    pub(crate) allow_model: Vec<String>,
    /// Replace the globs of files that jobs may change although the guard refuses them by this one. Repeat the flag for
    /// more; "" is none
    #[arg(long, value_name = "GLOB", value_parser = parse_allow_path)]
    pub(crate) allow_path: Vec<String>,
    /// Count human views from beacon (the script), server (logs) or both; if you use both sources, choose one so that
    /// no view counts twice
    #[arg(long, value_name = "WHO")]
    pub(crate) human_reads: Option<HumanReads>,
}

fn parse_project_name(text: &str) -> Result<String, String> {
    parse_name("a project", text)
}

/// An empty text stands for no site.
fn parse_site(text: &str) -> Result<String, String> {
    let site = if text.is_empty() { Some(String::new()) } else { server::parse_site(text) };
    site.ok_or_else(|| {
        format!("`{text}` is not an origin: name one without a path, such as https://docs.acme.dev")
    })
}

fn parse_allow_path(text: &str) -> Result<String, String> {
    if text.is_empty() { Ok(String::new()) } else { server::parse_allow_path(text) }
}

fn parse_docs_path(text: &str) -> anyhow::Result<String> {
    if text.is_empty() { Ok(String::new()) } else { server::parse_docs_path(text) }
}
