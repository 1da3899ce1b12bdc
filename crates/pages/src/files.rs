//! Defines how the files of a commit are read ([`Tree`]) and edited ([`Files`]).

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;

use regex::RegexBuilder;

use crate::paths::Paths;
use crate::prefetch::{growing_chunks, has_binary_name};

/// A larger file is never read as text.
pub const MAX_TEXT_BYTES: usize = 2 * 1024 * 1024;
/// A tree with more files than this is refused.
pub const MAX_FILES: usize = 100_000;
/// A longer line is cut in search results.
const MAX_HIT_CHARS: usize = 200;

/// Why files could not be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    #[error("{0:?} does not exist")]
    NotFound(String),
    /// The file exists, but is not text that an editor can work on. Callers can skip it.
    #[error("{path:?} cannot be read as text: {why}")]
    NotText { path: String, why: &'static str },
    #[error("{0:?} is too large")]
    TooLarge(String),
    #[error("{path:?} cannot be used: {why}")]
    Refused { path: String, why: String },
    #[error("the repository has more than {MAX_FILES} files; set a narrower docs folder")]
    TooManyFiles,
    #[error("the repository could not be read")]
    Tree(#[source] Box<dyn Error + Send + Sync>),
}

impl FilesError {
    pub(crate) fn refused(path: &str, why: impl Into<String>) -> Self {
        Self::Refused { path: path.to_owned(), why: why.into() }
    }
}

/// What is at a path of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    File,
    /// Listed so that writes to it and through it can be refused. Never read or followed.
    Symlink,
    /// Listed for the same reason.
    Submodule,
}

/// A path of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Relative to the root of the repository, separated by `/`.
    pub path: String,
    pub kind: Kind,
}

/// The files of a commit, read-only.
pub trait Tree: Send + Sync {
    /// Every file, symbolic link and submodule, in byte order of their paths.
    fn list(&self) -> Result<Vec<Entry>, FilesError>;
    /// The bytes of a regular file. Fails with [`FilesError::NotFound`] when there is none at `path`. Fails with
    /// [`FilesError::TooLarge`], and loads nothing, when the file has more than `max_bytes`.
    fn read(&self, path: &str, max_bytes: usize) -> Result<Vec<u8>, FilesError>;
    /// Announces that these files will be read. A tree that fetches files when they are read fetches all of them now.
    /// Paths that don't exist are ignored.
    fn prefetch(&self, _paths: &[&str]) -> Result<(), FilesError> {
        Ok(())
    }
}

impl Tree for &dyn Tree {
    fn prefetch(&self, paths: &[&str]) -> Result<(), FilesError> {
        (**self).prefetch(paths)
    }

    fn list(&self) -> Result<Vec<Entry>, FilesError> {
        (**self).list()
    }

    fn read(&self, path: &str, max_bytes: usize) -> Result<Vec<u8>, FilesError> {
        (**self).read(path, max_bytes)
    }
}

/// The changed files by path: their new bytes, or `None` for a deleted file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Edits(pub BTreeMap<String, Option<Vec<u8>>>);

/// A line that matches a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    pub path: String,
    /// Counted from 1.
    pub line: usize,
    /// The line. Very long lines are cut.
    pub text: String,
}

