//! Declares `docwright move`.

use std::path::PathBuf;

use clap::Args as Arguments;

use super::Data;
use crate::settings::help;

pub(super) const HELP: &str = "\
Stop the server first: nothing can use the installation until the move is complete. The command says
what it copies, and how long it took. If it's interrupted, run it again: it continues. At the end, it
compares both sides. The data directory stays as it is, with a file `moved` that keeps a server from
starting on the old database by mistake.

The target must be empty. Write a password into DOCWRIGHT_DATABASE_URL or DOCWRIGHT_VIEWS_URL, or
into the file that DOCWRIGHT_DATABASE_URL_FILE or DOCWRIGHT_VIEWS_URL_FILE names, and leave out the
URL behind the flag.";

#[derive(Arguments)]
pub(crate) struct Move {
    /// Move to this PostgreSQL database [default: DOCWRIGHT_DATABASE_URL]
    #[arg(long, value_name = "URL", num_args = 0..=1, default_missing_value = "", required = true)]
    pub(crate) to_postgres: String,
    /// Also move the page views, to this ClickHouse database [default: DOCWRIGHT_VIEWS_URL]. Without the flag, they stay in
    /// the data directory
    #[arg(long, value_name = "URL", num_args = 0..=1, default_missing_value = "")]
    pub(crate) views_url: Option<String>,
    #[arg(long, value_name = "DIR", help = help("data"))]
    pub(crate) data: Option<PathBuf>,
    /// Print {"to", "views", "rows", "events", "questions", "seconds", …} as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl Move {
    pub(crate) fn data(&self) -> Data {
        Data { data: self.data.clone(), database_url: None }
    }
}
