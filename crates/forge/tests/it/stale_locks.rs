//! Tests recovery from lock files, empty refs and damage that killed processes and power cuts leave.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use forge::{Error, Host as _, Local, Oid};

use crate::support::{Edits, Repo, commit, edits, git, host, propose};

const BRANCH: &str = "docwright/job-1";

fn edit() -> Edits {
    edits(&[("guides/install.md", Some("Run `pnpm add acme`.\n"))])
}

/// Creates the journal record of a process that was killed while it wrote `commit` to `branch`.
fn killed_while_writing(repo: &Repo, git_dir: &Path, branch: &str, commit: &Oid) -> PathBuf {
    let quarantine = git_dir.join("objects/tmp_objdir-docwright-0");
    fs::create_dir_all(quarantine.join("ab")).unwrap();
    let records = repo.beside("writes");
    fs::create_dir_all(&records).unwrap();
    let lines = [git_dir.to_str().unwrap(), quarantine.to_str().unwrap(), branch, commit.as_str(), "end\n"];
    // The name does not matter: recovery reads all records.
    let named = fs::read_dir(&records).unwrap().next().map(|entry| entry.unwrap().path());
    let record = named.unwrap_or_else(|| records.join("0000000000000000"));
    fs::write(&record, lines.join("\n")).unwrap();
    quarantine
}

fn create_lock(git_dir: &Path, name: &str, content: &str) -> PathBuf {
    let path = git_dir.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, content).unwrap();
    let past = std::time::SystemTime::now() - std::time::Duration::from_secs(3 * 3600);
    fs::File::options().write(true).open(&path).unwrap().set_modified(past).unwrap();
    path
}

async fn with_pull_request(repo: &Repo) -> (PathBuf, Local) {
    let bare = repo.bare();
    let local = host(&bare).await.unwrap();
    propose(repo, &local, &edit()).await;
    (bare, local)
}

#[tokio::test]
async fn locks_of_a_killed_merge_are_removed_before_the_next_merge() {
    let repo = Repo::new();
    let (bare, local) = with_pull_request(&repo).await;
    let ours = repo.tip("main");
    let quarantine = killed_while_writing(&repo, &bare, "main", &ours);
    // A leftover of a push that git received, and a file of a person.
    let (received, kept) = (bare.join("objects/pack/pack-1.keep"), bare.join("objects/pack/pack-2.keep"));
    fs::write(&received, "receive-pack 7 on host").unwrap();
    fs::write(&kept, "for ever").unwrap();
    let locks = [
        create_lock(&bare, "refs/heads/main.lock", &format!("{ours}\n")),
        create_lock(&bare, "packed-refs.lock", ""),
        create_lock(&bare, "HEAD.lock", ""),
    ];
    local.merge(1, None).await.unwrap();
    assert!(locks.iter().all(|lock| !lock.exists()) && !quarantine.exists());
    assert!(!received.exists() && kept.exists());
    assert_eq!(git(&bare, &["show", "main:guides/install.md"]), "Run `pnpm add acme`.");
}

#[tokio::test]
async fn locks_of_a_killed_server_are_removed_at_the_next_start() {
    let repo = Repo::new();
    let bare = repo.bare();
    let ours = repo.tip("main");
    killed_while_writing(&repo, &bare, BRANCH, &ours);
    // A half-written lock file and an empty ref.
    let (half, empty) = (&ours.as_str()[..20], bare.join(format!("refs/heads/{BRANCH}")));
    let lock_file = create_lock(&bare, &format!("refs/heads/{BRANCH}.lock"), half);
    fs::write(&empty, "").unwrap();
    forge::recover_writes(&repo.beside("writes")).unwrap();
    assert!(!lock_file.exists() && !empty.exists());
    assert!(!bare.join("objects/tmp_objdir-docwright-0").exists());
    forge::recover_writes(&repo.beside("nowhere")).unwrap();
}

