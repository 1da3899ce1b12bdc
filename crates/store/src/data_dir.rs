//! The data directory. One server locks it; admin commands can run beside that server.

use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::directory_watch::DirectoryWatch;
use crate::id::random_base62;

const DATABASE: &str = "docwright.db";
const VIEWS: &str = "views.db";
const REPOSITORIES: &str = "repos";
const ID: &str = "id";
/// Files that an installation on SQLite has in addition to its database, and never before it.
const COMPANIONS: [&str; 4] = [VIEWS, REPOSITORIES, ID, "docwright.db-wal"];

/// Prefixes of folders that `docwright restore` creates in the data directory.
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
        "{0} is missing: this data directory keeps the page views of its database. Restore views.db from a backup; to give up the old page views, start once with `--page-views yes --force` (new ones are kept here) or `--page-views no` (another server keeps them)"
    )]
    ViewsMissing(PathBuf),
    #[error(
        "{0} has no page views, and another server has those of this database. Stop that server, copy its views.db to here, and start again; to give up the old page views, add `--force`"
    )]
    ViewsEmpty(PathBuf),
    #[error(
        "{0} lacks page views that another server stored since. Stop that server, copy its views.db to here, and start again; to give up the later page views, add `--force`"
    )]
    ViewsOutdated(PathBuf),
    #[error(
        "this installation was moved to PostgreSQL ({to}) at {at}: set DOCWRIGHT_DATABASE_URL. To go back to SQLite without anything that happened since then, delete {}", .marker.display()
    )]
    Moved { to: String, at: String, marker: PathBuf },
    #[error(
        "a move of this installation to PostgreSQL ({to}) was interrupted: run the same `docwright move` again. To stay on SQLite, delete {}, and drop that database", .marker.display()
    )]
    MoveInterrupted { to: String, marker: PathBuf },
}

#[derive(Debug, Clone)]
pub struct DataDir {
    path: PathBuf,
    /// As the operator named it: a symbolic link in it can change later.
    named: PathBuf,
}

/// The lock of a data directory. It ends with this value, or with the process.
#[derive(Debug)]
pub struct DataDirLock {
    file: File,
    /// Also locked: a second server would create a deleted `lock` again, but not the directory.
    _directory: File,
}

const UNTRUSTED_PROXY: &str = "untrusted-proxy";
const LAST_BACKUP: &str = "last-backup.json";

impl DataDir {
    /// Creates the directory, for its owner only, when it is missing.
    pub fn open(path: &Path) -> Result<Self, DataDirError> {
        let unusable = |source| DataDirError::Unusable { path: path.to_owned(), source };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(unusable)?;
        // Also of an existing directory: its files are only for its owner.
        fs::set_permissions(path, fs::Permissions::from_mode(0o700)).map_err(unusable)?;
        Self::find(path).map_err(unusable)
    }

    /// An existing directory, unchanged.
    pub fn find(path: &Path) -> std::io::Result<Self> {
        Ok(Self { path: path.canonicalize()?, named: std::path::absolute(path)? })
    }

    /// A directory that may be missing: nothing is created.
    pub fn at(path: &Path) -> Self {
        Self::find(path).unwrap_or_else(|_| Self { path: path.to_owned(), named: path.to_owned() })
    }

    /// An existing directory with a database, unchanged.
    pub fn find_installation(path: &Path) -> Result<Self, DataDirError> {
        let dir = Self::find(path).map_err(|source| match source.kind() {
            std::io::ErrorKind::NotFound => DataDirError::NoDirectory(path.to_owned()),
            _ => DataDirError::Unusable { path: path.to_owned(), source },
        })?;
        dir.refuse_missing_database()?;
        if dir.has_database() { Ok(dir) } else { Err(DataDirError::NoDatabase(dir.path)) }
    }

    /// Refuses a directory that has parts of an installation and no database: a new database would hide the loss.
    pub fn refuse_missing_database(&self) -> Result<(), DataDirError> {
        // In this order: a server that starts meanwhile creates its database first.
        let mut found: Vec<_> = COMPANIONS.into_iter().map(str::to_owned).collect();
        found.retain(|name| is_used(&self.path.join(name)));
        found.extend(self.restores());
        if found.is_empty() || self.has_database() {
            return Ok(());
        }
        Err(DataDirError::DatabaseMissing { path: self.path.clone(), found: found.join(", ") })
    }

    /// Folders of an interrupted restore: the one with the new content, and the one with the previous content.
    fn restores(&self) -> impl Iterator<Item = String> {
        let entries = fs::read_dir(&self.path).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        names.filter(|name| RESTORES.iter().any(|prefix| name.starts_with(prefix)))
    }

    /// Whether a server, or a command that changes the schema, has the lock.
    pub fn is_locked(&self) -> bool {
        let is_file_locked = |path: &Path| {
            let file = File::open(path);
            file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
        };
        is_file_locked(&self.lock_path()) || is_file_locked(&self.path)
    }

    /// Takes the lock, or fails if another process has it.
    pub fn lock(&self) -> Result<DataDirLock, DataDirError> {
        let path = self.lock_path();
        let unusable = |source| DataDirError::Unusable { path: path.clone(), source };
        let directory = File::open(&self.path).map_err(unusable)?;
        if let Err(TryLockError::WouldBlock) = directory.try_lock() {
            return Err(DataDirError::InUse(self.path.clone()));
        } // Some network file systems lock files alone.
        let lock = File::options().create(true).append(true).open(&path).map_err(unusable)?;
        match lock.try_lock() {
            Ok(()) => Ok(DataDirLock { file: lock, _directory: directory }),
            Err(TryLockError::WouldBlock) => Err(DataDirError::InUse(self.path.clone())),
            Err(TryLockError::Error(source)) => Err(unusable(source)),
        }
    }

