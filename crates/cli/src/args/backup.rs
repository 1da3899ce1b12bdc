//! `docwright backup` and `docwright restore`.

use std::path::PathBuf;

use clap::Args as Arguments;

use super::Data;

pub(super) const BACKUP_HELP: &str = "\
The backup holds both databases as they are at one moment, and the sample repositories. It does not hold caches, and
not repositories elsewhere on disk. Without --with-master-key it holds no key that opens the sealed secrets: keep a copy
of master.key apart from your backups. On PostgreSQL it holds what is in the data directory, and the command prints how
to back up the database.";

pub(super) const RESTORE_HELP: &str = "\
Everything is verified before anything is replaced. With --force, the previous content stays in a folder of the data
directory, whose name is printed. A directory that a server is using is refused, also with --force.";

#[derive(Arguments)]
pub(crate) struct Backup {
    /// A new or empty directory, or a file that ends in .tar.zst
    #[arg(value_name = "DIRECTORY|FILE.tar.zst")]
    pub(crate) to: PathBuf,
    /// Include the master key: who has the backup can open all secrets in it
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
    /// What `docwright backup` made
    #[arg(value_name = "BACKUP")]
    pub(crate) from: PathBuf,
    /// Replace what is in the data directory
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) data: Data,
    /// Print {"data", "createdAt", "masterKey", "previous", …} as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
