//! Makes tasks of the docs commits of a git repository, and reads their files. It doesn't change the repository.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use anyhow::{Context, bail};
use eval::Changes;
use pages::{Entry, FileKind, FilesError, Kind, MemoryTree, Tree};
use tempfile::TempDir;
use tokio::process::Command;

use crate::check::Folder;

/// Commits that are looked at to find docs commits.
const MAX_COMMITS: usize = 5_000;
/// A commit that changes more files is rarely one task.
const MAX_FILES: usize = 5;
/// Lines at the end of a message that are for git and its hosts.
const TRAILERS: &[&str] = &[
    "signed-off-by:",
    "co-authored-by:",
    "change-id:",
    "reviewed-by:",
    "docwright-job:",
    "closes #",
    "fixes #",
];
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
    changes: Vec<FileChange>,
}

/// A file that a commit changes.
#[derive(Debug, PartialEq, Eq)]
struct FileChange {
    path: String,
    /// Whether it is a regular file before and after the commit, as far as it exists.
    is_regular: bool,
    /// The object with the new content. `None` is a deleted file.
    blob: Option<String>,
}

/// The docs commits of a repository, newest first.
#[derive(Default)]
pub(super) struct DocsCommits {
    pub(super) tasks: Vec<HistoryTask>,
    /// A sentence about each commit that no editor could make.
    pub(super) skipped: Vec<String>,
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

    /// The newest commits that change only a few pages. An older commit takes the place of one that can't be used.
    pub(super) async fn docs_commits(
        &self,
        count: usize,
        docs_path: Option<&str>,
    ) -> anyhow::Result<DocsCommits> {
        let format = format!("--format={RECORD}%H{FIELD}%P{FIELD}%B{FIELD}");
        let limit = format!("-n{MAX_COMMITS}");
        let args = ["log", "-z", "--no-merges", "--no-renames", "--raw", "--no-abbrev"];
        let log = self.git(&[&args[..], &[&limit, &format, "HEAD"]].concat(), None).await?;
        let log = String::from_utf8_lossy(&log);
        let is_task = |task: &HistoryTask| is_docs_commit(task, docs_path);
        let mut commits = DocsCommits::default();
        for task in log.split(RECORD).filter_map(parse_commit).filter(is_task) {
            if commits.tasks.len() == count {
                break;
            }
            match self.why_unusable(&task, docs_path).await? {
                Some(why) => commits.skipped.push(format!("{}: {why}", task.name())),
                None => commits.tasks.push(task),
            }
        }
        Ok(commits)
    }

    /// Why no editor could make this commit, if so.
    async fn why_unusable(
        &self,
        task: &HistoryTask,
        docs_path: Option<&str>,
    ) -> anyhow::Result<Option<String>> {
        if let Some(why) = task.changes.iter().find_map(FileChange::why_unusable) {
            return Ok(Some(why));
        }
        let tree = self.list(&task.parent).await?;
        let checked = eval::check_change(&tree, docs_path, &self.contents(task).await?);
        Ok(checked.err().map(|error| error.to_string()))
    }

    /// The paths of a commit. The files are empty, because a check of a change doesn't need their content.
    async fn list(&self, commit: &str) -> anyhow::Result<MemoryTree> {
        let list = self.git(&["ls-tree", "-r", "-z", "--full-tree", commit], None).await?;
        let (mut files, mut others) = (Vec::new(), Vec::new());
        // A name that is not UTF-8 cannot be the path of a page.
        let entries = list.split(|byte| *byte == 0).filter_map(|entry| std::str::from_utf8(entry).ok());
        for (head, path) in entries.filter_map(|entry| entry.split_once('\t')) {
            match head.split(' ').next() {
                Some("120000") => others.push((path, Kind::Symlink)),
                Some("160000") => others.push((path, Kind::Submodule)),
                _ => files.push((path, Vec::new())),
            }
        }
        Ok(others.into_iter().fold(MemoryTree::new(files), |tree, (path, kind)| tree.with(path, kind)))
    }

    /// The content of the changed files after the commit.
    pub(super) async fn contents(&self, task: &HistoryTask) -> anyhow::Result<Changes> {
        let mut contents = Changes::new();
        for change in &task.changes {
            let content = match &change.blob {
                Some(blob) => Some(self.git(&["cat-file", "blob", blob], None).await?),
                None => None,
            };
            contents.insert(change.path.clone(), content);
        }
        Ok(contents)
    }

