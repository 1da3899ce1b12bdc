//! Tests GitLab's API.

use fakehost::{Access, Kind};
use reqwest::Method;
use serde_json::json;

use crate::client::{TOKEN, get, host, http, request, request_as};

const REQUESTS: &str = "/projects/acme%2Fteam%2Fdocs/merge_requests";

#[tokio::test]
async fn a_merge_request_is_opened_found_and_merged() {
    let host = host(Kind::GitLab).await;
    host.repository("acme/team/docs", &[("a.md", "one\n")]).await;
    let head = host.push("acme/team/docs", "docs/edit", &[("a.md", "uno\n")]).await;
    host.user("mira");
    let project = get(&host, "/projects/acme%2Fteam%2Fdocs").await;
    assert_eq!(project.body["path_with_namespace"], "acme/team/docs");
    let branch = get(&host, "/projects/acme%2Fteam%2Fdocs/repository/branches/docs%2Fedit").await;
    assert_eq!(branch.body["commit"]["id"], head);
    assert_eq!(get(&host, "/personal_access_tokens/self").await.body["scopes"], json!(["api"]));
    let mira = get(&host, "/users?username=mira").await.body[0]["id"].clone();

    let new = json!({
        "source_branch": "docs/edit", "target_branch": "main", "title": "Draft: Edit", "labels": "docs,agent",
        "reviewer_ids": [mira],
    });
    let opened = request(&host, Method::POST, REQUESTS, new.clone()).await;
    assert_eq!((opened.status, &opened.body["detailed_merge_status"]), (201, &json!("draft_status")));
    assert_eq!(opened.body["web_url"], format!("{}/acme/team/docs/-/merge_requests/1", host.url()));
    assert_eq!(opened.body["labels"], json!(["docs", "agent"]));
    assert_eq!(opened.body["reviewers"][0]["username"], "mira");
    let again = request(&host, Method::POST, REQUESTS, new).await;
    let message = json!(["Another open merge request already exists for this source branch: !1"]);
    assert_eq!((again.status, &again.body["message"]), (409, &message));

    let one = format!("{REQUESTS}/1");
    let merge = format!("{one}/merge");
    assert_eq!(request(&host, Method::PUT, &merge, json!({})).await.status, 405);
    assert_eq!(request(&host, Method::PUT, &one, json!({ "title": "Edit" })).await.body["draft"], false);
    assert_eq!(
        request(&host, Method::PUT, &one, json!({ "state_event": "close" })).await.body["state"],
        "closed"
    );
    let listed = get(&host, &format!("{REQUESTS}?source_branch=docs%2Fedit")).await;
    assert_eq!((&listed.body[0]["iid"], listed.headers["x-total"].to_str().unwrap()), (&json!(1), "1"));
    assert_eq!(
        request(&host, Method::PUT, &one, json!({ "state_event": "reopen" })).await.body["state"],
        "opened"
    );
    assert_eq!(request(&host, Method::PUT, &merge, json!({ "sha": "0" })).await.status, 409);
    let merged = request(&host, Method::PUT, &merge, json!({ "sha": head })).await;
    assert_eq!((merged.status, &merged.body["state"]), (200, &json!("merged")));
    assert_eq!(host.tip("acme/team/docs", "main").unwrap(), merged.body["merge_commit_sha"]);
}

#[tokio::test]
async fn refusals_match_gitlab() {
    let host = host(Kind::GitLab).await;
    host.token("reader", Access::ReadOnly);
    host.token("old", Access::Expired);
    let path = "/projects/acme%2Fdocs/merge_requests";
    let new = json!({ "source_branch": "edit", "target_branch": "main", "title": "Edit" });
    let scope = request_as(&host, "reader", Method::POST, path, new.clone()).await;
    assert_eq!((scope.status, &scope.body["error"]), (403, &json!("insufficient_scope")));
    let old = request_as(&host, "old", Method::POST, path, new).await;
    assert_eq!((old.status, &old.body["error"]), (401, &json!("invalid_token")));
    let missing = request(&host, Method::POST, path, json!({ "title": "Edit" })).await;
    assert_eq!(
        (missing.status, &missing.body["error"]),
        (400, &json!("source_branch is missing, target_branch is missing"))
    );
    let none = get(&host, "/projects/acme%2Fnone").await;
    assert_eq!((none.status, &none.body["message"]), (404, &json!("404 Project Not Found")));
    let url = format!("{}/projects/acme%2Fdocs", host.api_url());
    let header = http().get(url).header("PRIVATE-TOKEN", TOKEN).send().await.unwrap();
    assert_eq!(header.status().as_u16(), 200);
    assert_eq!(host.requests().last().unwrap().authorization.as_deref(), Some(TOKEN));
}
