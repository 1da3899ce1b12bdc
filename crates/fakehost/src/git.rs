//! Runs the real git program for the fake host: creates repositories, commits and merges.

use std::path::Path;
use std::process::{Output, Stdio};

use anyhow::{Context, bail};
use jiff::Timestamp;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::state::Settings;

/// A hook that refuses pushes to the branches in the file `protected`.
const PRE_RECEIVE: &str = r#"#!/bin/sh
while read -r old new ref; do
    if grep -qxF "$ref" protected 2>/dev/null; then
        echo "error: GH006: Protected branch update failed for $ref." >&2
        exit 1
    fi
done
"#;

/// The outcome of a merge.
pub(crate) enum MergeOutcome {
    Commit(String),
    Conflict,
    /// Another push moved the base during the merge.
    BaseMoved,
}

/// A git command without the configuration of the user who runs the test.
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

/// Copies a local repository.
pub(crate) async fn mirror(from: &Path, git_dir: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(git_dir)?;
    let from = std::path::absolute(from)?;
    run(command(git_dir).args(["clone", "--quiet", "--bare"]).arg(from).arg(".")).await?;
    configure(git_dir).await
}

/// Allows what hosts allow. Turns fsync off, because test repositories need not be durable.
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

/// Sets what a fetch can do. git uses the last value in the file.
pub(crate) fn configure_fetch(git_dir: &Path, settings: &Settings) -> std::io::Result<()> {
    use std::io::Write;

    let mut config = std::fs::OpenOptions::new().append(true).open(git_dir.join("config"))?;
    let (filter, any) = (settings.has_filter, settings.sends_any_object);
    write!(config, "[uploadpack]\n\tallowFilter = {filter}\n\tallowAnySHA1InWant = {any}\n")
}

/// The tip of a branch, read from the ref files: a git process for each call would be slow.
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

/// All branches with their tips.
pub(crate) async fn tips(git_dir: &Path) -> anyhow::Result<Vec<(String, String)>> {
    let format = "--format=%(refname:lstrip=2) %(objectname)";
    let listed = run(command(git_dir).args(["for-each-ref", format, "refs/heads"])).await?;
    Ok(listed.lines().filter_map(|line| line.rsplit_once(' ')).map(|(a, b)| (a.into(), b.into())).collect())
}

/// Commits these files to a branch, on top of the files of `parent`.
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
    let mut input = import.stdin.take().context("git has no standard input")?;
    input.write_all(stream.as_bytes()).await?;
    drop(input);
    check_success(import.wait_with_output().await?)?;
    tip(git_dir, branch).context("git created no commit")
}

pub(crate) async fn delete_branch(git_dir: &Path, branch: &str) -> anyhow::Result<()> {
    run(command(git_dir).args(["update-ref", "-d", &format!("refs/heads/{branch}")])).await.map(drop)
}

/// Whether `head` has commits that `base` lacks.
pub(crate) async fn is_ahead(git_dir: &Path, base: &str, head: &str) -> anyhow::Result<bool> {
    let range = format!("{base}..{head}");
    Ok(!run(command(git_dir).args(["rev-list", "--max-count=1", &range])).await?.is_empty())
}

/// The merged tree; `None` for a conflict.
pub(crate) async fn merge_trees(git_dir: &Path, base: &str, head: &str) -> anyhow::Result<Option<String>> {
    let output = command(git_dir).args(["merge-tree", "--write-tree", base, head]).output().await?;
    match output.status.code() {
        Some(1) => Ok(None),
        _ => Ok(Some(check_success(output)?)),
    }
}

/// Merges the commit `head` into a branch with a merge commit or, if `squash` is set, an ordinary commit.
pub(crate) async fn merge(
    git_dir: &Path,
    branch: &str,
    head: &str,
    message: &str,
    squash: bool,
    at: Timestamp,
) -> anyhow::Result<MergeOutcome> {
    let base = tip(git_dir, branch).context("the base does not exist")?;
    let Some(tree) = merge_trees(git_dir, &base, head).await? else { return Ok(MergeOutcome::Conflict) };
    let mut commit = command(git_dir);
    let date = format!("{} +0000", at.as_second());
    commit.env("GIT_AUTHOR_DATE", &date).env("GIT_COMMITTER_DATE", &date);
    commit.args(["commit-tree", &tree, "-m", message, "-p", &base]);
    if !squash {
        commit.args(["-p", head]);
    }
    let commit_id = run(&mut commit).await?;
    let update =
        run(command(git_dir).args(["update-ref", &format!("refs/heads/{branch}"), &commit_id, &base])).await;
    Ok(if update.is_ok() { MergeOutcome::Commit(commit_id) } else { MergeOutcome::BaseMoved })
}

async fn run(command: &mut Command) -> anyhow::Result<String> {
    check_success(command.stdin(Stdio::null()).output().await?)
}

fn check_success(output: Output) -> anyhow::Result<String> {
    if !output.status.success() {
        bail!("git: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
