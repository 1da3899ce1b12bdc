//! Tests that hostile repositories run nothing and reach nothing.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use forge::{Cache, Error, Host as _, Kind, State};

use crate::support::{Repo, commit, edits, git, host, propose, script};

/// A repository whose hooks and settings all create the canary file when they run.
struct Trap {
    repo: Repo,
    bare: PathBuf,
    canary: PathBuf,
}

impl Trap {
    fn new() -> Self {
        let repo = Repo::new();
        repo.write(".gitattributes", "* filter=evil diff=evil merge=evil\n*.md merge=evil\n");
        repo.write(".lfsconfig", "[lfs]\n\turl = http://127.0.0.1:1/\n");
        repo.save("Attributes");
        // With an alternate, git would run `core.alternateRefsCommand`.
        let bare = repo.bare();
        let alternate = repo.path().join(".git/objects");
        fs::write(bare.join("objects/info/alternates"), format!("{}\n", alternate.display())).unwrap();
        let (canary, evil) = (repo.beside("canary"), repo.beside("evil"));
        script(&evil, &format!("touch '{}'", canary.display()));
        let trap = Self { repo, bare, canary };
        trap.install_hooks();
        trap.configure(evil.to_str().unwrap());
        trap
    }

    fn install_hooks(&self) {
        let hooks = [
            "pre-receive",
            "update",
            "post-receive",
            "post-update",
            "reference-transaction",
            "proc-receive",
            "push-to-checkout",
            "pre-auto-gc",
            "post-index-change",
        ];
        for hook in hooks {
            let text = format!("touch '{}'", self.canary.display());
            script(&self.bare.join("hooks").join(hook), &text);
        }
    }

    fn configure(&self, evil: &str) {
        for key in [
            "core.fsmonitor",
            "core.alternateRefsCommand",
            "core.sshCommand",
            "core.pager",
            "core.editor",
            "core.askPass",
            "diff.external",
            "diff.evil.command",
            "diff.evil.textconv",
            "merge.evil.driver",
            "filter.evil.clean",
            "filter.evil.smudge",
            "filter.evil.process",
            "uploadpack.packObjectsHook",
            "gpg.program",
            "credential.helper",
            "core.gitProxy",
            "alias.receive-pack",
            "alias.upload-pack",
            "alias.merge-tree",
        ] {
            let value = if key.starts_with("alias.") { format!("!{evil}") } else { evil.to_owned() };
            git(&self.bare, &["config", key, &value]);
        }
        for (key, value) in [
            ("log.showSignature", "true"),
            ("gc.auto", "1"),
            ("receive.autogc", "true"),
            ("attr.tree", "main"),
            ("url.file:///nowhere.insteadOf", "file:///"),
            ("url.file:///nowhere.pushInsteadOf", "file:///"),
            ("receive.denyCurrentBranch", "updateInstead"),
        ] {
            git(&self.bare, &["config", key, value]);
        }
    }

    #[track_caller]
    fn assert_nothing_ran(&self) {
        assert!(!self.canary.exists(), "something ran");
    }
}

#[tokio::test]
async fn an_ordinary_push_triggers_the_trap() {
    let trap = Trap::new();
    trap.repo.git(&["push", "-q", trap.bare.to_str().unwrap(), "main:other"]);
    assert!(trap.canary.exists());
}

#[tokio::test]
async fn no_hook_or_setting_of_the_target_runs() {
    let trap = Trap::new();
    let local = host(&trap.bare).await.unwrap();
    assert_eq!(local.check(None).await.unwrap(), "main");
    trap.assert_nothing_ran();
    let pull = propose(&trap.repo, &local, &edits(&[("guides/install.md", Some("pnpm\n"))])).await;
    trap.assert_nothing_ran();
    local.diff(&pull).await.unwrap();
    local.commits(&pull).await.unwrap();
    trap.assert_nothing_ran();

    // Both sides change the file, so that git would run a merge driver.
    let base = trap.repo.tip("main");
    trap.repo.write("guides/install.md", "First.\nRun `npm i acme`.\n");
    trap.repo.save("Others");
    git(
        &trap.bare,
        &[
            "-c",
            "core.hooksPath=/dev/null",
            "-c",
            "core.alternateRefsCommand=true",
            "fetch",
            "-q",
            "--upload-pack=git-upload-pack",
            "../a docs' repo %20",
            "+main:main",
        ],
    );
    fs::remove_file(&trap.canary).ok();
    assert!(matches!(local.merge(1, None).await, Err(Error::Conflict { .. })));
    trap.assert_nothing_ran();
    git(&trap.bare, &["-c", "core.hooksPath=/dev/null", "branch", "-f", "main", base.as_str()]);
    fs::remove_file(&trap.canary).ok();
    assert_eq!(local.merge(1, None).await.unwrap().state, State::Merged);
    trap.assert_nothing_ran();
}

