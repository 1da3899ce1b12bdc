//! Classifies I/O errors and program output by cause, such as a full disk (ENOSPC).

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

/// The messages of glibc and musl for each cause. A longer message precedes its own prefix.
const LIBC_MESSAGES: &[(&str, Cause)] = &[
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

    /// The identifier in a job's events.
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

    /// The cause of this I/O error, without the errors that it wraps.
    pub fn from_io(error: &io::Error) -> Option<Self> {
        match error.raw_os_error().or_else(|| errno_in(&error.get_ref()?.to_string())) {
            Some(number) => Self::from_errno(Errno::from_raw_os_error(number)),
            None => match error.kind() {
                io::ErrorKind::StorageFull => Some(Self::DiskFull),
                io::ErrorKind::QuotaExceeded => Some(Self::QuotaExceeded),
                io::ErrorKind::ReadOnlyFilesystem => Some(Self::ReadOnly),
                _ => None,
            },
        }
    }

    fn from_errno(number: Errno) -> Option<Self> {
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

    /// The cause in the output of a program, and the line that names it. Programs print the C library's
    /// message at the end of a line, after a colon. Elsewhere the same text may be a file name.
    pub fn in_text(text: &str) -> Option<(Self, &str)> {
        text.lines().map(str::trim).find_map(|line| Some((Self::from_line(line)?, line)))
    }

    fn from_line(line: &str) -> Option<Self> {
        let message = line.rsplit_once(": ").map_or(line, |(_, message)| message);
        let message = message.trim_end_matches(['.', ')', ';']);
        LIBC_MESSAGES.iter().find(|(known, _)| *known == message).map(|(_, cause)| *cause)
    }
}

/// The errno in an error's text, for libraries that keep only the text of an I/O error.
fn errno_in(text: &str) -> Option<i32> {
    let (_, rest) = text.split_once("(os error ")?;
    rest.split_once(')')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_of_errno_values() {
        let of = |number: Errno| Cause::from_io(&io::Error::from_raw_os_error(number.raw_os_error()));
        assert_eq!(of(Errno::NOSPC), Some(Cause::DiskFull));
        assert_eq!(of(Errno::DQUOT), Some(Cause::QuotaExceeded));
        assert_eq!(of(Errno::ROFS), Some(Cause::ReadOnly));
        assert_eq!(of(Errno::IO), Some(Cause::DiskError));
        assert_eq!(of(Errno::MFILE), Some(Cause::ProcessFiles));
        assert_eq!(of(Errno::NFILE), Some(Cause::SystemFiles));
        for other in [Errno::NOENT, Errno::ACCESS, Errno::AGAIN, Errno::NOMEM, Errno::PIPE] {
            assert_eq!(of(other), None, "{other:?}");
        }
        assert_eq!(Cause::from_io(&io::ErrorKind::StorageFull.into()), Some(Cause::DiskFull));
        let wrapped = io::Error::other(format!("{} at path \"/x\"", io::Error::from_raw_os_error(24)));
        assert_eq!(Cause::from_io(&wrapped), Some(Cause::ProcessFiles));
    }

    #[test]
    fn causes_in_program_output() {
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
