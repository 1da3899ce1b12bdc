//! Tests commits that are written from edits.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use forge::{Cache, Error, Oid};

use crate::support::{Edits, Repo, commit, edits, git, tree};

async fn fetch_main(repo: &Repo) -> (Cache, Oid) {
    let cache = repo.cache().await;
    let base = cache.fetch(&repo.remote(), "main", "job-1").await.unwrap();
    (cache, base)
}

#[tokio::test]
async fn file_modes_are_kept_and_new_files_are_not_executable() {
    let repo = Repo::new();
    repo.write("run.sh", "old\n");
    fs::set_permissions(repo.path().join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    repo.save("A script");
    let (cache, base) = fetch_main(&repo).await;
    let new = commit(&cache, &base, &edits(&[("run.sh", Some("new\n")), ("x/y/new.md", Some("n"))])).unwrap();
    assert_eq!(
        tree(&repo.beside("cache/p.git"), &new),
        "100644 guides/install.md, 100644 index.md, 100755 run.sh, 100644 x/y/new.md"
    );
}

#[tokio::test]
async fn deleting_the_last_file_of_a_folder_deletes_the_folder() {
    let repo = Repo::new();
    repo.write("a/b/c/deep.md", "x");
    repo.save("Deep");
    let (cache, base) = fetch_main(&repo).await;
    let new = commit(&cache, &base, &edits(&[("a/b/c/deep.md", None), ("not/there.md", None)])).unwrap();
    let dir = repo.beside("cache/p.git");
    assert_eq!(git(&dir, &["ls-tree", "--name-only", new.as_str()]), "guides\nindex.md");

    let gone = edits(&[("a/b/c/deep.md", None), ("guides/install.md", None), ("index.md", None)]);
    let none = commit(&cache, &base, &gone).unwrap();
    assert_eq!(tree(&dir, &none), "");
    assert_eq!(git(&dir, &["fsck", "--strict", "--no-dangling"]), "");
}

#[tokio::test]
async fn the_same_edits_make_the_same_commit() {
    let (one, other) = (Repo::new(), Repo::new());
    let (cache, base) = fetch_main(&one).await;
    one.git(&["push", "-q", "-f", other.path().to_str().unwrap(), "main:same"]);
    let elsewhere = other.cache().await;
    elsewhere.fetch(&other.remote(), "same", "job-1").await.unwrap();
    let edit = edits(&[("index.md", Some("# Hi\n")), ("new.md", Some("new"))]);
    let id = commit(&cache, &base, &edit).unwrap();
    assert_eq!(id, commit(&cache, &base, &edit).unwrap());
    assert_eq!(id, commit(&elsewhere, &base, &edit).unwrap());
}

#[tokio::test]
async fn edits_that_change_nothing_make_no_commit() {
    let repo = Repo::new();
    let (cache, base) = fetch_main(&repo).await;
    for same in [edits(&[]), edits(&[("index.md", Some("# Home\n"))]), edits(&[("no.md", None)])] {
        assert!(matches!(commit(&cache, &base, &same), Err(Error::Unchanged)));
    }
}

#[tokio::test]
async fn a_deleted_file_can_become_a_folder() {
    let repo = Repo::new();
    let (cache, base) = fetch_main(&repo).await;
    let new = commit(&cache, &base, &edits(&[("index.md", None), ("index.md/a.md", Some("x"))])).unwrap();
    assert_eq!(tree(&repo.beside("cache/p.git"), &new), "100644 guides/install.md, 100644 index.md/a.md");
}

#[tokio::test]
async fn edits_that_would_delete_more_than_they_name_are_refused() {
    let repo = Repo::new();
    std::os::unix::fs::symlink("/etc/passwd", repo.path().join("link.md")).unwrap();
    std::os::unix::fs::symlink("guides", repo.path().join("linked")).unwrap();
    repo.save("Links");
    let (cache, base) = fetch_main(&repo).await;
    let check = |edit: Edits, expected: &str| {
        let refused = commit(&cache, &base, &edit).unwrap_err();
        assert_eq!(refused.to_string(), expected);
    };
    check(edits(&[("guides", Some("x"))]), "`guides` is a folder");
    check(edits(&[("guides", None)]), "`guides` is a folder");
    check(edits(&[("index.md/a.md", Some("x"))]), "`index.md` is not a folder");
    check(edits(&[("a", Some("x")), ("a/b", Some("x"))]), "`a` is not a folder");
    check(edits(&[("link.md", Some("x"))]), "`link.md` is a symbolic link");
    check(edits(&[("linked/install.md", Some("x"))]), "`linked` is not a folder");
    for path in ["../x", "/x", ".git/config", "a/.GIT/hooks/x", "a//b", "a\\b", "a\0b", ""] {
        let refused = commit(&cache, &base, &edits(&[(path, Some("x"))]));
        assert!(matches!(refused, Err(Error::BadName(_))), "{path:?}");
        assert!(commit(&cache, &base, &edits(&[(path, None)])).is_err(), "{path:?}");
    }
    // The link itself can be deleted.
    commit(&cache, &base, &edits(&[("link.md", None)])).unwrap();
}
