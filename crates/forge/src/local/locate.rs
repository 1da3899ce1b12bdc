//! Finds the repository behind a path that an operator gave, and its default branch.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::git::Git;
use crate::snapshot::read_trouble;
use crate::{Error, Remote, Result, near, target};

/// The length of a path, with room to spare.
const MAX_LINK_BYTES: u64 = 8 << 10;

/// The canonical path that was meant, and the git directory that holds its branches and objects.
pub(super) async fn repository(path: &Path) -> Result<(PathBuf, PathBuf)> {
    Remote::file(path)?;
    let shown = path.display();
    let path = path.canonicalize().map_err(|cause| match Error::from(cause) {
        trouble @ Error::Machine(_) => trouble,
        _ => Error::Repository(format!("there is no repository at {shown}: no such folder")),
    })?;
    if !path.is_dir() {
        return Err(Error::Repository(format!("{shown} is a file, not a repository")));
    }
    let layout = match usual(&path) {
        Some(layout) => layout,
        None => layout(&path).await?,
    };
    if layout.top != path {
        let top = layout.top.display();
        return Err(Error::Repository(format!("{shown} is inside a repository: give its top, {top}")));
    }
    Ok((path, layout.common))
}

struct Layout {
    top: PathBuf,
    common: PathBuf,
}

/// What most paths are: the top of a working copy with its repository in it, or a bare repository.
fn usual(path: &Path) -> Option<Layout> {
    let inner = path.join(".git");
    let bare = inner.symlink_metadata().is_err_and(|cause| cause.kind() == ErrorKind::NotFound);
    let common = if bare { path.to_owned() } else { inner };
    let repository = near::open(&common)?;
    let config = repository.config_snapshot();
    let says_so = config.boolean("core.bare") == Some(bare) && config.string("core.worktree").is_none();
    let named_so = !bare || path.file_name() != Some(".git".as_ref());
    (says_so && named_so && near::is_own_folder(path)).then(|| Layout { top: path.to_owned(), common })
}

async fn layout(path: &Path) -> Result<Layout> {
    // The last one has no answer, and fails the call, where there is no working copy.
    let asked =
        ["--git-common-dir", "--git-dir", "--is-inside-work-tree", "--show-object-format", "--show-toplevel"];
    let output = Git::at(path, "rev-parse").args(["--path-format=absolute"]).args(asked).run().await?;
    if output.stderr.contains("not a git repository") {
        // git says the same of one that it cannot read.
        if let Some(trouble) = read_trouble(path).or_else(|| read_trouble(&path.join(".git"))) {
            return Err(Error::Machine(trouble));
        }
        let shown = path.display();
        return Err(Error::Repository(format!("{shown} is not a git repository: run `git init` there")));
    }
    let said = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<&str> = said.lines().collect();
    let (common, git_dir, format, top) = match lines[..] {
        [common, git_dir, "true", format, top] => (common, git_dir, format, Some(top)),
        [common, git_dir, "false", format] => (common, git_dir, format, None),
        _ => return Err(output.failure()),
    };
    if format != "sha1" {
        let why = format!("the repository names objects by {format}, and only sha1 can be used yet");
        return Err(Error::Repository(why));
    }
    let common = PathBuf::from(common).canonicalize()?;
    refuse_stranger(path, Path::new(git_dir), &common).await?;
    let top = match top {
        Some(top) => PathBuf::from(top).canonicalize()?,
        None => owner_of(Path::new(git_dir)),
    };
    Ok(Layout { top, common })
}

/// A working copy can name its repository in a file or by a link, and so could name anybody's: it
/// is believed only when that repository names the working copy, too.
async fn refuse_stranger(path: &Path, git_dir: &Path, common: &Path) -> Result<()> {
    let git_dir = git_dir.canonicalize()?;
    // The real folder, links followed, is around the path or in a folder around it.
    let around = git_dir.parent().filter(|_| git_dir.file_name() == Some(".git".as_ref()));
    let own = path.starts_with(&git_dir) || around.is_some_and(|top| path.starts_with(top));
    let known = match git_dir == common {
        true if own => return Ok(()),
        true => worktree_setting(common).await?,
        false if git_dir.parent() == Some(&common.join("worktrees")) => linked_to(&git_dir),
        false => None,
    };
    if known.is_some_and(|top| top.canonicalize().is_ok_and(|top| path.starts_with(top))) {
        return Ok(());
    }
    let shown = path.display();
    Err(Error::Repository(format!(
        "{shown} is a working copy that its repository does not know: run `git worktree repair` there"
    )))
}

/// The working copy that a repository apart from it says is its own.
async fn worktree_setting(common: &Path) -> Result<Option<PathBuf>> {
    let said = Git::at(common, "config").args(["--get", "core.worktree"]).run().await?;
    let place = String::from_utf8_lossy(&said.stdout).trim_end().to_owned();
    Ok(Some(place).filter(|place| !place.is_empty()).map(|place| common.join(place)))
}

/// The working copy that a repository keeps this folder for.
fn linked_to(git_dir: &Path) -> Option<PathBuf> {
    let file = git_dir.join("gitdir");
    // Not whatever else stands there: opening a pipe would wait for ever.
    let plain = file.symlink_metadata().is_ok_and(|meta| meta.is_file() && meta.len() <= MAX_LINK_BYTES);
    let back = plain.then(|| std::fs::read_to_string(&file).ok()).flatten()?;
    Path::new(back.trim_end()).parent().map(Path::to_owned)
}

/// A `.git` folder stands for the working copy around it; any other is a bare repository.
fn owner_of(git_dir: &Path) -> PathBuf {
    match git_dir.parent() {
        Some(parent) if git_dir.file_name() == Some(".git".as_ref()) => parent.to_owned(),
        _ => git_dir.to_owned(),
    }
}

/// What `HEAD` names, or the one of `main` and `master` that is there when it names no branch.
pub(super) async fn default_branch(git_dir: &Path) -> Result<String> {
    let named = match near::head_branch(git_dir) {
        Some(named) => named,
        None => head_branch(git_dir).await?,
    };
    if let Some(branch) = named
        && target::tip(git_dir, &branch).await?.is_some()
    {
        return Ok(branch);
    }
    let main = target::tip(git_dir, "main").await?.is_some();
    let master = target::tip(git_dir, "master").await?.is_some();
    match (main, master) {
        (true, false) => Ok("main".to_owned()),
        (false, true) => Ok("master".to_owned()),
        _ => Err(no_default(git_dir).await?),
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

async fn no_default(git_dir: &Path) -> Result<Error> {
    Ok(Error::Repository(if is_empty(git_dir).await? {
        "the repository is empty: commit something first".to_owned()
    } else {
        "the repository's HEAD is not on a branch: name the branch with --ref".to_owned()
    }))
}

pub(super) async fn is_empty(git_dir: &Path) -> Result<bool> {
    let branches = Git::at(git_dir, "for-each-ref").args(["--count=1", "refs/heads"]).text().await?;
    Ok(branches.is_empty())
}
