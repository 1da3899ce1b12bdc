//! What the trouble is.

use std::io;

use rustix::io::Errno;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cause {
    /// ENOSPC
    DiskFull,
    /// EDQUOT
    QuotaExceeded,
    /// EROFS
    ReadOnly,
    /// EIO
    DiskError,
    /// EMFILE
    ProcessFiles,
    /// ENFILE
    SystemFiles,
}

/// The words of glibc and musl for each cause. A longer one stands before one that it begins with.
const WORDS: &[(&str, Cause)] = &[
    ("No space left on device", Cause::DiskFull),
    ("Disk quota exceeded", Cause::QuotaExceeded),
    ("Quota exceeded", Cause::QuotaExceeded),
    ("Read-only file system", Cause::ReadOnly),
    ("Input/output error", Cause::DiskError),
    ("I/O error", Cause::DiskError),
    ("Too many open files in system", Cause::SystemFiles),
    ("Too many open files", Cause::ProcessFiles),
    ("No file descriptors available", Cause::ProcessFiles),
];

impl Cause {
    pub const ALL: [Self; 6] = [
        Self::DiskFull,
        Self::QuotaExceeded,
        Self::ReadOnly,
        Self::DiskError,
        Self::ProcessFiles,
        Self::SystemFiles,
    ];

    /// For programs: it stands in a job's events.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::DiskFull => "disk_full",
            Self::QuotaExceeded => "quota_exceeded",
            Self::ReadOnly => "read_only",
            Self::DiskError => "disk_error",
            Self::ProcessFiles => "process_open_files",
            Self::SystemFiles => "system_open_files",
        }
    }

    /// Of one I/O error by itself, whatever it wraps.
    pub fn of_io(error: &io::Error) -> Option<Self> {
        match error.raw_os_error().or_else(|| number_in(&error.get_ref()?.to_string())) {
            Some(number) => Self::of_errno(Errno::from_raw_os_error(number)),
            None => match error.kind() {
                io::ErrorKind::StorageFull => Some(Self::DiskFull),
                io::ErrorKind::QuotaExceeded => Some(Self::QuotaExceeded),
                io::ErrorKind::ReadOnlyFilesystem => Some(Self::ReadOnly),
                _ => None,
            },
        }
    }

    fn of_errno(number: Errno) -> Option<Self> {
        match number {
            Errno::NOSPC => Some(Self::DiskFull),
            Errno::DQUOT => Some(Self::QuotaExceeded),
            Errno::ROFS => Some(Self::ReadOnly),
            Errno::IO => Some(Self::DiskError),
            Errno::MFILE => Some(Self::ProcessFiles),
            Errno::NFILE => Some(Self::SystemFiles),
            _ => None,
        }
    }

    /// Of what a program printed, and the line that says it. Programs put the words of the C library at the end of a
    /// line, after a colon. Elsewhere they may be somebody's file name.
    pub fn in_text(text: &str) -> Option<(Self, &str)> {
        text.lines().map(str::trim).find_map(|line| Some((Self::of_line(line)?, line)))
    }

    fn of_line(line: &str) -> Option<Self> {
        let said = line.rsplit_once(": ").map_or(line, |(_, said)| said);
        let said = said.trim_end_matches(['.', ')', ';']);
        WORDS.iter().find(|(words, _)| *words == said).map(|(_, cause)| *cause)
    }
}

/// The number in an error's text. Some libraries wrap an I/O error so that its text is all that is left of it.
fn number_in(text: &str) -> Option<i32> {
    let (_, rest) = text.split_once("(os error ")?;
    rest.split_once(')')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        let of = |number: Errno| Cause::of_io(&io::Error::from_raw_os_error(number.raw_os_error()));
        assert_eq!(of(Errno::NOSPC), Some(Cause::DiskFull));
        assert_eq!(of(Errno::DQUOT), Some(Cause::QuotaExceeded));
        assert_eq!(of(Errno::ROFS), Some(Cause::ReadOnly));
        assert_eq!(of(Errno::IO), Some(Cause::DiskError));
        assert_eq!(of(Errno::MFILE), Some(Cause::ProcessFiles));
        assert_eq!(of(Errno::NFILE), Some(Cause::SystemFiles));
        for other in [Errno::NOENT, Errno::ACCESS, Errno::AGAIN, Errno::NOMEM, Errno::PIPE] {
            assert_eq!(of(other), None, "{other:?}");
        }
        assert_eq!(Cause::of_io(&io::ErrorKind::StorageFull.into()), Some(Cause::DiskFull));
        let wrapped = io::Error::other(format!("{} at path \"/x\"", io::Error::from_raw_os_error(24)));
        assert_eq!(Cause::of_io(&wrapped), Some(Cause::ProcessFiles));
    }

    #[test]
    fn words_of_programs() {
        #[track_caller]
        fn check(text: &str, expected: Option<Cause>) {
            assert_eq!(Cause::in_text(text).map(|(cause, _)| cause), expected, "{text}");
        }
        check("fatal: write error: No space left on device\n", Some(Cause::DiskFull));
        check("remote: error: file write error: No space left on device        \nx", Some(Cause::DiskFull));
        check("error: unable to write file ./objects/ab/cd: Disk quota exceeded", Some(Cause::QuotaExceeded));
        check(
            "error: cannot lock ref 'refs/heads/a': Unable to create '/r/a.lock': Read-only file system",
            Some(Cause::ReadOnly),
        );
        check("fatal: cannot create pipe: Too many open files", Some(Cause::ProcessFiles));
        check("fatal: cannot open x: Too many open files in system", Some(Cause::SystemFiles));
        check("error: read error: Input/output error", Some(Cause::DiskError));
        check("error: invalid path 'x: No space left on device'", None);
        check("No space left on device is the title of a page", None);
        check("fatal: not a git repository", None);
        check("", None);
    }
}
