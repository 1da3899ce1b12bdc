//! Tests the cache of a local repository: fetch, snapshot, commit and push.

use std::fs;
use std::sync::Arc;

use forge::{Cache, Entry, Error, Kind, Remote, check_program};

use crate::support::{Repo, commit, edits, git, tree};

#[tokio::test]
async fn the_installed_git_is_supported() {
    check_program().await.unwrap();
}

#[tokio::test]
async fn an_edit_is_fetched_committed_and_pushed() {
    let repo = Repo::new();
    repo.save("History that is not fetched");
    let cache = repo.cache().await;

    let base = cache.fetch(&repo.remote(), "main", "job-1").await.unwrap();
    assert_eq!(base, repo.tip("main"));
    let files = cache.snapshot(&base).unwrap();
    let entry = |path: &str| Entry { path: path.to_owned(), kind: Kind::File };
    assert_eq!(files.entries().unwrap(), [entry("guides/install.md"), entry("index.md")]);
    assert_eq!(files.read("index.md", usize::MAX).unwrap().unwrap(), b"# Home\n");

    let new =
        commit(&cache, &base, &edits(&[("guides/install.md", Some("Run `pnpm add acme`.\n"))])).unwrap();
    cache.push(&repo.remote(), &new, "docwright/job-1", None).await.unwrap();

    assert_eq!(repo.tip("docwright/job-1"), new);
    assert_eq!(repo.tip("docwright/job-1^"), base);
    assert_eq!(
        repo.git(&["show", "-s", "--format=%an %ae %at %cn|%B", new.as_str()]),
        "Docwright docwright@example.com 1700000000 Docwright|Use pnpm"
    );
    assert_eq!(repo.git(&["show", "docwright/job-1:guides/install.md"]), "Run `pnpm add acme`.");
    for dir in [repo.path(), repo.beside("cache/p.git")] {
        assert_eq!(git(&dir, &["fsck", "--strict", "--no-dangling"]), "");
    }
}

#[tokio::test]
async fn only_the_tip_is_fetched() {
    let repo = Repo::new();
    let old = repo.tip("main");
    repo.write("index.md", "# New\n");
    repo.save("Newer");
    let cache = repo.cache().await;
    let tip = cache.fetch(&repo.remote(), "main", "job-1").await.unwrap();
    assert!(cache.has_readable(&tip).await);
    assert!(!cache.has_readable(&old).await);
}

#[tokio::test]
async fn a_cached_tip_is_not_fetched_again() {
    let repo = Repo::new();
    let cache = repo.cache().await;
    let tip = cache.fetch(&repo.remote(), "main", "job-1").await.unwrap();
    cache.unpin("job-1").await.unwrap();

    // With this setting, a fetch fails because the branch is hidden.
    repo.git(&["config", "uploadpack.hideRefs", "refs/heads/main"]);
    assert_eq!(cache.fetch(&repo.remote(), "main", "job-2").await.unwrap(), tip);
    let dir = repo.beside("cache/p.git");
    assert_eq!(git(&dir, &["rev-parse", "refs/docwright/pins/job-2"]), tip.as_str());
    assert_eq!(cache.snapshot(&tip).unwrap().entries().unwrap().len(), 2);

    repo.save("Newer");
    let hidden = cache.fetch(&repo.remote(), "main", "job-3").await.unwrap_err();
    assert!(matches!(hidden, Error::NoSuchBranch(_)), "{hidden}");
    repo.git(&["config", "--unset", "uploadpack.hideRefs"]);
    assert_eq!(cache.fetch(&repo.remote(), "main", "job-3").await.unwrap(), repo.tip("main"));
}

#[tokio::test]
async fn a_pin_protects_a_commit_from_pruning() {
    let repo = Repo::new();
    let cache = repo.cache().await;
    let base = cache.fetch(&repo.remote(), "main", "job-1").await.unwrap();
    repo.git(&["commit", "-q", "--amend", "-m", "Rewritten"]);
    let other = cache.fetch(&repo.remote(), "main", "job-2").await.unwrap();
    let dir = repo.beside("cache/p.git");
    let prune = || {
        git(&dir, &["repack", "-q", "-a", "-d"]);
        git(&dir, &["prune", "--expire=now"]);
    };
    prune();
    assert!(cache.has_readable(&base).await && cache.has_readable(&other).await);

    cache.unpin("job-1").await.unwrap();
    cache.unpin("job-1").await.unwrap();
    prune();
    assert!(!cache.has_readable(&base).await);
    assert!(cache.has_readable(&other).await);
    cache.collect_garbage().await.unwrap();
    assert!(cache.has_readable(&other).await);
}

