//! `docwright import`, as `--help` tells it.

use std::path::PathBuf;

use clap::Args as Arguments;
use traffic::import::Format;

pub(super) const HELP: &str = "\
Examples:
  docwright import prj_… /var/log/nginx/access.log*
  ssh web zcat /var/log/caddy/access.log.gz | docwright import prj_… -

A line counts once, however often its file is imported, under whichever name and packed or not:
cut off half-way, the same command goes on; of a log that has grown, the new lines are added.";

#[derive(Arguments)]
pub(crate) struct Import {
    /// The project's id
    #[arg(value_name = "PROJECT")]
    pub(crate) project: String,
    /// Logs, as they are or as gzip or zstd; - is standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// combined (nginx, Apache), caddy, vercel, cloudflare or csv [default: by the first lines]
    #[arg(long, value_name = "FORMAT", value_parser = parse_format)]
    pub(crate) format: Option<Format>,
    /// A file that begins like one that was read further than this one goes is another file, and
    /// not an older copy
    #[arg(long)]
    pub(crate) distinct: bool,
    /// Print {"files"} as JSON: what became of the lines of each
    #[arg(long)]
    pub(crate) json: bool,
}

fn parse_format(name: &str) -> Result<Format, String> {
    let names = || Format::ALL.map(Format::name).join(", ");
    Format::from_name(name).ok_or_else(|| format!("the formats are {}", names()))
}
