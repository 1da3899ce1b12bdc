//! Runs `docwright restore`: verifies a backup, then creates a data directory from it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{bail, ensure};
use base::sqlite::check_copy;
use serde_json::json;
use server::Settings;
use store::{DATABASE_SCHEMA, MasterKey, ProjectId};
use traffic::VIEWS_SCHEMA;

use super::manifest::{DATABASE, DatabaseKind, MASTER_KEY, Manifest, VIEWS};
use super::replace::{Replacement, previous_folders};
use super::{disk, postgres, unpack};
use crate::args::{Restore, quote};
use crate::output;
use crate::settings::Sources;

pub(crate) async fn run(sources: &Sources, args: Restore) -> anyhow::Result<()> {
    let settings = sources.admin_settings(&args.data)?;
    ensure!(fs::metadata(&args.from).is_ok(), "there is no backup at {}", args.from.display());
    let replacement = Replacement::prepare(&settings.data, args.force)?;
    let (from, folder) = (args.from.clone(), replacement.folder()?);
    let into = folder.clone();
    let manifest = tokio::task::spawn_blocking(move || unpack::unpack(&from, &into)).await??;
    check_databases(&args.from, &folder, &manifest).await?;
    let data = replacement.dir.path().to_owned();
    update_repository_paths(&folder, &manifest, &data).await?;
    let previous = tokio::task::spawn_blocking(move || replacement.finish()).await??;
    let key = restore_master_key(&settings, &data, &manifest).await?;
    let summary = Summary { manifest, data, previous, key };
    match args.json {
        true => output::print_json(&summary.json()),
        false => summary.print(&settings, &sources.repeat_flags(&args.data)),
    }
}

/// Refuses a damaged database, and one whose schema this program does not know.
pub(super) async fn check_databases(backup: &Path, folder: &Path, manifest: &Manifest) -> anyhow::Result<()> {
    let backup = backup.display();
    if manifest.database == DatabaseKind::Sqlite {
        ensure!(manifest.has(DATABASE), "{backup} cannot be restored: it has no {DATABASE}");
    }
    for (name, known) in [(DATABASE, DATABASE_SCHEMA), (VIEWS, VIEWS_SCHEMA)] {
        if !manifest.has(name) {
            continue;
        }
        let found = match check_copy(&folder.join(name)).await {
            Ok(found) => found,
            Err(error) => bail!("{backup} cannot be restored: {error}. Use another backup"),
        };
        ensure!(
            Some(&found) == manifest.schemas.get(name),
            "{backup} cannot be restored: its {name} is not the one that its manifest.json describes"
        );
        ensure!(found > 0, "{backup} cannot be restored: its {name} has no tables. Use another backup");
        ensure!(
            found <= known,
            "{backup} was created by a newer version of Docwright ({}; schema {found} of {name}, this version knows {known}): restore it with that version",
            manifest.docwright
        );
    }
    Ok(())
}

/// Updates the paths of sample repositories in the database to the new data directory.
async fn update_repository_paths(folder: &Path, manifest: &Manifest, data: &Path) -> anyhow::Result<()> {
    let changed_paths = changed_paths(manifest, data);
    if manifest.database == DatabaseKind::Sqlite && !changed_paths.is_empty() {
        store::move_repositories(&folder.join(DATABASE), &changed_paths).await?;
    }
    Ok(())
}

/// The projects whose repository gets another path, with the new path.
fn changed_paths(manifest: &Manifest, data: &Path) -> Vec<(ProjectId, String)> {
    let repositories =
        manifest.repositories.iter().map(|included| (included, data.join(&included.directory)));
    repositories
        .filter(|(included, path)| path.as_os_str() != included.repository.as_str())
        .map(|(included, path)| (ProjectId(included.project.clone()), path.to_string_lossy().into_owned()))
        .collect()
}

/// Where the master key of the restored data is.
enum KeyState {
    Restored,
    /// It was already in the data directory, and fits.
    Kept,
    /// The settings name it.
    Elsewhere(PathBuf),
    Missing,
}

