//! Writes and reads `manifest.json`, which lists the content of a backup, and checks the names in it.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path};

use anyhow::{Context, bail, ensure};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub(super) const MANIFEST: &str = "manifest.json";
pub(super) const DATABASE: &str = "docwright.db";
pub(super) const VIEWS: &str = "views.db";
pub(super) const MASTER_KEY: &str = "master.key";
pub(super) const ID: &str = "id";
/// The layout of a backup that this program writes and reads.
const FORMAT: u32 = 1;
/// Enough for a million files of sample repositories.
const MAX_MANIFEST_BYTES: u64 = 256 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum DatabaseKind {
    Sqlite,
    /// The database itself is not in the backup.
    Postgresql,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Manifest {
    format: u32,
    /// The version of the program that created the backup.
    pub(super) docwright: String,
    pub(super) created_at: String,
    /// The backup has every write until then. Backups of earlier versions don't say it.
    #[serde(default)]
    as_of: Option<String>,
    pub(super) database: DatabaseKind,
    /// Schema versions, by database file.
    pub(super) schemas: BTreeMap<String, usize>,
    pub(super) master_key: bool,
    /// Projects whose repository is in the backup.
    pub(super) repositories: Vec<IncludedRepository>,
    pub(super) directories: Vec<String>,
    pub(super) files: Vec<IncludedFile>,
}

/// The project's path to it changes when the backup is restored into another data directory.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct IncludedRepository {
    pub(super) project: String,
    pub(super) repository: String,
    pub(super) directory: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct IncludedFile {
    pub(super) path: String,
    pub(super) bytes: u64,
    pub(super) sha256: String,
}

/// The part of a manifest that the files do not show.
pub(super) struct About {
    pub(super) as_of: jiff::Timestamp,
    pub(super) database: DatabaseKind,
    pub(super) schemas: BTreeMap<String, usize>,
    pub(super) repositories: Vec<IncludedRepository>,
}

impl Manifest {
    /// Describes everything in `folder`.
    pub(super) fn describe(folder: &Path, about: About) -> anyhow::Result<Self> {
        let (mut directories, mut files) = (Vec::new(), Vec::new());
        describe_folder(folder, "", &mut directories, &mut files)?;
        Ok(Self {
            format: FORMAT,
            docwright: env!("CARGO_PKG_VERSION").into(),
            created_at: crate::output::format_timestamp(jiff::Timestamp::now()),
            as_of: Some(crate::output::format_timestamp(about.as_of)),
            database: about.database,
            schemas: about.schemas,
            master_key: files.iter().any(|file| file.path == MASTER_KEY),
            repositories: about.repositories,
            directories,
            files,
        })
    }

    /// Reads a manifest, and refuses it if it names something that cannot be in a backup.
    pub(super) fn read(from: impl Read) -> anyhow::Result<Self> {
        let mut text = Vec::new();
        from.take(MAX_MANIFEST_BYTES).read_to_end(&mut text)?;
        let manifest: Self = serde_json::from_slice(&text).context("its manifest.json cannot be read")?;
        ensure!(
            manifest.format <= FORMAT,
            "a newer version of Docwright ({}) created it: restore it with that version",
            manifest.docwright
        );
        let mut paths = HashSet::new();
        for path in manifest.files.iter().map(|file| &file.path).chain(&manifest.directories) {
            ensure!(is_allowed(path), "its manifest.json names {path:?}, which cannot be in a backup");
            ensure!(paths.insert(path), "its manifest.json names {path:?} twice");
        }
        ensure!(
            manifest.master_key == manifest.has(MASTER_KEY),
            "its manifest.json is wrong about whether the master key is in it"
        );
        for repository in &manifest.repositories {
            let directory = &repository.directory;
            ensure!(is_sample(directory), "its manifest.json names the repository {directory:?}");
        }
        Ok(manifest)
    }

    /// The time until which the backup has every write.
    pub(super) fn as_of(&self) -> &str {
        self.as_of.as_ref().unwrap_or(&self.created_at)
    }

    pub(super) fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    pub(super) fn has(&self, path: &str) -> bool {
        self.files.iter().any(|file| file.path == path)
    }
}

/// Allows only known names: for example, SQLite would read a write-ahead log beside a database as a part of it.
fn is_allowed(path: &str) -> bool {
    if matches!(path, DATABASE | VIEWS | MASTER_KEY | ID) {
        return true;
    }
    let is_plain = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    // `a//b`, `a/./b` and `a/` are other spellings of a path, which would get past the check for duplicates.
    let is_normal = path.split('/').all(|part| !matches!(part, "" | "." | ".."));
    // Names are printed.
    let is_normal = is_normal && !path.contains(char::is_control);
    is_plain && is_normal && is_sample(path.split('/').next().unwrap_or_default())
}

/// Whether it is the name of a sample repository in the data directory.
pub(super) fn is_sample(name: &str) -> bool {
    name.starts_with("sample-") && name.ends_with(".git") && !name.contains(['/', '\0'])
}

fn describe_folder(
    folder: &Path,
    below: &str,
    directories: &mut Vec<String>,
    files: &mut Vec<IncludedFile>,
) -> anyhow::Result<()> {
    let mut entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let Ok(name) = entry.file_name().into_string() else {
            bail!("the name of {} is not UTF-8", entry.path().display())
        };
        let path = if below.is_empty() { name } else { format!("{below}/{name}") };
        if entry.file_type()?.is_dir() {
            directories.push(path.clone());
            describe_folder(&entry.path(), &path, directories, files)?;
        } else {
            let (bytes, sha256) = hash(File::open(entry.path())?, io::sink())?;
            files.push(IncludedFile { path, bytes, sha256 });
        }
    }
    Ok(())
}

/// Copies `from` to `to`, and returns its length and its hash.
pub(super) fn hash(mut from: impl Read, mut to: impl io::Write) -> io::Result<(u64, String)> {
    let (mut hash, mut bytes, mut buffer) = (Sha256::new(), 0, vec![0; 1 << 16]);
    loop {
        let read = match from.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        if read == 0 {
            let digits = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
            return Ok((bytes, digits));
        }
        hash.update(&buffer[..read]);
        to.write_all(&buffer[..read])?;
        bytes += read as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_a_data_directory_are_allowed_in_a_backup() {
        for path in
            ["docwright.db", "views.db", "id", "master.key", "sample-1.git/refs/heads/a b", "sample-1.git"]
        {
            assert!(is_allowed(path), "{path}");
        }
        for path in [
            "",
            ".",
            "..",
            "../docwright.db",
            "/etc/passwd",
            "docwright.db-wal",
            "./views.db",
            "lock",
            "url",
            "manifest.json",
            "repos/a.git/HEAD",
            "sample-1.git/../../x",
            "sample-1.git/./x",
            "sample-1.git//x",
            "sample-1.git/",
            "sample-../x.git",
            "sample-1.git/a\0b",
            "sample-1.git/\u{1b}[31m",
            "sample-1",
        ] {
            assert!(!is_allowed(path), "{path:?}");
        }
    }
}
