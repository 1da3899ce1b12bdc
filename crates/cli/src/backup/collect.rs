//! Collects the content of a backup from a data directory that a server may be using.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, ensure};
use base::SystemClock;
use base::sqlite::{DatabaseCopy, copy_databases};
use jiff::Timestamp;
use server::{Admin, Settings, sample};
use store::{CopiedProject, DataDir, MasterKey};

use super::disk::create_file;
use super::manifest::{About, DATABASE, DatabaseKind, ID, IncludedRepository, MASTER_KEY, VIEWS, is_sample};

/// What was collected, and the repositories that were left out.
pub(super) struct Collection {
    pub(super) about: About,
    pub(super) not_included: Vec<CopiedProject>,
    /// A server has used the directory, but its page views are missing.
    pub(super) lacks_views: bool,
    /// Whether the projects are known: PostgreSQL may not answer.
    pub(super) projects_known: bool,
}

/// Copies the databases first, as of one moment. The sample repositories may have newer commits, which does no harm.
pub(super) async fn collect(settings: &Settings, dir: &DataDir, into: &Path) -> anyhow::Result<Collection> {
    let database = match settings.database_url {
        Some(_) => DatabaseKind::Postgresql,
        None => DatabaseKind::Sqlite,
    };
    let (was_in_use, began) = (dir.is_locked(), Timestamp::now());
    let schemas = copy_both_databases(dir, database, into).await?;
    // A server may have written more during the copy. Without a server, only the copy itself writes: it moves the
    // write-ahead log of a killed server into the database.
    let as_of = if was_in_use || dir.is_locked() { began } else { Timestamp::now() };
    let (from, to) = (dir.path().to_owned(), into.to_owned());
    tokio::task::spawn_blocking(move || copy_samples(&from, &to)).await??;
    if let Ok(id) = fs::read(dir.path().join(ID)) {
        write(&into.join(ID), &id)?;
    }
    let projects = projects(settings, dir, database, into).await?;
    let projects_known = projects.is_some();
    // With PostgreSQL, most servers store no page views.
    let lacks_views = database == DatabaseKind::Sqlite && !dir.has_views() && dir.known_id().is_some();
    let (repositories, not_included) = split_by_inclusion(dir, into, projects.unwrap_or_default());
    Ok(Collection {
        about: About { as_of, database, schemas, repositories },
        not_included,
        lacks_views,
        projects_known,
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
        let path = dir.path().display();
        ensure!(
            dir.has_database(),
            "there is no {DATABASE} in {path}: set --data to the data directory, or DOCWRIGHT_DATABASE_URL to the PostgreSQL database"
        );
        names.push(DATABASE);
    }
    // SQLite would create the files readable for everyone.
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

/// All projects. With PostgreSQL, it is `None` if the database does not answer: the backup must still succeed.
async fn projects(
    settings: &Settings,
    dir: &DataDir,
    database: DatabaseKind,
    into: &Path,
) -> anyhow::Result<Option<Vec<CopiedProject>>> {
    if database == DatabaseKind::Sqlite {
        return Ok(Some(store::copied_projects(&into.join(DATABASE)).await?));
    }
    let Ok(admin) = Admin::open_read_only(settings, dir, Arc::new(SystemClock)).await else {
        return Ok(None);
    };
    crate::admin::close_at_end(&admin);
    let Ok(projects) = admin.accounts.projects(None).await else { return Ok(None) };
    let to_copied = |project: store::Project| CopiedProject {
        id: project.id,
        name: project.name,
        repository: project.repository,
    };
    Ok(Some(projects.into_iter().map(to_copied).collect()))
}

/// Splits projects whose repository is on this disk by whether it is in the backup.
fn split_by_inclusion(
    dir: &DataDir,
    into: &Path,
    projects: Vec<CopiedProject>,
) -> (Vec<IncludedRepository>, Vec<CopiedProject>) {
    let (mut included, mut not_included) = (Vec::new(), Vec::new());
    for project in projects.into_iter().filter(|project| !project.repository.contains("://")) {
        match find_sample(dir, into, &project.repository) {
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

/// The folder of the backup that has the repository. The path may lead to the data directory through a link.
fn find_sample(dir: &DataDir, into: &Path, repository: &str) -> Option<String> {
    let path = Path::new(repository);
    let name = path.file_name()?.to_str().filter(|name| is_sample(name))?;
    let is_here = path.parent()?.canonicalize().is_ok_and(|folder| folder == dir.path());
    (is_here && into.join(name).is_dir()).then(|| name.to_owned())
}

/// Adds the master key, if it is the key that encrypts the secrets.
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
            "the master key {} does not fit the database: set DOCWRIGHT_MASTER_KEY_FILE to the key that it was created with",
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
