//! Tests GitHub's API.

use fakehost::{Access, FakeHost, Kind, PullState};
use reqwest::Method;
use serde_json::{Value, json};

use crate::client::{ApiResponse, get, host, http, request, request_as};

const PULLS: &str = "/repos/acme/docs/pulls";

async fn open(host: &FakeHost, head: &str) -> ApiResponse {
    let body = json!({ "title": "Edit", "body": "Why", "head": head, "base": "main" });
    request(host, Method::POST, PULLS, body).await
}

#[tokio::test]
async fn a_pull_request_is_opened_labelled_and_merged() {
    let host = host(Kind::GitHub).await;
    host.user("mira");
    let repository = get(&host, "/repos/acme/docs").await;
    assert_eq!(repository.body["default_branch"], "main");
    assert_eq!(repository.body["permissions"]["push"], true);
    assert_eq!(repository.headers["x-oauth-scopes"], "repo");
    assert_eq!(repository.headers["x-ratelimit-remaining"], "4999");
    assert_eq!(get(&host, "/user").await.body["login"], "docs-bot");
    assert_eq!(get(&host, "/nothing").await.body["message"], "Not Found");

    let opened = open(&host, "edit").await;
    assert_eq!((opened.status, &opened.body["mergeable"]), (201, &json!(true)));
    assert_eq!(opened.body["html_url"], format!("{}/acme/docs/pull/1", host.url()));
    let labels = json!({ "labels": ["docs"] });
    assert_eq!(
        request(&host, Method::POST, "/repos/acme/docs/issues/1/labels", labels).await.body[0]["name"],
        "docs"
    );
    let reviewers = json!({ "reviewers": ["mira"] });
    let requested =
        request(&host, Method::POST, "/repos/acme/docs/pulls/1/requested_reviewers", reviewers).await;
    assert_eq!((requested.status, &requested.body["requested_reviewers"][0]["login"]), (201, &json!("mira")));

    let old = opened.body["head"]["sha"].clone();
    let new = host.push("acme/docs", "edit", &[("a.md", "eins\n")]).await;
    let merge = "/repos/acme/docs/pulls/1/merge";
    assert_eq!(request(&host, Method::PUT, merge, json!({ "sha": old })).await.status, 409);
    let merged = request(&host, Method::PUT, merge, json!({ "sha": new })).await;
    assert_eq!((merged.status, &merged.body["merged"]), (200, &json!(true)));
    assert_eq!(host.tip("acme/docs", "main").unwrap(), merged.body["sha"]);
    assert_eq!(get(&host, &format!("{PULLS}/1")).await.body["merged"], true);
    assert_eq!(request(&host, Method::PUT, merge, json!({})).await.status, 405);
    let pull = &host.pulls("acme/docs")[0];
    assert_eq!((pull.state, pull.head_sha.as_str()), (PullState::Merged, new.as_str()));
}

#[tokio::test]
async fn an_invalid_pull_request_is_refused_with_a_reason() {
    let host = host(Kind::GitHub).await;
    let why = async |body: Value| {
        let answer = request(&host, Method::POST, PULLS, body).await;
        assert_eq!((answer.status, &answer.body["message"]), (422, &json!("Validation Failed")));
        answer.body["errors"][0].clone()
    };
    let body = |head: &str| json!({ "title": "Edit", "head": head, "base": "main" });
    assert_eq!(why(body("nowhere")).await["field"], "head");
    assert_eq!(why(json!({ "title": "", "head": "edit", "base": "main" })).await["field"], "title");
    assert_eq!(why(body("main")).await["message"], "No commits between main and main");
    assert_eq!(open(&host, "acme:edit").await.status, 201);
    assert_eq!(why(body("edit")).await["message"], "A pull request already exists for acme:edit.");
}

