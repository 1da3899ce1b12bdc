//! Declares `docwright pull`.

use clap::{Args as Arguments, Subcommand};

use super::Data;

#[derive(Subcommand)]
pub(crate) enum PullCommand {
    /// List the pull requests of a project, newest first
    List(ListPulls),
    /// Show a pull request with its description, commits and diff
    View(PullArgs),
    /// Merge a pull request
    Merge(MergePull),
    /// Close a pull request without merging it; its branch stays
    Close(PullArgs),
}

#[derive(Arguments)]
pub(crate) struct ListPulls {
    /// The project's ID, from `docwright project list`
    #[arg(value_name = "PROJECT")]
    pub(crate) project: String,
    /// List up to this many pull requests
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) limit: u16,
    #[command(flatten)]
    pub(crate) data: Data,
    /// Print a JSON array
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Arguments)]
pub(crate) struct PullArgs {
    /// The project's ID, from `docwright project list`
    #[arg(value_name = "PROJECT")]
    pub(crate) project: String,
    /// The pull request's number, from `docwright pull list`
    #[arg(value_name = "NUMBER")]
    pub(crate) number: u64,
    #[command(flatten)]
    pub(crate) data: Data,
    /// Print the pull request as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Arguments)]
pub(crate) struct MergePull {
    #[command(flatten)]
    pub(crate) pull: PullArgs,
    /// Merge only if this is still the newest commit: 7 or more digits of the first one that `pull view` lists
    #[arg(long = "seen", value_name = "COMMIT", value_parser = parse_commit)]
    pub(crate) newest_commit: Option<String>,
}

/// Requires enough digits that another commit is unlikely to begin with them.
fn parse_commit(text: &str) -> Result<String, &'static str> {
    let is_commit = (7..=40).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_commit { Ok(text.to_ascii_lowercase()) } else { Err("a commit must be 7 to 40 hexadecimal digits") }
}
