//! The real git under the host: bare repositories, commits of files, merges.

use std::path::Path;
use std::process::{Output, Stdio};

use anyhow::{Context, bail};
use jiff::Timestamp;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

/// Refuses a push to the branches that the file `protected` beside it names.
const PRE_RECEIVE: &str = r#"#!/bin/sh
while read -r old new ref; do
    if grep -qxF "$ref" protected 2>/dev/null; then
        echo "error: GH006: Protected branch update failed for $ref." >&2
        exit 1
    fi
done
"#;

/// How a merge ended.
pub(crate) enum Merged {
    Commit(String),
    Conflict,
    /// Somebody pushed to the base meanwhile.
    BaseMoved,
}

/// git, which knows nothing of who runs the test.
pub(crate) fn command(git_dir: &Path) -> Command {
    let mut command = Command::new("git");
    command
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_AUTHOR_NAME", "Mira")
        .env("GIT_AUTHOR_EMAIL", "mira@example.com")
        .env("GIT_COMMITTER_NAME", "Mira")
        .env("GIT_COMMITTER_EMAIL", "mira@example.com")
        .current_dir(git_dir)
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

pub(crate) async fn init(git_dir: &Path, default_branch: &str) -> anyhow::Result<()> {
    std::fs::create_dir_all(git_dir)?;
    run(command(git_dir).args(["init", "--quiet", "--bare", "--initial-branch", default_branch, "."]))
        .await?;
    configure(git_dir).await
}

/// A copy of a repository of this machine.
pub(crate) async fn mirror(from: &Path, git_dir: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(git_dir)?;
    let from = std::path::absolute(from)?;
    run(command(git_dir).args(["clone", "--quiet", "--bare"]).arg(from).arg(".")).await?;
    configure(git_dir).await
}

/// What a host allows, and nothing that would make it slow: its repositories need not last.
async fn configure(git_dir: &Path) -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    use std::{fs, io::Write};

    let mut config = fs::OpenOptions::new().append(true).open(git_dir.join("config"))?;
    config.write_all(
        b"[http]\n\treceivepack = true\n[receive]\n\tautogc = false\n[gc]\n\tauto = 0\n[core]\n\tfsync = none\n\
          [uploadpack]\n\tallowFilter = true\n\tallowAnySHA1InWant = true\n",
    )?;
    fs::create_dir_all(git_dir.join("hooks"))?;
    let hook = git_dir.join("hooks/pre-receive");
    fs::write(&hook, PRE_RECEIVE)?;
    Ok(fs::set_permissions(&hook, fs::Permissions::from_mode(0o755))?)
}

/// Where a branch is, read as it is stored: a process for each question would be most of the work.
pub(crate) fn tip(git_dir: &Path, branch: &str) -> Option<String> {
    let name = format!("refs/heads/{branch}");
    let is_plain = !branch.is_empty() && branch.split('/').all(|part| !matches!(part, "" | "." | ".."));
    if !is_plain {
        return None;
    }
    if let Ok(loose) = std::fs::read_to_string(git_dir.join(&name)) {
        return Some(loose.trim().to_owned());
    }
    let packed = std::fs::read_to_string(git_dir.join("packed-refs")).ok()?;
    let found = packed.lines().find_map(|line| line.split_once(' ').filter(|(_, other)| *other == name));
    found.map(|(sha, _)| sha.to_owned())
}

/// Every branch and where it is.
pub(crate) async fn tips(git_dir: &Path) -> anyhow::Result<Vec<(String, String)>> {
    let format = "--format=%(refname:lstrip=2) %(objectname)";
    let listed = run(command(git_dir).args(["for-each-ref", format, "refs/heads"])).await?;
    Ok(listed.lines().filter_map(|line| line.rsplit_once(' ')).map(|(a, b)| (a.into(), b.into())).collect())
}

/// One more commit on a branch, with these files over those of `parent`.
pub(crate) async fn commit(
    git_dir: &Path,
    branch: &str,
    parent: Option<&str>,
    at: Timestamp,
    files: &[(&str, &str)],
) -> anyhow::Result<String> {
    let seconds = at.as_second();
    let mut stream = format!(
        "commit refs/heads/{branch}\ncommitter Mira <mira@example.com> {seconds} +0000\ndata 5\nEdit\n\n"
    );
    if let Some(parent) = parent {
        stream += &format!("from {parent}\n");
    }
    for (path, text) in files {
        stream += &format!("M 100644 inline {path}\ndata {}\n{text}\n", text.len());
    }
    let mut import = command(git_dir)
        .args(["fast-import", "--quiet"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()?;
    let mut input = import.stdin.take().context("no way to tell git")?;
    input.write_all(stream.as_bytes()).await?;
    drop(input);
    succeeded(import.wait_with_output().await?)?;
    tip(git_dir, branch).context("git made no commit")
}

pub(crate) async fn delete_branch(git_dir: &Path, branch: &str) -> anyhow::Result<()> {
    run(command(git_dir).args(["update-ref", "-d", &format!("refs/heads/{branch}")])).await.map(drop)
}

/// Whether `head` has commits that `base` has not.
pub(crate) async fn is_ahead(git_dir: &Path, base: &str, head: &str) -> anyhow::Result<bool> {
    let range = format!("{base}..{head}");
    Ok(!run(command(git_dir).args(["rev-list", "--max-count=1", &range])).await?.is_empty())
}

/// The tree of both together; `None` when they conflict.
pub(crate) async fn merged_tree(git_dir: &Path, base: &str, head: &str) -> anyhow::Result<Option<String>> {
    let output = command(git_dir).args(["merge-tree", "--write-tree", base, head]).output().await?;
    match output.status.code() {
        Some(1) => Ok(None),
        _ => Ok(Some(succeeded(output)?)),
    }
}

/// Merges the commit `head` into a branch, with a commit of two parents or, squashed, of one.
pub(crate) async fn merge(
    git_dir: &Path,
    branch: &str,
    head: &str,
    message: &str,
    squash: bool,
    at: Timestamp,
) -> anyhow::Result<Merged> {
    let base = tip(git_dir, branch).context("the base is gone")?;
    let Some(tree) = merged_tree(git_dir, &base, head).await? else { return Ok(Merged::Conflict) };
    let mut commit = command(git_dir);
    let date = format!("{} +0000", at.as_second());
    commit.env("GIT_AUTHOR_DATE", &date).env("GIT_COMMITTER_DATE", &date);
    commit.args(["commit-tree", &tree, "-m", message, "-p", &base]);
    if !squash {
        commit.args(["-p", head]);
    }
    let made = run(&mut commit).await?;
    let moved =
        run(command(git_dir).args(["update-ref", &format!("refs/heads/{branch}"), &made, &base])).await;
    Ok(if moved.is_ok() { Merged::Commit(made) } else { Merged::BaseMoved })
}

async fn run(command: &mut Command) -> anyhow::Result<String> {
    succeeded(command.stdin(Stdio::null()).output().await?)
}

fn succeeded(output: Output) -> anyhow::Result<String> {
    if !output.status.success() {
        bail!("git: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
