//! Tests merges on the embedded host.

use forge::{Error, Host as _, Local, PullRequest, State};

use crate::support::{Repo, edits, git, host, propose};

/// A bare repository with one pull request. Nothing is checked out, so merges are allowed.
async fn with_pull_request(repo: &Repo) -> (Local, PullRequest) {
    let local = host(&repo.bare()).await.unwrap();
    let pull = propose(repo, &local, &edits(&[("guides/install.md", Some("Run `pnpm add acme`.\n"))])).await;
    (local, pull)
}

/// Another person pushes a commit to `main` of the bare repository.
fn push_to_main(repo: &Repo, path: &str, text: &str) {
    repo.write(path, text);
    repo.save("Others");
    repo.git(&["push", "-q", repo.beside("bare.git").to_str().unwrap(), "main"]);
}

#[tokio::test]
async fn a_clean_merge_has_two_parents_and_a_message() {
    let repo = Repo::new();
    let (local, pull) = with_pull_request(&repo).await;
    let diff = local.diff(&pull).await.unwrap();
    let merged = local.merge(1, Some(&pull.head_commit)).await.unwrap();
    assert_eq!(merged.state, State::Merged);
    let merge = merged.merge_commit.clone().unwrap();

    let bare = repo.beside("bare.git");
    let shown = git(&bare, &["log", "-1", "--format=%H %P|%an|%s", "main"]);
    let (base, head) = (&pull.base_commit, &pull.head_commit);
    let expected = format!("{merge} {base} {head}|Docwright|Merge pull request #1: Use pnpm");
    assert_eq!(shown, expected);
    assert_eq!(git(&bare, &["show", "main:guides/install.md"]), "Run `pnpm add acme`.");
    assert_eq!(git(&bare, &["fsck", "--strict", "--no-dangling"]), "");

    assert_eq!(local.merge(1, None).await.unwrap(), merged, "merging twice is fine");
    assert_eq!(git(&bare, &["rev-parse", "main"]), merge.as_str());
    assert_eq!(local.diff(&merged).await.unwrap(), diff);
    assert_eq!(local.commits(&merged).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_moved_base_is_merged() {
    let repo = Repo::new();
    let (local, _) = with_pull_request(&repo).await;
    push_to_main(&repo, "other.md", "x\n");
    local.merge(1, None).await.unwrap();
    let bare = repo.beside("bare.git");
    assert_eq!(git(&bare, &["show", "main:guides/install.md"]), "Run `pnpm add acme`.");
    assert_eq!(git(&bare, &["show", "main:other.md"]), "x");
}

#[tokio::test]
async fn concurrent_merges_create_one_merge_commit() {
    let repo = Repo::new();
    let (local, pull) = with_pull_request(&repo).await;
    let (one, other) = tokio::join!(local.merge(1, None), local.merge(1, None));
    assert_eq!(one.unwrap().state, State::Merged);
    assert_eq!(other.unwrap().state, State::Merged);
    let merges = git(&repo.beside("bare.git"), &["rev-list", "--merges", "main"]);
    assert_eq!(merges.lines().count(), 1);
    assert_eq!(local.find(&pull.head).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_merge_interrupted_after_its_push_is_detected() {
    let repo = Repo::new();
    let (local, pull) = with_pull_request(&repo).await;
    let merged = local.merge(1, None).await.unwrap();
    // New records over the same repository do not contain the merge.
    let other = host(&repo.beside("bare.git")).await.unwrap();
    let reopened = other.open(&crate::support::new_pull(&pull.base_commit, &pull.head_commit)).await.unwrap();
    assert_eq!(reopened.state, State::Merged);
    let tip = git(&repo.beside("bare.git"), &["rev-parse", "main"]);
    assert_eq!(tip, merged.merge_commit.unwrap().as_str());
}

#[tokio::test]
async fn conflicts_name_their_files() {
    let repo = Repo::new();
    let (local, _) = with_pull_request(&repo).await;
    push_to_main(&repo, "guides/install.md", "Run `yarn add acme`.\n");
    let before = git(&repo.beside("bare.git"), &["rev-parse", "main"]);
    let refused = local.merge(1, None).await.unwrap_err();
    assert!(matches!(refused, Error::Conflict { .. }));
    let sentence = "the changes conflict with `main` in `guides/install.md`";
    assert_eq!(refused.to_string(), sentence);
    assert_eq!(git(&repo.beside("bare.git"), &["rev-parse", "main"]), before);
    assert_eq!(local.get(1).await.unwrap().unwrap().state, State::Open);
}

#[tokio::test]
async fn at_most_five_conflicts_are_named() {
    let repo = Repo::new();
    for n in 0..7 {
        repo.write(&format!("{n}.md"), "old\n");
    }
    repo.save("Seven");
    let local = host(&repo.bare()).await.unwrap();
    let names: Vec<String> = (0..7).map(|n| format!("{n}.md")).collect();
    let ours: Vec<_> = names.iter().map(|name| (name.as_str(), Some("ours\n"))).collect();
    propose(&repo, &local, &edits(&ours)).await;
    for name in &names {
        repo.write(name, "theirs\n");
    }
    push_to_main(&repo, "index.md", "x\n");
    assert_eq!(
        local.merge(1, None).await.unwrap_err().to_string(),
        "the changes conflict with `main` in `0.md`, `1.md`, `2.md`, `3.md`, `4.md` and 2 more"
    );
}

#[tokio::test]
async fn a_checked_out_base_is_not_merged_into() {
    let repo = Repo::new();
    let local = host(&repo.path()).await.unwrap();
    propose(&repo, &local, &edits(&[("index.md", Some("# Docs\n"))])).await;
    let check = async |worktree: &str| {
        let refused = local.merge(1, None).await.unwrap_err();
        let quoted = match worktree.contains(' ') {
            true => format!("'{}'", worktree.replace('\'', r"'\''")),
            false => worktree.to_owned(),
        };
        let advice = format!("run `git -C {quoted} merge docwright/job-1` there");
        assert_eq!(refused.to_string(), format!("`main` is checked out in {worktree}: {advice}"));
    };
    let before = repo.tip("main");
    check(&repo.path().display().to_string()).await;

    let linked = repo.beside("linked").display().to_string();
    repo.git(&["checkout", "-q", "-b", "elsewhere"]);
    repo.git(&["worktree", "add", "-q", &linked, "main"]);
    check(&linked).await;

    std::fs::remove_dir_all(&linked).unwrap();
    let refused = local.merge(1, None).await.unwrap_err().to_string();
    assert!(refused.contains("run `git worktree prune`"), "{refused}");
    assert_eq!(repo.tip("main"), before);
    repo.git(&["worktree", "prune"]);
    assert_eq!(local.merge(1, None).await.unwrap().state, State::Merged);
}

#[tokio::test]
async fn refused_merges_say_why() {
    let repo = Repo::new();
    let (local, pull) = with_pull_request(&repo).await;
    let bare = repo.beside("bare.git");
    let check = async |expected: &str| {
        let refused = local.merge(1, Some(&pull.head_commit)).await.unwrap_err();
        assert_eq!(refused.to_string(), expected);
    };
    let head = pull.head_commit.as_str();
    git(&bare, &["branch", "-f", "docwright/job-1", "main"]);
    check("`docwright/job-1` changed after you reviewed it: review it again, then merge").await;
    git(&bare, &["branch", "-D", "docwright/job-1"]);
    check("the branch `docwright/job-1` of pull request #1 no longer exists: restore it, or close the pull request").await;
    git(&bare, &["branch", "docwright/job-1", head]);
    git(&bare, &["branch", "-m", "main", "trunk"]);
    check("the branch `main` of pull request #1 no longer exists: restore it, or close the pull request")
        .await;
    let empty = git(&bare, &["commit-tree", "-m", "x", "4b825dc642cb6eb9a060e54bf8d69288fbee4904"]);
    git(&bare, &["branch", "main", &empty]);
    check("`docwright/job-1` and `main` have no common history and cannot be merged: close the pull request")
        .await;
    git(&bare, &["branch", "-f", "main", "trunk"]);
    local.close(1).await.unwrap();
    check("pull request #1 is closed").await;
}
