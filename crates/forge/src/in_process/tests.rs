//! Tests which operations run in this process and which are left to the git program.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use gix::objs::tree::EntryKind;
use tempfile::TempDir;

use super::{Head, Lookup, fetch, is_not_checked_out, open, push, read_head, tip};
use crate::file_transport::Push;
use crate::journal::RepositoryWrite;
use crate::{Cache, FileRemote, NewCommit, Oid, Remote, Signature};

const BRANCH: &str = "docwright/job-1";

/// A user's repository, its cache, and a commit to push.
struct Fixture {
    temp_dir: TempDir,
    base: Oid,
    commit: Oid,
}

impl Fixture {
    async fn new() -> Self {
        let temp_dir = tempfile::tempdir().unwrap();
        let docs = temp_dir.path().join("docs");
        fs::create_dir_all(docs.join("guides")).unwrap();
        fs::write(docs.join("index.md"), "# Home\n").unwrap();
        fs::write(docs.join("guides/install.md"), "Run `npm i acme`.\n").unwrap();
        git(&docs, &["init", "-q", "-b", "main"]);
        git(&docs, &["add", "-A"]);
        git(&docs, &["commit", "-q", "-m", "Start"]);
        let cache = Cache::open(&temp_dir.path().join("cache")).await.unwrap();
        let remote = Remote::file(&docs.join(".git")).unwrap();
        let base = cache.fetch(&remote, "main", "base").await.unwrap();
        let commit = commit(&cache, &base, &[("guides/install.md", "pnpm\n"), ("guides/new/a.md", "A\n")]);
        Self { temp_dir, base, commit }
    }

    fn git_dir(&self) -> PathBuf {
        self.temp_dir.path().join("docs/.git")
    }

    fn git(&self, args: &[&str]) -> String {
        git(&self.temp_dir.path().join("docs"), args)
    }

    fn cache(&self) -> PathBuf {
        self.temp_dir.path().join("cache")
    }

    /// Commits everything in the user's working copy.
    fn commit_worktree(&self) -> Oid {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", "Go on"]);
        tip(&self.git_dir(), "main").unwrap().found().unwrap()
    }

    fn push(&self, branch: &str, expected: Option<&Oid>) -> Option<()> {
        let (commit, branch, expected) = (self.commit.clone(), branch.to_owned(), expected.cloned());
        let remote = FileRemote::new(&self.git_dir()).unwrap();
        let write = RepositoryWrite::begin(&remote, &branch, &commit).unwrap();
        push(&self.cache(), &write, &Push { commit, branch, expected, merged: None })
    }
}

