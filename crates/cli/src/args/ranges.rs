//! Declares `docwright ranges`.

use std::path::PathBuf;

use clap::{Args as Arguments, Subcommand};

use super::Data;

pub(super) const HELP: &str = "\
A reader that names one of these products is verified if its address is in the list of the product,
and claimed if it isn't. To add or replace a list, put PRODUCT.json into the folder `ranges` of the
data directory, and restart the server. A file is a JSON array of prefixes, or has the form that
operators publish: {\"prefixes\": [{\"ipv4Prefix\": \"20.125.66.80/28\"}]}. In proxy-NAME.json, list the
addresses of a CDN or proxy, so that agents behind it are unknown.

Exit codes: 0 all files can be used, 1 a file can't be used.";

#[derive(Arguments)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Ranges {
    #[command(subcommand)]
    pub(crate) command: Option<RangesCommand>,
    #[command(flatten)]
    pub(crate) data: Data,
    /// Print [{"name", "kind", "ranges", "source", "date"}] as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Subcommand)]
pub(crate) enum RangesCommand {
    /// Check files before you put them into the folder `ranges` of the data directory
    Check(CheckRanges),
}

#[derive(Arguments)]
pub(crate) struct CheckRanges {
    /// Files that are named after a product: ChatGPT-User.json
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
}
