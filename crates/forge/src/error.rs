//! The errors of this crate. A variant exists only if a caller handles it differently.

use std::path::{Path, PathBuf};
use std::time::Duration;

use machine::Trouble;

use crate::name::{printable, shell_quote};

/// Names of the disks that are written to, for messages.
pub(crate) const DATA_DIRECTORY: &str = "the data directory";
pub(crate) const REPOSITORY: &str = "the repository";

pub type Result<T> = std::result::Result<T, Error>;

/// Every message is one sentence that can be shown to a user.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A branch, path, pin or repository name that is never accepted.
    #[error("{0}")]
    BadName(String),

    /// The repository cannot be used until its owner changes it, or the project names another one.
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

    /// Something in the repository exceeds a size limit.
    #[error("{0}")]
    TooLarge(String),

    /// The lease failed: another push moved the branch. Nothing was overwritten.
    #[error("another push moved `{branch}`: fetch it and try again")]
    BranchMoved { branch: String },

    /// A lock file of another program blocks writes to the repository.
    #[error("{}", locked_sentence(.lock, *.age))]
    Locked { lock: PathBuf, age: Duration },

    /// A working copy has the branch checked out. Docwright never moves such a branch.
    #[error("{}", checked_out_sentence(.branch, .worktree, .merge.as_deref()))]
    CheckedOut {
        branch: String,
        worktree: PathBuf,
        /// The branch to merge, if this was a merge.
        merge: Option<String>,
    },

    #[error("{}", conflict_sentence(.base, .files))]
    Conflict { base: String, files: Vec<String> },

    /// The state of the pull request does not allow the operation.
    #[error("{0}")]
    Refused(String),

    /// The host refused the request. A retry fails until a person follows the advice in the sentence.
    #[error("{0}")]
    Denied(String),

    /// The host does not accept the token at all (401). Like [`Error::Denied`].
    #[error("{0}")]
    TokenRefused(String),

    /// A temporary failure or a rate limit: retry the call later, after `retry_after` if the host named a
    /// delay.
    #[error("{sentence}")]
    Temporary { sentence: String, retry_after: Option<Duration> },

    /// The cached repository is damaged. The next fetch recreates it.
    #[error("the cached copy of the repository is damaged; the next run fetches it again: {0}")]
    Damaged(String),

    /// The git program failed or is missing. A retry may help.
    #[error("{0}")]
    Git(String),

    /// The git program exceeded its timeout and was killed.
    #[error("{0}")]
    Timeout(String),

    /// The operating system could not start git, for example because it is out of memory or processes. Retry
    /// later.
    #[error("git could not be started: {0}")]
    GitNotStarted(#[source] std::io::Error),

    /// A disk is full, read-only or failing, or too many files are open. Retry when that is fixed.
    #[error("{0}")]
    Machine(#[source] Trouble),

    #[error("the repository cache could not be read or written: {0}")]
    Io(#[source] std::io::Error),

    #[error("the pull request records could not be read or written")]
    Records(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// Adds the name of the disk to machine trouble that does not have one yet.
    pub(crate) fn at(self, disk: &'static str) -> Self {
        match self {
            Self::Machine(trouble) => Self::Machine(trouble.at(disk)),
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
    let shown = printable(&worktree.display().to_string());
    if !worktree.exists() {
        return format!(
            "`{branch}` is checked out in {shown}, which no longer exists: run `git worktree prune` in the repository"
        );
    }
    match merge {
        Some(head) => {
            let advice = format!("git -C {} merge {}", shell_quote(&shown), shell_quote(head));
            format!("`{branch}` is checked out in {shown}: run `{advice}` there")
        }
        None => format!("`{branch}` is checked out in {shown}: switch to another branch there"),
    }
}

fn locked_sentence(lock: &Path, age: Duration) -> String {
    let shown = printable(&lock.display().to_string());
    format!(
        "git cannot write to the repository: the lock file {shown} has been there for {}. If no git command is \
         running there, remove it: rm {}",
        duration(age),
        shell_quote(&shown)
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
    const MAX_NAMED_FILES: usize = 5;
    let named = files.iter().take(MAX_NAMED_FILES).map(|file| format!("`{file}`"));
    let list = named.collect::<Vec<_>>().join(", ");
    match files.len().saturating_sub(MAX_NAMED_FILES) {
        // Web hosts do not name the files.
        0 if files.is_empty() => format!("the changes conflict with `{base}`"),
        0 => format!("the changes conflict with `{base}` in {list}"),
        more => format!("the changes conflict with `{base}` in {list} and {more} more"),
    }
}
