//! The data directory: one server owns it, admin commands may work beside that server.

use std::fs::{self, File, TryLockError};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::id::random_base62;

#[derive(Debug, thiserror::Error)]
pub enum DataDirError {
    #[error("another Docwright server is using {0}: stop it, or choose another directory with --data")]
    InUse(PathBuf),
    #[error("the data directory {path} cannot be used: {source}")]
    Unusable { path: PathBuf, source: std::io::Error },
}

#[derive(Debug, Clone)]
pub struct DataDir(PathBuf);

/// The lock on a data directory; it ends with this value, or with the process.
#[derive(Debug)]
pub struct Held(#[expect(dead_code, reason = "held for its lock alone")] File);

impl DataDir {
    /// Makes the directory, for its owner alone, when it is not there.
    pub fn open(path: &Path) -> Result<Self, DataDirError> {
        let unusable = |source| DataDirError::Unusable { path: path.to_owned(), source };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(unusable)?;
        // Also one that was there before: what is in it is for its owner alone.
        fs::set_permissions(path, fs::Permissions::from_mode(0o700)).map_err(unusable)?;
        Ok(Self(path.canonicalize().map_err(unusable)?))
    }

    /// One that is there already, left as it is.
    pub fn find(path: &Path) -> std::io::Result<Self> {
        Ok(Self(path.canonicalize()?))
    }

    /// Whether a server, or a command that changes the schema, holds the lock just now.
    pub fn is_held(&self) -> bool {
        let lock = File::open(self.0.join("lock"));
        lock.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// Takes the lock, or says who has it.
    pub fn hold(&self) -> Result<Held, DataDirError> {
        let path = self.0.join("lock");
        let unusable = |source| DataDirError::Unusable { path: path.clone(), source };
        let file = File::options().create(true).append(true).open(&path).map_err(unusable)?;
        match file.try_lock() {
            Ok(()) => Ok(Held(file)),
            Err(TryLockError::WouldBlock) => Err(DataDirError::InUse(self.0.clone())),
            Err(TryLockError::Error(source)) => Err(unusable(source)),
        }
    }

    /// The directory's own name, made once, by which servers that share a database tell their
    /// directories apart.
    pub fn id(&self, _held: &Held) -> Result<String, DataDirError> {
        let path = self.0.join("id");
        match fs::read_to_string(&path) {
            Ok(id) if !id.is_empty() => return Ok(id),
            _ => {}
        }
        let id = random_base62(16);
        fs::write(&path, &id).map_err(|source| DataDirError::Unusable { path, source })?;
        Ok(id)
    }

    /// The same if it was made, for commands beside the server.
    pub fn known_id(&self) -> Option<String> {
        fs::read_to_string(self.0.join("id")).ok().filter(|id| !id.is_empty())
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn database(&self) -> PathBuf {
        self.0.join("docwright.db")
    }

    pub fn views(&self) -> PathBuf {
        self.0.join("views.db")
    }

    pub fn repositories(&self) -> PathBuf {
        self.0.join("repos")
    }

    /// What is being written to repositories that are not ours, recorded before it is.
    pub fn writes(&self) -> PathBuf {
        self.0.join("writes")
    }

    /// Where the server that holds this directory can be reached, for commands beside it.
    pub fn remember_url(&self, url: &str) -> Result<(), DataDirError> {
        let path = self.0.join("url");
        fs::write(&path, url).map_err(|source| DataDirError::Unusable { path, source })
    }

    /// The last that was remembered.
    pub fn url(&self) -> Option<String> {
        fs::read_to_string(self.0.join("url")).ok()
    }

    pub fn master_key(&self) -> PathBuf {
        self.0.join("master.key")
    }
}
