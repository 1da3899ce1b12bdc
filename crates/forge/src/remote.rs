//! Where a project's repository is.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::{Error, Result};

/// The git directory of a repository on this machine, as an explicit URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remote {
    path: PathBuf,
    url: String,
}

impl Remote {
    /// `path` must be absolute: what a relative one means would change with the working directory.
    pub fn file(path: &Path) -> Result<Self> {
        let bytes = path.as_os_str().as_bytes();
        if !path.is_absolute() || bytes.contains(&b'\n') || bytes.contains(&0) {
            return Err(Error::BadName(
                "the path of a repository must be absolute and on one line".to_owned(),
            ));
        }
        Ok(Self { path: path.to_owned(), url: file_url(path) })
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
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
            let remote = Remote::file(Path::new(path)).ok();
            assert_eq!(remote.as_ref().map(Remote::url), expected);
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