#[tokio::test]
async fn hooks_in_the_configuration_refuse_the_push() {
    let repo = Repo::new();
    let bare = repo.bare();
    git(&bare, &["config", "hook.evil.command", "touch canary"]);
    git(&bare, &["config", "hook.evil.event", "post-receive"]);
    let local = host(&bare).await.unwrap();
    let cache = repo.cache().await;
    let base = cache.fetch(&local.remote(), "main", "job-1").await.unwrap();
    let new = commit(&cache, &base, &edits(&[("a.md", Some("x"))])).unwrap();
    let refused = cache.push(&local.remote(), &new, "docwright/job-1", None).await.unwrap_err();
    assert!(refused.to_string().contains("`hook.*`"), "{refused}");
}

#[tokio::test]
async fn links_submodules_and_nested_repositories_are_only_data() {
    let repo = Repo::new();
    std::os::unix::fs::symlink("/etc/passwd", repo.path().join("link.md")).unwrap();
    std::os::unix::fs::symlink("/etc", repo.path().join("etc")).unwrap();
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n";
    repo.write("big.bin", pointer);
    repo.write(".gitmodules", "[submodule \"m\"]\n\tpath = m\n\turl = -u/../x\n");
    repo.git(&["add", "-A"]);
    let tip = repo.tip("HEAD");
    repo.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{tip},m")]);
    repo.git(&["commit", "-q", "-m", "Odd"]);
    let odd = with_dot_git(&repo);
    repo.git(&["update-ref", "refs/heads/odd", &odd]);

    let cache = repo.cache().await;
    let base = cache.fetch(&repo.remote(), "odd", "job-1").await.unwrap();
    let files = cache.snapshot(&base).unwrap();
    let kind = |path: &str| {
        files.entries().unwrap().into_iter().find(|entry| entry.path == path).map(|entry| entry.kind)
    };
    assert_eq!(kind("link.md"), Some(Kind::Symlink));
    assert_eq!(kind("etc"), Some(Kind::Symlink));
    assert_eq!(kind("m"), Some(Kind::Submodule));
    assert_eq!(kind(".git/config"), Some(Kind::File));
    for path in ["link.md", "etc", "etc/passwd", "m", "guides", "", "/", "guides/", "../x", "\0"] {
        assert_eq!(files.read(path, usize::MAX).unwrap(), None, "{path:?}");
    }
    assert_eq!(files.read("big.bin", usize::MAX).unwrap().unwrap(), pointer.as_bytes());

    // An edit leaves all other entries unchanged.
    let new = commit(&cache, &base, &edits(&[("index.md", Some("x"))])).unwrap();
    let dir = repo.beside("cache/p.git");
    let changed = git(&dir, &["diff-tree", "-r", "--name-only", base.as_str(), new.as_str()]);
    assert_eq!(changed, "index.md");
}

/// A commit with `.git/config`, which git's own commands refuse to create.
fn with_dot_git(repo: &Repo) -> String {
    let blob = repo.git(&["hash-object", "-w", "index.md"]);
    let input = format!("100644 blob {blob}\tconfig\n");
    let inner = mktree(repo, &input);
    let listed = repo.git(&["ls-tree", "HEAD"]);
    let outer = mktree(repo, &format!("{listed}\n040000 tree {inner}\t.git\n"));
    repo.git(&["commit-tree", "-m", "Nested", "-p", "HEAD", &outer])
}

