//! A repository on this machine, asked and written in this process: to start the git program costs more than most
//! of its answers.
//!
//! Only what is plain is done here. `None` says that something is not, whatever it is: then the git program is asked,
//! whose word counts, and whose refusals have their sentences.

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

/// A format that we may not know, and settings that are not all in one file.
const ODD: &[&str] = &["extensions", "include", "includeif"];
/// What a working copy is in the middle of: then it will be back on a branch that its `HEAD` does not name.
const BUSY: &[&str] = &["rebase-merge", "rebase-apply", "BISECT_START"];
/// The name of a branch, with room to spare.
const MAX_HEAD_BYTES: u64 = 8 << 10;

/// The repository whose git directory this is, if it is this user's and holds all that is to be known of it.
pub(crate) fn open(git_dir: &Path) -> Option<gix::Repository> {
    let whole = is_own_folder(git_dir) && !git_dir.join("commondir").exists();
    let repository = whole.then(|| open_repository(git_dir).ok())??.to_thread_local();
    has_none(&repository, ODD).then_some(repository)
}

/// Asked as git asks it, of a folder and not of where a link leads. Not of gix, which also believes whoever called
/// `sudo`.
pub(crate) fn is_own_folder(path: &Path) -> bool {
    let user = rustix::process::geteuid().as_raw();
    path.symlink_metadata().is_ok_and(|meta| meta.is_dir() && meta.uid() == user)
}

/// Whether the configuration has none of these sections.
fn has_none(repository: &gix::Repository, sections: &[&str]) -> bool {
    let config = repository.config_snapshot();
    sections.iter().all(|name| config.plumbing().sections_by_name(name).is_none())
}

/// The branch that `HEAD` names, be it there or not; of a detached one, `Some(None)`.
pub(crate) fn head_branch(git_dir: &Path) -> Option<Option<String>> {
    match open(git_dir)?.head_name().ok()? {
        None => Some(None),
        Some(name) => Some(Some(name.as_bstr().to_string().strip_prefix("refs/heads/")?.to_owned())),
    }
}

/// The commit that `branch` is at; `Some(None)` when there is no such branch.
pub(crate) fn tip(git_dir: &Path, branch: &str) -> Option<Option<Oid>> {
    let repository = open(git_dir)?;
    let Some(mut found) = find(&repository, &branch_ref(branch)?)? else { return Some(None) };
    let commit = found.peel_to_commit().ok()?;
    Oid::parse(&commit.id.to_string()).ok().map(Some)
}

fn branch_ref(branch: &str) -> Option<FullName> {
    FullName::try_from(format!("refs/heads/{branch}")).ok()
}

/// The ref of exactly this name. One that gix takes for it instead is for git to judge.
fn find<'r>(repository: &'r gix::Repository, name: &FullName) -> Option<Option<gix::Reference<'r>>> {
    let found = repository.try_find_reference(name.as_ref()).ok()?;
    let exact = found.as_ref().is_none_or(|found| found.name() == name.as_ref());
    exact.then_some(found)
}

/// Whether no working copy, the repository's own or a linked one, has `branch` checked out. `None` also when one
/// seems to.
pub(crate) fn is_free(git_dir: &Path, branch: &str) -> Option<()> {
    open(git_dir)?;
    let linked = git_dir.join("worktrees");
    let linked = match linked.exists() {
        true => fs::read_dir(linked).ok()?.collect::<Result<Vec<_>, _>>().ok()?,
        false => Vec::new(),
    };
    let folders = linked.iter().map(fs::DirEntry::path).chain([git_dir.to_owned()]);
    folders.map(|folder| head_of(&folder)).all(|head| head.is_some_and(|head| head != branch)).then_some(())
}

/// The branch that a working copy is on, or the commit, by what the repository keeps of it in this folder.
fn head_of(folder: &Path) -> Option<String> {
    let file = folder.join("HEAD");
    let plain = file.symlink_metadata().is_ok_and(|meta| meta.is_file() && meta.len() <= MAX_HEAD_BYTES);
    let busy = BUSY.iter().any(|name| folder.join(name).exists());
    let text = (plain && !busy).then(|| fs::read_to_string(&file).ok())??;
    let Some(name) = text.strip_prefix("ref:") else { return Some(text) };
    Some(name.trim().strip_prefix("refs/heads/")?.to_owned())
}
