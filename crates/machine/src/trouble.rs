//! Defines the error for trouble of the machine: a cause and a location.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::io;

use crate::Cause;

/// Trouble of the machine. Its text says what happened, then what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    pub cause: Cause,
    /// What is on the affected disk, such as "the repository". Never a path, because API clients see it.
    location: Option<Cow<'static, str>>,
    /// The original error message, for the log.
    detail: String,
}

impl Trouble {
    pub fn new(cause: Cause, detail: impl fmt::Display) -> Self {
        Self { cause, location: None, detail: detail.to_string() }
    }

    /// Sets what is on the disk, unless it is already set by code closer to the error.
    #[must_use]
    pub fn at(mut self, location: impl Into<Cow<'static, str>>) -> Self {
        self.location.get_or_insert_with(|| location.into());
        self
    }

    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// Searches an error and its causes.
    pub fn find(error: &(dyn Error + 'static)) -> Option<Self> {
        if let Some(trouble) = error.downcast_ref::<Self>() {
            return Some(trouble.clone());
        }
        if let Some(io) = error.downcast_ref::<io::Error>() {
            let inner = || Self::find(io.get_ref()? as &(dyn Error + 'static));
            return Cause::from_io(io).map(|cause| Self::new(cause, io)).or_else(inner);
        }
        Self::find(error.source()?)
    }

    /// Searches the output of a program.
    pub fn in_text(text: &str) -> Option<Self> {
        Cause::in_text(text).map(|(cause, line)| Self::new(cause, line))
    }

    /// What happened, as a clause without a final period.
    pub fn description(&self) -> String {
        let disk = match &self.location {
            Some(location) => format!("the disk of {location}"),
            None => "a disk of this machine".to_owned(),
        };
        match self.cause {
            Cause::DiskFull => format!("{disk} is full"),
            Cause::QuotaExceeded => format!("the quota on {disk} is exceeded"),
            Cause::ReadOnly => format!("{disk} is read-only"),
            Cause::DiskError => format!("{disk} reports an input/output error"),
            Cause::ProcessFiles => "the server has too many open files".to_owned(),
            Cause::SystemFiles => "this machine has too many open files".to_owned(),
        }
    }

    pub fn advice(&self) -> &'static str {
        match self.cause {
            Cause::DiskFull => "free up space",
            Cause::QuotaExceeded => "free up space, or raise the quota",
            Cause::ReadOnly => "make it writable again",
            Cause::DiskError => "check the system log and the disk",
            Cause::ProcessFiles => {
                "raise the limit on open files: `LimitNOFILE=` of the service, or `ulimit -n`"
            }
            Cause::SystemFiles => "close other programs, or raise the system's limit: `sysctl fs.file-max`",
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.description(), self.advice())
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
    fn trouble_is_found_at_any_depth_of_the_error_chain() {
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
    fn the_text_says_what_happened_and_what_to_do() {
        let full = Trouble::new(Cause::DiskFull, "x");
        assert_eq!(full.to_string(), "a disk of this machine is full; free up space");
        let full = full.at("the repository").at("the data directory");
        assert_eq!(full.to_string(), "the disk of the repository is full; free up space");
    }
}
