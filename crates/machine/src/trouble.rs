//! A cause, and where it was met, as one error.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::io;

use crate::Cause;

/// Trouble of the machine. As text it says what happened, then what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    pub cause: Cause,
    /// What lies on the disk that is in trouble, such as "the repository"; never a path, since clients read it.
    place: Option<Cow<'static, str>>,
    /// The words that it was met with, for the log.
    detail: String,
}

impl Trouble {
    pub fn new(cause: Cause, detail: impl fmt::Display) -> Self {
        Self { cause, place: None, detail: detail.to_string() }
    }

    /// Says what lies on the disk, unless somebody who knew better did.
    #[must_use]
    pub fn at(mut self, place: impl Into<Cow<'static, str>>) -> Self {
        self.place.get_or_insert_with(|| place.into());
        self
    }

    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// Looks for it in an error and in all that the error was caused by.
    pub fn find(error: &(dyn Error + 'static)) -> Option<Self> {
        if let Some(trouble) = error.downcast_ref::<Self>() {
            return Some(trouble.clone());
        }
        if let Some(io) = error.downcast_ref::<io::Error>() {
            let inner = || Self::find(io.get_ref()? as &(dyn Error + 'static));
            return Cause::of_io(io).map(|cause| Self::new(cause, io)).or_else(inner);
        }
        Self::find(error.source()?)
    }

    /// The same in what a program printed.
    pub fn in_text(text: &str) -> Option<Self> {
        Cause::in_text(text).map(|(cause, line)| Self::new(cause, line))
    }

    /// What happened, as the beginning of a sentence.
    pub fn what(&self) -> String {
        let disk = match &self.place {
            Some(place) => format!("the disk of {place}"),
            None => "a disk of this machine".to_owned(),
        };
        match self.cause {
            Cause::DiskFull => format!("{disk} is full"),
            Cause::QuotaExceeded => format!("the quota on {disk} is used up"),
            Cause::ReadOnly => format!("{disk} is read-only"),
            Cause::DiskError => format!("{disk} reports an input/output error"),
            Cause::ProcessFiles => "the server has as many files open as it may".to_owned(),
            Cause::SystemFiles => "this machine has as many files open as it can".to_owned(),
        }
    }

    pub fn advice(&self) -> &'static str {
        match self.cause {
            Cause::DiskFull => "make room",
            Cause::QuotaExceeded => "make room, or raise the quota",
            Cause::ReadOnly => "make it writable again",
            Cause::DiskError => "look for the cause in the system's log, and check the disk",
            Cause::ProcessFiles => {
                "raise the limit of open files: LimitNOFILE= of the service, or `ulimit -n`"
            }
            Cause::SystemFiles => "close other programs, or raise the system's limit: `sysctl fs.file-max`",
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.what(), self.advice())
    }
}

impl Error for Trouble {}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer<E: Error + 'static>(#[source] E);

    #[test]
    fn it_is_found_however_deep_it_is() {
        let io = || io::Error::from_raw_os_error(28);
        let found = |error: &(dyn Error + 'static)| Trouble::find(error).map(|trouble| trouble.cause);
        assert_eq!(found(&io()), Some(Cause::DiskFull));
        assert_eq!(found(&Outer(Outer(io()))), Some(Cause::DiskFull));
        // `source()` of an I/O error that wraps another error skips that one.
        assert_eq!(found(&io::Error::other(Outer(io()))), Some(Cause::DiskFull));
        assert_eq!(found(&io::Error::other(io())), Some(Cause::DiskFull));
        assert_eq!(found(&Outer(Trouble::new(Cause::ReadOnly, ""))), Some(Cause::ReadOnly));
        assert_eq!(found(&Outer(io::Error::from_raw_os_error(2))), None);
    }

    #[test]
    fn sentences() {
        let full = Trouble::new(Cause::DiskFull, "x");
        assert_eq!(full.to_string(), "a disk of this machine is full; make room");
        let full = full.at("the repository").at("the data directory");
        assert_eq!(full.to_string(), "the disk of the repository is full; make room");
    }
}
