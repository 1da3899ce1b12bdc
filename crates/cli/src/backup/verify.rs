//! Verifies a backup the way `docwright restore` does, without restoring it.

use std::io::{self, ErrorKind};
use std::path::Path;

use anyhow::{Context, ensure};
use jiff::Timestamp;
use tokio::signal::unix::{SignalKind, signal};

use super::manifest::{ID, Manifest};
use super::{disk, restore, unpack};

/// A backup that can be restored.
pub(crate) struct VerifiedBackup {
    manifest: Manifest,
    /// The backup has every write until then.
    pub(crate) as_of: Timestamp,
    /// The ID of the data directory that it is a backup of.
    pub(crate) directory_id: Option<String>,
}

impl VerifiedBackup {
    pub(crate) fn created_at(&self) -> &str {
        &self.manifest.created_at
    }

    /// The version of the program that created it.
    pub(crate) fn docwright(&self) -> &str {
        &self.manifest.docwright
    }

    pub(crate) fn has(&self, file: &str) -> bool {
        self.manifest.has(file)
    }
}

/// The temporary directory cannot take the copy. This says nothing about the backup.
#[derive(Debug)]
pub(crate) struct TemporaryDirectoryError(String);

impl std::fmt::Display for TemporaryDirectoryError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TemporaryDirectoryError {}

/// Unpacks the backup into the temporary directory, and removes that copy again.
pub(crate) async fn verify(backup: &Path) -> anyhow::Result<VerifiedBackup> {
    let name = backup.display();
    let found = std::fs::metadata(backup);
    ensure!(found.is_ok(), "there is no backup at {name}");
    // To open a FIFO can take forever.
    ensure!(found.is_ok_and(|found| found.is_file() || found.is_dir()), "{name} is not a backup");
    let draft = disk::create_draft(&std::env::temp_dir(), "docwright-verify-").map_err(unwritable)?;
    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    tokio::select! {
        verified = verify_in(backup, draft.path()) => verified,
        _ = async { tokio::select! { _ = term.recv() => {}, _ = int.recv() => {} } } => {
            // The copy can have the master key, so it must not stay. A thread still writes it; this ends that, too.
            drop(draft);
            std::process::exit(1);
        }
    }
}

async fn verify_in(backup: &Path, folder: &Path) -> anyhow::Result<VerifiedBackup> {
    let (from, into) = (backup.to_owned(), folder.to_owned());
    let unpacked = tokio::task::spawn_blocking(move || unpack::unpack(&from, &into)).await?;
    let manifest = unpacked.map_err(|error| if is_disk_full(&error) { unwritable(error) } else { error })?;
    restore::check_databases(backup, folder, &manifest).await?;
    let name = backup.display();
    let as_of = manifest.as_of().parse();
    let as_of = as_of.with_context(|| format!("{name} cannot be restored: its manifest.json has no time"))?;
    let directory_id = std::fs::read_to_string(folder.join(ID)).ok();
    Ok(VerifiedBackup { manifest, as_of, directory_id })
}

/// Only the copy is written, so a full disk is the one of the temporary directory.
fn is_disk_full(error: &anyhow::Error) -> bool {
    let is_full =
        |error: &io::Error| matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded);
    error.chain().filter_map(|cause| cause.downcast_ref()).any(is_full)
}

fn unwritable(error: anyhow::Error) -> anyhow::Error {
    let (path, cause) = (std::env::temp_dir(), error.root_cause().to_string());
    let path = path.display();
    anyhow::Error::new(TemporaryDirectoryError(format!(
        "the backup was not verified, because it cannot be unpacked into {path}: {cause}"
    )))
}
