//! The data directory: one server owns it, admin commands may work beside that server.

use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::directory_watch::DirectoryWatch;
use crate::id::random_base62;

const DATABASE: &str = "docwright.db";
const VIEWS: &str = "views.db";
const REPOSITORIES: &str = "repos";
const ID: &str = "id";
/// What an installation on SQLite has beside its database, and never before it.
const COMPANIONS: [&str; 4] = [VIEWS, REPOSITORIES, ID, "docwright.db-wal"];

/// How the names of folders begin that `docwright restore` makes in the data directory.
pub const RESTORE_DRAFT: &str = "restore-partial-";
pub const RESTORE_PREVIOUS: &str = "before-restore-";
const RESTORES: [&str; 2] = [RESTORE_DRAFT, RESTORE_PREVIOUS];

#[derive(Debug, thiserror::Error)]
pub enum DataDirError {
    #[error("another Docwright server is using {0}: stop it, or choose another directory with --data")]
    InUse(PathBuf),
    #[error("the data directory {path} cannot be used: {source}")]
    Unusable { path: PathBuf, source: std::io::Error },
    #[error(
        "there is no data directory {0}: if yours is elsewhere, name it with --data or DOCWRIGHT_DATA; `docwright serve` makes a new one"
    )]
    NoDirectory(PathBuf),
    #[error(
        "there is no database in {0}: if your data directory is elsewhere, name it with --data or DOCWRIGHT_DATA; `docwright serve` makes a new one"
    )]
    NoDatabase(PathBuf),
    #[error(
        "docwright.db is missing: an installation was in {path}, which still has {found}. Restore docwright.db from a backup, with `docwright restore --force` again if a restore was cut off; if the directory belongs to a PostgreSQL database, set DOCWRIGHT_DATABASE_URL; for a new installation, move what is left away, or choose another directory with --data"
    )]
    DatabaseMissing { path: PathBuf, found: String },
    #[error(
        "{0} is missing: this data directory keeps the page views of its database. Restore views.db from a backup; to give up the old page views, start once with `--page-views yes` (new ones are kept here) or `--page-views no` (another server keeps them)"
    )]
    ViewsMissing(PathBuf),
}

#[derive(Debug, Clone)]
pub struct DataDir {
    path: PathBuf,
    /// As the operator named it: a link in it can be pointed elsewhere later.
    named: PathBuf,
}

/// The lock on a data directory; it ends with this value, or with the process.
#[derive(Debug)]
pub struct Held {
    lock: File,
    /// Locked, too: a second server makes a `lock` that was deleted anew, but not the directory.
    _directory: File,
}

const UNTRUSTED_PROXY: &str = "untrusted-proxy";

impl DataDir {
    /// Makes the directory, for its owner alone, when it is not there.
    pub fn open(path: &Path) -> Result<Self, DataDirError> {
        let unusable = |source| DataDirError::Unusable { path: path.to_owned(), source };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(unusable)?;
        // Also one that was there before: what is in it is for its owner alone.
        fs::set_permissions(path, fs::Permissions::from_mode(0o700)).map_err(unusable)?;
        Self::find(path).map_err(unusable)
    }

    /// One that is there already, left as it is.
    pub fn find(path: &Path) -> std::io::Result<Self> {
        Ok(Self { path: path.canonicalize()?, named: std::path::absolute(path)? })
    }

    /// One that may not be there: nothing is made, and nothing is found in it then.
    pub fn at(path: &Path) -> Self {
        Self::find(path).unwrap_or_else(|_| Self { path: path.to_owned(), named: path.to_owned() })
    }

    /// One with a database in it, left as it is.
    pub fn find_installation(path: &Path) -> Result<Self, DataDirError> {
        let dir = Self::find(path).map_err(|source| match source.kind() {
            std::io::ErrorKind::NotFound => DataDirError::NoDirectory(path.to_owned()),
            _ => DataDirError::Unusable { path: path.to_owned(), source },
        })?;
        dir.refuse_missing_database()?;
        if dir.has_database() { Ok(dir) } else { Err(DataDirError::NoDatabase(dir.path)) }
    }

    /// Refuses a directory that has parts of an installation and no database: a new one would look as
    /// if nothing had ever been there.
    pub fn refuse_missing_database(&self) -> Result<(), DataDirError> {
        // In this order: a server that starts meanwhile makes its database first.
        let mut found: Vec<_> = COMPANIONS.into_iter().map(str::to_owned).collect();
        found.retain(|name| is_used(&self.path.join(name)));
        found.extend(self.restores());
        if found.is_empty() || self.has_database() {
            return Ok(());
        }
        Err(DataDirError::DatabaseMissing { path: self.path.clone(), found: found.join(", ") })
    }

    /// What a restore that was cut off leaves: the folder that it moves in, and the one with the previous content.
    fn restores(&self) -> impl Iterator<Item = String> {
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        names.filter(|name| RESTORES.iter().any(|prefix| name.starts_with(prefix)))
    }

    /// Whether a server, or a command that changes the schema, holds the lock just now.
    pub fn is_held(&self) -> bool {
        let is_locked = |path: &Path| {
            let file = File::open(path);
            file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
        };
        is_locked(&self.lock()) || is_locked(&self.path)
    }

