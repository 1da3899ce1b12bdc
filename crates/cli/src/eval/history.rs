//! Makes tasks of the docs commits of a git repository, and reads their files. It doesn't change the repository.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, bail};
use pages::{Entry, FileKind, FilesError, Tree};
use tempfile::TempDir;
use tokio::process::Command;

use crate::check::Folder;

/// Commits that are looked at to find docs commits.
const MAX_COMMITS: usize = 5_000;
/// A commit that changes more files is rarely one task.
const MAX_FILES: usize = 5;
/// Lines at the end of a message that are for git and its hosts.
const TRAILERS: &[&str] =
    &["signed-off-by:", "co-authored-by:", "change-id:", "reviewed-by:", "closes #", "fixes #"];
const RECORD: char = '\u{1e}';
const FIELD: char = '\u{1f}';

pub(super) struct Repository {
    git_dir: PathBuf,
}

/// A commit as a task.
pub(super) struct HistoryTask {
    pub(super) commit: String,
    pub(super) parent: String,
    pub(super) prompt: String,
    /// The changed paths, and whether the commit deletes them.
    paths: Vec<(String, bool)>,
}

impl HistoryTask {
    pub(super) fn name(&self) -> String {
        self.commit.chars().take(10).collect()
    }
}

impl Repository {
    pub(super) async fn open(folder: &Path) -> anyhow::Result<Self> {
        let output = Command::new("git")
            .arg("-C")
            .arg(folder)
            .args(["rev-parse", "--absolute-git-dir"])
            .stderr(Stdio::null())
            .output();
        let output = output.await.context("git cannot be run: install it")?;
        if !output.status.success() {
            bail!("{} is not a git repository; name it with --repo DIR", folder.display());
        }
        Ok(Self { git_dir: String::from_utf8_lossy(&output.stdout).trim().into() })
    }

    /// The newest commits that change only a few pages, newest first.
    pub(super) async fn docs_commits(
        &self,
        count: usize,
        docs_path: Option<&str>,
    ) -> anyhow::Result<Vec<HistoryTask>> {
        let format = format!("--format={RECORD}%H{FIELD}%P{FIELD}%B{FIELD}");
        let limit = format!("-n{MAX_COMMITS}");
        let args = ["log", "-z", "--no-merges", "--no-renames", "--name-status", &limit, &format, "HEAD"];
        let log = self.git(&args, None).await?;
        let log = String::from_utf8_lossy(&log);
        let is_task = |task: &HistoryTask| is_docs_commit(task, docs_path);
        Ok(log.split(RECORD).filter_map(parse_commit).filter(is_task).take(count).collect())
    }

    /// The content of the changed files after the commit.
    pub(super) async fn contents(
        &self,
        task: &HistoryTask,
    ) -> anyhow::Result<BTreeMap<String, Option<Vec<u8>>>> {
        let mut contents = BTreeMap::new();
        for (path, is_deleted) in &task.paths {
            let content = match is_deleted {
                true => None,
                false => {
                    Some(self.git(&["cat-file", "blob", &format!("{}:{path}", task.commit)], None).await?)
                }
            };
            contents.insert(path.clone(), content);
        }
        Ok(contents)
    }

    /// Copies the files of a commit into a temporary folder, with an index of its own.
    pub(super) async fn check_out(&self, commit: &str) -> anyhow::Result<CheckedOut> {
        let folder = tempfile::tempdir()?;
        std::fs::create_dir(folder.path().join("files"))?;
        self.git(&["read-tree", commit], Some(folder.path())).await?;
        self.git(&["checkout-index", "--all", "--force"], Some(folder.path())).await?;
        let files = Folder::open(&folder.path().join("files"))?;
        Ok(CheckedOut { files, _folder: folder })
    }

    async fn git(&self, args: &[&str], folder: Option<&Path>) -> anyhow::Result<Vec<u8>> {
        let mut command = Command::new("git");
        command.arg("--git-dir").arg(&self.git_dir).args(["-c", "core.autocrlf=false"]).stdin(Stdio::null());
        if let Some(folder) = folder {
            command.arg("--work-tree").arg(folder.join("files")).env("GIT_INDEX_FILE", folder.join("index"));
            command.current_dir(folder.join("files"));
        }
        let output = command.args(args).output().await.context("git cannot be run: install it")?;
        if !output.status.success() {
            bail!("git {} failed: {}", args[0], String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(output.stdout)
    }
}

/// The files of a commit in a temporary folder.
pub(super) struct CheckedOut {
    files: Folder,
    _folder: TempDir,
}

impl Tree for CheckedOut {
    fn list(&self) -> Result<Vec<Entry>, FilesError> {
        self.files.list()
    }

    fn read(&self, path: &str, at_most: usize) -> Result<Vec<u8>, FilesError> {
        self.files.read(path, at_most)
    }
}

fn parse_commit(record: &str) -> Option<HistoryTask> {
    let mut fields = record.splitn(4, FIELD);
    let (commit, parent, message, changes) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    let mut changes = changes.split('\0').map(str::trim).filter(|part| !part.is_empty());
    let mut paths = Vec::new();
    while let (Some(status), Some(path)) = (changes.next(), changes.next()) {
        paths.push((path.to_owned(), status == "D"));
    }
    Some(HistoryTask {
        commit: commit.to_owned(),
        parent: parent.to_owned(),
        prompt: without_trailers(message),
        paths,
    })
}

fn is_docs_commit(task: &HistoryTask, docs_path: Option<&str>) -> bool {
    let is_page = |(path, _): &(String, bool)| {
        let is_inside = docs_path.is_none_or(|folder| {
            path.strip_prefix(folder.trim_end_matches('/')).is_some_and(|rest| rest.starts_with('/'))
        });
        is_inside && FileKind::of(path).is_page()
    };
    // The first commit has no parent to start from.
    let has_parent = !task.parent.is_empty() && !task.parent.contains(' ');
    let has_prompt = task.prompt.split_whitespace().count() >= 3;
    has_parent && has_prompt && (1..=MAX_FILES).contains(&task.paths.len()) && task.paths.iter().all(is_page)
}

fn without_trailers(message: &str) -> String {
    let is_trailer = |line: &&str| {
        let line = line.trim().to_lowercase();
        TRAILERS.iter().any(|trailer| line.starts_with(trailer))
    };
    message.lines().filter(|line| !is_trailer(line)).collect::<Vec<_>>().join("\n").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_that_change_only_pages_are_tasks() {
        let record =
            |message: &str, changes: &str| format!("abc{FIELD}def{FIELD}{message}{FIELD}\0{changes}");
        let parse = |message: &str, changes: &str| parse_commit(&record(message, changes)).unwrap();
        let task = parse(
            "Say how long it takes\n\nIt is slow.\n\nSigned-off-by: A <a@example.com>\n",
            "M\0docs/a.md\0D\0docs/b.rst\0",
        );
        assert_eq!(task.prompt, "Say how long it takes\n\nIt is slow.");
        assert_eq!(task.paths, [("docs/a.md".to_owned(), false), ("docs/b.rst".to_owned(), true)]);
        assert!(is_docs_commit(&task, None) && is_docs_commit(&task, Some("docs/")));
        assert!(!is_docs_commit(&task, Some("doc")));
        assert!(!is_docs_commit(&parse("Change the program too", "M\0docs/a.md\0M\0src/main.rs\0"), None));
        assert!(!is_docs_commit(&parse("Fix typo", "M\0docs/a.md\0"), None));
        assert!(!is_docs_commit(&parse("An empty commit here", ""), None));
    }
}
