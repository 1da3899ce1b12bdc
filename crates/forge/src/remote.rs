//! Addresses of repositories: a path on this machine, or an HTTP address with credentials.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use net::Secret;
use reqwest::Url;

use crate::{Error, FetchCounts, Result};

/// A repository to fetch from and push to.
#[derive(Clone)]
pub enum Remote {
    File(FileRemote),
    Http(HttpRemote),
}

impl Remote {
    /// `path` must be absolute, because a relative path depends on the working directory.
    pub fn file(path: &Path) -> Result<Self> {
        FileRemote::new(path).map(Self::File)
    }
}

/// The git directory of a repository on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRemote {
    path: PathBuf,
    url: String,
    /// The folder of the write-ahead journal (`journal.rs`).
    journal: Option<PathBuf>,
}

impl FileRemote {
    pub(crate) fn new(path: &Path) -> Result<Self> {
        let bytes = path.as_os_str().as_bytes();
        if !path.is_absolute() || bytes.contains(&b'\n') || bytes.contains(&0) {
            return Err(Error::BadName(
                "the path of a repository must be absolute and on one line".to_owned(),
            ));
        }
        Ok(Self { path: path.to_owned(), url: file_url(path), journal: None })
    }

    /// Records writes in the journal `folder`.
    pub(crate) fn with_journal(self, folder: &Path) -> Self {
        Self { journal: Some(folder.to_owned()), ..self }
    }

    pub(crate) fn journal(&self) -> Option<&Path> {
        self.journal.as_deref()
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// A repository on another machine, reached over smart HTTP. `http` is a client from the crate `net`.
#[derive(Clone)]
pub struct HttpRemote {
    pub(crate) http: reqwest::Client,
    /// The repository's address; `/info/refs` and the services are below it.
    pub(crate) url: Url,
    pub(crate) credentials: Arc<dyn Credentials>,
    /// The largest packfile that is fetched, in bytes.
    pub(crate) max_pack: u64,
    /// The same for files that are fetched when they are read.
    pub(crate) max_batch: u64,
    /// A repository with at most so many files is fetched with all of them.
    pub(crate) whole_up_to: usize,
    pub(crate) counts: Arc<FetchCounts>,
}

/// Far more than any docs repository needs without its history.
const MAX_PACKFILE_BYTES: u64 = 2 << 30;
/// A larger batch is divided.
const MAX_BATCH_BYTES: u64 = 256 << 20;
/// Fetching so many files takes about 0.3 s from a fast host, which is as long as a few requests over the internet.
const MAX_WHOLE_FILES: usize = 1_000;

impl HttpRemote {
    pub fn new(http: reqwest::Client, url: Url, credentials: Arc<dyn Credentials>) -> Self {
        Self {
            http,
            url,
            credentials,
            max_pack: MAX_PACKFILE_BYTES,
            max_batch: MAX_BATCH_BYTES,
            whole_up_to: MAX_WHOLE_FILES,
            counts: Arc::default(),
        }
    }

    /// Limits the size of a fetched packfile.
    pub fn max_pack(self, bytes: u64) -> Self {
        Self { max_pack: bytes, ..self }
    }

    /// Limits the size of a packfile with files that are fetched when they are read.
    pub fn max_batch(self, bytes: u64) -> Self {
        Self { max_batch: bytes, ..self }
    }

    /// Fetches repositories with at most `files` files with all of them.
    pub fn whole_up_to(self, files: usize) -> Self {
        Self { whole_up_to: files, ..self }
    }

    pub(crate) fn with_counts(self, counts: &Arc<FetchCounts>) -> Self {
        Self { counts: counts.clone(), ..self }
    }
}

/// Provides the current token. An app's token expires after an hour.
#[async_trait]
pub trait Credentials: Send + Sync {
    /// `None` for anonymous access to a public repository.
    async fn token(&self) -> Result<Option<Secret>>;
}

/// With `file://`, git transfers objects like from any other host. With a bare path it would ignore the depth
/// and share objects through hard links.
pub(crate) fn file_url(path: &Path) -> String {
    let mut url = "file://".to_owned();
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => {
                url.push(char::from(byte));
            }
            _ => {
                let _ = write!(url, "%{byte:02X}");
            }
        }
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_absolute_one_line_paths_become_file_urls() {
        #[track_caller]
        fn check(path: &str, expected: Option<&str>) {
            let remote = FileRemote::new(Path::new(path)).ok();
            assert_eq!(remote.as_ref().map(FileRemote::url), expected);
        }
        check("/srv/docs.git", Some("file:///srv/docs.git"));
        check("/srv/a b%20'\"$x", Some("file:///srv/a%20b%2520%27%22%24x"));
        check("/srv/ü", Some("file:///srv/%C3%BC"));
        check("srv/docs", None);
        check("--upload-pack=x", None);
        check("ext::sh -c id", None);
        check("/srv/a\nb", None);
    }
}
