//! Presents a local folder as a tree of pages. It lists symbolic links but reads no file through one, so it reads nothing
//! outside of the folder.

use std::error::Error;
use std::fs::{DirEntry, File};
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use anyhow::Context;
use pages::{Entry, FilesError, Kind, MAX_FILES, Tree};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

/// Folders of dependencies and of git.
const SKIPPED_FOLDERS: &[&str] = &[".git", "node_modules", "bower_components"];
/// Files that mark their folder as the output of a program.
const SKIP_MARKERS: &[&str] = &["CACHEDIR.TAG", "pyvenv.cfg"];

#[derive(Clone)]
pub(crate) struct Folder {
    path: PathBuf,
    /// Whether the folders of dependencies and of programs are listed too.
    is_whole: bool,
}

impl Folder {
    /// The path of the folder itself may contain links.
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        let name = path.display();
        let path = path.canonicalize().with_context(|| format!("{name} cannot be read"))?;
        anyhow::ensure!(path.is_dir(), "{name} is not a folder: name the folder with the docs");
        Ok(Self { path, is_whole: false })
    }

    /// Opens the files of a commit. All of them are listed, as in the tree that a job edits.
    pub(crate) fn open_whole(path: &Path) -> anyhow::Result<Self> {
        Ok(Self { is_whole: true, ..Self::open(path)? })
    }

    /// Opens a listed file. Since then, it or a folder above it may have been replaced by a link. `NOFOLLOW` refuses a link
    /// only as the last part of a path, so each part is opened on its own.
    fn open_file(&self, path: &str) -> rustix::io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut folder = rustix::fs::open(&self.path, flags | OFlags::DIRECTORY, Mode::empty())?;
        for part in folders.split('/').filter(|part| !part.is_empty()) {
            folder = rustix::fs::openat(&folder, part, flags | OFlags::DIRECTORY, Mode::empty())?;
        }
        rustix::fs::openat(&folder, name, flags, Mode::empty())
    }
}

impl Tree for Folder {
    fn list(&self) -> Result<Vec<Entry>, FilesError> {
        let (mut entries, mut pending) = (Vec::new(), vec![String::new()]);
        while let Some(folder) = pending.pop() {
            let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
            for entry in std::fs::read_dir(self.path.join(&folder)).map_err(unreadable)? {
                let entry = entry.map_err(unreadable)?;
                // A name that is not UTF-8 cannot be the path of a page.
                let Ok(name) = entry.file_name().into_string() else { continue };
                if entry.file_type().map_err(unreadable)?.is_dir() {
                    if self.is_whole || !is_skipped(&entry, &name) {
                        pending.push(format!("{prefix}{name}"));
                    }
                } else {
                    entries.extend(to_entry(&entry, format!("{prefix}{name}")).map_err(unreadable)?);
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
        let missing = || FilesError::NotFound(path.to_owned());
        let file = match self.open_file(path) {
            // A link is no regular file, so it counts as missing, as in a commit.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Err(missing()),
            opened => File::from(opened.map_err(unreadable)?),
        };
        if !file.metadata().map_err(unreadable)?.is_file() {
            return Err(missing());
        }
        let mut bytes = Vec::new();
        file
            // One extra byte reveals a file that is too large.
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn files_behind_a_link_are_not_read() {
        let temp = tempfile::tempdir().unwrap();
        let (docs, outside) = (temp.path().join("docs"), temp.path().join("outside"));
        for folder in [docs.join("a/b"), outside.join("b")] {
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("c.md"), "text").unwrap();
        }
        let folder = Folder::open(&docs).unwrap();
        assert_eq!(folder.list().unwrap().len(), 1);
        assert_eq!(folder.read("a/b/c.md", 4).unwrap(), b"text");
        // After the listing, each part of the path becomes a link to the same file outside.
        for (part, target) in [("a/b/c.md", "b/c.md"), ("a/b", "b"), ("a", "")] {
            fs::rename(docs.join(part), temp.path().join("kept")).unwrap();
            symlink(outside.join(target), docs.join(part)).unwrap();
            assert!(matches!(folder.read("a/b/c.md", 4), Err(FilesError::NotFound(_))), "{part}");
            fs::remove_file(docs.join(part)).unwrap();
            fs::rename(temp.path().join("kept"), docs.join(part)).unwrap();
            assert_eq!(folder.read("a/b/c.md", 4).unwrap(), b"text");
        }
    }

    /// The guard asks whether files exist: one that is missing must not look like one that can't be read.
    #[test]
    fn what_is_no_file_is_not_found() {
        let temp = tempfile::tempdir().unwrap();
        fs::create_dir(temp.path().join("docs")).unwrap();
        fs::write(temp.path().join("a.md"), "text").unwrap();
        let folder = Folder::open(temp.path()).unwrap();
        for path in ["SKILL.md", "docs/SKILL.md", "nowhere/SKILL.md", "a.md/SKILL.md", "docs"] {
            assert!(matches!(folder.read(path, 0), Err(FilesError::NotFound(_))), "{path}");
        }
        assert!(matches!(folder.read("a.md", 0), Err(FilesError::TooLarge(_))));
    }

    #[test]
    fn a_whole_folder_has_its_dependencies() {
        let temp = tempfile::tempdir().unwrap();
        fs::create_dir(temp.path().join("node_modules")).unwrap();
        fs::write(temp.path().join("node_modules/a.md"), "text").unwrap();
        assert!(Folder::open(temp.path()).unwrap().list().unwrap().is_empty());
        assert_eq!(Folder::open_whole(temp.path()).unwrap().list().unwrap().len(), 1);
    }
}