#[tokio::test]
async fn commits_with_the_same_paths_are_recognized() {
    let repo = Repo::new();
    repo.write("docs/deep/a.md", "one");
    repo.save("One");
    let cache = repo.cache().await;
    let at = async || {
        let tip = cache.fetch(&repo.remote(), "main", "job").await.unwrap();
        cache.snapshot(&tip).unwrap()
    };
    let first = at().await;
    let differs = async |same: bool| {
        repo.save("Next");
        let next = at().await;
        assert_eq!(
            (next.has_same_paths_as(first.tree()), first.has_same_paths_as(next.tree())),
            (same, same)
        );
        assert_eq!(next.entries().unwrap() == first.entries().unwrap(), same);
        repo.git(&["reset", "-q", "--hard", "HEAD~1"]);
    };
    assert!(first.has_same_paths_as(first.tree()));
    repo.write("docs/deep/a.md", "two");
    differs(true).await;
    repo.write("docs/deep/b.md", "one");
    differs(false).await;
    repo.git(&["mv", "docs/deep/a.md", "docs/deep/c.md"]);
    differs(false).await;
    repo.git(&["rm", "-q", "docs/deep/a.md"]);
    repo.write("docs/deep", "a file now");
    differs(false).await;
    std::fs::remove_file(repo.path().join("docs/deep/a.md")).unwrap();
    std::os::unix::fs::symlink("one", repo.path().join("docs/deep/a.md")).unwrap();
    differs(false).await;
}

#[tokio::test]
async fn concurrent_fetches_are_serialized() {
    let repo = Repo::new();
    let cache = Arc::new(repo.cache().await);
    // A second cache over the same folder simulates another process.
    let other = Arc::new(repo.cache().await);
    let mut fetches = tokio::task::JoinSet::new();
    for n in 0..12 {
        let cache = Arc::clone(if n % 2 == 0 { &cache } else { &other });
        let remote = repo.remote();
        fetches.spawn(async move { cache.fetch(&remote, "main", &format!("job-{n}")).await });
    }
    while let Some(tip) = fetches.join_next().await {
        assert_eq!(tip.unwrap().unwrap(), repo.tip("main"));
    }
    let pins = git(&repo.beside("cache/p.git"), &["for-each-ref", "refs/docwright/pins"]);
    assert_eq!(pins.lines().count(), 12);
}

#[tokio::test]
async fn a_missing_branch_or_repository_is_an_error() {
    let repo = Repo::new();
    let cache = repo.cache().await;
    let missing = cache.fetch(&repo.remote(), "nope", "job-1").await.unwrap_err();
    assert!(matches!(missing, Error::NoSuchBranch(_)));
    assert_eq!(missing.to_string(), "the repository has no branch `nope`");

    let nowhere = Remote::file(&repo.beside("nowhere")).unwrap();
    let missing = cache.fetch(&nowhere, "main", "job-1").await.unwrap_err();
    assert!(matches!(missing, Error::Repository(_)), "{missing}");

    for bad in ["--upload-pack=x", "a..b", ""] {
        let refused = cache.fetch(&repo.remote(), bad, "job-1").await.unwrap_err();
        assert!(matches!(refused, Error::BadName(_)));
        assert!(cache.fetch(&repo.remote(), "main", bad).await.is_err());
    }
}

#[tokio::test]
async fn a_damaged_cache_is_recreated() {
    let repo = Repo::new();
    let dir = repo.beside("cache/p.git");
    let tip = repo.tip("main");
    let damages: [&dyn Fn(); 8] = [
        &|| fs::write(dir.join("commondir"), "/nowhere\n").unwrap(),
        &|| fs::write(dir.join("objects/info/alternates"), "/nowhere\n").unwrap(),
        &|| fs::remove_dir_all(dir.join("objects")).unwrap(),
        &|| fs::write(dir.join("HEAD"), "").unwrap(),
        &|| fs::write(dir.join("config"), "[core").unwrap(),
        &|| fs::write(dir.join("packed-refs"), "garbage\n").unwrap(),
        &|| fs::write(dir.join("shallow"), "garbage\n").unwrap(),
        &|| {
            fs::remove_dir_all(&dir).unwrap();
            fs::write(&dir, "a file").unwrap();
        },
    ];
    for (n, damage) in damages.iter().enumerate() {
        let cache = repo.cache().await;
        assert_eq!(cache.fetch(&repo.remote(), "main", "job-1").await.unwrap(), tip);
        damage();
        assert_eq!(cache.fetch(&repo.remote(), "main", "job-2").await.unwrap(), tip, "damage {n}");
        assert_eq!(cache.snapshot(&tip).unwrap().entries().unwrap().len(), 2);
        assert_eq!(git(&dir, &["rev-list", "--count", "--all"]), "1", "damage {n}");
        damage();
        Cache::open(&dir).await.unwrap().fetch(&repo.remote(), "main", "job-3").await.unwrap();
    }
    let left = fs::read_dir(repo.beside("cache")).unwrap();
    assert_eq!(left.count(), 2, "the repository and its lock");
}

