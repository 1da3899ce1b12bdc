//! Finds the repository behind a path that an operator gave, and its default branch.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::git::Git;
use crate::in_process::{self, Head};
use crate::snapshot::read_trouble;
use crate::{Error, Remote, Result, file_transport};

/// Longer than any path.
const MAX_LINK_BYTES: u64 = 8 << 10;

/// Returns the canonical path and the git directory with the branches and objects.
pub(super) async fn repository(path: &Path) -> Result<(PathBuf, PathBuf)> {
    Remote::file(path)?;
    let shown = path.display();
    let path = path.canonicalize().map_err(|cause| match Error::from(cause) {
        trouble @ Error::Machine(_) => trouble,
        _ => {
            Error::Repository(format!("the folder {shown} does not exist: check the path of the repository"))
        }
    })?;
    if !path.is_dir() {
        return Err(Error::Repository(format!(
            "{shown} is a file, not a repository: give the folder of the repository"
        )));
    }
    let layout = match locate_in_process(&path) {
        Some(layout) => layout,
        None => locate_with_git(&path).await?,
    };
    if layout.top != path {
        let top = layout.top.display();
        return Err(Error::Repository(format!("{shown} is inside a repository: give its top folder, {top}")));
    }
    Ok((path, layout.common))
}

struct Layout {
    top: PathBuf,
    common: PathBuf,
}

/// Recognizes the common layouts without git: a working copy with its `.git` folder, or a bare repository.
fn locate_in_process(path: &Path) -> Option<Layout> {
    let inner = path.join(".git");
    let bare = inner.symlink_metadata().is_err_and(|cause| cause.kind() == ErrorKind::NotFound);
    let common = if bare { path.to_owned() } else { inner };
    let repository = in_process::open(&common)?;
    let config = repository.config_snapshot();
    let says_so = config.boolean("core.bare") == Some(bare) && config.string("core.worktree").is_none();
    let named_so = !bare || path.file_name() != Some(".git".as_ref());
    (says_so && named_so && in_process::is_own_folder(path)).then(|| Layout { top: path.to_owned(), common })
}

async fn locate_with_git(path: &Path) -> Result<Layout> {
    // In a bare repository, the last query has no answer and fails the call.
    let queries =
        ["--git-common-dir", "--git-dir", "--is-inside-work-tree", "--show-object-format", "--show-toplevel"];
    let output = Git::at(path, "rev-parse").args(["--path-format=absolute"]).args(queries).run().await?;
    if output.stderr.contains("not a git repository") {
        // git also says this when it cannot read the repository.
        if let Some(trouble) = read_trouble(path).or_else(|| read_trouble(&path.join(".git"))) {
            return Err(Error::Machine(trouble));
        }
        let shown = path.display();
        return Err(Error::Repository(format!("{shown} is not a git repository: run `git init` there")));
    }
    let stdout = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<&str> = stdout.lines().collect();
    let (common, git_dir, format, top) = match lines[..] {
        [common, git_dir, "true", format, top] => (common, git_dir, format, Some(top)),
        [common, git_dir, "false", format] => (common, git_dir, format, None),
        _ => return Err(output.failure()),
    };
    if format != "sha1" {
        let why = format!(
            "the repository uses the object format {format}, which is not supported: use a repository with sha1"
        );
        return Err(Error::Repository(why));
    }
    let common = PathBuf::from(common).canonicalize()?;
    check_backlink(path, Path::new(git_dir), &common).await?;
    let top = match top {
        Some(top) => PathBuf::from(top).canonicalize()?,
        None => worktree_of(Path::new(git_dir)),
    };
    Ok(Layout { top, common })
}

