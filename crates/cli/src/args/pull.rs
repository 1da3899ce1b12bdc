//! `docwright pull …`, as `--help` tells it.

use clap::{Args as Arguments, Subcommand};

use super::Data;

#[derive(Subcommand)]
pub(crate) enum PullCommand {
    /// Lists a project's pull requests, newest first
    List(ListPulls),
    /// Shows a pull request: what it says, its commits, its diff
    View(OnePull),
    /// Merges a pull request
    Merge(MergePull),
    /// Closes a pull request without merging it; its branch stays
    Close(OnePull),
}

#[derive(Arguments)]
pub(crate) struct ListPulls {
    /// The project's id, as `docwright project list` shows it
    #[arg(value_name = "PROJECT")]
    pub(crate) project: String,
    /// Pull requests to list
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) limit: u16,
    #[command(flatten)]
    pub(crate) data: Data,
    /// Print a JSON array
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Arguments)]
pub(crate) struct OnePull {
    /// The project's id, as `docwright project list` shows it
    #[arg(value_name = "PROJECT")]
    pub(crate) project: String,
    /// The pull request's number, as `docwright pull list` shows it
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
    pub(crate) pull: OnePull,
    /// Only if this is still its newest commit: the first that `pull view` lists, 7 digits of it or more
    #[arg(long, value_name = "COMMIT", value_parser = parse_seen)]
    pub(crate) seen: Option<String>,
}

/// Long enough not to be met by chance.
fn parse_seen(text: &str) -> Result<String, &'static str> {
    let sane = (7..=40).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if sane { Ok(text.to_ascii_lowercase()) } else { Err("a commit is 7 to 40 hexadecimal digits") }
}
