//! The files of a commit as they are, and what an editor may do with them.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;

use regex::RegexBuilder;

use crate::ground::Paths;

/// A larger file is never read as text: no page is that long.
pub const MAX_TEXT_BYTES: usize = 2 * 1024 * 1024;
/// A tree with more files than this is refused.
pub const MAX_FILES: usize = 100_000;
const MAX_HIT_CHARS: usize = 200;

/// Why files could not be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    #[error("{0:?} does not exist")]
    NotFound(String),
    /// The file is there but is no text an editor can work on; it can be left out.
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

/// What stands at a path of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    File,
    /// Listed so that writes to it and through it can be refused; never read, never followed.
    Symlink,
    /// Listed for the same reason.
    Submodule,
}

/// One path of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Relative to the root of the repository, separated by `/`.
    pub path: String,
    pub kind: Kind,
}

/// A commit's files as they are, read-only.
pub trait Tree: Send + Sync {
    /// Every file, symbolic link and submodule, in the order of their paths' bytes.
    fn list(&self) -> Result<Vec<Entry>, FilesError>;
    /// The bytes of a regular file; [`FilesError::NotFound`] when there is none at `path`. A file of more than
    /// `at_most` bytes is a [`FilesError::TooLarge`], and is not loaded.
    fn read(&self, path: &str, at_most: usize) -> Result<Vec<u8>, FilesError>;
}

impl Tree for &dyn Tree {
    fn list(&self) -> Result<Vec<Entry>, FilesError> {
        (**self).list()
    }

    fn read(&self, path: &str, at_most: usize) -> Result<Vec<u8>, FilesError> {
        (**self).read(path, at_most)
    }
}

/// The changed files by path: their new bytes, or `None` for a deleted one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Edits(pub BTreeMap<String, Option<Vec<u8>>>);

/// One line that a search found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    pub path: String,
    /// Counted from 1.
    pub line: usize,
    /// The line, cut off when it is very long.
    pub text: String,
}

/// What an editor may do: list, read, search, write, move, delete.
///
/// Paths are relative to the root of the repository; only those under [`Files::root`] exist here.
pub trait Files {
    /// The folder that the docs live in, which `/` of the site stands for; empty for the whole repository.
    fn root(&self) -> &str;
    /// Every regular file as it is now.
    fn paths(&self) -> Arc<Paths>;
    /// The text of a file as it is now. Refuses what is not UTF-8 or is larger than [`MAX_TEXT_BYTES`].
    fn read(&self, path: &str) -> Result<String, FilesError>;
    /// Makes or replaces a file.
    fn write(&mut self, path: &str, text: String) -> Result<(), FilesError>;
    /// Moves a file to a path where there is none yet.
    fn rename(&mut self, from: &str, to: &str) -> Result<(), FilesError>;
    fn delete(&mut self, path: &str) -> Result<(), FilesError>;
    /// The files as they were before anything was changed here. They cannot be changed.
    fn before(&self) -> Box<dyn Files + '_>;
    /// The paths that differ from [`Files::before`], in the order of their bytes.
    fn changed(&self) -> Vec<String>;
    /// What differs from [`Files::before`], whole.
    fn edits(&self) -> Edits;

    /// Every regular file as it is now, in the order of their paths' bytes.
    fn list(&self) -> Vec<String> {
        self.paths().files.iter().cloned().collect()
    }

    /// The lines that contain `text`, whatever its case, at most `limit` of them. Files that are no text are passed over.
    fn search(&self, text: &str, limit: usize) -> Result<Vec<Hit>, FilesError> {
        let mut hits = Vec::new();
        let Ok(pattern) = RegexBuilder::new(&regex::escape(text)).case_insensitive(true).build() else {
            return Err(FilesError::refused("", "the text to search for is too long"));
        };
        for path in &self.paths().files {
            let found = match self.read(path) {
                Err(FilesError::NotText { .. }) => continue,
                other => other?,
            };
            let lines = found.lines().enumerate().filter(|(_, line)| pattern.is_match(line));
            for (index, line) in lines.take(limit - hits.len()) {
                let text = line.chars().take(MAX_HIT_CHARS).collect();
                hits.push(Hit { path: path.clone(), line: index + 1, text });
            }
            if hits.len() == limit {
                break;
            }
        }
        Ok(hits)
    }
}

/// The text of a file, or nothing when it is none.
pub(crate) fn text(files: &dyn Files, path: &str) -> Result<Option<String>, FilesError> {
    match files.read(path) {
        Ok(text) => Ok(Some(text)),
        Err(FilesError::NotText { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A tree held in memory: what tests of this crate and of its users work on.
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

    fn read(&self, path: &str, at_most: usize) -> Result<Vec<u8>, FilesError> {
        match self.0.get(path) {
            Some((_, bytes)) if bytes.len() > at_most => Err(FilesError::TooLarge(path.to_owned())),
            Some((Kind::File, bytes)) => Ok(bytes.clone()),
            _ => Err(FilesError::NotFound(path.to_owned())),
        }
    }
}
