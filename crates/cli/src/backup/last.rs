//! Records the last backup in the data directory, so that `docwright upgrade --check` finds it.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use store::DataDir;

use super::manifest::Manifest;
use crate::output;

/// The content of `last-backup.json`.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LastBackup {
    pub(crate) path: PathBuf,
    pub(crate) created_at: String,
    /// The version of the program that created it.
    pub(crate) docwright: String,
}

/// A backup is complete without this record, so a failure is only a message.
pub(super) fn remember(dir: &DataDir, path: &Path, manifest: &Manifest) {
    if let Err(error) = try_remember(dir, path, manifest) {
        output::print_message(format!(
            "Warning: the backup is complete, but the data directory has no record of it ({}). Name it when you check an upgrade: docwright upgrade --check --backup FILE",
            output::error_sentence(&error)
        ));
    }
}

fn try_remember(dir: &DataDir, path: &Path, manifest: &Manifest) -> anyhow::Result<()> {
    let last = LastBackup {
        path: std::path::absolute(path)?,
        created_at: manifest.created_at.clone(),
        docwright: manifest.docwright.clone(),
    };
    Ok(dir.remember_backup(&(serde_json::to_string_pretty(&last)? + "\n"))?)
}

/// The last backup. It is `None` if there is no record, or if the record cannot be read.
pub(crate) fn find(dir: &DataDir) -> Option<LastBackup> {
    serde_json::from_str(&dir.last_backup()?).ok()
}
