//! Where a project's repository is.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use net::Secret;
use reqwest::Url;

use crate::{Error, Result};

/// Where to fetch from and push to.
#[derive(Clone)]
pub enum Remote {
    File(FileRemote),
    Http(HttpRemote),
}

impl Remote {
    /// `path` must be absolute: what a relative one means would change with the working directory.
    pub fn file(path: &Path) -> Result<Self> {
        FileRemote::new(path).map(Self::File)
    }
}

/// The git directory of a repository on this machine, as an explicit URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRemote {
    path: PathBuf,
    url: String,
    /// The folder of write records (`journal.rs`).
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

    /// Writes are recorded in `folder`.
    pub(crate) fn journaled(self, folder: &Path) -> Self {
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

/// A repository on another machine, spoken to over smart HTTP by a client that `net` made.
#[derive(Clone)]
pub struct HttpRemote {
    pub(crate) http: reqwest::Client,
    /// Of the repository: `/info/refs` and the services are below it.
    pub(crate) url: Url,
    pub(crate) credentials: Arc<dyn Credentials>,
    /// How much of it is fetched: bytes, packed.
    pub(crate) max_pack: u64,
}

/// A documentation tree of this size, without its history, would be the largest anybody saw.
const MAX_PACK: u64 = 2 << 30;

impl HttpRemote {
    pub fn new(http: reqwest::Client, url: Url, credentials: Arc<dyn Credentials>) -> Self {
        Self { http, url, credentials, max_pack: MAX_PACK }
    }

    /// Refuses to fetch more than `bytes`, packed.
    pub fn max_pack(self, bytes: u64) -> Self {
        Self { max_pack: bytes, ..self }
    }
}

/// Who knows the token of the moment: one of an app is good for an hour.
#[async_trait]
pub trait Credentials: Send + Sync {
    /// `None` for a repository that everybody may read.
    async fn token(&self) -> Result<Option<Secret>>;
}

/// With `file://`, unlike with a bare path, git transfers objects as from any other host: a depth
/// is honoured, and nothing is shared by hard links.
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
    fn urls() {
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