    /// Records which files the owner of the lock uses: the directory, the lock, and `databases` with their logs, which
    /// are open.
    pub fn watch(&self, lock: &DataDirLock, databases: &[PathBuf]) -> Result<DirectoryWatch, DataDirError> {
        let logs = databases.iter().flat_map(|database| [log_of(database), log_index_of(database)]);
        let logs = logs.filter(|log| log.exists());
        let folders = [self.named.clone(), self.path.clone()];
        let paths = folders.into_iter().chain(databases.iter().cloned()).chain(logs);
        DirectoryWatch::new(paths, (self.lock_path(), &lock.file))
            .map_err(|source| DataDirError::Unusable { path: self.path.clone(), source })
    }

    /// The directory's id, created once. Servers that share a database distinguish their directories by it.
    pub fn id(&self, _lock: &DataDirLock) -> Result<String, DataDirError> {
        if let Some(id) = self.known_id() {
            return Ok(id);
        }
        let (path, id) = (self.path.join(ID), random_base62(16));
        write_durably(&path, &id).map_err(|source| DataDirError::Unusable { path, source })?;
        Ok(id)
    }

    /// The directory's id if it exists, for commands beside the server.
    pub fn known_id(&self) -> Option<String> {
        fs::read_to_string(self.path.join(ID)).ok().filter(|id| !id.is_empty())
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    fn lock_path(&self) -> PathBuf {
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

    /// Files with address ranges of agents, which the operator may add.
    pub fn ranges(&self) -> PathBuf {
        self.path.join("ranges")
    }

    /// The write-ahead journal of repositories outside of the data directory.
    pub fn writes(&self) -> PathBuf {
        self.path.join("writes")
    }

    /// Stores the URL of the server, for commands beside it.
    pub fn remember_url(&self, url: &str) -> Result<(), DataDirError> {
        let path = self.path.join("url");
        fs::write(&path, url).map_err(|source| DataDirError::Unusable { path, source })
    }

    /// The stored URL of the server.
    pub fn url(&self) -> Option<String> {
        fs::read_to_string(self.path.join("url")).ok()
    }

    /// Stores the running server's report about an untrusted proxy, for `docwright doctor`.
    pub fn note_untrusted_proxy(&self, sentence: &str) -> Result<(), DataDirError> {
        let path = self.path.join(UNTRUSTED_PROXY);
        fs::write(&path, sentence).map_err(|source| DataDirError::Unusable { path, source })
    }

    /// Removes the report of an earlier server, which may have had other settings.
    pub fn forget_untrusted_proxy(&self) {
        let _ = fs::remove_file(self.path.join(UNTRUSTED_PROXY));
    }

    pub fn untrusted_proxy(&self) -> Option<String> {
        fs::read_to_string(self.path.join(UNTRUSTED_PROXY)).ok()
    }

    /// Stores what the last backup of this directory is, as JSON, for `docwright upgrade --check`.
    pub fn remember_backup(&self, json: &str) -> Result<(), DataDirError> {
        let path = self.path.join(LAST_BACKUP);
        write_durably(&path, json).map_err(|source| DataDirError::Unusable { path, source })
    }

    pub fn last_backup(&self) -> Option<String> {
        String::from_utf8(base::read_small_file(&self.path.join(LAST_BACKUP)).ok()?).ok()
    }

    /// When the databases in this directory, or their write-ahead logs, were last written to.
    pub fn newest_write(&self) -> Option<SystemTime> {
        let databases = [self.database(), self.views()];
        let logs = databases.each_ref().map(|database| log_of(database));
        let modified = |path: &PathBuf| fs::metadata(path).and_then(|found| found.modified()).ok();
        databases.iter().chain(&logs).filter_map(modified).max()
    }

    pub fn master_key(&self) -> PathBuf {
        self.path.join("master.key")
    }
}

/// An empty folder may be a mount point, and a new disk has a `lost+found`.
fn is_used(path: &Path) -> bool {
    match fs::read_dir(path) {
        Ok(entries) => entries.flatten().any(|entry| entry.file_name() != "lost+found"),
        Err(_) => path.exists(),
    }
}

/// Whether a database has ever had a commit: SQLite creates an empty file first.
fn is_written(database: &Path) -> bool {
    let length = |path: &Path| fs::metadata(path).map(|found| found.len());
    length(database).is_ok_and(|bytes| bytes > 0 || length(&log_of(database)).is_ok_and(|bytes| bytes > 0))
}

/// The write-ahead log of a database. It exists while the database is open.
fn log_of(database: &Path) -> PathBuf {
    database.with_extension("db-wal")
}

/// The index of that log. All processes that use the database share it.
fn log_index_of(database: &Path) -> PathBuf {
    database.with_extension("db-shm")
}

/// After a power cut the file is complete or missing.
pub(crate) fn write_durably(path: &Path, text: &str) -> std::io::Result<()> {
    let draft = path.with_extension("new");
    let mut file = File::create(&draft)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&draft, path)?;
    sync_parent(path)
}

/// Makes a new file's name survive a power cut.
pub(crate) fn sync_parent(path: &Path) -> std::io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}
