//! Tests git over HTTP with the real git program.

use fakehost::{Access, Kind};
use tempfile::tempdir;

use crate::client::{TOKEN, git, host, with_token};

#[tokio::test]
async fn git_clones_and_pushes_with_a_token() {
    let host = host(Kind::GitLab).await;
    let repo = host.repository("acme/team/guide", &[("a.md", "one\n")]).await;
    let dir = tempdir().unwrap();
    let url = with_token(&repo.clone_url, TOKEN);
    let cloned = git(dir.path(), &["clone", "--quiet", "--depth=1", &url, "."]).await;
    assert!(cloned.status.success(), "{cloned:?}");
    assert_eq!(std::fs::read_to_string(dir.path().join("a.md")).unwrap(), "one\n");

    // Larger than the buffer, so that git sends chunks.
    let page: String =
        (0..20_000u64).map(|n| format!("{}\n", n.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    std::fs::write(dir.path().join("a.md"), page).unwrap();
    git(dir.path(), &["commit", "--quiet", "-am", "Edit"]).await;
    let pushed = git(
        dir.path(),
        &["-c", "http.postBuffer=65536", "push", "--quiet", "origin", "HEAD:refs/heads/docs/edit"],
    )
    .await;
    assert!(pushed.status.success(), "{pushed:?}");
    let head = git(dir.path(), &["rev-parse", "HEAD"]).await;
    let tip = host.tip("acme/team/guide", "docs/edit").unwrap();
    assert_eq!(tip, String::from_utf8(head.stdout).unwrap().trim());
    let sent: u64 = host.requests().iter().map(|seen| seen.body_bytes).sum();
    assert!(sent > 128 * 1024, "{sent}");
}

#[tokio::test]
async fn git_fetches_with_a_compressed_request() {
    let host = host(Kind::GitHub).await;
    let dir = tempdir().unwrap();
    let url = with_token(&format!("{}/acme/docs.git", host.url()), TOKEN);
    git(dir.path(), &["clone", "--quiet", &url, "."]).await;
    // Commits that the host lacks make the request long enough for compression.
    for _ in 0..40 {
        git(dir.path(), &["commit", "--quiet", "--allow-empty", "-m", "Mine"]).await;
    }
    let theirs = host.push("acme/docs", "main", &[("a.md", "eins\n")]).await;
    let fetched = git(dir.path(), &["fetch", "--quiet", "origin", "main"]).await;
    assert!(fetched.status.success(), "{fetched:?}");
    let head = git(dir.path(), &["rev-parse", "FETCH_HEAD"]).await;
    assert_eq!(String::from_utf8(head.stdout).unwrap().trim(), theirs);
}

#[tokio::test]
async fn git_refusals_are_those_of_a_real_host() {
    let host = host(Kind::GitHub).await;
    host.token("reader", Access::ReadOnly);
    host.token("old", Access::Expired);
    host.token_for("other", Access::Full, &["acme/other"]);
    let dir = tempdir().unwrap();
    let url = format!("{}/acme/docs.git", host.url());
    let clone = async |token: &str, folder: &str| {
        let output = git(dir.path(), &["clone", "--quiet", &with_token(&url, token), folder]).await;
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(clone("old", "x").await.contains("Authentication failed"));
    assert!(clone("wrong", "x").await.contains("Authentication failed"));
    assert!(clone("other", "x").await.contains("Repository not found."));
    assert_eq!(clone("reader", "here").await, "");

    let push = async || {
        let output =
            git(&dir.path().join("here"), &["push", "--quiet", "origin", "HEAD:refs/heads/new"]).await;
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(push().await.contains("Permission to acme/docs.git denied"));
    host.token("reader", Access::Full);
    host.set("acme/docs", |settings| settings.archived = true);
    assert!(push().await.contains("archived so it is read-only"));
    host.set("acme/docs", |settings| {
        settings.archived = false;
        settings.protected.insert("new".to_owned());
    });
    assert!(push().await.contains("Protected branch update failed for refs/heads/new"));
    host.set("acme/docs", |settings| settings.protected.clear());
    assert_eq!(push().await, "");
}

#[tokio::test]
async fn anonymous_callers_read_public_repositories_and_cannot_push() {
    let host = host(Kind::Gitea).await;
    host.set("acme/docs", |settings| settings.private = false);
    let dir = tempdir().unwrap();
    let url = format!("{}/acme/docs", host.url());
    assert!(git(dir.path(), &["clone", "--quiet", &url, "."]).await.status.success());
    assert!(!git(dir.path(), &["push", "--quiet", "origin", "HEAD:refs/heads/x"]).await.status.success());
}