#[tokio::test]
async fn locks_of_another_program_stay_and_are_reported_with_their_age() {
    let repo = Repo::new();
    let (bare, local) = with_pull_request(&repo).await;
    let foreign = "1".repeat(40);
    for (recorded, content) in [(false, ""), (false, foreign.as_str()), (true, foreign.as_str())] {
        if recorded {
            killed_while_writing(&repo, &bare, "main", &repo.tip("main"));
        }
        let lock_file = create_lock(&bare, "refs/heads/main.lock", content);
        let refused = local.merge(1, None).await.unwrap_err();
        let shown = lock_file.display();
        let expected = format!(
            "git cannot write to the repository: the lock file {shown} has been there for 3 hours. If no git \
             command is running there, remove it: rm {shown}"
        );
        assert!(matches!(refused, Error::Locked { .. }), "{refused}");
        assert_eq!(refused.to_string(), expected);
        assert!(lock_file.exists(), "the lock belongs to another program");
    }
    fs::remove_file(bare.join("refs/heads/main.lock")).unwrap();
    local.merge(1, None).await.unwrap();
}

#[tokio::test]
async fn a_lock_that_blocks_a_deletion_is_reported() {
    let repo = Repo::new();
    let (bare, local) = with_pull_request(&repo).await;
    let cache = repo.cache().await;
    let tip = cache.tip(&local.remote(), BRANCH).await.unwrap().unwrap();
    let lock_file = create_lock(&bare, &format!("refs/heads/{BRANCH}.lock"), "x");
    let refused = cache.delete_branch(&local.remote(), BRANCH, &tip).await.unwrap_err();
    assert!(matches!(refused, Error::Locked { .. }), "{refused}");
    fs::remove_file(lock_file).unwrap();
    cache.delete_branch(&local.remote(), BRANCH, &tip).await.unwrap();
}

/// A git program can outlive the killed server that started it. It still holds the record's `flock`.
#[tokio::test]
async fn locks_of_a_live_program_are_not_removed() {
    let repo = Repo::new();
    let bare = repo.bare();
    let ours = repo.tip("main");
    killed_while_writing(&repo, &bare, "main", &ours);
    let record = fs::read_dir(repo.beside("writes")).unwrap().next().unwrap().unwrap().path();
    let held = fs::File::options().read(true).write(true).open(record).unwrap();
    held.lock().unwrap();
    let mut program = Command::new("sleep").arg("1000").stdin(Stdio::from(held)).spawn().unwrap();
    let lock_file = create_lock(&bare, "refs/heads/main.lock", &format!("{ours}\n"));
    forge::recover_writes(&repo.beside("writes")).unwrap();
    assert!(lock_file.exists(), "the program is alive");
    program.kill().unwrap();
    program.wait().unwrap();
    forge::recover_writes(&repo.beside("writes")).unwrap();
    assert!(!lock_file.exists(), "the program has ended");
}

#[tokio::test]
async fn empty_agent_branches_are_removed_and_other_empty_refs_are_reported() {
    let repo = Repo::new();
    let (bare, local) = with_pull_request(&repo).await;
    let (own, foreign) = (bare.join("refs/heads/docwright/job-0"), bare.join("refs/heads/theirs"));
    for path in [&own, &foreign] {
        fs::write(path, "").unwrap();
    }
    let problems = local.inspect().await.unwrap();
    let messages: Vec<_> = problems.iter().map(|problem| problem.message.as_str()).collect();
    assert_eq!(messages.len(), 2, "{messages:?}");
    assert!(problems.iter().all(|problem| problem.message.contains("is empty, probably after a power cut")));
    local.remove_empty_branches().await.unwrap();
    assert!(!own.exists() && foreign.exists());
    assert!(local.inspect().await.unwrap()[0].advice.contains("git reflog show refs/heads/theirs"));
}

