//! Declares `docwright upgrade`.

use std::path::PathBuf;

use clap::Args as Arguments;

use super::Data;

pub(super) const HELP: &str = "\
Before you start a new version, run its `docwright upgrade --check`: the new `docwright serve`
upgrades the data when it starts. The check reads both databases, verifies the last backup, and
changes nothing in the data directory. To verify the backup, it unpacks a copy into the temporary
directory (TMPDIR), and removes that copy in the end.

Exit codes: 0 ready, 1 the data directory or the settings cannot be used, 2 wrong usage,
6 not ready: do what the lines marked `fail` say first.";

#[derive(Arguments)]
pub(crate) struct Upgrade {
    /// Say what the first start of this version changes, and what to do before it
    #[arg(long)]
    pub(crate) check: bool,
    /// The data directory, like --data
    #[arg(value_name = "DATA", conflicts_with = "data")]
    directory: Option<PathBuf>,
    /// Verify this backup instead of the last one that `docwright backup` created
    #[arg(long, value_name = "BACKUP")]
    pub(crate) backup: Option<PathBuf>,
    #[command(flatten)]
    data: Data,
    /// Print {"ready", "docwright", "data", "databases", "backup", "checks", …} as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl Upgrade {
    /// The flags for the data, whichever way the data directory was named.
    pub(crate) fn data(&self) -> Data {
        let data = self.directory.clone().or_else(|| self.data.data.clone());
        Data { data, ..self.data.clone() }
    }
}
