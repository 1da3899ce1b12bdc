//! Declares `docwright import`.

use std::path::PathBuf;

use clap::Args as Arguments;
use traffic::import::Format;

pub(super) const HELP: &str = "\
Examples:
  docwright import prj_… /var/log/nginx/access.log*
  ssh web zcat /var/log/caddy/access.log.gz | docwright import prj_… -

Each line counts once, however often you import its file, under any name, compressed or not. If
an import is interrupted, run the same command again to continue. If a log has grown, only the new
lines are added.";

#[derive(Arguments)]
pub(crate) struct Import {
    /// The project's ID
    #[arg(value_name = "PROJECT")]
    pub(crate) project: String,
    /// Log files, uncompressed or compressed with gzip or zstd; - is standard input
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Read this format: combined (nginx, Apache), caddy, vercel, cloudflare or csv [default: detected]
    #[arg(long, value_name = "FORMAT", value_parser = parse_format)]
    pub(crate) format: Option<Format>,
    /// Import a file that begins like a longer one that was imported, instead of skipping it as an older copy
    #[arg(long)]
    pub(crate) distinct: bool,
    /// Print {"files"} as JSON: how many lines of each file were added or skipped
    #[arg(long)]
    pub(crate) json: bool,
}

fn parse_format(name: &str) -> Result<Format, String> {
    let names = || Format::ALL.map(Format::name).join(", ");
    Format::from_name(name).ok_or_else(|| format!("the format must be one of {}", names()))
}
