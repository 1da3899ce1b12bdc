//! Collects what belongs into a backup from a data directory that a server may be using.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, ensure};
use base::SystemClock;
use base::sqlite::{DatabaseCopy, copy_databases};
use server::{Admin, Settings, sample};
use store::{CopiedProject, DataDir, MasterKey};

use super::disk::create_file;
use super::manifest::{About, DATABASE, DatabaseKind, ID, IncludedRepository, MASTER_KEY, VIEWS, is_sample};
use crate::admin;

/// What was collected, and the repositories that were not.
pub(super) struct Collection {
    pub(super) about: About,
    pub(super) not_included: Vec<CopiedProject>,
    /// A server has been here, and its page views are gone.
    pub(super) lacks_views: bool,
    /// Whether the projects are known: PostgreSQL may not answer.
    pub(super) has_projects: bool,
}

/// The databases come first and are of one moment; what the sample repositories have more than that does no harm.
pub(super) async fn collect(settings: &Settings, dir: &DataDir, into: &Path) -> anyhow::Result<Collection> {
    let database = match settings.database_url {
        Some(_) => DatabaseKind::Postgresql,
        None => DatabaseKind::Sqlite,
    };
    let schemas = copy_both_databases(dir, database, into).await?;
    let (from, to) = (dir.path().to_owned(), into.to_owned());
    tokio::task::spawn_blocking(move || copy_samples(&from, &to)).await??;
    if let Ok(id) = fs::read(dir.path().join(ID)) {
        write(&into.join(ID), &id)?;
    }
    let projects = projects(settings, dir, database, into).await?;
    let has_projects = projects.is_some();
    // On PostgreSQL most servers keep none.
    let lacks_views = database == DatabaseKind::Sqlite && !dir.has_views() && dir.known_id().is_some();
    let (repositories, not_included) = sort(dir, into, projects.unwrap_or_default());
    Ok(Collection {
        about: About { database, schemas, repositories },
        not_included,
        lacks_views,
        has_projects,
    })
}

async fn copy_both_databases(
    dir: &DataDir,
    database: DatabaseKind,
    into: &Path,
) -> anyhow::Result<BTreeMap<String, usize>> {
    let mut names = Vec::new();
    if dir.has_views() {
        names.push(VIEWS);
    }
    if database == DatabaseKind::Sqlite {
        dir.refuse_missing_database()?;
        let shown = dir.path().display();
        ensure!(
            dir.has_database(),
            "there is no {DATABASE} in {shown}: name the data directory with --data, or the PostgreSQL database with DOCWRIGHT_DATABASE_URL"
        );
        names.push(DATABASE);
    }
    // SQLite would make the files for everybody to read.
    for name in &names {
        create_file(&into.join(name))?;
    }
    let pair = |name: &&str| DatabaseCopy { from: dir.path().join(name), to: into.join(name) };
    let versions = copy_databases(&names.iter().map(pair).collect::<Vec<_>>()).await?;
    Ok(names.into_iter().map(str::to_owned).zip(versions).collect())
}

fn copy_samples(from: &Path, to: &Path) -> anyhow::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        if name.to_str().is_some_and(is_sample) && entry.file_type()?.is_dir() {
            let copied = sample::copy(&entry.path(), &to.join(&name));
            copied.with_context(|| format!("{} cannot be copied", entry.path().display()))?;
        }
    }
    Ok(())
}

/// All projects. On PostgreSQL the backup does not depend on an answer of the database.
async fn projects(
    settings: &Settings,
    dir: &DataDir,
    database: DatabaseKind,
    into: &Path,
) -> anyhow::Result<Option<Vec<CopiedProject>>> {
    if database == DatabaseKind::Sqlite {
        return Ok(Some(store::copied_projects(&into.join(DATABASE)).await?));
    }
    let Ok(found) = Admin::look(settings, dir, Arc::new(SystemClock)).await else { return Ok(None) };
    admin::close_at_end(&found);
    let Ok(projects) = found.accounts.projects(None).await else { return Ok(None) };
    let project =
        |one: store::Project| CopiedProject { id: one.id, name: one.name, repository: one.repository };
    Ok(Some(projects.into_iter().map(project).collect()))
}

/// Splits projects whose repository is on this disk by whether it is in the backup.
fn sort(
    dir: &DataDir,
    into: &Path,
    projects: Vec<CopiedProject>,
) -> (Vec<IncludedRepository>, Vec<CopiedProject>) {
    let (mut included, mut not_included) = (Vec::new(), Vec::new());
    for project in projects.into_iter().filter(|project| !project.repository.contains("://")) {
        match sample_of(dir, into, &project.repository) {
            Some(directory) => {
                included.push(IncludedRepository {
                    project: project.id.0,
                    repository: project.repository,
                    directory,
                });
            }
            None => not_included.push(project),
        }
    }
    (included, not_included)
}

/// The folder of the backup that holds the repository. A path can lead to the data directory by a link.
fn sample_of(dir: &DataDir, into: &Path, repository: &str) -> Option<String> {
    let path = Path::new(repository);
    let name = path.file_name()?.to_str().filter(|name| is_sample(name))?;
    let is_here = path.parent()?.canonicalize().is_ok_and(|folder| folder == dir.path());
    (is_here && into.join(name).is_dir()).then(|| name.to_owned())
}

/// Includes the master key, if it is the one that the secrets are sealed with.
pub(super) async fn include_master_key(
    settings: &Settings,
    dir: &DataDir,
    into: &Path,
) -> anyhow::Result<()> {
    let path = master_key_path(settings, dir);
    let master = MasterKey::load(&path)?;
    let copy = into.join(DATABASE);
    if copy.exists() {
        ensure!(
            store::is_sealed_with(&copy, &master).await?,
            "the master key {} does not fit the database: point DOCWRIGHT_MASTER_KEY_FILE at the one it was made with",
            path.display()
        );
    }
    write(&into.join(MASTER_KEY), &fs::read(&path)?)
}

pub(super) fn master_key_path(settings: &Settings, dir: &DataDir) -> PathBuf {
    settings.master_key_file.clone().unwrap_or_else(|| dir.master_key())
}

fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    use std::io::Write;
    Ok(create_file(path)?.write_all(bytes)?)
}