fn mktree(repo: &Repo, input: &str) -> String {
    repo.write("../tree", input);
    let tree = repo.beside("tree");
    let output = std::process::Command::new("git")
        .arg("-C")
        .arg(repo.path())
        .args(["mktree", "--missing"])
        .stdin(fs::File::open(tree).unwrap())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[tokio::test]
async fn huge_and_deep_trees_are_refused() {
    let repo = Repo::new();
    let blob = repo.git(&["hash-object", "-w", "index.md"]);
    let check = async |levels: usize, width: usize, leaf: &str, expected: &str| {
        let mut tree = mktree(&repo, leaf);
        for _ in 0..levels {
            let row = |n| format!("040000 tree {tree}\t{n:03}\n");
            tree = mktree(&repo, &(0..width).map(row).collect::<String>());
        }
        let commit = repo.git(&["commit-tree", "-m", "Bomb", &tree]);
        repo.git(&["update-ref", "refs/heads/bomb", &commit]);
        let cache = repo.cache().await;
        let base = cache.fetch(&repo.remote(), "bomb", "job-1").await.unwrap();
        let refused = cache.snapshot(&base).unwrap().entries().unwrap_err().to_string();
        assert!(refused.contains(expected), "{refused}");
    };
    let file = format!("100644 blob {blob}\ta.md\n");
    let tip = repo.tip("main");
    let module = |n| format!("160000 commit {tip}\t{n:04}\n");
    let modules: String = (0..3000).map(module).collect();
    check(30, 10, &modules, "more than 200000 files and folders").await;
    check(30, 500, "", "more than 200000 files and folders").await;
    check(250, 1, &file, "nested more than 200 deep").await;
}

#[tokio::test]
async fn a_huge_file_is_listed_but_not_read() {
    let repo = Repo::new();
    let huge = fs::File::create(repo.path().join("huge.md")).unwrap();
    huge.set_len((16 << 20) + 1).unwrap();
    repo.save("Huge");
    let cache = repo.cache().await;
    let base = cache.fetch(&repo.remote(), "main", "job-1").await.unwrap();
    let files = cache.snapshot(&base).unwrap();
    let refused = files.read("huge.md", usize::MAX).unwrap_err();
    assert!(matches!(refused, Error::TooLarge(_)));
    assert_eq!(refused.to_string(), "`huge.md` is larger than the limit of 16777216 bytes");
    assert!(files.entries().unwrap().iter().any(|entry| entry.path == "huge.md"));
    assert!(matches!(files.read("index.md", 6), Err(Error::TooLarge(_))));
    assert_eq!(files.read("index.md", 7).unwrap().unwrap(), b"# Home\n");
}

#[tokio::test]
async fn tmp_symlink() {
    let (repo, temp_dir) = (Repo::new(), tempfile::tempdir().unwrap());
    let (elsewhere, dir) = (temp_dir.path().join("elsewhere"), temp_dir.path().join("cache.git"));
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("keep"), "kept").unwrap();
    let lock = temp_dir.path().join("cache.git.lock");
    symlink(elsewhere.join("made"), &lock).unwrap();
    assert!(Cache::open(&dir).await.is_err());
    fs::remove_file(&lock).unwrap();

    // A valid cache, but behind a symbolic link.
    drop(Cache::open(&elsewhere.join("theirs.git")).await.unwrap());
    symlink(elsewhere.join("theirs.git"), &dir).unwrap();
    let cache = Cache::open(&dir).await.unwrap();
    cache.fetch(&repo.remote(), "main", "job-1").await.unwrap();
    assert!(dir.symlink_metadata().unwrap().is_dir());
    assert!(!elsewhere.join("made").exists());
    assert_eq!(fs::read(elsewhere.join("keep")).unwrap(), b"kept");
    assert_eq!(fs::read_dir(elsewhere.join("theirs.git/objects/pack")).unwrap().count(), 0);
}

#[tokio::test]
async fn unusual_file_names_are_only_names() {
    use std::os::unix::ffi::OsStrExt as _;
    let repo = Repo::new();
    for name in ["$(touch canary).md", "-rf", "a\nb.md", "; id"] {
        repo.write(name, "x");
    }
    let latin = std::ffi::OsStr::from_bytes(b"caf\xe9.md");
    fs::write(repo.path().join(latin), "x").unwrap();
    repo.save("Odd");
    let local = host(&repo.path()).await.unwrap();
    let edit = edits(&[("$(touch canary).md", Some("y")), ("-rf", None), ("; id", Some("y"))]);
    let pull = propose(&repo, &local, &edit).await;
    let cache = repo.cache().await;
    let paths = cache.snapshot(&pull.base_commit).unwrap().entries().unwrap();
    let paths: Vec<_> = paths.iter().map(|entry| entry.path.as_str()).collect();
    let expected = ["$(touch canary).md", "-rf", "; id", "a\nb.md", "guides/install.md", "index.md"];
    assert_eq!(paths, expected);
    let kept = repo.git(&["ls-tree", "--name-only", pull.head_commit.as_str()]);
    assert!(kept.contains("caf\\351.md"), "{kept}");
    assert!(local.diff(&pull).await.unwrap().contains("deleted file mode 100644"));
}

#[tokio::test]
async fn a_title_is_one_line_of_the_merge_message() {
    let repo = Repo::new();
    let local = host(&repo.bare()).await.unwrap();
    let cache = repo.cache().await;
    let base = cache.fetch(&local.remote(), "main", "job-1").await.unwrap();
    let head = commit(&cache, &base, &edits(&[("a.md", Some("x"))])).unwrap();
    cache.push(&local.remote(), &head, "docwright/job-1", None).await.unwrap();
    let mut new = crate::support::new_pull(&base, &head);
    new.title = "-m\n\nSigned-off-by: \u{1b}[31mEve".to_owned();
    local.open(&new).await.unwrap();
    local.merge(1, None).await.unwrap();
    let body = git(&repo.beside("bare.git"), &["log", "-1", "--format=%B", "main"]);
    assert_eq!(body, "Merge pull request #1: -m  Signed-off-by:  [31mEve");
}
