//! What is done in this process, and what is left to the git program.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use gix::objs::tree::EntryKind;
use tempfile::TempDir;

use super::{fetch, head_branch, is_free, open, push, tip};
use crate::journal::RepositoryWrite;
use crate::target::Push;
use crate::{Cache, FileRemote, NewCommit, Oid, Remote, Signature};

const BRANCH: &str = "docwright/job-1";

/// A repository of somebody's, our cache of it, and a commit that is to be pushed.
struct Room {
    room: TempDir,
    base: Oid,
    commit: Oid,
}

impl Room {
    async fn new() -> Self {
        let room = tempfile::tempdir().unwrap();
        let docs = room.path().join("docs");
        fs::create_dir_all(docs.join("guides")).unwrap();
        fs::write(docs.join("index.md"), "# Home\n").unwrap();
        fs::write(docs.join("guides/install.md"), "Run `npm i acme`.\n").unwrap();
        git(&docs, &["init", "-q", "-b", "main"]);
        git(&docs, &["add", "-A"]);
        git(&docs, &["commit", "-q", "-m", "Start"]);
        let cache = Cache::open(&room.path().join("cache")).await.unwrap();
        let remote = Remote::file(&docs.join(".git")).unwrap();
        let base = cache.fetch(&remote, "main", "base").await.unwrap();
        let commit = commit(&cache, &base, &[("guides/install.md", "pnpm\n"), ("guides/new/a.md", "A\n")]);
        Self { room, base, commit }
    }

    fn git_dir(&self) -> PathBuf {
        self.room.path().join("docs/.git")
    }

    fn git(&self, args: &[&str]) -> String {
        git(&self.room.path().join("docs"), args)
    }

    fn cache(&self) -> PathBuf {
        self.room.path().join("cache")
    }