    /// Copies the files of a commit into a temporary folder, with an index of its own.
    pub(super) async fn check_out(&self, commit: &str) -> anyhow::Result<CheckedOut> {
        let folder = tempfile::tempdir()?;
        std::fs::create_dir(folder.path().join("files"))?;
        self.git(&["read-tree", commit], Some(folder.path())).await?;
        self.git(&["checkout-index", "--all", "--force"], Some(folder.path())).await?;
        let files = Folder::open_whole(&folder.path().join("files"))?;
        Ok(CheckedOut { files, _folder: Arc::new(folder) })
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

/// The files of a commit in a temporary folder, which the last clone removes.
#[derive(Clone)]
pub(super) struct CheckedOut {
    files: Folder,
    _folder: Arc<TempDir>,
}

impl Tree for CheckedOut {
    fn list(&self) -> Result<Vec<Entry>, FilesError> {
        self.files.list()
    }

    fn read(&self, path: &str, at_most: usize) -> Result<Vec<u8>, FilesError> {
        self.files.read(path, at_most)
    }
}

impl FileChange {
    /// Parses `:OLD-MODE NEW-MODE OLD-BLOB NEW-BLOB STATUS`.
    fn parse(head: &str, path: &str) -> Option<Self> {
        let mut fields = head.trim_start().strip_prefix(':')?.split(' ');
        let (old, new, _, blob) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
        Some(Self {
            path: path.to_owned(),
            is_regular: [old, new].iter().all(|mode| matches!(*mode, "000000" | "100644" | "100755")),
            blob: (new != "000000").then(|| blob.to_owned()),
        })
    }

    fn why_unusable(&self) -> Option<String> {
        let why = match (self.is_regular, self.path.contains(char::REPLACEMENT_CHARACTER)) {
            (false, _) => "it is a symbolic link or a submodule",
            (_, true) => "its name is not UTF-8",
            _ => return None,
        };
        Some(format!("{:?} cannot be used: {why}", self.path))
    }
}

fn parse_commit(record: &str) -> Option<HistoryTask> {
    let mut fields = record.splitn(4, FIELD);
    let (commit, parent, message, changes) = (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    let (mut parts, mut files) = (changes.split('\0').skip(1), Vec::new());
    while let (Some(head), Some(path)) = (parts.next(), parts.next()) {
        files.push(FileChange::parse(head, path)?);
    }
    Some(HistoryTask {
        commit: commit.to_owned(),
        parent: parent.to_owned(),
        prompt: without_trailers(message),
        changes: files,
    })
}

fn is_docs_commit(task: &HistoryTask, docs_path: Option<&str>) -> bool {
    let is_page = |FileChange { path, .. }: &FileChange| {
        let is_inside = docs_path.is_none_or(|folder| {
            path.strip_prefix(folder.trim_end_matches('/')).is_some_and(|rest| rest.starts_with('/'))
        });
        is_inside && FileKind::of(path).is_page()
    };
    // The first commit has no parent to start from. A file name with separators can imitate a commit.
    let has_ids = is_object_id(&task.commit) && is_object_id(&task.parent);
    let has_prompt = task.prompt.split_whitespace().count() >= 3;
    let has_few_files = (1..=MAX_FILES).contains(&task.changes.len());
    has_ids && has_prompt && has_few_files && task.changes.iter().all(is_page)
}

fn is_object_id(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_hexdigit())
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

    fn raw(modes: &str, path: &str) -> String {
        format!(":{modes} 12 34 M\0{path}\0")
    }

    fn parse(message: &str, changes: &str) -> HistoryTask {
        parse_commit(&format!("abc{FIELD}def{FIELD}{message}{FIELD}\0\n{changes}")).unwrap()
    }

    #[test]
    fn commits_that_change_only_pages_are_tasks() {
        let changed = |path: &str| raw("100644 100644", path);
        let task = parse(
            "Say how long it takes\n\nIt is slow.\n\nSigned-off-by: A <a@example.com>\nDocwright-Job: 1\n",
            &(changed("docs/a.md") + &raw("100644 000000", "docs/b.rst")),
        );
        assert_eq!(task.prompt, "Say how long it takes\n\nIt is slow.");
        let change = |path: &str, blob: Option<&str>| FileChange {
            path: path.to_owned(),
            is_regular: true,
            blob: blob.map(str::to_owned),
        };
        assert_eq!(task.changes, [change("docs/a.md", Some("34")), change("docs/b.rst", None)]);
        assert!(is_docs_commit(&task, None) && is_docs_commit(&task, Some("docs/")));
        assert!(!is_docs_commit(&task, Some("doc")));
        let with_program = changed("docs/a.md") + &changed("src/main.rs");
        assert!(!is_docs_commit(&parse("Change the program too", &with_program), None));
        assert!(!is_docs_commit(&parse("Fix typo", &changed("docs/a.md")), None));
        assert!(!is_docs_commit(&parse("An empty commit here", ""), None));
    }

    #[test]
    fn changes_that_no_editor_can_make_are_recognized() {
        let why =
            |modes: &str, path: &str| FileChange::why_unusable(&parse("", &raw(modes, path)).changes[0]);
        assert_eq!(why("000000 100755", "a.md"), None);
        assert_eq!(why("100644 100644", "a\n.md"), None, "the check of the whole change finds this");
        for (modes, path) in
            [("000000 120000", "a.md"), ("120000 000000", "a.md"), ("000000 100644", "a\u{fffd}.md")]
        {
            assert!(why(modes, path).is_some(), "{modes} {path}");
        }
        let imitation =
            format!("--x{FIELD}--y{FIELD}Say three words{FIELD}\0{}", raw("100644 100644", "a.md"));
        assert!(!is_docs_commit(&parse_commit(&imitation).unwrap(), None));
    }
}