    /// Takes the lock, or says who has it.
    pub fn hold(&self) -> Result<Held, DataDirError> {
        let path = self.lock();
        let unusable = |source| DataDirError::Unusable { path: path.clone(), source };
        let directory = File::open(&self.path).map_err(unusable)?;
        if let Err(TryLockError::WouldBlock) = directory.try_lock() {
            return Err(DataDirError::InUse(self.path.clone()));
        } // Some network file systems lock files alone.
        let lock = File::options().create(true).append(true).open(&path).map_err(unusable)?;
        match lock.try_lock() {
            Ok(()) => Ok(Held { lock, _directory: directory }),
            Err(TryLockError::WouldBlock) => Err(DataDirError::InUse(self.path.clone())),
            Err(TryLockError::Error(source)) => Err(unusable(source)),
        }
    }

    /// Remembers which files the holder of the lock uses: the directory, the lock and `databases` with their
    /// logs, which are open by now.
    pub fn watch(&self, held: &Held, databases: &[PathBuf]) -> Result<DirectoryWatch, DataDirError> {
        let logs = databases.iter().flat_map(|database| [log_of(database), log_index_of(database)]);
        let logs = logs.filter(|log| log.exists());
        let folders = [self.named.clone(), self.path.clone()];
        let paths = folders.into_iter().chain(databases.iter().cloned()).chain(logs);
        DirectoryWatch::new(paths, (self.lock(), &held.lock))
            .map_err(|source| DataDirError::Unusable { path: self.path.clone(), source })
    }

    /// The directory's own name, made once, by which servers that share a database tell their
    /// directories apart.
    pub fn id(&self, _held: &Held) -> Result<String, DataDirError> {
        if let Some(id) = self.known_id() {
            return Ok(id);
        }
        let (path, id) = (self.path.join(ID), random_base62(16));
        write_durably(&path, &id).map_err(|source| DataDirError::Unusable { path, source })?;
        Ok(id)
    }

    /// The same if it was made, for commands beside the server.
    pub fn known_id(&self) -> Option<String> {
        fs::read_to_string(self.path.join(ID)).ok().filter(|id| !id.is_empty())
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    fn lock(&self) -> PathBuf {
        self.path.join("lock")
    }

    pub fn database(&self) -> PathBuf {
        self.path.join(DATABASE)
    }

    pub fn has_database(&self) -> bool {
        is_written(&self.database())
    }

    pub fn views(&self) -> PathBuf {
        self.path.join(VIEWS)
    }

    pub fn has_views(&self) -> bool {
        is_written(&self.views())
    }

    pub fn repositories(&self) -> PathBuf {
        self.path.join(REPOSITORIES)
    }

    /// What is being written to repositories that are not ours, recorded before it is.
    pub fn writes(&self) -> PathBuf {
        self.path.join("writes")
    }

    /// Where the server that holds this directory can be reached, for commands beside it.
    pub fn remember_url(&self, url: &str) -> Result<(), DataDirError> {
        let path = self.path.join("url");
        fs::write(&path, url).map_err(|source| DataDirError::Unusable { path, source })
    }

    /// The last that was remembered.
    pub fn url(&self) -> Option<String> {
        fs::read_to_string(self.path.join("url")).ok()
    }

    /// What the running server says of a proxy that it was not told to trust, for `docwright doctor`.
    pub fn note_untrusted_proxy(&self, sentence: &str) -> Result<(), DataDirError> {
        let path = self.path.join(UNTRUSTED_PROXY);
        fs::write(&path, sentence).map_err(|source| DataDirError::Unusable { path, source })
    }

    /// Removes the note of an earlier server, whose settings may have been others.
    pub fn forget_untrusted_proxy(&self) {
        let _ = fs::remove_file(self.path.join(UNTRUSTED_PROXY));
    }

    pub fn untrusted_proxy(&self) -> Option<String> {
        fs::read_to_string(self.path.join(UNTRUSTED_PROXY)).ok()
    }

    pub fn master_key(&self) -> PathBuf {
        self.path.join("master.key")
    }
}

/// An empty folder may be where somebody mounts a disk, and `lost+found` is what such a disk begins with.
fn is_used(path: &Path) -> bool {
    match fs::read_dir(path) {
        Ok(entries) => entries.flatten().any(|entry| entry.file_name() != "lost+found"),
        Err(_) => path.exists(),
    }
}

/// Whether a database was ever committed to: SQLite makes an empty file first.
fn is_written(database: &Path) -> bool {
    let length = |path: &Path| fs::metadata(path).map(|found| found.len());
    length(database).is_ok_and(|bytes| bytes > 0 || length(&log_of(database)).is_ok_and(|bytes| bytes > 0))
}

/// The write-ahead log of a database, which SQLite keeps for as long as the database is open.
fn log_of(database: &Path) -> PathBuf {
    database.with_extension("db-wal")
}

/// The index of that log, which all processes that use the database share.
fn log_index_of(database: &Path) -> PathBuf {
    database.with_extension("db-shm")
}

/// After a power cut the file is there as a whole, or not at all.
fn write_durably(path: &Path, text: &str) -> std::io::Result<()> {
    let draft = path.with_extension("new");
    let mut file = File::create(&draft)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&draft, path)?;
    sync_parent(path)
}

/// Makes sure that a file that was just made is found after a power cut.
pub(crate) fn sync_parent(path: &Path) -> std::io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}
