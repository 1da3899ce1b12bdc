//! Presents a local folder as a tree of pages. It lists symbolic links but never follows them, so it reads nothing
//! outside of the folder.

use std::error::Error;
use std::fs::{DirEntry, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::Context;
use pages::{Entry, FilesError, Kind, MAX_FILES, Tree};
use rustix::fs::{Mode, OFlags};

/// Folders of dependencies and of git.
const SKIPPED_FOLDERS: &[&str] = &[".git", "node_modules", "bower_components"];
/// Files that mark their folder as the output of a program.
const SKIP_MARKERS: &[&str] = &["CACHEDIR.TAG", "pyvenv.cfg"];

pub(super) struct Folder(PathBuf);

impl Folder {
    /// The path of the folder itself may contain links.
    pub(super) fn open(path: &Path) -> anyhow::Result<Self> {
        let name = path.display();
        let path = path.canonicalize().with_context(|| format!("{name} cannot be read"))?;
        anyhow::ensure!(path.is_dir(), "{name} is not a folder: name the folder with the docs");
        Ok(Self(path))
    }
}

impl Tree for Folder {
    fn list(&self) -> Result<Vec<Entry>, FilesError> {
        let (mut entries, mut pending) = (Vec::new(), vec![String::new()]);
        while let Some(folder) = pending.pop() {
            let below = if folder.is_empty() { String::new() } else { format!("{folder}/") };
            for entry in std::fs::read_dir(self.0.join(&folder)).map_err(unreadable)? {
                let entry = entry.map_err(unreadable)?;
                // A name that is not UTF-8 cannot be the path of a page.
                let Ok(name) = entry.file_name().into_string() else { continue };
                if entry.file_type().map_err(unreadable)?.is_dir() {
                    if !is_skipped(&entry, &name) {
                        pending.push(format!("{below}{name}"));
                    }
                } else {
                    entries.extend(to_entry(&entry, format!("{below}{name}")).map_err(unreadable)?);
                }
                if entries.len() + pending.len() > MAX_FILES {
                    return Err(FilesError::TooManyFiles);
                }
            }
        }
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(entries)
    }

    fn read(&self, path: &str, at_most: usize) -> Result<Vec<u8>, FilesError> {
        // Since it was listed, the file may have been replaced by a link, or may have grown.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::open(self.0.join(path), flags, Mode::empty()).map_err(unreadable)?;
        let mut bytes = Vec::new();
        File::from(file)
            .take((at_most as u64).saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(unreadable)?;
        match bytes.len() > at_most {
            true => Err(FilesError::TooLarge(path.to_owned())),
            false => Ok(bytes),
        }
    }
}

fn is_skipped(folder: &DirEntry, name: &str) -> bool {
    SKIPPED_FOLDERS.contains(&name) || SKIP_MARKERS.iter().any(|mark| folder.path().join(mark).exists())
}

/// Returns `None` for pipes, sockets and devices.
fn to_entry(entry: &DirEntry, path: String) -> std::io::Result<Option<Entry>> {
    let metadata = entry.metadata()?;
    let kind = match metadata.file_type() {
        kind if kind.is_symlink() => Kind::Symlink,
        kind if kind.is_file() => Kind::File,
        _ => return Ok(None),
    };
    Ok(Some(Entry { path, kind }))
}

fn unreadable(error: impl Error + Send + Sync + 'static) -> FilesError {
    FilesError::Tree(Box::new(error))
}