/// The operations of an editor: list, read, search, write, move, delete.
///
/// Paths are relative to the root of the repository. Only those under [`Files::root`] and those that
/// [`PathIndex::allow`](crate::PathIndex::allow) permits exist here.
pub trait Files {
    /// The docs folder, which `/` of the site stands for. Empty for the whole repository.
    fn root(&self) -> &str;
    /// Files outside the docs folder that can have the redirects of the site. They can't be read or written.
    fn redirects_outside(&self) -> &[String];
    /// The current regular files.
    fn paths(&self) -> Arc<Paths>;
    /// The current text of a file. Fails if it is not UTF-8, or is larger than [`MAX_TEXT_BYTES`].
    fn read(&self, path: &str) -> Result<String, FilesError>;
    /// Announces that these files will be read. See [`Tree::prefetch`].
    fn prefetch(&self, paths: &[&str]) -> Result<(), FilesError>;
    /// Creates or replaces a file.
    fn write(&mut self, path: &str, text: String) -> Result<(), FilesError>;
    /// Moves a file to a path that doesn't exist yet.
    fn rename(&mut self, from: &str, to: &str) -> Result<(), FilesError>;
    fn delete(&mut self, path: &str) -> Result<(), FilesError>;
    /// The files without the changes. They can't be edited.
    fn before(&self) -> Box<dyn Files + '_>;
    /// The paths that differ from [`Files::before`], in byte order.
    fn changed(&self) -> Vec<String>;
    /// The differences from [`Files::before`].
    fn edits(&self) -> Edits;
    /// The whole commit without the changes. The guard judges changes against it, so it has the files outside the docs
    /// folder, too.
    fn base(&self) -> &dyn Tree;

    /// The current regular files, in byte order.
    fn list(&self) -> Vec<String> {
        self.paths().files.iter().cloned().collect()
    }

    /// The lines that contain `text`, ignoring case, at most `limit` of them. Files that are not text are skipped,
    /// and so are files with the names of images, fonts and the like.
    fn search(&self, text: &str, limit: usize) -> Result<Vec<Hit>, FilesError> {
        let mut hits = Vec::new();
        let Ok(pattern) = RegexBuilder::new(&regex::escape(text)).case_insensitive(true).build() else {
            return Err(FilesError::refused("", "the text to search for is too long"));
        };
        let paths = self.paths();
        let searched: Vec<_> =
            paths.files.iter().map(String::as_str).filter(|path| !has_binary_name(path)).collect();
        for chunk in growing_chunks(&searched) {
            self.prefetch(chunk)?;
            for path in chunk {
                let content = match self.read(path) {
                    Err(FilesError::NotText { .. }) => continue,
                    other => other?,
                };
                let lines = content.lines().enumerate().filter(|(_, line)| pattern.is_match(line));
                for (index, line) in lines.take(limit - hits.len()) {
                    let text = line.chars().take(MAX_HIT_CHARS).collect();
                    hits.push(Hit { path: (*path).to_owned(), line: index + 1, text });
                }
                if hits.len() == limit {
                    return Ok(hits);
                }
            }
        }
        Ok(hits)
    }
}

/// The text of a file. `None` when it is not text.
pub(crate) fn read_text(files: &dyn Files, path: &str) -> Result<Option<String>, FilesError> {
    match files.read(path) {
        Ok(text) => Ok(Some(text)),
        Err(FilesError::NotText { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A tree in memory, for tests of this crate and its users.
#[derive(Debug, Clone, Default)]
pub struct MemoryTree(BTreeMap<String, (Kind, Vec<u8>)>);

impl MemoryTree {
    /// A tree of regular files.
    pub fn new<P: Into<String>, B: Into<Vec<u8>>>(files: impl IntoIterator<Item = (P, B)>) -> Self {
        let files = files.into_iter().map(|(path, bytes)| (path.into(), (Kind::File, bytes.into())));
        Self(files.collect())
    }

    /// The same tree with a symbolic link or submodule in it.
    #[must_use]
    pub fn with(mut self, path: &str, kind: Kind) -> Self {
        self.0.insert(path.to_owned(), (kind, Vec::new()));
        self
    }
}

impl Tree for MemoryTree {
    fn list(&self) -> Result<Vec<Entry>, FilesError> {
        let entry =
            |(path, (kind, _)): (&String, &(Kind, Vec<u8>))| Entry { path: path.clone(), kind: *kind };
        Ok(self.0.iter().map(entry).collect())
    }

    fn read(&self, path: &str, max_bytes: usize) -> Result<Vec<u8>, FilesError> {
        match self.0.get(path) {
            Some((_, bytes)) if bytes.len() > max_bytes => Err(FilesError::TooLarge(path.to_owned())),
            Some((Kind::File, bytes)) => Ok(bytes.clone()),
            _ => Err(FilesError::NotFound(path.to_owned())),
        }
    }
}
