//! Tests pull requests of the embedded host, except for merges.

use forge::{Error, Host as _, State};

use crate::support::{Repo, edits, git, host, new_pull, propose};

#[tokio::test]
async fn one_job_opens_one_pull_request() {
    let repo = Repo::new();
    let local = host(&repo.path()).await.unwrap();
    let pull = propose(&repo, &local, &edits(&[("index.md", Some("# Docs\n"))])).await;
    assert_eq!((pull.number, pull.state), (1, State::Open));
    assert_eq!(pull.url, "http://docs.test/p/1/pulls/1");
    assert_eq!(local.open(&new_pull(&pull.base_commit, &pull.head_commit)).await.unwrap(), pull);
    assert_eq!(local.find("docwright/job-1").await.unwrap(), std::slice::from_ref(&pull));
    assert_eq!(local.list(10).await.unwrap(), std::slice::from_ref(&pull));
    assert_eq!(local.get(1).await.unwrap(), Some(pull.clone()));
    assert_eq!(local.get(2).await.unwrap(), None);

    // A closed pull request still belongs to its job. Another job with the same head gets its own.
    let closed = local.close(1).await.unwrap();
    assert_eq!(closed.state, State::Closed);
    assert_eq!(local.close(1).await.unwrap(), closed);
    let mut again = new_pull(&pull.base_commit, &pull.head_commit);
    assert_eq!(local.open(&again).await.unwrap(), closed);
    again.job = "job-2".to_owned();
    assert_eq!(local.open(&again).await.unwrap().number, 2);
    again.job = "job-3".to_owned();
    assert_eq!(local.open(&again).await.unwrap().number, 2);
    assert_eq!(local.find("docwright/job-1").await.unwrap().len(), 2);
    assert_eq!(repo.tip("docwright/job-1"), pull.head_commit, "the branch stays");
}

#[tokio::test]
async fn a_pull_request_needs_its_branches() {
    let repo = Repo::new();
    let local = host(&repo.path()).await.unwrap();
    let tip = repo.tip("main");
    let refused = local.open(&new_pull(&tip, &tip)).await.unwrap_err();
    assert_eq!(refused.to_string(), "the repository has no branch `docwright/job-1`");
    assert!(matches!(local.close(7).await, Err(Error::NoSuchPull(7))));
    assert!(matches!(local.merge(7, None).await, Err(Error::NoSuchPull(7))));
}

#[tokio::test]
async fn the_diff_and_the_commits_follow_the_branch() {
    let repo = Repo::new();
    let local = host(&repo.path()).await.unwrap();
    let pull = propose(&repo, &local, &edits(&[("guides/install.md", Some("Run `pnpm add acme`.\n"))])).await;
    insta::assert_snapshot!(local.diff(&pull).await.unwrap(), @"
    diff --git a/guides/install.md b/guides/install.md
    index 048d460..d26f987 100644
    --- a/guides/install.md
    +++ b/guides/install.md
    @@ -1 +1 @@
    -Run `npm i acme`.
    +Run `pnpm add acme`.
    ");

    // New commits of the base are not part of the pull request.
    repo.write("other.md", "x\n");
    repo.save("Elsewhere");
    repo.git(&["checkout", "-q", "docwright/job-1"]);
    repo.write("ünï.md", "y\n");
    let tip = repo.save("By hand");
    let pull = local.get(1).await.unwrap().unwrap();
    assert_eq!(pull.head_commit, tip);
    let diff = local.diff(&pull).await.unwrap();
    assert!(diff.contains("+++ b/ünï.md") && !diff.contains("other.md"), "{diff}");
    let commits = local.commits(&pull).await.unwrap();
    let lines: Vec<_> = commits.iter().map(|c| (c.author.as_str(), c.subject.as_str())).collect();
    assert_eq!(lines, [("Ada", "By hand"), ("Docwright", "Use pnpm")]);
    assert_eq!((&commits[0].id, commits[1].time), (&tip, 1_700_000_000));
}

#[tokio::test]
async fn a_long_diff_is_truncated() {
    let repo = Repo::new();
    let local = host(&repo.path()).await.unwrap();
    let long = "A line that is repeated.\n".repeat(100_000);
    let pull = propose(&repo, &local, &edits(&[("long.md", Some(&long))])).await;
    let diff = local.diff(&pull).await.unwrap();
    assert!(diff.len() <= (2 << 20) + 100);
    assert!(diff.ends_with("+A line that is repeated.\nThe diff is longer than 2 MiB and ends here.\n"));
}

#[tokio::test]
async fn a_merge_by_hand_is_detected() {
    let repo = Repo::new();
    let local = host(&repo.path()).await.unwrap();
    let pull = propose(&repo, &local, &edits(&[("index.md", Some("# Docs\n"))])).await;
    let diff = local.diff(&pull).await.unwrap();
    repo.save("Meanwhile");
    repo.git(&["merge", "-q", "--no-edit", "docwright/job-1"]);
    repo.git(&["branch", "-D", "docwright/job-1"]);
    let merged = local.get(1).await.unwrap().unwrap();
    assert_eq!((merged.state, &merged.merge_commit), (State::Merged, &None));
    assert_eq!(local.merge(1, None).await.unwrap(), merged);
    assert_eq!(local.diff(&merged).await.unwrap(), diff);
    let refused = local.close(1).await.unwrap_err().to_string();
    assert_eq!(refused, "pull request #1 is already merged");
}

#[tokio::test]
async fn a_head_that_was_reset_does_not_count_as_merged() {
    let repo = Repo::new();
    let local = host(&repo.path()).await.unwrap();
    propose(&repo, &local, &edits(&[("index.md", Some("# Docs\n"))])).await;
    repo.git(&["branch", "-f", "docwright/job-1", "main"]);
    assert_eq!(local.get(1).await.unwrap().unwrap().state, State::Open);
}

#[tokio::test]
async fn a_shallow_repository_is_supported() {
    let origin = Repo::new();
    origin.write("index.md", "# Second\n");
    origin.save("Second");
    let path = origin.beside("shallow");
    let url = format!("file://{}", origin.bare().display());
    origin.git(&["clone", "-q", "--bare", "--depth=1", &url, path.to_str().unwrap()]);
    let local = host(&path).await.unwrap();
    let pull = propose(&origin, &local, &edits(&[("index.md", Some("# Docs\n"))])).await;
    assert_eq!(local.commits(&pull).await.unwrap().len(), 1);
    assert_eq!(local.merge(1, None).await.unwrap().state, State::Merged);
    assert_eq!(git(&path, &["show", "main:index.md"]), "# Docs");
}