#[tokio::test]
async fn damage_found_by_a_read_is_repaired_by_the_next_fetch() {
    let repo = Repo::new();
    let cache = repo.cache().await;
    let tip = cache.fetch(&repo.remote(), "main", "job-1").await.unwrap();
    let blob = repo.git(&["rev-parse", "main:index.md"]);
    let file = repo.beside("cache/p.git/objects").join(&blob[..2]).join(&blob[2..]);
    fs::remove_file(&file).unwrap();

    let read = cache.snapshot(&tip).unwrap().read("index.md", usize::MAX);
    assert!(matches!(read, Err(Error::Damaged(_))));
    assert_eq!(cache.fetch(&repo.remote(), "main", "job-1").await.unwrap(), tip);
    assert_eq!(cache.snapshot(&tip).unwrap().read("index.md", usize::MAX).unwrap().unwrap(), b"# Home\n");
}

#[tokio::test]
async fn a_push_is_idempotent_and_never_overwrites_other_pushes() {
    let repo = Repo::new();
    let cache = repo.cache().await;
    let base = cache.fetch(&repo.remote(), "main", "job-1").await.unwrap();
    let first = commit(&cache, &base, &edits(&[("a.md", Some("1"))])).unwrap();
    let second = commit(&cache, &first, &edits(&[("a.md", Some("2"))])).unwrap();
    let branch = "docwright/job-1";
    let (remote, push) = (repo.remote(), &cache);
    push.push(&remote, &first, branch, None).await.unwrap();
    push.push(&remote, &first, branch, None).await.unwrap();
    push.push(&remote, &second, branch, Some(&first)).await.unwrap();
    push.push(&remote, &second, branch, Some(&first)).await.unwrap();

    repo.git(&["checkout", "-q", "--detach", branch]);
    let theirs = repo.save("Mine");
    repo.git(&["update-ref", "refs/heads/docwright/job-1", theirs.as_str()]);
    for from in [None, Some(&second)] {
        let refused = push.push(&remote, &first, branch, from).await.unwrap_err();
        assert!(matches!(refused, Error::BranchMoved { .. }), "{refused}");
    }
    assert_eq!(repo.tip(branch), theirs);
}

#[tokio::test]
async fn a_checked_out_branch_is_not_pushed_to() {
    let repo = Repo::new();
    let linked = repo.beside("linked");
    repo.git(&["worktree", "add", "-q", "-b", "topic", linked.to_str().unwrap()]);
    let cache = repo.cache().await;
    let base = cache.fetch(&repo.remote(), "main", "job-1").await.unwrap();
    let new = commit(&cache, &base, &edits(&[("a.md", Some("1"))])).unwrap();
    for (branch, worktree) in [("main", repo.path()), ("topic", linked)] {
        let refused = cache.push(&repo.remote(), &new, branch, Some(&base)).await.unwrap_err();
        assert_eq!(
            refused.to_string(),
            format!("`{branch}` is checked out in {}: switch to another branch there", worktree.display())
        );
        assert_eq!(repo.tip(branch), base);
    }
}

#[tokio::test]
async fn a_repository_of_many_files_works() {
    let repo = Repo::new();
    for n in 0..2000 {
        repo.write(&format!("section-{}/page-{n}.md", n % 40), &format!("Page {n}\n"));
    }
    repo.save("Many");
    let cache = repo.cache().await;
    let base = cache.fetch(&repo.remote(), "main", "job-1").await.unwrap();
    assert_eq!(cache.snapshot(&base).unwrap().entries().unwrap().len(), 2002);

    let objects = || git(&repo.beside("cache/p.git"), &["count-objects"]);
    assert!(objects().starts_with("0 objects"), "{}", objects());
    let new = commit(&cache, &base, &edits(&[("section-1/page-1.md", Some("Edited\n"))])).unwrap();
    // One file, its folder, the root, the commit: the rest is shared with the base.
    assert!(objects().starts_with("4 objects"), "{}", objects());
    cache.push(&repo.remote(), &new, "docwright/job-1", None).await.unwrap();
    assert_eq!(tree(&repo.path(), &new), tree(&repo.path(), &base));
}
