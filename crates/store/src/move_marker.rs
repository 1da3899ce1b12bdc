//! The file `moved` in the data directory: says that the installation is being moved, or was moved, to PostgreSQL. It keeps
//! a server and the commands from using the old database by mistake.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::data_dir::write_durably;
use crate::id::random_base62;
use crate::{DataDir, DataDirError, DataDirLock, TransferPlan};

const FILE: &str = "moved";
const ID_CHARS: usize = 22;

/// Where the installation was moved to. Never has a password.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MoveMarker {
    /// Random: the target has the same one.
    pub id: String,
    pub to: String,
    /// Where the page views went; `None`: they stay in the directory.
    pub views: Option<String>,
    pub began_at: String,
    /// `None`: the move was interrupted, or runs.
    pub finished_at: Option<String>,
}

impl MoveMarker {
    pub fn new(to: String, views: Option<String>, began_at: String) -> Self {
        Self { id: random_base62(ID_CHARS), to, views, began_at, finished_at: None }
    }

    /// This move, as the target remembers it.
    pub fn plan(&self, directory: String) -> TransferPlan {
        TransferPlan { id: self.id.clone(), directory, views: self.views.clone() }
    }
}

impl DataDir {
    pub fn move_marker(&self) -> Result<Option<MoveMarker>, DataDirError> {
        let path = self.move_marker_path();
        let unusable = |source| DataDirError::Unusable { path: path.clone(), source };
        let bytes = match std::fs::read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            read => read.map_err(unusable)?,
        };
        serde_json::from_slice(&bytes).map(Some).map_err(|error| unusable(error.into()))
    }

    pub fn write_move_marker(&self, _lock: &DataDirLock, marker: &MoveMarker) -> Result<(), DataDirError> {
        let path = self.move_marker_path();
        let unusable = |source| DataDirError::Unusable { path: path.clone(), source };
        let text = serde_json::to_string_pretty(marker).map_err(|error| unusable(error.into()))?;
        write_durably(&path, &(text + "\n")).map_err(unusable)
    }

    /// Fails if the database in this directory is no longer the one in use.
    pub fn refuse_moved(&self) -> Result<(), DataDirError> {
        let marker = self.move_marker_path();
        match self.move_marker()? {
            None => Ok(()),
            Some(MoveMarker { to, finished_at: Some(at), .. }) => Err(DataDirError::Moved { to, at, marker }),
            Some(MoveMarker { to, .. }) => Err(DataDirError::MoveInterrupted { to, marker }),
        }
    }

    pub fn move_marker_path(&self) -> PathBuf {
        self.path().join(FILE)
    }
}
