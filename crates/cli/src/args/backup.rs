//! Declares `docwright backup` and `docwright restore`.

use std::path::PathBuf;

use clap::Args as Arguments;

use super::Data;

pub(super) const BACKUP_HELP: &str = "\
The backup has both databases, as of one moment, and the sample repositories. It doesn't have
caches or repositories elsewhere on disk. Without --with-master-key, it has no key to decrypt its
secrets: keep a copy of master.key apart from your backups. With PostgreSQL, it has what is in the
data directory, and the command prints how to back up the database.";

pub(super) const RESTORE_HELP: &str = "\
The command verifies everything before it replaces anything. With --force, it moves the previous
content to a folder in the data directory and prints its name. It refuses a directory that a
server is using, even with --force.";

#[derive(Arguments)]
pub(crate) struct Backup {
    /// A new or empty directory, or a new file whose name ends in .tar.zst
    #[arg(value_name = "DIRECTORY|FILE.tar.zst")]
    pub(crate) to: PathBuf,
    /// Include the master key: everyone who has the backup can then decrypt its secrets
    #[arg(long)]
    pub(crate) with_master_key: bool,
    #[command(flatten)]
    pub(crate) data: Data,
    /// Print {"backup", "bytes", "files", "masterKey", "notIncluded", …} as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Arguments)]
pub(crate) struct Restore {
    /// The directory or file that `docwright backup` created
    #[arg(value_name = "BACKUP")]
    pub(crate) from: PathBuf,
    /// Replace the content of the data directory
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) data: Data,
    /// Print {"data", "createdAt", "masterKey", "previous", …} as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