    /// Somebody's next commit of all that is in their working copy now.
    fn somebody_commits(&self) -> Oid {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", "Go on"]);
        tip(&self.git_dir(), "main").unwrap().unwrap()
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
async fn a_plain_repository_is_read_and_pushed_to() {
    let room = Room::new().await;
    let git_dir = room.git_dir();
    assert_eq!(head_branch(&git_dir), Some(Some("main".to_owned())));
    assert_eq!(tip(&git_dir, "main"), Some(Some(room.base.clone())));
    assert_eq!(tip(&git_dir, "nope"), Some(None));
    assert_eq!((is_free(&git_dir, "main"), is_free(&git_dir, BRANCH)), (None, Some(())));

    for _twice in 0..2 {
        assert_eq!(room.push(BRANCH, None), Some(()));
        assert_eq!(tip(&git_dir, BRANCH), Some(Some(room.commit.clone())));
    }
    assert_eq!(room.git(&["fsck", "--strict", "--no-dangling"]), "");
    let changed = room.git(&["diff", "--name-only", "main", BRANCH]);
    assert_eq!(changed, "guides/install.md\nguides/new/a.md");
    let logged = room.git(&["reflog", "show", "--format=%gn %gs", BRANCH]);
    assert_eq!(logged, "Docwright push");

    // Files as git itself would have made them.
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode();
    room.git(&["branch", "theirs"]);
    let branches = git_dir.join("refs/heads");
    assert_eq!(mode(&branches.join(BRANCH)), mode(&branches.join("theirs")));
    let object = room.commit.as_str();
    assert_eq!(mode(&git_dir.join("objects").join(&object[..2]).join(&object[2..])) & 0o777, 0o444);
}

#[tokio::test]
async fn a_branch_goes_on_from_where_it_was_expected_and_from_nowhere_else() {
    let room = Room::new().await;
    room.git(&["branch", "docs"]);
    assert_eq!(room.push("docs", None), None, "it is there");
    assert_eq!(room.push("docs", Some(&room.commit)), None, "it is elsewhere");
    assert_eq!(room.push("nope", Some(&room.base)), None, "it is gone");
    assert_eq!(tip(&room.git_dir(), "docs"), Some(Some(room.base.clone())));
    room.git(&["pack-refs", "--all"]);
    assert_eq!(room.push("docs", None), None, "it is there, packed");
    assert_eq!(room.push("docs", Some(&room.base)), Some(()));
    assert_eq!(tip(&room.git_dir(), "docs"), Some(Some(room.commit.clone())));
}

#[tokio::test]
async fn a_branch_in_the_way_of_another_is_seen_packed_or_not() {
    let room = Room::new().await;
    room.git(&["branch", "a"]);
    room.git(&["branch", "b/c"]);
    for packed in [false, true] {
        if packed {
            room.git(&["pack-refs", "--all"]);
        }
        for branch in ["a/b", "a/b/c", "b"] {
            assert_eq!(room.push(branch, None), None, "{branch}, packed: {packed}");
        }
    }
    assert_eq!(room.push("b/d", None), Some(()));
}

#[tokio::test]
async fn what_is_odd_is_left_to_git() {
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
    let room = Room::new().await;
    fs::copy(room.git_dir().join("config"), room.git_dir().join("config.plain")).unwrap();
    for (key, value) in settings {
        room.git(&["config", key, value]);
        assert_eq!(room.push(BRANCH, None), None, "{key}");
        fs::copy(room.git_dir().join("config.plain"), room.git_dir().join("config")).unwrap();
    }
    room.git(&["symbolic-ref", &format!("refs/heads/{BRANCH}"), "refs/heads/elsewhere"]);
    assert_eq!(room.push(BRANCH, None), None, "a symbolic one");
    room.git(&["symbolic-ref", "-d", &format!("refs/heads/{BRANCH}")]);
    room.git(&["checkout", "-q", "--detach"]);
    fs::create_dir(room.git_dir().join("rebase-merge")).unwrap();
    assert_eq!(room.push(BRANCH, None), None, "a rebase under way");
    fs::remove_dir(room.git_dir().join("rebase-merge")).unwrap();
    room.git(&["commit", "-q", "--amend", "-m", "Rewritten"]);
    assert_eq!(room.push(BRANCH, None), None, "no branch holds its parent");
    assert!(open(&room.room.path().join("nowhere")).is_none());
    assert_eq!(tip(&room.git_dir(), BRANCH), Some(None));
}

#[tokio::test]
async fn a_change_of_many_files_is_left_to_git() {
    let room = Room::new().await;
    let cache = Cache::open(&room.cache()).await.unwrap();
    let names: Vec<_> = (0..100).map(|n| (format!("many/{n}.md"), n.to_string())).collect();
    let many: Vec<_> = names.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let commit = commit(&cache, &room.base, &many);
    assert_eq!(Room { commit, ..room }.push(BRANCH, None), None);
}

#[tokio::test]
async fn what_is_new_there_is_fetched_and_all_else_is_here() {
    let room = Room::new().await;
    let docs = room.room.path().join("docs");
    fs::write(docs.join("index.md"), "# Hello\n").unwrap();
    fs::create_dir(docs.join("deep")).unwrap();
    fs::rename(docs.join("guides/install.md"), docs.join("deep/install.md")).unwrap();
    room.somebody_commits();
    fs::write(docs.join("deep/more.md"), "More\n").unwrap();
    let new = room.somebody_commits();
    let cache = Cache::open(&room.cache()).await.unwrap();
    assert!(!cache.has(&new).await);
    assert_eq!(fetch(&room.cache(), &room.git_dir(), &new), Some(()));

    assert_eq!(git(&room.cache(), &["fsck", "--strict", "--no-dangling"]), "");
    let listed = |place: &Path| git(place, &["ls-tree", "-r", new.as_str()]);
    assert_eq!(listed(&room.cache()), listed(&room.git_dir()));
    assert_eq!(git(&room.cache(), &["log", "--format=%s", new.as_str()]), "Go on", "without its history");
    // And so a job starts there, and its commit can be pushed.
    let remote = Remote::file(&room.git_dir()).unwrap();
    assert_eq!(cache.fetch(&remote, "main", "base").await.unwrap(), new);
    let commit = commit(&cache, &new, &[("deep/more.md", "Much more\n")]);
    assert_eq!(Room { commit, ..room }.push(BRANCH, None), Some(()));
}

#[tokio::test]
async fn much_that_is_new_or_a_cache_without_anything_is_left_to_git() {
    let room = Room::new().await;
    let empty = room.room.path().join("empty");
    Cache::open(&empty).await.unwrap();
    assert_eq!(fetch(&empty, &room.git_dir(), &room.base), None);
    for n in 0..100 {
        fs::write(room.room.path().join(format!("docs/{n}.md")), n.to_string()).unwrap();
    }
    let new = room.somebody_commits();
    assert_eq!(fetch(&room.cache(), &room.git_dir(), &new), None);
    let gone = Oid::parse(&"1".repeat(40)).unwrap();
    assert_eq!(fetch(&room.cache(), &room.git_dir(), &gone), None);

    let cache = Cache::open(&room.cache()).await.unwrap();
    let remote = Remote::file(&room.git_dir()).unwrap();
    assert_eq!(cache.fetch(&remote, "main", "base").await.unwrap(), new);
    assert_eq!(git(&room.cache(), &["fsck", "--strict", "--no-dangling"]), "");
}

#[tokio::test]
async fn folders_without_end_are_left_to_git() {
    let room = Room::new().await;
    let mut tree = room.git(&["rev-parse", "main^{tree}"]);
    let repository = open(&room.git_dir()).unwrap();
    for _ in 0..5_000 {
        let oid = gix::ObjectId::from_hex(tree.as_bytes()).unwrap();
        let entry = gix::objs::tree::Entry { mode: EntryKind::Tree.into(), filename: "a".into(), oid };
        tree = repository.write_object(gix::objs::Tree { entries: vec![entry] }).unwrap().to_string();
    }
    let new = Oid::parse(&room.git(&["commit-tree", "-m", "Deep", "-p", "main", &tree])).unwrap();
    assert_eq!(fetch(&room.cache(), &room.git_dir(), &new), None);
}

#[tokio::test]
async fn an_object_that_is_not_what_it_is_called_is_not_taken_over() {
    let room = Room::new().await;
    let docs = room.room.path().join("docs");
    fs::write(docs.join("index.md"), "# Hello\n").unwrap();
    let new = room.somebody_commits();
    let (said, other) =
        (room.git(&["rev-parse", "main:index.md"]), room.git(&["rev-parse", "main~:index.md"]));
    let file = |id: &str| room.git_dir().join("objects").join(&id[..2]).join(&id[2..]);
    fs::remove_file(file(&said)).unwrap();
    fs::copy(file(&other), file(&said)).unwrap();
    assert_eq!(fetch(&room.cache(), &room.git_dir(), &new), None);
    assert!(!Cache::open(&room.cache()).await.unwrap().has(&new).await);
}
