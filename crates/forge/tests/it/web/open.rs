//! Tests that one job opens one pull request, even if responses are lost or lists are outdated.

use fakehost::{Effect, Kind, PullState};
use forge::{Error, Host as _, NewPull, State, Web};

use super::{DOCS, HEAD, KINDS, Site, json_response};

#[tokio::test]
async fn one_job_opens_one_pull_request() {
    for kind in KINDS {
        let site = Site::start(kind).await;
        let web = site.web().await;
        let new = site.new_pull("job-1");
        assert_eq!(web.find(HEAD).await.unwrap(), []);
        let pull = web.open(&new).await.unwrap();
        assert_eq!((pull.number, pull.state, pull.job.as_deref()), (1, State::Open, Some("job-1")));
        assert_eq!((&pull.head_commit, &pull.base_commit), (&new.head_commit, &new.base_commit));
        assert_eq!((pull.head.as_str(), pull.base.as_str()), (HEAD, "main"));
        assert!(pull.url.starts_with(site.fake.url()) && pull.created_at > 1_700_000_000_000);

        assert_eq!(web.open(&new).await.unwrap(), pull);
        assert_eq!(web.find(HEAD).await.unwrap(), std::slice::from_ref(&pull));
        assert_eq!(web.get(1).await.unwrap(), Some(pull));
        assert_eq!(web.get(2).await.unwrap(), None);

        // A closed pull request still belongs to its job. Another job with the same head opens a new one, and
        // a third job adopts that one.
        site.fake.close_pull(DOCS, 1);
        assert_eq!(web.open(&new).await.unwrap().state, State::Closed);
        assert_eq!(web.open(&site.new_pull("job-2")).await.unwrap().number, 2);
        assert_eq!(web.open(&site.new_pull("job-3")).await.unwrap().number, 2);
        let found = web.find(HEAD).await.unwrap();
        assert_eq!(found.iter().map(|pull| pull.number).collect::<Vec<_>>(), [1, 2]);
    }
}

#[tokio::test]
async fn a_lost_response_does_not_open_a_second_pull_request() {
    for kind in KINDS {
        for lost in [Effect::DropAfter, Effect::Garbage, Effect::status(502), Effect::DropBefore] {
            let site = Site::start(kind).await;
            let web = site.web().await;
            site.fake.faults().next(1, "POST", site.pulls_path(), lost.clone());
            let pull = web.open(&site.new_pull("job-1")).await.unwrap();
            assert_eq!((pull.number, site.fake.pulls(DOCS).len()), (1, 1), "{kind:?} {lost:?}");
        }
    }
}

#[tokio::test]
async fn a_host_without_responses_gets_at_most_two_create_requests() {
    for kind in KINDS {
        let site = Site::start(kind).await;
        let web = site.web().await;
        site.fake.faults().always("POST", site.pulls_path(), Effect::DropBefore);
        assert!(matches!(
            web.open(&site.new_pull("job-1")).await,
            Err(Error::Temporary { retry_after: None, .. })
        ));
        assert_eq!(site.count("POST", site.pulls_path()), 2, "{kind:?}");
        site.fake.faults().clear();
        web.open(&site.new_pull("job-1")).await.unwrap();
        assert_eq!(site.fake.pulls(DOCS).len(), 1);
    }
}

#[tokio::test]
async fn an_outdated_list_does_not_open_a_second_pull_request() {
    for kind in KINDS {
        let site = Site::start(kind).await;
        let web = site.web().await;
        // The list does not show the first pull request yet, but the host refuses a second one.
        web.open(&site.new_pull("job-1")).await.unwrap();
        site.fake.faults().always("GET", site.pulls_path(), Effect::Lag(6));
        let pull = web.open(&site.new_pull("job-1")).await.unwrap();
        assert_eq!((pull.number, site.fake.pulls(DOCS).len()), (1, 1), "{kind:?}");

        // The list is outdated, and the response is lost.
        let site = Site::start(kind).await;
        let web = site.web().await;
        site.fake.faults().always("GET", site.pulls_path(), Effect::Lag(7));
        site.fake.faults().next(1, "POST", site.pulls_path(), Effect::DropAfter);
        let pull = web.open(&site.new_pull("job-1")).await.unwrap();
        assert_eq!((pull.number, site.fake.pulls(DOCS).len()), (1, 1), "{kind:?}");

        // If the list never shows it, the error is temporary.
        site.fake.faults().clear();
        site.fake.faults().always("GET", site.pulls_path(), Effect::Lag(10_000));
        let error = web.open(&site.new_pull("job-1")).await.unwrap_err();
        assert!(matches!(error, Error::Temporary { .. }), "{error:?}");
        assert_eq!(site.fake.pulls(DOCS).len(), 1);
    }
}

