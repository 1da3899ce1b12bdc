//! Finds the repository behind a path that an operator gave, and its default branch.

use std::path::{Path, PathBuf};

use crate::git::Git;
use crate::{Error, Remote, Result, target};

/// The canonical path that was meant, and the git directory that holds its branches and objects.
pub(super) async fn repository(path: &Path) -> Result<(PathBuf, PathBuf)> {
    Remote::file(path)?;
    let shown = path.display();
    let path = path
        .canonicalize()
        .map_err(|_| Error::Repository(format!("there is no repository at {shown}: no such folder")))?;
    if !path.is_dir() {
        return Err(Error::Repository(format!("{shown} is a file, not a repository")));
    }
    let layout = layout(&path).await?;
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

async fn layout(path: &Path) -> Result<Layout> {
    let asked = ["--git-common-dir", "--git-dir", "--is-inside-work-tree", "--show-object-format"];
    let output = Git::at(path, "rev-parse").args(["--path-format=absolute"]).args(asked).run().await?;
    if output.stderr.contains("not a git repository") {
        let shown = path.display();
        return Err(Error::Repository(format!("{shown} is not a git repository: run `git init` there")));
    }
    let said = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<&str> = said.lines().collect();
    let [common, git_dir, inside, format] = lines[..] else { return Err(output.failure()) };
    if format != "sha1" {
        let why = format!("the repository names objects by {format}, and only sha1 can be used yet");
        return Err(Error::Repository(why));
    }
    let common = PathBuf::from(common).canonicalize()?;
    refuse_stranger(path, Path::new(git_dir), &common)?;
    let top = if inside == "true" { top(path).await? } else { owner_of(Path::new(git_dir)) };
    Ok(Layout { top, common })
}

/// A linked working copy names its repository in a file, which could name anybody's: it is believed
/// only when the repository names the working copy, too.
fn refuse_stranger(path: &Path, git_dir: &Path, common: &Path) -> Result<()> {
    if git_dir.canonicalize()? == common {
        return Ok(());
    }
    let back = std::fs::read_to_string(git_dir.join("gitdir")).unwrap_or_default();
    let known = Path::new(back.trim_end()).parent().and_then(|top| top.canonicalize().ok());
    if known.is_some_and(|top| path.starts_with(top)) {
        return Ok(());
    }
    let shown = path.display();
    Err(Error::Repository(format!(
        "{shown} is a working copy that its repository does not know: run `git worktree repair` there"
    )))
}

async fn top(path: &Path) -> Result<PathBuf> {
    let said = Git::at(path, "rev-parse").args(["--path-format=absolute", "--show-toplevel"]).text().await?;
    Ok(PathBuf::from(said.trim_end_matches('\n')).canonicalize()?)
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
    let head = Git::at(git_dir, "symbolic-ref").args(["--quiet", "HEAD"]).run().await?;
    if !matches!(head.code, Some(0 | 1)) {
        return Err(head.failure());
    }
    let named = String::from_utf8_lossy(&head.stdout);
    if let Some(branch) = named.trim().strip_prefix("refs/heads/")
        && target::tip(git_dir, branch).await?.is_some()
    {
        return Ok(branch.to_owned());
    }
    let main = target::tip(git_dir, "main").await?.is_some();
    let master = target::tip(git_dir, "master").await?.is_some();
    match (main, master) {
        (true, false) => Ok("main".to_owned()),
        (false, true) => Ok("master".to_owned()),
        _ => Err(no_default(git_dir).await?),
    }
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
