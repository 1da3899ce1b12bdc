//! What can go wrong, as far as a caller has to tell it apart.

use std::path::{Path, PathBuf};
use std::time::Duration;

use machine::Trouble;

use crate::name::{printable, quoted};

/// What lies on the disks that are written to.
pub(crate) const DATA_DIRECTORY: &str = "the data directory";
pub(crate) const REPOSITORY: &str = "the repository";

pub type Result<T> = std::result::Result<T, Error>;

/// Every message is one sentence that can be shown to whoever asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A branch, path, pin or repository name that is never accepted.
    #[error("{0}")]
    BadName(String),

    /// The repository cannot be used as it is: somebody has to change it or name another.
    #[error("{0}")]
    Repository(String),

    #[error("the repository has no branch `{0}`")]
    NoSuchBranch(String),

    #[error("there is no pull request #{0}")]
    NoSuchPull(u64),

    /// An edit cannot be applied to the base commit.
    #[error("{0}")]
    BadEdit(String),

    /// The edits leave the base commit's tree as it was.
    #[error("the edits change nothing")]
    Unchanged,

    /// Something in the repository is larger than what is read or written here.
    #[error("{0}")]
    TooLarge(String),

    /// Somebody else moved the branch; what they pushed was kept.
    #[error("`{branch}` was changed by somebody else: fetch it and try again")]
    Moved { branch: String },

    /// A lock file keeps the repository from being written, and no write of ours left it.
    #[error("{}", locked_sentence(.lock, *.age))]
    Locked { lock: PathBuf, age: Duration },

    /// The branch is somebody's working copy, which is never moved under its owner.
    #[error("{}", checked_out_sentence(.branch, .worktree, .merge.as_deref()))]
    CheckedOut {
        branch: String,
        worktree: PathBuf,
        /// The branch that was to be merged there, if a merge was asked for.
        merge: Option<String>,
    },

    #[error("{}", conflict_sentence(.base, .files))]
    Conflict { base: String, files: Vec<String> },

    /// The pull request is not in a state in which this can be done.
    #[error("{0}")]
    Refused(String),

    /// The host said no, and will say it again until somebody does what the sentence says.
    #[error("{0}")]
    Denied(String),

    /// The host is in trouble, or wants to be left alone for a while: the same call works later.
    #[error("{sentence}")]
    Later { sentence: String, after: Option<Duration> },

    /// The cached repository is damaged. The next fetch makes it anew.
    #[error("the cached copy of the repository is damaged and is fetched anew next time: {0}")]
    Damaged(String),

    /// The git program failed or is not there; trying again may help.
    #[error("{0}")]
    Git(String),

    /// The git program was stopped at its time limit.
    #[error("{0}")]
    Slow(String),

    /// This machine is short of something just now: the same call works once it is not.
    #[error("git could not be started: {0}")]
    NoRoom(#[source] std::io::Error),

    /// A disk is full, read-only or fails, or too many files are open: the same call works once that is over.
    #[error("{0}")]
    Machine(#[source] Trouble),

    #[error("the repository cache could not be read or written: {0}")]
    Io(#[source] std::io::Error),

    #[error("the pull request records did not answer")]
    Records(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// Of trouble of the machine, says what lies on the disk that is in trouble, unless that is known.
    pub(crate) fn at(self, place: &'static str) -> Self {
        match self {
            Self::Machine(trouble) => Self::Machine(trouble.at(place)),
            other => other,
        }
    }
}

impl From<std::io::Error> for Error {
    fn from(cause: std::io::Error) -> Self {
        Trouble::find(&cause).map_or_else(|| Self::Io(cause), Self::Machine)
    }
}

fn checked_out_sentence(branch: &str, worktree: &Path, merge: Option<&str>) -> String {
    let place = printable(&worktree.display().to_string());
    if !worktree.exists() {
        return format!(
            "`{branch}` is checked out in {place}, which is gone: run `git worktree prune` in the repository"
        );
    }
    match merge {
        Some(head) => {
            let advice = format!("git -C {} merge {}", quoted(&place), quoted(head));
            format!("`{branch}` is checked out in {place}: run `{advice}` there")
        }
        None => format!("`{branch}` is checked out in {place}: switch to another branch there"),
    }
}

fn locked_sentence(lock: &Path, age: Duration) -> String {
    let shown = printable(&lock.display().to_string());
    format!(
        "git cannot write to the repository: the lock file {shown} has been there for {}. If no git command is \
         running there, remove it: rm {}",
        duration(age),
        quoted(&shown)
    )
}

fn duration(length: Duration) -> String {
    let seconds = length.as_secs();
    let (number, unit) = match seconds {
        0..120 => (seconds, "second"),
        120..7_200 => (seconds / 60, "minute"),
        7_200..172_800 => (seconds / 3_600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    format!("{number} {unit}{}", if number == 1 { "" } else { "s" })
}

fn conflict_sentence(base: &str, files: &[String]) -> String {
    const NAMED: usize = 5;
    let named = files.iter().take(NAMED).map(|file| format!("`{file}`"));
    let list = named.collect::<Vec<_>>().join(", ");
    match files.len().saturating_sub(NAMED) {
        // Hosts on the web do not tell.
        0 if files.is_empty() => format!("the changes conflict with `{base}`"),
        0 => format!("the changes conflict with `{base}` in {list}"),
        more => format!("the changes conflict with `{base}` in {list} and {more} more"),
    }
}