#[tokio::test]
async fn a_follow_up_is_appended_to_the_body() {
    for kind in KINDS {
        let site = Site::start(kind).await;
        let web = site.web().await;
        let new = site.new_pull("job-1");
        web.open(&new).await.unwrap();
        let more = NewPull { body: "And images.\n\nDocwright-Job: job-1\n".into(), ..new.clone() };
        let pull = web.open(&more).await.unwrap();
        let expected =
            "As asked.\n\nDocwright-Job: job-1\n\n\n## Then\n\nAnd images.\n\nDocwright-Job: job-1\n";
        assert_eq!((pull.body.as_str(), site.fake.pulls(DOCS)[0].body.as_str()), (expected, expected));
        assert_eq!(web.open(&more).await.unwrap().body, expected);

        // The pull request of another job is adopted unchanged.
        let other = NewPull { body: "Mine.\n\nDocwright-Job: job-2\n".into(), ..site.new_pull("job-2") };
        assert_eq!(web.open(&other).await.unwrap().body, expected);
        site.fake.close_pull(DOCS, 1);
        let late = NewPull { body: "Late.\n\nDocwright-Job: job-1\n".into(), ..new };
        assert_eq!(web.open(&late).await.unwrap().body, expected);
    }
}

#[tokio::test]
async fn drafts_are_marked_as_each_host_does_it() {
    for (kind, title) in [
        (Kind::GitHub, "Use pnpm"),
        (Kind::GitLab, "Draft: Use pnpm"),
        (Kind::Gitea, "WIP: Use pnpm"),
        (Kind::Forgejo, "WIP: Use pnpm"),
    ] {
        let site = Site::start(kind).await;
        let new = NewPull { draft: true, ..site.new_pull("job-1") };
        let pull = site.web().await.open(&new).await.unwrap();
        assert_eq!((pull.title.as_str(), site.fake.pulls(DOCS)[0].draft), (title, true));
    }
    let site = Site::start(Kind::GitHub).await;
    let refused = r#"{"message":"Draft pull requests are not supported in this repository."}"#;
    site.fake.faults().next(1, "POST", "/pulls", json_response(422, refused, &[]));
    let new = NewPull { draft: true, ..site.new_pull("job-1") };
    site.web().await.open(&new).await.unwrap();
    assert!(!site.fake.pulls(DOCS)[0].draft);
}

#[tokio::test]
async fn failed_labels_and_reviewers_do_not_fail_the_job() {
    for kind in KINDS {
        let site = Site::start(kind).await;
        site.fake.user("ada");
        let mut settings = site.settings();
        settings.labels = vec!["docs".into(), "agent".into()];
        settings.reviewers = vec!["nobody-there".into(), "ada".into()];
        let web = Web::open(settings).await.unwrap();
        web.open(&site.new_pull("job-1")).await.unwrap();
        let pull = &site.fake.pulls(DOCS)[0];
        assert_eq!(pull.labels, ["docs", "agent"], "{kind:?}");
        let reviewers: Vec<_> = pull.reviewers.iter().map(|user| user.login.as_str()).collect();
        assert_eq!(reviewers, ["ada"], "an unknown reviewer does not affect the others: {kind:?}");

        site.fake.close_pull(DOCS, 1);
        for path in ["labels", "reviewers", "/users", "/merge_requests/2"] {
            for method in ["POST", "PUT", "GET"] {
                site.fake.faults().always(method, path, Effect::status(500));
            }
        }
        assert_eq!(web.open(&site.new_pull("job-2")).await.unwrap().number, 2);
    }
}

