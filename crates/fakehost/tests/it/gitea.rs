//! Tests the API of Gitea and Forgejo.

use fakehost::{Access, Kind};
use reqwest::Method;
use serde_json::json;

use crate::client::{TOKEN, get, host, http, request, request_as};

const PULLS: &str = "/repos/acme/docs/pulls";

#[tokio::test]
async fn a_pull_request_is_opened_found_and_merged() {
    for kind in [Kind::Gitea, Kind::Forgejo] {
        let host = host(kind).await;
        host.user("mira");
        let head = host.push("acme/docs", "docs/edit", &[("a.md", "eins\n")]).await;
        let version = get(&host, "/version").await.body["version"].as_str().unwrap().to_owned();
        assert_eq!(version.contains("+gitea-"), kind == Kind::Forgejo);
        assert_eq!(get(&host, "/repos/acme/docs/branches/docs/edit").await.body["commit"]["id"], head);
        let label = request(&host, Method::POST, "/repos/acme/docs/labels", json!({ "name": "docs" })).await;

        let new =
            json!({ "head": "docs/edit", "base": "main", "title": "Edit", "labels": [label.body["id"]] });
        let opened = request(&host, Method::POST, PULLS, new.clone()).await;
        assert_eq!((opened.status, &opened.body["labels"][0]["name"]), (201, &json!("docs")));
        let again = request(&host, Method::POST, PULLS, new).await;
        let message = again.body["message"].as_str().unwrap();
        assert!(
            again.status == 409 && message.starts_with("pull request already exists for these targets [")
        );
        let requested = json!({ "reviewers": ["mira"] });
        assert_eq!(
            request(&host, Method::POST, &format!("{PULLS}/1/requested_reviewers"), requested).await.status,
            201
        );

        let closed = request(&host, Method::PATCH, &format!("{PULLS}/1"), json!({ "state": "closed" })).await;
        assert_eq!((closed.status, &closed.body["state"]), (201, &json!("closed")));
        assert_eq!(get(&host, &format!("{PULLS}/main/docs/edit")).await.body["number"], 1);
        assert_eq!(get(&host, &format!("{PULLS}/main/edit")).await.status, 404);
        assert_eq!(get(&host, PULLS).await.body, json!([]));
        request(&host, Method::PATCH, &format!("{PULLS}/1"), json!({ "state": "open" })).await;
        let listed = get(&host, PULLS).await;
        assert_eq!(listed.headers["x-total-count"], "1");
        assert_eq!(listed.body[0]["requested_reviewers"][0]["login"], "mira");

        let merge = format!("{PULLS}/1/merge");
        let stale =
            request(&host, Method::POST, &merge, json!({ "Do": "merge", "head_commit_id": "0" })).await;
        assert_eq!((stale.status, &stale.body["message"]), (409, &json!("head out of date")));
        let merged =
            request(&host, Method::POST, &merge, json!({ "Do": "merge", "head_commit_id": head })).await;
        assert_eq!((merged.status, merged.body), (200, json!("")));
        assert_eq!(host.tip("acme/docs", "main"), host.pulls("acme/docs")[0].merge_commit);
        let reopened = request(&host, Method::PATCH, &format!("{PULLS}/1"), json!({ "state": "open" })).await;
        assert_eq!(reopened.status, 412);
    }
}

#[tokio::test]
async fn refusals_match_gitea() {
    let host = host(Kind::Gitea).await;
    host.token("pusher", Access::NoPulls);
    let new = |head: &str| json!({ "head": head, "base": "main", "title": "Edit" });
    let scope = request_as(&host, "pusher", Method::POST, PULLS, new("edit")).await;
    assert!(scope.status == 403 && scope.body["message"].as_str().unwrap().contains("required scope(s)"));
    assert_eq!(request_as(&host, "wrong", Method::POST, PULLS, new("edit")).await.status, 401);
    assert_eq!(request(&host, Method::POST, PULLS, new("nowhere")).await.status, 404);
    assert_eq!(request(&host, Method::POST, PULLS, new("main")).await.status, 422);
    let url = format!("{}/user", host.api_url());
    let word = http().get(&url).header("authorization", format!("token {TOKEN}")).send().await.unwrap();
    assert_eq!(word.status().as_u16(), 200);
    let basic = http().get(&url).basic_auth("anybody", Some(TOKEN)).send().await.unwrap();
    assert_eq!(basic.status().as_u16(), 200);
}