#[track_caller]
fn git(dir: &Path, args: &[&str]) -> String {
    let us = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"];
    let output = Command::new("git").arg("-C").arg(dir).args(us).args(args).output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

fn commit(cache: &Cache, base: &Oid, edits: &[(&str, &str)]) -> Oid {
    let edits = edits.iter().map(|(path, text)| ((*path).to_owned(), Some(text.as_bytes().to_vec())));
    let edits = &edits.collect::<BTreeMap<_, _>>();
    let author = Signature { name: "Docwright", email: "docwright@localhost" };
    let new = NewCommit { base, edits, message: "Use pnpm", author, time_seconds: 1_700_000_000, pin: "new" };
    cache.commit(&new).unwrap()
}

#[tokio::test]
async fn a_repository_without_special_settings_is_read_and_pushed_to() {
    let fixture = Fixture::new().await;
    let git_dir = fixture.git_dir();
    assert_eq!(read_head(&git_dir), Some(Head::Branch("main".to_owned())));
    assert_eq!(tip(&git_dir, "main"), Some(Lookup::Found(fixture.base.clone())));
    assert_eq!(tip(&git_dir, "nope"), Some(Lookup::Missing));
    assert_eq!(
        (is_not_checked_out(&git_dir, "main"), is_not_checked_out(&git_dir, BRANCH)),
        (None, Some(()))
    );

    for _twice in 0..2 {
        assert_eq!(fixture.push(BRANCH, None), Some(()));
        assert_eq!(tip(&git_dir, BRANCH), Some(Lookup::Found(fixture.commit.clone())));
    }
    assert_eq!(fixture.git(&["fsck", "--strict", "--no-dangling"]), "");
    let changed = fixture.git(&["diff", "--name-only", "main", BRANCH]);
    assert_eq!(changed, "guides/install.md\nguides/new/a.md");
    let logged = fixture.git(&["reflog", "show", "--format=%gn %gs", BRANCH]);
    assert_eq!(logged, "Docwright push");

    // The files have the same permissions as git's own.
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode();
    fixture.git(&["branch", "theirs"]);
    let branches = git_dir.join("refs/heads");
    assert_eq!(mode(&branches.join(BRANCH)), mode(&branches.join("theirs")));
    let object = fixture.commit.as_str();
    assert_eq!(mode(&git_dir.join("objects").join(&object[..2]).join(&object[2..])) & 0o777, 0o444);
}

#[tokio::test]
async fn a_branch_moves_only_from_the_expected_commit() {
    let fixture = Fixture::new().await;
    fixture.git(&["branch", "docs"]);
    assert_eq!(fixture.push("docs", None), None, "the branch exists");
    assert_eq!(fixture.push("docs", Some(&fixture.commit)), None, "the branch is at another commit");
    assert_eq!(fixture.push("nope", Some(&fixture.base)), None, "the branch does not exist");
    assert_eq!(tip(&fixture.git_dir(), "docs"), Some(Lookup::Found(fixture.base.clone())));
    fixture.git(&["pack-refs", "--all"]);
    assert_eq!(fixture.push("docs", None), None, "the packed branch exists");
    assert_eq!(fixture.push("docs", Some(&fixture.base)), Some(()));
    assert_eq!(tip(&fixture.git_dir(), "docs"), Some(Lookup::Found(fixture.commit.clone())));
}

#[tokio::test]
async fn a_conflicting_ref_name_is_found_packed_or_loose() {
    let fixture = Fixture::new().await;
    fixture.git(&["branch", "a"]);
    fixture.git(&["branch", "b/c"]);
    for packed in [false, true] {
        if packed {
            fixture.git(&["pack-refs", "--all"]);
        }
        for branch in ["a/b", "a/b/c", "b"] {
            assert_eq!(fixture.push(branch, None), None, "{branch}, packed: {packed}");
        }
    }
    assert_eq!(fixture.push("b/d", None), Some(()));
}

#[tokio::test]
async fn unusual_settings_and_states_are_left_to_git() {
    let settings = [
        ("receive.denyNonFastForwards", "true"),
        ("receive.fsckObjects", "true"),
        ("transfer.hideRefs", "refs/heads/docwright"),
        ("hook.evil.command", "false"),
        ("core.sharedRepository", "group"),
        ("include.path", "more"),
        ("includeIf.onbranch:main.path", "more"),
        ("extensions.worktreeConfig", "true"),
    ];
    let fixture = Fixture::new().await;
    fs::copy(fixture.git_dir().join("config"), fixture.git_dir().join("config.plain")).unwrap();
    for (key, value) in settings {
        fixture.git(&["config", key, value]);
        assert_eq!(fixture.push(BRANCH, None), None, "{key}");
        fs::copy(fixture.git_dir().join("config.plain"), fixture.git_dir().join("config")).unwrap();
    }
    fixture.git(&["symbolic-ref", &format!("refs/heads/{BRANCH}"), "refs/heads/elsewhere"]);
    assert_eq!(fixture.push(BRANCH, None), None, "a symbolic ref");
    fixture.git(&["symbolic-ref", "-d", &format!("refs/heads/{BRANCH}")]);
    fixture.git(&["checkout", "-q", "--detach"]);
    fs::create_dir(fixture.git_dir().join("rebase-merge")).unwrap();
    assert_eq!(fixture.push(BRANCH, None), None, "a rebase under way");
    fs::remove_dir(fixture.git_dir().join("rebase-merge")).unwrap();
    fixture.git(&["commit", "-q", "--amend", "-m", "Rewritten"]);
    assert_eq!(fixture.push(BRANCH, None), None, "no ref contains the parent");
    assert!(open(&fixture.temp_dir.path().join("nowhere")).is_none());
    assert_eq!(tip(&fixture.git_dir(), BRANCH), Some(Lookup::Missing));
}

#[tokio::test]
async fn a_push_of_many_files_is_left_to_git() {
    let fixture = Fixture::new().await;
    let cache = Cache::open(&fixture.cache()).await.unwrap();
    let names: Vec<_> = (0..100).map(|n| (format!("many/{n}.md"), n.to_string())).collect();
    let many: Vec<_> = names.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let commit = commit(&cache, &fixture.base, &many);
    assert_eq!(Fixture { commit, ..fixture }.push(BRANCH, None), None);
}

#[tokio::test]
async fn equal_files_are_one_object() {
    let fixture = Fixture::new().await;
    let cache = Cache::open(&fixture.cache()).await.unwrap();
    let equal = [("a/page.md", "Same\n"), ("b/page.md", "Same\n"), ("index.md", "Same\n")];
    let commit = commit(&cache, &fixture.base, &equal);
    let fixture = Fixture { commit, ..fixture };
    assert_eq!(fixture.push(BRANCH, None), Some(()));
    assert_eq!(fixture.git(&["show", &format!("{BRANCH}:b/page.md")]), "Same");
    assert_eq!(fixture.git(&["fsck", "--strict"]), "");
}

#[tokio::test]
async fn a_fetch_copies_only_the_new_objects() {
    let fixture = Fixture::new().await;
    let docs = fixture.temp_dir.path().join("docs");
    fs::write(docs.join("index.md"), "# Hello\n").unwrap();
    fs::create_dir(docs.join("deep")).unwrap();
    fs::rename(docs.join("guides/install.md"), docs.join("deep/install.md")).unwrap();
    fixture.commit_worktree();
    fs::write(docs.join("deep/more.md"), "More\n").unwrap();
    let new = fixture.commit_worktree();
    let cache = Cache::open(&fixture.cache()).await.unwrap();
    assert!(!cache.has_readable(&new).await);
    assert_eq!(fetch(&fixture.cache(), &fixture.git_dir(), &new), Some(()));

    assert_eq!(git(&fixture.cache(), &["fsck", "--strict", "--no-dangling"]), "");
    let listed = |dir: &Path| git(dir, &["ls-tree", "-r", new.as_str()]);
    assert_eq!(listed(&fixture.cache()), listed(&fixture.git_dir()));
    assert_eq!(git(&fixture.cache(), &["log", "--format=%s", new.as_str()]), "Go on", "without its history");
    // A job can start from the fetched commit and push its own.
    let remote = Remote::file(&fixture.git_dir()).unwrap();
    assert_eq!(cache.fetch(&remote, "main", "base").await.unwrap(), new);
    let commit = commit(&cache, &new, &[("deep/more.md", "Much more\n")]);
    assert_eq!(Fixture { commit, ..fixture }.push(BRANCH, None), Some(()));
}

#[tokio::test]
async fn a_fetch_of_many_files_or_into_an_empty_cache_is_left_to_git() {
    let fixture = Fixture::new().await;
    let empty = fixture.temp_dir.path().join("empty");
    Cache::open(&empty).await.unwrap();
    assert_eq!(fetch(&empty, &fixture.git_dir(), &fixture.base), None);
    for n in 0..100 {
        fs::write(fixture.temp_dir.path().join(format!("docs/{n}.md")), n.to_string()).unwrap();
    }
    let new = fixture.commit_worktree();
    assert_eq!(fetch(&fixture.cache(), &fixture.git_dir(), &new), None);
    let gone = Oid::parse(&"1".repeat(40)).unwrap();
    assert_eq!(fetch(&fixture.cache(), &fixture.git_dir(), &gone), None);

    let cache = Cache::open(&fixture.cache()).await.unwrap();
    let remote = Remote::file(&fixture.git_dir()).unwrap();
    assert_eq!(cache.fetch(&remote, "main", "base").await.unwrap(), new);
    assert_eq!(git(&fixture.cache(), &["fsck", "--strict", "--no-dangling"]), "");
}

#[tokio::test]
async fn very_deep_folders_are_left_to_git() {
    let fixture = Fixture::new().await;
    let mut tree = fixture.git(&["rev-parse", "main^{tree}"]);
    let repository = open(&fixture.git_dir()).unwrap();
    for _ in 0..5_000 {
        let oid = gix::ObjectId::from_hex(tree.as_bytes()).unwrap();
        let entry = gix::objs::tree::Entry { mode: EntryKind::Tree.into(), filename: "a".into(), oid };
        tree = repository.write_object(gix::objs::Tree { entries: vec![entry] }).unwrap().to_string();
    }
    let new = Oid::parse(&fixture.git(&["commit-tree", "-m", "Deep", "-p", "main", &tree])).unwrap();
    assert_eq!(fetch(&fixture.cache(), &fixture.git_dir(), &new), None);
}

#[tokio::test]
async fn an_object_whose_content_does_not_match_its_id_is_not_copied() {
    let fixture = Fixture::new().await;
    let docs = fixture.temp_dir.path().join("docs");
    fs::write(docs.join("index.md"), "# Hello\n").unwrap();
    let new = fixture.commit_worktree();
    let (named, other) =
        (fixture.git(&["rev-parse", "main:index.md"]), fixture.git(&["rev-parse", "main~:index.md"]));
    let file = |id: &str| fixture.git_dir().join("objects").join(&id[..2]).join(&id[2..]);
    fs::remove_file(file(&named)).unwrap();
    fs::copy(file(&other), file(&named)).unwrap();
    assert_eq!(fetch(&fixture.cache(), &fixture.git_dir(), &new), None);
    assert!(!Cache::open(&fixture.cache()).await.unwrap().has_readable(&new).await);
}