/// A working copy names its repository in a file or a link, and a hostile one could name any repository. So
/// the repository must link back to the working copy.
async fn check_backlink(path: &Path, git_dir: &Path, common: &Path) -> Result<()> {
    let git_dir = git_dir.canonicalize()?;
    // The canonical git directory contains the path, or is in a folder that contains it.
    let enclosing = git_dir.parent().filter(|_| git_dir.file_name() == Some(".git".as_ref()));
    let is_enclosed = path.starts_with(&git_dir) || enclosing.is_some_and(|top| path.starts_with(top));
    let backlink = match git_dir == common {
        true if is_enclosed => return Ok(()),
        true => worktree_setting(common).await?,
        false if git_dir.parent() == Some(&common.join("worktrees")) => worktree_backlink(&git_dir),
        false => None,
    };
    if backlink.is_some_and(|top| top.canonicalize().is_ok_and(|top| path.starts_with(top))) {
        return Ok(());
    }
    let shown = path.display();
    Err(Error::Repository(format!(
        "the repository of the working copy {shown} does not list it: run `git worktree repair` there"
    )))
}

/// The working copy in the setting `core.worktree` of a separate git directory.
async fn worktree_setting(common: &Path) -> Result<Option<PathBuf>> {
    let output = Git::at(common, "config").args(["--get", "core.worktree"]).run().await?;
    let worktree = String::from_utf8_lossy(&output.stdout).trim_end().to_owned();
    Ok(Some(worktree).filter(|worktree| !worktree.is_empty()).map(|worktree| common.join(worktree)))
}

/// The working copy that the linked git directory `git_dir` belongs to.
fn worktree_backlink(git_dir: &Path) -> Option<PathBuf> {
    let file = git_dir.join("gitdir");
    // Only a regular file: opening a pipe would block forever.
    let plain = file.symlink_metadata().is_ok_and(|meta| meta.is_file() && meta.len() <= MAX_LINK_BYTES);
    let back = plain.then(|| std::fs::read_to_string(&file).ok()).flatten()?;
    Path::new(back.trim_end()).parent().map(Path::to_owned)
}

/// The working copy of a `.git` folder, or the path itself for a bare repository.
fn worktree_of(git_dir: &Path) -> PathBuf {
    match git_dir.parent() {
        Some(parent) if git_dir.file_name() == Some(".git".as_ref()) => parent.to_owned(),
        _ => git_dir.to_owned(),
    }
}

/// The branch that `HEAD` names. If `HEAD` names no existing branch: `main` or `master`, if exactly one
/// exists.
pub(super) async fn default_branch(git_dir: &Path) -> Result<String> {
    let named = match in_process::read_head(git_dir) {
        Some(Head::Branch(branch)) => Some(branch),
        Some(Head::Detached) => None,
        None => head_branch(git_dir).await?,
    };
    if let Some(branch) = named
        && file_transport::tip(git_dir, &branch).await?.is_some()
    {
        return Ok(branch);
    }
    let main = file_transport::tip(git_dir, "main").await?.is_some();
    let master = file_transport::tip(git_dir, "master").await?.is_some();
    match (main, master) {
        (true, false) => Ok("main".to_owned()),
        (false, true) => Ok("master".to_owned()),
        _ => Err(no_default_branch_error(git_dir).await?),
    }
}

async fn head_branch(git_dir: &Path) -> Result<Option<String>> {
    let head = Git::at(git_dir, "symbolic-ref").args(["--quiet", "HEAD"]).run().await?;
    if !matches!(head.code, Some(0 | 1)) {
        return Err(head.failure());
    }
    let named = String::from_utf8_lossy(&head.stdout);
    Ok(named.trim().strip_prefix("refs/heads/").map(str::to_owned))
}

async fn no_default_branch_error(git_dir: &Path) -> Result<Error> {
    Ok(Error::Repository(if is_empty(git_dir).await? {
        "the repository is empty: commit something first".to_owned()
    } else {
        "the repository's HEAD does not name an existing branch: name the branch with --ref".to_owned()
    }))
}

pub(super) async fn is_empty(git_dir: &Path) -> Result<bool> {
    let branches =
        Git::at(git_dir, "for-each-ref").args(["--count=1", "refs/heads"]).run_for_stdout().await?;
    Ok(branches.is_empty())
}