/// Finds the master key of the restored data. If neither the backup nor the settings have it, copies the key that was
/// in the data directory before: a backup is usually restored where it was created, and the key there still fits.
async fn restore_master_key(
    settings: &Settings,
    data: &Path,
    manifest: &Manifest,
) -> anyhow::Result<KeyState> {
    if manifest.master_key {
        return Ok(KeyState::Restored);
    }
    if let Some(path) = &settings.master_key_file {
        return Ok(KeyState::Elsewhere(path.clone()));
    }
    let Some(path) = find_master_key(data).await? else { return Ok(KeyState::Missing) };
    std::io::copy(&mut fs::File::open(&path)?, &mut disk::create_file(&data.join(MASTER_KEY))?)?;
    disk::sync(&data.join(MASTER_KEY))?;
    disk::sync(data)?;
    Ok(KeyState::Kept)
}

/// Looks in the previous content of all restores: an earlier restore may have been interrupted after it moved the key.
async fn find_master_key(data: &Path) -> anyhow::Result<Option<PathBuf>> {
    let database = data.join(DATABASE);
    for folder in previous_folders(data) {
        let path = folder.join(MASTER_KEY);
        let Ok(master) = MasterKey::load(&path) else { continue };
        // With PostgreSQL there is no database file to try the key on, so the first readable key is used.
        if !database.exists() || store::is_sealed_with(&database, &master).await? {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

struct Summary {
    manifest: Manifest,
    data: PathBuf,
    previous: Option<PathBuf>,
    key: KeyState,
}

impl Summary {
    fn json(&self) -> serde_json::Value {
        json!({
            "data": self.data.to_string_lossy(),
            "createdAt": self.manifest.created_at,
            "docwright": self.manifest.docwright,
            "database": self.manifest.database,
            "schemas": self.manifest.schemas,
            "masterKey": match self.key {
                KeyState::Restored => "restored",
                KeyState::Kept => "kept",
                KeyState::Elsewhere(_) => "elsewhere",
                KeyState::Missing => "missing",
            },
            "previous": self.previous.as_ref().map(|previous| previous.to_string_lossy()),
        })
    }

    fn print(&self, settings: &Settings, repeat_flags: &str) -> anyhow::Result<()> {
        output::print_message(format!("Restored the backup of {}.", self.manifest.created_at));
        if let Some(previous) = &self.previous {
            output::print_message(format!(
                "The previous content is in {}. Remove it when you no longer need it.",
                previous.display()
            ));
        }
        self.print_key_state(settings);
        if self.manifest.database == DatabaseKind::Postgresql {
            output::print_message(postgres::restore_instructions(settings));
            for (project, path) in changed_paths(&self.manifest, &self.data) {
                let path = quote(&path);
                output::print_message(format!(
                    "Then: docwright project update {project} --repository {path}{repeat_flags}"
                ));
            }
        }
        output::print_message(format!(
            "Active jobs continue when a server starts here. Make sure that no other server runs the same jobs, then run: docwright serve{repeat_flags}"
        ));
        output::print_line(self.data.display())
    }

    fn print_key_state(&self, settings: &Settings) {
        match &self.key {
            KeyState::Restored if settings.master_key_file.is_some() => output::print_message(format!(
                "The master key is in {MASTER_KEY} of the data directory, but your settings name another file (master_key_file): remove the setting, or move the key there."
            )),
            KeyState::Restored => {}
            KeyState::Kept => {
                output::print_message("Kept the master key that was in the data directory: it fits.")
            }
            KeyState::Elsewhere(path) => {
                output::print_message(format!(
                    "The master key is not in this backup. {} must be the key that encrypts its secrets.",
                    path.display()
                ));
            }
            KeyState::Missing => output::print_message(format!(
                "The master key is not in this backup. Before you start the server, put your copy of it back: cp YOUR-COPY {path} && chmod 600 {path}",
                path = quote(&self.data.join(MASTER_KEY).to_string_lossy())
            )),
        }
    }
}
