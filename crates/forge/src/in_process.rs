//! Reads and writes local repositories in this process (with gix), because starting the git program is slow.
//!
//! Only the common cases are handled here. `None` means that a case is unusual in any way. Then the caller
//! runs the git program, which is authoritative and whose errors have their own sentences.

mod fetch;
mod objects;
mod push;
#[cfg(test)]
mod tests;

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use gix::refs::FullName;

use crate::Oid;
use crate::snapshot::open_repository;

pub(crate) use fetch::fetch;
pub(crate) use push::push;

/// Configuration sections for unknown repository formats, or for settings in other files.
const UNSUPPORTED_SECTIONS: &[&str] = &["extensions", "include", "includeif"];
/// Files of a rebase or bisect in progress. Its branch is not in `HEAD`, but the working copy returns to it.
const IN_PROGRESS_MARKERS: &[&str] = &["rebase-merge", "rebase-apply", "BISECT_START"];
/// Longer than any branch name.
const MAX_HEAD_BYTES: u64 = 8 << 10;

/// Opens the repository with this git directory, if this user owns it and its configuration is in one file.
pub(crate) fn open(git_dir: &Path) -> Option<gix::Repository> {
    let complete_commits = is_own_folder(git_dir) && !git_dir.join("commondir").exists();
    let repository = complete_commits.then(|| open_repository(git_dir).ok())??.to_thread_local();
    lacks_sections(&repository, UNSUPPORTED_SECTIONS).then_some(repository)
}

/// Whether `path` is a folder (not a link) that this user owns, as git checks it. gix would also accept the
/// user who called `sudo`.
pub(crate) fn is_own_folder(path: &Path) -> bool {
    let user = rustix::process::geteuid().as_raw();
    path.symlink_metadata().is_ok_and(|meta| meta.is_dir() && meta.uid() == user)
}

/// Whether the configuration has none of these sections.
fn lacks_sections(repository: &gix::Repository, sections: &[&str]) -> bool {
    let config = repository.config_snapshot();
    sections.iter().all(|name| config.plumbing().sections_by_name(name).is_none())
}

/// What `HEAD` names.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Head {
    /// The branch may not exist.
    Branch(String),
    Detached,
}

/// The result of a lookup by name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Lookup<T> {
    Found(T),
    Missing,
}

impl<T> Lookup<T> {
    pub(crate) fn found(self) -> Option<T> {
        match self {
            Self::Found(value) => Some(value),
            Self::Missing => None,
        }
    }
}

pub(crate) fn read_head(git_dir: &Path) -> Option<Head> {
    let Some(name) = open(git_dir)?.head_name().ok()? else { return Some(Head::Detached) };
    Some(Head::Branch(name.as_bstr().to_string().strip_prefix("refs/heads/")?.to_owned()))
}

/// The tip of `branch`.
pub(crate) fn tip(git_dir: &Path, branch: &str) -> Option<Lookup<Oid>> {
    let repository = open(git_dir)?;
    let Lookup::Found(mut reference) = find_ref(&repository, &branch_ref(branch)?)? else {
        return Some(Lookup::Missing);
    };
    let commit = reference.peel_to_commit().ok()?;
    Oid::parse(&commit.id.to_string()).ok().map(Lookup::Found)
}

fn branch_ref(branch: &str) -> Option<FullName> {
    FullName::try_from(format!("refs/heads/{branch}")).ok()
}

/// Finds the ref with exactly this name. `None` when gix resolves the name to another ref.
fn find_ref<'r>(repository: &'r gix::Repository, name: &FullName) -> Option<Lookup<gix::Reference<'r>>> {
    match repository.try_find_reference(name.as_ref()).ok()? {
        None => Some(Lookup::Missing),
        Some(reference) if reference.name() == name.as_ref() => Some(Lookup::Found(reference)),
        Some(_) => None,
    }
}

/// `Some` when no working copy, main or linked, has `branch` checked out. `None` when one has, or may have.
pub(crate) fn is_not_checked_out(git_dir: &Path, branch: &str) -> Option<()> {
    open(git_dir)?;
    let linked = git_dir.join("worktrees");
    let linked = match linked.exists() {
        true => fs::read_dir(linked).ok()?.collect::<Result<Vec<_>, _>>().ok()?,
        false => Vec::new(),
    };
    let folders = linked.iter().map(fs::DirEntry::path).chain([git_dir.to_owned()]);
    folders
        .map(|folder| worktree_head(&folder))
        .all(|head| head.is_some_and(|head| head != branch))
        .then_some(())
}

/// The branch or commit in the `HEAD` of a working copy. `folder` is the working copy's git directory.
fn worktree_head(folder: &Path) -> Option<String> {
    let file = folder.join("HEAD");
    let plain = file.symlink_metadata().is_ok_and(|meta| meta.is_file() && meta.len() <= MAX_HEAD_BYTES);
    let busy = IN_PROGRESS_MARKERS.iter().any(|name| folder.join(name).exists());
    let text = (plain && !busy).then(|| fs::read_to_string(&file).ok())??;
    let Some(name) = text.strip_prefix("ref:") else { return Some(text) };
    Some(name.trim().strip_prefix("refs/heads/")?.to_owned())
}
