//! A folder of this machine as a tree. Nothing outside of it is read: symbolic links are seen, not followed.

use std::error::Error;
use std::fs::{DirEntry, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::Context;
use pages::{Entry, FilesError, Kind, MAX_FILES, Tree};
use rustix::fs::{Mode, OFlags};

/// Folders that hold what others wrote, and what git keeps for itself.
const PASSED_OVER: &[&str] = &[".git", "node_modules", "bower_components"];
/// Files that say of their folder that a program fills it.
const MARKS: &[&str] = &["CACHEDIR.TAG", "pyvenv.cfg"];

pub(super) struct Folder(PathBuf);

impl Folder {
    /// The folder may be named by a link; what is in it may not.
    pub(super) fn open(path: &Path) -> anyhow::Result<Self> {
        let shown = path.display();
        let path = path.canonicalize().with_context(|| format!("{shown} cannot be read"))?;
        anyhow::ensure!(path.is_dir(), "{shown} is not a folder; name the one that the docs are in");
        Ok(Self(path))
    }
}

impl Tree for Folder {
    fn list(&self) -> Result<Vec<Entry>, FilesError> {
        let (mut entries, mut waiting) = (Vec::new(), vec![String::new()]);
        while let Some(folder) = waiting.pop() {
            let below = if folder.is_empty() { String::new() } else { format!("{folder}/") };
            for entry in std::fs::read_dir(self.0.join(&folder)).map_err(unreadable)? {
                let entry = entry.map_err(unreadable)?;
                // A name that is not UTF-8 is no path of a site.
                let Ok(name) = entry.file_name().into_string() else { continue };
                if entry.file_type().map_err(unreadable)?.is_dir() {
                    if !is_passed_over(&entry, &name) {
                        waiting.push(format!("{below}{name}"));
                    }
                } else {
                    entries.extend(listed(&entry, format!("{below}{name}")).map_err(unreadable)?);
                }
                if entries.len() + waiting.len() > MAX_FILES {
                    return Err(FilesError::TooManyFiles);
                }
            }
        }
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(entries)
    }

    fn read(&self, path: &str, at_most: usize) -> Result<Vec<u8>, FilesError> {
        // The file may have been exchanged for a link, or may grow, since it was listed.
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

fn is_passed_over(folder: &DirEntry, name: &str) -> bool {
    PASSED_OVER.contains(&name) || MARKS.iter().any(|mark| folder.path().join(mark).exists())
}

/// Pipes, sockets and devices are not listed.
fn listed(entry: &DirEntry, path: String) -> std::io::Result<Option<Entry>> {
    let about = entry.metadata()?;
    let kind = match about.file_type() {
        kind if kind.is_symlink() => Kind::Symlink,
        kind if kind.is_file() => Kind::File,
        _ => return Ok(None),
    };
    Ok(Some(Entry { path, kind }))
}

fn unreadable(error: impl Error + Send + Sync + 'static) -> FilesError {
    FilesError::Tree(Box::new(error))
}