#[tokio::test]
async fn pull_requests_are_listed_by_head_and_state_in_pages() {
    let host = host(Kind::GitHub).await;
    for branch in ["one", "two", "three"] {
        host.push("acme/docs", branch, &[("a.md", branch)]).await;
        open(&host, branch).await;
    }
    host.close_pull("acme/docs", 2);
    let list = async |query: &str| get(&host, &format!("{PULLS}?{query}")).await;
    let numbers = |answer: &ApiResponse| -> Vec<u64> {
        answer.body.as_array().unwrap().iter().map(|pull| pull["number"].as_u64().unwrap()).collect()
    };
    assert_eq!(numbers(&list("").await), [3, 1]);
    assert_eq!(numbers(&list("state=all&head=acme:two").await), [2]);
    assert_eq!(numbers(&list("state=open&head=acme:two").await), [0; 0]);
    assert_eq!(numbers(&list("state=all&head=other:two").await), [0; 0]);
    let first = list("state=all&per_page=2").await;
    assert_eq!(numbers(&first), [3, 2]);
    let link = first.headers["link"].to_str().unwrap();
    assert!(link.contains("pulls?state=all&per_page=2&page=2>; rel=\"next\""), "{link}");
    assert_eq!(numbers(&list("state=all&per_page=2&page=2").await), [1]);
}

#[tokio::test]
async fn a_pull_request_is_closed_reopened_and_closed_with_its_head() {
    let host = host(Kind::GitHub).await;
    open(&host, "edit").await;
    let state = async |state: &str| {
        request(&host, Method::PATCH, &format!("{PULLS}/1"), json!({ "state": state })).await
    };
    assert_eq!(state("closed").await.body["state"], "closed");
    assert_eq!(state("open").await.body["state"], "open");
    host.delete_branch("acme/docs", "edit").await;
    assert_eq!(get(&host, &format!("{PULLS}/1")).await.body["state"], "closed");
    assert_eq!(state("open").await.status, 422);
    assert_eq!(get(&host, "/repos/acme/docs/branches/edit").await.body["message"], "Branch not found");
    assert_eq!(get(&host, "/repos/acme/docs/git/ref/heads/main").await.body["ref"], "refs/heads/main");
}

#[tokio::test]
async fn tokens_and_rate_limits_are_checked() {
    let host = host(Kind::GitHub).await;
    host.token("pusher", Access::NoPulls);
    host.token("old", Access::Expired);
    host.token_for("other", Access::Full, &["acme/other"]);
    let refused = async |token: &str| {
        let body = json!({ "title": "Edit", "head": "edit", "base": "main" });
        let answer = request_as(&host, token, Method::POST, PULLS, body).await;
        (answer.status, answer.body["message"].as_str().unwrap_or_default().to_owned())
    };
    let no = "Resource not accessible by personal access token".to_owned();
    assert_eq!(refused("pusher").await, (403, no));
    assert_eq!(refused("old").await, (401, "Bad credentials".to_owned()));
    assert_eq!(refused("other").await, (404, "Not Found".to_owned()));
    host.set("acme/docs", |settings| settings.archived = true);
    assert_eq!(open(&host, "edit").await.body["message"], "Repository was archived so is read-only.");
    let url = format!("{}/api/v3/repos/acme/docs", host.url());
    let nameless = http().get(&url).header("user-agent", "").send().await.unwrap();
    assert!(nameless.text().await.unwrap().contains("User-Agent"));
    host.set_rate_limit(0);
    let over = open(&host, "edit").await;
    assert_eq!((over.status, over.headers["x-ratelimit-remaining"].to_str().unwrap()), (403, "0"));
}

#[tokio::test]
async fn a_conflict_is_not_merged() {
    let host = host(Kind::GitHub).await;
    host.push("acme/docs", "main", &[("a.md", "ein\n")]).await;
    assert_eq!(open(&host, "edit").await.body["mergeable"], false);
    let refused = request(&host, Method::PUT, &format!("{PULLS}/1/merge"), json!({})).await;
    assert_eq!((refused.status, &refused.body["message"]), (405, &json!("Pull Request has merge conflicts")));
}
