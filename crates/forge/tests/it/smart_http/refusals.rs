//! Tests the sentences for refusals by a git host.

use std::collections::BTreeMap;

use fakehost::{Access, Effect};
use forge::{Error, Remote};

use super::{CANARY, HEAD, NAME, Site, remote};

impl Site {
    /// The host's name, as in error messages.
    fn name(&self) -> &str {
        self.host.url().trim_start_matches("http://")
    }

    async fn fetch_as(&self, path: &str, token: Option<&'static str>) -> Error {
        let url = format!("{}{path}", self.host.url());
        self.cache.fetch(&Remote::Http(remote(&url, token)), "main", "job-1").await.unwrap_err()
    }

    #[track_caller]
    fn check(&self, error: &Error, expected: &str) {
        let is_about_token = expected.contains("does not accept the token");
        assert_eq!(matches!(error, Error::TokenRefused(_)), is_about_token, "{error:?}");
        assert_eq!(matches!(error, Error::Denied(_)), !is_about_token, "{error:?}");
        assert_eq!(error.to_string(), expected.replace("HOST", self.name()));
    }
}

#[tokio::test]
async fn bad_tokens_and_missing_repositories_are_refused() {
    let site = Site::new().await;
    site.host.token("reader-token", Access::ReadOnly);
    site.host.token_for("stranger-token", Access::Full, &[]);
    let docs = "/acme/docs.git";
    let refused = site.fetch_as(docs, Some("wrong-token")).await;
    site.check(&refused, "HOST does not accept the token: it is wrong, expired or revoked; give the project a token that may read this repository");
    let refused = site.fetch_as(docs, None).await;
    site.check(&refused, "HOST requires a token for this repository: give the project a token");
    let missing = "HOST has no such repository, or the token may not see it: check the address and the token";
    let refused = site.fetch_as("/acme/nothing.git", Some(CANARY)).await;
    site.check(&refused, missing);
    let refused = site.fetch_as(docs, Some("stranger-token")).await;
    site.check(&refused, missing);

    let base = site.fetch("job-1").await.unwrap();
    let new = site.edit(&base, "x");
    let reader = Remote::Http(remote(&format!("{}{docs}", site.host.url()), Some("reader-token")));
    let refused = site.cache.push(&reader, &new, HEAD, None).await.unwrap_err();
    let words = "Permission to acme/docs.git denied to docs-bot.";
    site.check(&refused, &format!("HOST does not let this token write to the repository: {words}"));
    assert_eq!(site.tip(HEAD), None);
}

#[tokio::test]
async fn a_missing_or_conflicting_branch_is_an_error() {
    let site = Site::new().await;
    site.host.push(NAME, "main-2", &[("index.md", "x")]).await;
    site.host.push(NAME, "mai/n", &[("index.md", "x")]).await;
    let missing = site.cache.fetch(&site.remote, "mai", "job-1").await.unwrap_err();
    assert_eq!(missing.to_string(), "the repository has no branch `mai`");
    assert_eq!(site.cache.tip(&site.remote, "mai").await.unwrap(), None);
    assert_eq!(site.cache.tip(&site.remote, "main").await.unwrap(), site.tip("main"));
    // Refs are files, so the branches `main` and `main/x` cannot both exist.
    let base = site.fetch("job-1").await.unwrap();
    let new = site.edit(&base, "x");
    let refused = site.push(&new, "main/x", None).await.unwrap_err();
    let error = "`main/x` cannot be created while the branch `main` exists: rename or delete `main`";
    assert_eq!(refused.to_string(), error);
}

#[tokio::test]
async fn a_push_to_a_protected_branch_is_refused() {
    let site = Site::new().await;
    let base = site.fetch("job-1").await.unwrap();
    site.host.set(NAME, |settings| settings.protected = [HEAD.to_owned()].into_iter().collect());
    let new = site.edit(&base, "x");
    let refused = site.push(&new, HEAD, None).await.unwrap_err();
    site.check(
        &refused,
        "HOST refused the push to `docwright/job-1`: pre-receive hook declined; error: GH006: Protected \
         branch update failed for refs/heads/docwright/job-1.",
    );
}

#[tokio::test]
async fn a_busy_host_is_a_temporary_error_with_its_retry_after() {
    let site = Site::new().await;
    let base = site.fetch("job-1").await.unwrap();
    let new = site.edit(&base, "x");
    let headers = BTreeMap::from([("retry-after".to_owned(), "30".to_owned())]);
    let busy = Effect::Status { status: 503, body: "Down for a while".to_owned(), headers };
    let retry_after = |error: Error| match error {
        Error::Temporary { retry_after, sentence } => {
            (retry_after.map(|retry_after| retry_after.as_secs()), sentence)
        }
        other => panic!("{other:?}"),
    };
    site.host.faults().next(1, "POST", "git-upload-pack", busy.clone());
    let error = retry_after(site.fetch("job-1").await.unwrap_err());
    assert_eq!(error, (Some(30), format!("{} answered 503; try again in 30 s", site.name())));
    site.host.faults().next(1, "GET", "info/refs", Effect::too_many(7));
    let error = retry_after(site.push(&new, HEAD, None).await.unwrap_err());
    assert_eq!(error, (Some(7), format!("{} answered 429; try again in 7 s", site.name())));
    site.host.faults().next(1, "POST", "git-receive-pack", Effect::secondary_limit(60));
    assert_eq!(retry_after(site.push(&new, HEAD, None).await.unwrap_err()).0, Some(60));
    site.host.faults().next(1, "POST", "git-upload-pack", Effect::status(500));
    assert_eq!(retry_after(site.fetch("job-1").await.unwrap_err()).0, None);
    site.push(&new, HEAD, None).await.unwrap();
}

#[tokio::test]
async fn a_server_that_is_not_a_git_host_is_an_error() {
    let site = Site::new().await;
    site.host.faults().next(1, "POST", "git-upload-pack", Effect::Garbage);
    let refused = site.fetch("job-1").await.unwrap_err();
    let (later, words) =
        (matches!(refused, Error::Temporary { .. }), "like a git server: check the repository's address");
    assert!(
        later && refused.to_string().ends_with(words),
        "a proxy may answer like this for a while: {refused:?}"
    );
    site.host.faults().next(1, "POST", "git-upload-pack", Effect::status(405));
    let refused = site.fetch("job-1").await.unwrap_err();
    site.check(&refused, "HOST answered 405");
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/acme/docs.git", port.local_addr().unwrap());
    drop(port);
    let nobody = Remote::Http(remote(&url, Some(CANARY)));
    let gone = site.cache.fetch(&nobody, "main", "job-1").await.unwrap_err();
    assert!(gone.to_string().contains(" cannot be reached: "), "{gone}");
    assert!(matches!(gone, Error::Temporary { .. }));
}
