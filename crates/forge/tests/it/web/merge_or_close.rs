//! Tests merging and closing on web hosts.

use fakehost::{Effect, Kind};
use forge::{Error, Host as _, NewPull, Oid, State};

use super::{DOCS, HEAD, KINDS, Site, json_response};

#[tokio::test]
async fn only_the_reviewed_commit_is_merged() {
    for kind in KINDS {
        let site = Site::start(kind).await;
        let web = site.web().await;
        let pull = web.open(&site.new_pull("job-1")).await.unwrap();
        let moved = site.fake.push(DOCS, HEAD, &[("docs/index.md", "# Mine\n")]).await;
        let error = web.merge(1, Some(&pull.head_commit)).await.unwrap_err().to_string();
        assert_eq!(error, "`docwright/job-1` changed after you reviewed it: review it again, then merge");
        let merged = web.merge(1, Some(&Oid::parse(&moved).unwrap())).await.unwrap();
        assert_eq!((merged.state, merged.merge_commit.is_some()), (State::Merged, true), "{kind:?}");
        assert_eq!(web.merge(1, None).await.unwrap(), merged);
        let error = web.close(1).await.unwrap_err().to_string();
        assert_eq!(error, "pull request #1 is already merged");
        assert_eq!(web.open(&site.new_pull("job-1")).await.unwrap().state, State::Merged);
    }
}

#[tokio::test]
async fn refusals_of_the_host_are_reported() {
    async fn check(kind: Kind, body: &str, expected: &str) {
        let site = Site::start(kind).await;
        let web = site.web().await;
        web.open(&site.new_pull("job-1")).await.unwrap();
        for method in ["PUT", "POST"] {
            site.fake.faults().next(1, method, "/merge", json_response(409, body, &[]));
        }
        let error = web.merge(1, None).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{kind:?} {error}");
    }
    let moved = "changed after you reviewed it";
    check(Kind::GitHub, r#"{"message":"Head branch was modified. Review and try the merge again."}"#, moved)
        .await;
    check(Kind::GitLab, r#"{"message":"SHA does not match HEAD of source branch: 1"}"#, moved).await;
    check(Kind::Gitea, r#"{"message":"head out of date"}"#, moved).await;
    let conflict = r#"{"Style":"merge","StdOut":"CONFLICT (content): in a.md","StdErr":"","Err":{}}"#;
    check(Kind::Gitea, conflict, "the changes conflict with `main`").await;
    let rejected = r#"{"message":"PushRejected with remote message: no"}"#;
    check(Kind::Forgejo, rejected, "refused to merge pull request #1: PushRejected with remote message: no")
        .await;
}

#[tokio::test]
async fn conflicts_and_drafts_are_not_merged() {
    for kind in KINDS {
        let site = Site::start(kind).await;
        let web = site.web().await;
        web.open(&site.new_pull("job-1")).await.unwrap();
        site.fake.push(DOCS, "main", &[("docs/index.md", "# Other\n")]).await;
        let error = web.merge(1, None).await.unwrap_err();
        assert!(matches!(error, Error::Conflict { .. }), "{kind:?} {error:?}");
        assert_eq!(error.to_string(), "the changes conflict with `main`");
        web.close(1).await.unwrap();

        site.fake.push(DOCS, "topic", &[("docs/more.md", "More\n")]).await;
        let new = NewPull { head: "topic".into(), draft: true, ..site.new_pull("job-2") };
        web.open(&new).await.unwrap();
        let error = web.merge(2, None).await.unwrap_err();
        assert!(matches!(error, Error::Refused(_)), "{kind:?} {error:?}");
    }
}

#[tokio::test]
async fn a_merge_with_a_lost_response_is_detected() {
    for kind in KINDS {
        let site = Site::start(kind).await;
        let web = site.web().await;
        web.open(&site.new_pull("job-1")).await.unwrap();
        for method in ["PUT", "POST"] {
            site.fake.faults().next(1, method, "/merge", Effect::DropAfter);
        }
        assert_eq!(web.merge(1, None).await.unwrap().state, State::Merged, "{kind:?}");
    }
}

#[tokio::test]
async fn another_merge_style_is_tried() {
    let site = Site::start(Kind::GitHub).await;
    let web = site.web().await;
    web.open(&site.new_pull("job-1")).await.unwrap();
    let refused = r#"{"message":"Merge commits are not allowed on this repository."}"#;
    site.fake.faults().next(1, "PUT", "/merge", json_response(405, refused, &[]));
    assert_eq!(web.merge(1, None).await.unwrap().state, State::Merged);
}

#[tokio::test]
async fn a_merge_is_retried_while_the_host_is_checking() {
    let later = r#"{"message":"Please try again later"}"#;
    let site = Site::start(Kind::Gitea).await;
    let web = site.web().await;
    web.open(&site.new_pull("job-1")).await.unwrap();
    site.fake.faults().next(3, "POST", "/merge", json_response(405, later, &[]));
    assert_eq!(web.merge(1, None).await.unwrap().state, State::Merged);

    let site = Site::start(Kind::GitLab).await;
    let web = site.web().await;
    web.open(&site.new_pull("job-1")).await.unwrap();
    site.fake.faults().always(
        "PUT",
        "/merge",
        json_response(422, r#"{"message":"Branch cannot be merged"}"#, &[]),
    );
    let error = web.merge(1, None).await.unwrap_err().to_string();
    assert!(
        error.ends_with("refused to merge pull request #1: Branch cannot be merged (mergeable)"),
        "{error}"
    );
}

#[tokio::test]
async fn closing_is_idempotent() {
    for kind in KINDS {
        let site = Site::start(kind).await;
        let web = site.web().await;
        web.open(&site.new_pull("job-1")).await.unwrap();
        let closed = web.close(1).await.unwrap();
        assert_eq!(closed.state, State::Closed);
        assert_eq!(web.close(1).await.unwrap(), closed);
        assert!(matches!(web.merge(1, None).await, Err(Error::Refused(why)) if why.ends_with("is closed")));
        assert!(matches!(web.close(7).await, Err(Error::NoSuchPull(7))));
        assert!(matches!(web.merge(7, None).await, Err(Error::NoSuchPull(7))));
        assert_eq!(site.fake.tip(DOCS, HEAD).as_deref(), Some(closed.head_commit.as_str()));
    }
}
