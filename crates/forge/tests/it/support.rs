//! Test helpers: a temporary repository, and pull request records in memory.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use forge::{
    Cache, Host as _, Local, NewCommit, NewPull, Oid, PullRecord, PullRecords, PullRequest, Remote, Result,
    Signature, State,
};
use tempfile::TempDir;

pub(crate) type Edits = BTreeMap<String, Option<Vec<u8>>>;

/// A user's repository, changed with the git program.
pub(crate) struct Repo {
    temp_dir: TempDir,
}

impl Repo {
    /// A working copy on `main` with one commit.
    pub(crate) fn new() -> Self {
        let repo = Self::empty();
        repo.write("index.md", "# Home\n");
        repo.write("guides/install.md", "Run `npm i acme`.\n");
        repo.save("Start");
        repo
    }

    /// A working copy without a commit.
    pub(crate) fn empty() -> Self {
        let repo = Self { temp_dir: tempfile::tempdir().unwrap() };
        fs::create_dir(repo.path()).unwrap();
        repo.git(&["init", "-q", "-b", "main"]);
        repo
    }

    /// The working copy. Its folder name needs quoting.
    pub(crate) fn path(&self) -> PathBuf {
        self.temp_dir.path().canonicalize().unwrap().join("a docs' repo %20")
    }

    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.temp_dir.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn write(&self, path: &str, content: &str) {
        let path = self.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn save(&self, message: &str) -> Oid {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
        self.tip("HEAD")
    }

    /// Like [`Repo::save`], with this committer date.
    pub(crate) fn save_at(&self, seconds: i64, message: &str) -> Oid {
        self.git(&["add", "-A"]);
        let date = format!("@{seconds} +0000");
        let commit = ["commit", "-q", "--allow-empty", "-m", message];
        git_with(&self.path(), &commit, &[("GIT_COMMITTER_DATE", &date)]);
        self.tip("HEAD")
    }

    pub(crate) fn tip(&self, name: &str) -> Oid {
        Oid::parse(&self.git(&["rev-parse", "--verify", name])).unwrap()
    }

    pub(crate) fn git(&self, args: &[&str]) -> String {
        git(&self.path(), args)
    }

    pub(crate) fn remote(&self) -> Remote {
        Remote::file(&self.path().join(".git")).unwrap()
    }

    /// A bare clone beside it.
    pub(crate) fn bare(&self) -> PathBuf {
        let bare = self.beside("bare.git");
        self.git(&["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
        bare
    }

    pub(crate) async fn cache(&self) -> Cache {
        Cache::open(&self.beside("cache/p.git")).await.unwrap()
    }
}

#[track_caller]
pub(crate) fn git(dir: &Path, args: &[&str]) -> String {
    git_with(dir, args, &[])
}

#[track_caller]
pub(crate) fn git_with(dir: &Path, args: &[&str], env: &[(&str, &str)]) -> String {
    let output = Command::new("git")
        .arg("-C")
        .arg(dir)
        .args(args)
        .env_remove("GIT_DIR")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_AUTHOR_NAME", "Ada")
        .env("GIT_AUTHOR_EMAIL", "ada@example.com")
        .env("GIT_COMMITTER_NAME", "Ada")
        .env("GIT_COMMITTER_EMAIL", "ada@example.com")
        .envs(env.iter().copied())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {args:?}: {stderr}");
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

pub(crate) fn edits(list: &[(&str, Option<&str>)]) -> Edits {
    let owned = |text: &str| text.as_bytes().to_vec();
    list.iter().map(|(path, text)| ((*path).to_owned(), text.map(owned))).collect()
}

pub(crate) fn commit(cache: &Cache, base: &Oid, edits: &Edits) -> Result<Oid> {
    cache.commit(&NewCommit {
        base,
        edits,
        message: "Use pnpm",
        author: Signature { name: "Docwright", email: "docwright@example.com" },
        time_seconds: 1_700_000_000,
        pin: "job-1",
    })
}

/// Lists the files of a commit as `mode path`.
pub(crate) fn tree(dir: &Path, commit: &Oid) -> String {
    let listed = git(dir, &["ls-tree", "-r", "--format=%(objectmode) %(path)", commit.as_str()]);
    listed.lines().collect::<Vec<_>>().join(", ")
}

pub(crate) fn script(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Pull request records in memory.
#[derive(Default)]
pub(crate) struct Records(Mutex<Vec<PullRecord>>);

#[async_trait]
impl PullRecords for Records {
    async fn insert(&self, new: &NewPull) -> Result<PullRecord> {
        let mut all = self.0.lock().unwrap();
        let same = |r: &&PullRecord| r.head == new.head && (r.job == new.job || r.state == State::Open);
        if let Some(existing) = all.iter().find(same) {
            return Ok(existing.clone());
        }
        let number = all.len() as u64 + 1;
        let new = new.clone();
        all.push(PullRecord {
            number,
            title: new.title,
            body: new.body,
            head: new.head,
            base: new.base,
            state: State::Open,
            head_commit: new.head_commit,
            base_commit: new.base_commit,
            merge_commit: None,
            job: new.job,
            created_at: 1_700_000_000_000,
        });
        Ok(all[all.len() - 1].clone())
    }

    async fn by_head(&self, head: &str) -> Result<Vec<PullRecord>> {
        let all = self.0.lock().unwrap();
        Ok(all.iter().filter(|record| record.head == head).cloned().collect())
    }

    async fn get(&self, number: u64) -> Result<Option<PullRecord>> {
        Ok(self.0.lock().unwrap().iter().find(|record| record.number == number).cloned())
    }

    async fn list(&self, limit: usize) -> Result<Vec<PullRecord>> {
        Ok(self.0.lock().unwrap().iter().rev().take(limit).cloned().collect())
    }

    async fn set_state(
        &self,
        number: u64,
        to: State,
        head_commit: &Oid,
        merge_commit: Option<&Oid>,
    ) -> Result<bool> {
        let mut all = self.0.lock().unwrap();
        let open = |r: &&mut PullRecord| r.number == number && r.state == State::Open;
        let Some(record) = all.iter_mut().find(open) else { return Ok(false) };
        record.state = to;
        record.head_commit = head_commit.clone();
        record.merge_commit = merge_commit.cloned();
        Ok(true)
    }
}

pub(crate) async fn host(path: &Path) -> Result<Local> {
    let journal = path.parent().unwrap_or(path).join("writes");
    Local::open(path, Arc::new(Records::default()), "http://docs.test/p/1/pulls/", &journal).await
}

/// Fetches `main`, edits it, pushes the result as `docwright/job-1` and opens a pull request.
pub(crate) async fn propose(repo: &Repo, local: &Local, edits: &Edits) -> PullRequest {
    let cache = repo.cache().await;
    let base = cache.fetch(&local.remote(), "main", "job-1").await.unwrap();
    let head_commit = commit(&cache, &base, edits).unwrap();
    let head = "docwright/job-1";
    cache.push(&local.remote(), &head_commit, head, None).await.unwrap();
    local.open(&new_pull(&base, &head_commit)).await.unwrap()
}

pub(crate) fn new_pull(base: &Oid, head: &Oid) -> NewPull {
    NewPull {
        title: "Use pnpm".to_owned(),
        body: "As asked.".to_owned(),
        head: "docwright/job-1".to_owned(),
        base: "main".to_owned(),
        head_commit: head.clone(),
        base_commit: base.clone(),
        job: "job-1".to_owned(),
        draft: false,
        is_first: true,
    }
}
