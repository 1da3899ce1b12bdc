//! Finds problems that block writes to a repository: lock files, empty refs and unreadable branches.

use std::path::{Path, PathBuf};

use crate::name::{printable, shell_quote};
use crate::snapshot::{object_id, open_repository, tree_of};
use crate::{Error, Local, OWN_BRANCHES, Oid, Result, stale_locks};

/// A problem in a repository that a person should look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryProblem {
    pub message: String,
    pub advice: String,
}

impl Local {
    /// Lists the problems that a killed program or a power cut left. Changes nothing.
    pub async fn inspect(&self) -> Result<Vec<RepositoryProblem>> {
        let git_dir = self.git_dir.clone();
        let inspecting = tokio::task::spawn_blocking(move || inspect(&git_dir));
        Ok(inspecting.await.map_err(std::io::Error::other)??)
    }

    /// Removes empty refs of the agent's branches, which a power cut leaves.
    pub async fn remove_empty_branches(&self) -> Result<()> {
        let git_dir = self.git_dir.clone();
        let removing = tokio::task::spawn_blocking(move || stale_locks::remove_empty_branches(&git_dir));
        Ok(removing.await.map_err(std::io::Error::other)??)
    }

    /// The git directory. Pushes write to its disk.
    pub fn git_dir(&self) -> &Path {
        &self.git_dir
    }
}

fn inspect(git_dir: &Path) -> std::io::Result<Vec<RepositoryProblem>> {
    let refs = stale_locks::files_below(&git_dir.join("refs"))?;
    let is_lock = |path: &&PathBuf| path.extension() == Some("lock".as_ref());
    let top = std::fs::read_dir(git_dir)?.flatten().map(|entry| entry.path()).filter(|path| path.is_file());
    let mut problems: Vec<_> = top
        .chain(refs.iter().cloned())
        .filter(|path| is_lock(&path))
        .filter_map(|path| lock_problem(&path))
        .collect();
    for path in refs.iter().filter(|path| !is_lock(path)) {
        problems.extend(match stale_locks::is_empty_file(path) {
            true => Some(empty_ref_problem(git_dir, path)),
            false => unreadable_branch_problem(git_dir, path),
        });
    }
    Ok(problems)
}

fn lock_problem(path: &Path) -> Option<RepositoryProblem> {
    let age = stale_locks::age(&path.symlink_metadata().ok()?).unwrap_or_default();
    let message = Error::Locked { lock: path.to_owned(), age }.to_string();
    let advice =
        "docwright removes its own lock files at the next start and before the next write".to_owned();
    Some(RepositoryProblem { message, advice })
}

fn empty_ref_problem(git_dir: &Path, path: &Path) -> RepositoryProblem {
    let name = printable(&ref_name(git_dir, path));
    let message = format!(
        "the ref {name} is empty, probably after a power cut, and git refuses every push until it is repaired"
    );
    let shown = shell_quote(&printable(&path.display().to_string()));
    let advice = match name.strip_prefix("refs/heads/").is_some_and(|name| name.starts_with(OWN_BRANCHES)) {
        true => "docwright removes it at the next start".to_owned(),
        false => format!(
            "find its last commit with `git reflog show {name}` and set it with `git update-ref`, or remove it: rm {shown}"
        ),
    };
    RepositoryProblem { message, advice }
}

/// Checks only the agent's branches. Other branches are their owners' business.
fn unreadable_branch_problem(git_dir: &Path, path: &Path) -> Option<RepositoryProblem> {
    let name = ref_name(git_dir, path);
    name.strip_prefix("refs/heads/")?.strip_prefix(OWN_BRANCHES)?;
    let text = std::fs::read_to_string(path).ok()?;
    let readable = || {
        let commit = Oid::parse(text.trim())?;
        let repository = open_repository(git_dir)?.to_thread_local();
        object_id(&commit)?;
        tree_of(&repository, &commit)
    };
    let cause = readable().err()?;
    Some(RepositoryProblem {
        message: format!("the branch {} cannot be read: {}", printable(&name), printable(&cause.to_string())),
        advice: "look for damage with `git fsck`; a branch without its commit can be deleted".to_owned(),
    })
}

fn ref_name(git_dir: &Path, path: &Path) -> String {
    path.strip_prefix(git_dir).unwrap_or(path).display().to_string()
}