/// Both with the in-process push and with git's push.
#[tokio::test]
async fn a_push_replaces_an_empty_ref() {
    for by_git in [false, true] {
        let repo = Repo::new();
        let bare = repo.bare();
        if by_git {
            git(&bare, &["config", "receive.fsckObjects", "true"]);
        }
        fs::create_dir(bare.join("refs/heads/docwright")).unwrap();
        fs::write(bare.join(format!("refs/heads/{BRANCH}")), "").unwrap();
        let local = host(&bare).await.unwrap();
        let pull = propose(&repo, &local, &edit()).await;
        assert_eq!(git(&bare, &["rev-parse", BRANCH]), pull.head_commit.as_str());
    }
}

#[tokio::test]
async fn an_inspection_reports_locks_and_unreadable_branches() {
    let repo = Repo::new();
    let (bare, local) = with_pull_request(&repo).await;
    assert_eq!(local.inspect().await.unwrap(), []);
    create_lock(&bare, "packed-refs.lock", "");
    let commit = git(&bare, &["rev-parse", BRANCH]);
    let object = bare.join("objects").join(&commit[..2]).join(&commit[2..]);
    fs::remove_file(&object).unwrap();
    fs::write(object, "").unwrap();
    let problems = local.inspect().await.unwrap();
    assert!(problems[0].message.contains("packed-refs.lock has been there for 3 hours"), "{problems:?}");
    assert!(problems[1].message.starts_with("the branch refs/heads/docwright/job-1 cannot be read"));
    assert_eq!(problems.len(), 2);
}

/// A power cut can empty files of the cache, because they are not synced.
#[tokio::test]
async fn a_commit_that_the_cache_lost_is_recreated() {
    for by_git in [false, true] {
        let repo = Repo::new();
        let bare = repo.bare();
        if by_git {
            git(&bare, &["config", "receive.fsckObjects", "true"]);
        }
        let (local, cache) = (host(&bare).await.unwrap(), repo.cache().await);
        let base = cache.fetch(&local.remote(), "main", "job-1-base").await.unwrap();
        let head = commit(&cache, &base, &edit()).unwrap();
        let dir = repo.beside("cache/p.git");
        let blob = git(&dir, &["rev-parse", &format!("{head}:guides/install.md")]);
        let object = dir.join("objects").join(&blob[..2]).join(&blob[2..]);
        fs::remove_file(&object).unwrap();
        fs::write(&object, "").unwrap();
        fs::write(dir.join("refs/docwright/pins/job-1"), "").unwrap();

        let lost = cache.push(&local.remote(), &head, BRANCH, None).await.unwrap_err();
        assert!(matches!(lost, Error::Damaged(_)), "{lost}");
        assert!(
            !cache.has_readable(&head).await && !cache.has_readable(&base).await,
            "the damaged cache is not used"
        );
        assert_eq!(cache.fetch(&local.remote(), "main", "job-1-base").await.unwrap(), base);
        assert_eq!(commit(&cache, &base, &edit()).unwrap(), head);
        cache.push(&local.remote(), &head, BRANCH, None).await.unwrap();
        assert_eq!(git(&bare, &["rev-parse", BRANCH]), head.as_str());
    }
}

#[tokio::test]
async fn scratch_repositories_of_killed_processes_are_removed() {
    let repo = Repo::new();
    let (_, local) = with_pull_request(&repo).await;
    let records = repo.beside("writes");
    let (dead, held) = (records.join("scratch-dead"), records.join("scratch-held"));
    let open = |dir: &Path| {
        fs::create_dir_all(dir.join("objects")).unwrap();
        fs::File::create(dir.join("held")).unwrap()
    };
    drop(open(&dead));
    let alive = open(&held);
    alive.lock().unwrap();
    forge::recover_writes(&records).unwrap();
    assert!(!dead.exists() && held.exists());
    drop(alive);
    local.diff(&local.get(1).await.unwrap().unwrap()).await.unwrap();
    forge::recover_writes(&records).unwrap();
    let left = fs::read_dir(&records).unwrap().filter(|entry| entry.as_ref().unwrap().path().is_dir());
    assert_eq!(left.count(), 0, "a diff leaves no scratch repository");
}
