//! Tests which paths are accepted as repositories, and which branch is the default.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use forge::Host as _;

use crate::support::{Repo, git, host};

#[track_caller]
fn check_error(result: forge::Result<impl Sized>, expected: &str) {
    assert_eq!(result.err().unwrap().to_string(), expected);
}

#[tokio::test]
async fn working_copies_linked_worktrees_and_bare_repositories_are_accepted() {
    let repo = Repo::new();
    let linked = repo.beside("linked");
    repo.git(&["worktree", "add", "-q", "-b", "topic", linked.to_str().unwrap()]);
    for path in [repo.path(), repo.bare(), linked] {
        let local = host(&path).await.unwrap();
        assert_eq!(local.default_branch().await.unwrap(), "main");
        assert_eq!(local.check(Some("topic")).await.unwrap(), "topic");
        check_error(local.check(Some("nope")).await, "the repository has no branch `nope`");
        assert!(local.check(Some("-x")).await.is_err());
        let cache = repo.cache().await;
        assert_eq!(cache.fetch(&local.remote(), "main", "p").await.unwrap(), repo.tip("main"));
    }
    let local = host(&repo.path()).await.unwrap();
    assert!(local.web_url().ends_with("/a%20docs%27%20repo%20%2520"), "{}", local.web_url());
}

#[tokio::test]
async fn other_paths_are_refused_with_a_sentence() {
    let repo = Repo::new();
    let top = repo.path();
    let inside = |path: &Path| format!("{} is inside a repository: give its top folder, ", path.display());
    for path in [top.join("guides"), top.join(".git"), top.join(".git/refs")] {
        check_error(host(&path).await, &format!("{}{}", inside(&path), top.display()));
    }
    let bare = repo.bare();
    check_error(host(&bare.join("refs")).await, &format!("{}{}", inside(&bare.join("refs")), bare.display()));

    let (nowhere, file, plain) = (repo.beside("nowhere"), top.join("index.md"), repo.beside("plain"));
    fs::create_dir(&plain).unwrap();
    let shown = nowhere.display();
    check_error(
        host(&nowhere).await,
        &format!("the folder {shown} does not exist: check the path of the repository"),
    );
    check_error(
        host(&file).await,
        &format!("{} is a file, not a repository: give the folder of the repository", file.display()),
    );
    let shown = plain.display();
    check_error(host(&plain).await, &format!("{shown} is not a git repository: run `git init` there"));
    for path in ["docs", "/a\nb", "--help"] {
        let expected = "the path of a repository must be absolute and on one line";
        check_error(host(Path::new(path)).await, expected);
    }
}

#[tokio::test]
async fn a_working_copy_without_a_backlink_is_refused() {
    let repo = Repo::new();
    let (linked, copy) = (repo.beside("linked"), repo.beside("copy"));
    repo.git(&["worktree", "add", "-q", linked.to_str().unwrap()]);
    fs::create_dir(&copy).unwrap();
    fs::copy(linked.join(".git"), copy.join(".git")).unwrap();
    let refused = host(&copy).await.err().unwrap().to_string();
    assert!(refused.ends_with("does not list it: run `git worktree repair` there"), "{refused}");
    host(&linked).await.unwrap();
}

#[tokio::test]
async fn a_folder_that_points_at_another_repository_is_refused() {
    let (victim, own) = (Repo::new(), Repo::new());
    let target = victim.path().join(".git");
    let folder = |name: &str| {
        let folder = victim.beside(name);
        fs::create_dir(&folder).unwrap();
        folder
    };
    let (by_file, by_link) = (folder("by-file"), folder("by-link"));
    fs::write(by_file.join(".git"), format!("gitdir: {}\n", target.display())).unwrap();
    std::os::unix::fs::symlink(&target, by_link.join(".git")).unwrap();
    // A repository that uses the objects and branches of another one, and has a forged backlink.
    let common = own.path();
    fs::write(common.join(".git/commondir"), target.to_str().unwrap()).unwrap();
    fs::write(common.join(".git/gitdir"), common.join(".git").to_str().unwrap()).unwrap();
    for path in [&by_file, &by_link, &common] {
        let refused = host(path).await.err().unwrap().to_string();
        assert!(refused.contains("does not list it"), "{}: {refused}", path.display());
    }
    // Opening a pipe would block forever.
    fs::remove_file(common.join(".git/gitdir")).unwrap();
    let pipe = common.join(".git/gitdir");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert!(host(&common).await.is_err());
}

#[tokio::test]
async fn a_separate_git_directory_with_a_backlink_is_accepted() {
    let repo = Repo::new();
    let (apart, copy) = (repo.beside("apart.git"), repo.beside("copy"));
    let separate = format!("--separate-git-dir={}", apart.display());
    repo.git(&["clone", "-q", &separate, ".", copy.to_str().unwrap()]);
    assert!(host(&copy).await.is_err(), "no setting names the working copy");
    git(&copy, &["config", "core.worktree", copy.to_str().unwrap()]);
    assert_eq!(host(&copy).await.unwrap().default_branch().await.unwrap(), "main");
}

#[tokio::test]
async fn another_object_format_is_refused() {
    let repo = Repo::new();
    let path = repo.beside("sha256");
    repo.git(&["init", "-q", "--object-format=sha256", path.to_str().unwrap()]);
    check_error(
        host(&path).await,
        "the repository uses the object format sha256, which is not supported: use a repository with sha1",
    );
}

#[tokio::test]
async fn the_default_branch_is_head_or_else_main_or_master() {
    let empty = Repo::empty();
    let local = host(&empty.path()).await.unwrap();
    let sentence = "the repository is empty: commit something first";
    check_error(local.default_branch().await, sentence);
    check_error(local.check(None).await, sentence);
    check_error(local.check(Some("main")).await, sentence);

    let repo = Repo::new();
    let local = host(&repo.path()).await.unwrap();
    repo.git(&["checkout", "-q", "-b", "docs"]);
    assert_eq!(local.default_branch().await.unwrap(), "docs");
    repo.git(&["checkout", "-q", "--detach"]);
    assert_eq!(local.check(None).await.unwrap(), "main");
    repo.git(&["branch", "master"]);
    let sentence = "the repository's HEAD does not name an existing branch: name the branch with --ref";
    check_error(local.default_branch().await, sentence);
    assert_eq!(local.check(Some("docs")).await.unwrap(), "docs");
    repo.git(&["branch", "-D", "main"]);
    assert_eq!(local.default_branch().await.unwrap(), "master");
}

#[tokio::test]
async fn a_repository_of_another_user_is_refused() {
    let repo = Repo::new();
    let path = repo.bare();
    if std::os::unix::fs::chown(&path, Some(12345), None).is_err() {
        return; // Only root can change the owner of a folder.
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
    check_error(
        host(&path).await,
        "the repository belongs to another user: run docwright as its owner, or give it a clone of its own",
    );
    let cache = repo.cache().await;
    let remote = forge::Remote::file(&path).unwrap();
    assert!(cache.fetch(&remote, "main", "p").await.is_err());
    std::os::unix::fs::chown(&path, Some(0), None).unwrap();
    git(&path, &["rev-parse", "main"]);
}
