//! `docwright project …`, as `--help` tells it.

use clap::{ArgGroup, Args as Arguments, Subcommand};
use store::{HumanReads, parse_name};

use super::{Data, HostArgs, List};

#[derive(Subcommand)]
pub(crate) enum ProjectCommand {
    /// Makes a project from a git repository, on a host or on this machine
    Create(CreateProject),
    /// Lists projects
    List(List),
    /// Shows a project
    View(ViewProject),
    /// Changes a project; the next job and the next page view go by it
    #[command(override_usage = "docwright project update [OPTIONS] <PROJECT>")]
    Update(UpdateProject),
    /// Deletes a project with its jobs, page views and secrets, for good; its repository stays as it is
    Delete(DeleteProject),
    /// Shows where a repository host is to send its events, and the secret to sign them with
    Hook(HookOfProject),
}

#[derive(Arguments)]
pub(crate) struct DeleteProject {
    /// The project's id, as `docwright project list` shows it
    #[arg(value_name = "PROJECT")]
    pub(crate) id: String,
    /// Really: there is no way back
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) data: Data,
}

#[derive(Arguments)]
pub(crate) struct HookOfProject {
    /// The project's id, as `docwright project list` shows it
    #[arg(value_name = "PROJECT")]
    pub(crate) id: String,
    /// Make a new secret; the old one stops to work
    #[arg(long)]
    pub(crate) rotate: bool,
    #[command(flatten)]
    pub(crate) data: Data,
    /// Print them as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Arguments)]
pub(crate) struct CreateProject {
    /// Its name
    #[arg(long, value_name = "NAME", value_parser = named)]
    pub(crate) name: String,
    /// The docs repository: https://github.com/acme/docs, or a path on this machine
    #[arg(long, value_name = "URL|PATH")]
    pub(crate) repository: String,
    /// The organization it belongs to; needed when there are several
    #[arg(long, value_name = "NAME")]
    pub(crate) organization: Option<String>,
    /// The branch to start from and merge into [default: the repository's default branch]
    #[arg(long = "ref", value_name = "BRANCH")]
    pub(crate) base_ref: Option<String>,
    /// The folder of the repository that holds the docs [default: all of it]
    #[arg(long, value_name = "DIR", value_parser = server::parse_docs_path)]
    pub(crate) docs_path: Option<String>,
    /// An address of the docs site, such as https://docs.acme.dev; can be given again
    #[arg(long, value_name = "ORIGIN", value_parser = parse_site)]
    pub(crate) site: Vec<String>,
    /// The model that edits: offline needs no account and no network
    #[arg(long, value_name = "NAME", default_value = "offline")]
    pub(crate) model: String,
    /// A model that a job may name beside that one; can be given again [default: every one of the server]
    #[arg(long, value_name = "NAME")]
    pub(crate) allow_model: Vec<String>,
    /// A glob of files that jobs may change although they are refused, such as .github/workflows/*.yml; can be given again
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
    /// The project's id, as `docwright project list` shows it
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
    /// The project's id, as `docwright project list` shows it
    #[arg(value_name = "PROJECT")]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) changes: Changes,
    #[command(flatten)]
    pub(crate) host: HostArgs,
    #[command(flatten)]
    pub(crate) data: Data,
    /// Print the project as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// At least one of these is to change.
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

/// What is not named stays as it is.
#[derive(Arguments)]
pub(crate) struct Changes {
    /// A new name
    #[arg(long, value_name = "NAME", value_parser = named)]
    pub(crate) name: Option<String>,
    /// Where the docs repository is now
    #[arg(long, value_name = "URL|PATH")]
    pub(crate) repository: Option<String>,
    /// The branch to start from and merge into; "" is the repository's default branch
    #[arg(long = "ref", value_name = "BRANCH")]
    pub(crate) base_ref: Option<String>,
    /// The folder that holds the docs; "" is all of the repository
    #[arg(long, value_name = "DIR", value_parser = parse_docs_path)]
    pub(crate) docs_path: Option<String>,
    /// An address of the docs site; can be given again. These take the place of all there were; "" is none
    #[arg(long, value_name = "ORIGIN", value_parser = parse_site)]
    pub(crate) site: Vec<String>,
    /// The model that edits
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// A model that a job may name beside that one; can be given again. These take the place of all there were; "" is every one of the server
    #[arg(long, value_name = "NAME")]
    pub(crate) allow_model: Vec<String>,
    /// A glob of files that jobs may change although they are refused; can be given again. These take the place of all there were; "" is none
    #[arg(long, value_name = "GLOB", value_parser = parse_allow_path)]
    pub(crate) allow_path: Vec<String>,
    /// Who is believed about human readers, so that none counts twice: beacon, server or both
    #[arg(long, value_name = "WHO")]
    pub(crate) human_reads: Option<HumanReads>,
}

fn named(text: &str) -> Result<String, String> {
    parse_name("a project", text)
}

/// An empty one says that there is none.
fn parse_site(text: &str) -> Result<String, String> {
    let site = if text.is_empty() { Some(String::new()) } else { server::parse_site(text) };
    site.ok_or_else(|| format!("`{text}` is no site; one is https://docs.acme.dev, without a path"))
}

fn parse_allow_path(text: &str) -> Result<String, String> {
    if text.is_empty() { Ok(String::new()) } else { server::parse_allow_path(text) }
}

fn parse_docs_path(text: &str) -> anyhow::Result<String> {
    if text.is_empty() { Ok(String::new()) } else { server::parse_docs_path(text) }
}