#[tokio::test]
async fn the_request_is_retried_until_the_host_sees_the_push() {
    let invalid = r#"{"message":"Validation Failed","errors":[{"resource":"PullRequest","field":"head","code":"invalid"}]}"#;
    let missing = r#"{"message":{"source_branch":["does not exist"]}}"#;
    for (kind, status, body) in [
        (Kind::GitHub, 422, invalid),
        (Kind::GitLab, 400, missing),
        (Kind::Gitea, 404, r#"{"message":"The target couldn't be found."}"#),
    ] {
        let site = Site::start(kind).await;
        let web = site.web().await;
        site.fake.faults().next(2, "POST", site.pulls_path(), json_response(status, body, &[]));
        assert_eq!(web.open(&site.new_pull("job-1")).await.unwrap().number, 1, "{kind:?}");
        let nowhere = NewPull { head: "nowhere".into(), ..site.new_pull("job-2") };
        assert!(matches!(web.open(&nowhere).await, Err(Error::NoSuchBranch(_))), "{kind:?}");
        let onto = NewPull { base: "nowhere".into(), ..site.new_pull("job-3") };
        site.fake.close_pull(DOCS, 1);
        let error = web.open(&onto).await.unwrap_err().to_string();
        assert!(error.contains("nowhere") || error.contains("target_branch"), "{error}");
    }
}

#[tokio::test]
async fn all_pages_of_a_list_are_read() {
    for kind in [Kind::GitHub, Kind::GitLab, Kind::Gitea] {
        let site = Site::start(kind).await;
        let web = site.web().await;
        for number in 1..=105 {
            site.post_pull(&site.new_pull(&format!("job-{number}"))).await;
            site.fake.close_pull(DOCS, number);
        }
        let found = web.find(HEAD).await.unwrap();
        let numbers: Vec<_> = found.iter().map(|pull| pull.number).collect();
        assert_eq!(numbers, (1..=105).collect::<Vec<_>>(), "{kind:?}");
        // The oldest pull request is the last on every list.
        assert_eq!(web.open(&site.new_pull("job-1")).await.unwrap().number, 1);
        assert!(site.fake.pulls(DOCS).iter().all(|pull| pull.state == PullState::Closed));
    }
}

#[tokio::test]
async fn a_pull_request_from_a_fork_is_ignored() {
    let commit = "0123456789012345678901234567890123456789";
    let side = |branch, id: &str| format!(r#"{{"ref":"{branch}","sha":"{commit}","repo":{id}}}"#);
    let shown = |head: &str| {
        let (head, base) = (side(HEAD, head), side("main", r#"{"id":1}"#));
        format!(
            r#"[{{"number":9,"html_url":"x","title":"t","body":"Docwright-Job: job-1","state":"open","head":{head},"base":{base}}}]"#
        )
    };
    let gitlab = format!(
        r#"[{{"iid":9,"web_url":"x","title":"t","description":"Docwright-Job: job-1","state":"opened","sha":"{commit}","source_branch":"{HEAD}","target_branch":"main","source_project_id":2,"target_project_id":1}}]"#
    );
    for (kind, list) in [
        (Kind::GitHub, shown(r#"{"id":2}"#)),
        (Kind::GitHub, shown("null")),
        (Kind::GitLab, gitlab),
        (Kind::Gitea, shown(r#"{"id":2}"#)),
    ] {
        let site = Site::start(kind).await;
        let web = site.web().await;
        let path = format!("{}?", site.pulls_path());
        site.fake.faults().always("GET", &path, json_response(200, &list, &[]));
        assert_eq!(web.find(HEAD).await.unwrap(), [], "{kind:?}");
        assert_eq!(web.open(&site.new_pull("job-1")).await.unwrap().number, 1);
    }
}

#[tokio::test]
async fn a_pull_request_with_a_deleted_head_is_found() {
    let site = Site::start(Kind::Gitea).await;
    let web = site.web().await;
    let commit = site.new_pull("job-1").head_commit;
    let head = format!(r#"{{"ref":"refs/pull/9/head","label":"{HEAD}","sha":"{commit}","repo":{{"id":1}}}}"#);
    let base = r#"{"ref":"gone","label":"gone","sha":"","repo":{"id":1}}"#;
    let list = format!(
        r#"[{{"number":9,"html_url":"http://x","title":"t","body":"Docwright-Job: job-1","state":"closed","merged":true,"merge_base":"{commit}","head":{head},"base":{base}}}]"#
    );
    site.fake.faults().always("GET", "/pulls?", json_response(200, &list, &[]));
    let found = web.find(HEAD).await.unwrap();
    assert_eq!((found.len(), found[0].head.as_str(), found[0].state), (1, HEAD, State::Merged));
    // A person moved it to another base, so none exists between these two branches.
    assert_eq!(web.open(&site.new_pull("job-1")).await.unwrap().number, 9);

    let script = list.replace("http://x", "javascript:alert(1)");
    site.fake.faults().clear();
    site.fake.faults().always("GET", "/pulls?", json_response(200, &script, &[]));
    let error = web.find(HEAD).await.unwrap_err().to_string();
    assert_eq!(error, "the host gave a pull request an address that is not a web address: check the host");
}

#[tokio::test]
async fn a_long_body_is_shortened_and_keeps_its_job() {
    let site = Site::start(Kind::GitHub).await;
    let body = format!("{}\n\nDocwright-Job: job-1\n", "ü".repeat(100_000));
    let web = site.web().await;
    let pull = web.open(&NewPull { body: body.clone(), ..site.new_pull("job-1") }).await.unwrap();
    assert_eq!((pull.body.chars().count(), pull.job.as_deref()), (65_536, Some("job-1")));
    // A second copy does not fit.
    let again = web.open(&NewPull { body, ..site.new_pull("job-1") }).await.unwrap();
    assert_eq!(again.body, pull.body);
}
