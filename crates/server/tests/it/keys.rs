use jiff::SignedDuration;
use reqwest::Method;
use serde_json::json;
use store::{Allow, Expiry, Scope};

use crate::support::{TestServer, send};

const UNAUTHORIZED: &str = r#"401 {"error":"the API key is missing, unknown, revoked or expired; send a live one as `Authorization: Bearer dw_…`"}"#;
const NO_PROJECT: &str = r#"404 {"error":"no such project"}"#;

#[tokio::test]
async fn every_kind_of_bad_key_gets_the_same_answer() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    let path = format!("/v1/analytics/{}/views", team.project.id);
    let mut wrong = team.key.clone();
    wrong.replace_range(10..11, if &team.key[10..11] == "x" { "y" } else { "x" });
    let expired = server.key(&team.organization, |new| new.expiry = Expiry::Days(1)).await;
    let expired_moment = SignedDuration::from_hours(24);
    assert_eq!(server.get(&expired, &path).await.status, 200);
    server.clock.advance(expired_moment);
    let unknown = store::KeyText::random();

    for key in [wrong.as_str(), &expired, unknown.reveal(), "dw_", "nonsense", ""] {
        let answer = server.get(key, &path).await;
        assert_eq!(answer.to_string(), UNAUTHORIZED, "{key}");
        assert_eq!(answer.header("www-authenticate"), "Bearer");
        assert_eq!(answer.header("x-error-code"), "unauthorized");
        assert!(!answer.header("x-request-id").is_empty());
    }
    assert_eq!(send(server.request(Method::GET, &path)).await.to_string(), UNAUTHORIZED);
    for header in ["Basic abc", "Bearer", "Bearer  ", &team.key] {
        let answer = send(server.request(Method::GET, &path).header("authorization", header)).await;
        assert_eq!(answer.to_string(), UNAUTHORIZED, "{header}");
    }
    let lower =
        send(server.request(Method::GET, &path).header("authorization", format!("bearer {}", team.key)));
    assert_eq!(lower.await.status, 200);
}

#[tokio::test]
async fn a_revoked_key_is_refused_on_the_next_request() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    let path = format!("/v1/analytics/{}/views", team.project.id);
    assert_eq!(server.get(&team.key, &path).await.status, 200);
    let id = server.app.accounts.keys(None).await.unwrap()[0].id.clone();
    server.app.accounts.revoke_key(&team.organization.id, &id).await.unwrap();
    assert_eq!(server.get(&team.key, &path).await.to_string(), UNAUTHORIZED);
}

#[tokio::test]
async fn what_a_key_may_not_see_is_not_there() {
    let server = TestServer::start().await;
    let (mine, theirs) = (server.team("acme", &[]).await, server.team("globex", &[]).await);
    let job = server.create_job(&theirs, "Fix broken links").await;
    let id = job["id"].as_str().unwrap();
    let narrowed = server.key(&mine.organization, |new| new.projects = Some(vec![])).await;
    let reading = server.key(&mine.organization, |new| new.scope = Scope::Read).await;
    let doors = |project: &str| {
        [
            (Method::POST, format!("/v2/agent/{project}/job")),
            (Method::GET, format!("/v2/agent/{project}/jobs")),
            (Method::POST, format!("/v2/agent/{project}/job/{id}/message")),
            (Method::POST, format!("/v2/agent/{project}/job/{id}/archive")),
            (Method::GET, format!("/v2/agent/{project}/job/{id}")),
            (Method::GET, format!("/v2/agent/{project}/job/{id}/events")),
            (Method::GET, format!("/v2/agent/{project}/job/{id}/diff")),
            (Method::GET, format!("/v1/analytics/{project}/views")),
            (Method::POST, format!("/v1/analytics/{project}/events")),
        ]
    };
    let theirs_id = theirs.project.id.0.as_str();
    let mine_id = mine.project.id.0.as_str();
    for (key, project) in [
        (&mine.key, theirs_id),
        (&reading, theirs_id),
        (&narrowed, mine_id),
        (&mine.key, "nowhere"),
        (&mine.key, "%FF"),
        (&mine.key, "a%2Fb"),
    ] {
        for (method, path) in doors(project) {
            let answer = send(server.request(method.clone(), &path).bearer_auth(key)).await;
            assert_eq!(answer.to_string(), NO_PROJECT, "{method} {path}");
            assert_eq!(answer.header("x-error-code"), "no_such_project");
        }
    }
    // Another team's job under one's own project is no job.
    for path in ["", "/events", "/diff"] {
        let answer = server.get(&mine.key, &format!("/v2/agent/{mine_id}/job/{id}{path}")).await;
        assert_eq!(answer.to_string(), r#"404 {"error":"no such job"}"#);
    }
    for path in ["message", "archive"] {
        let path = format!("/v2/agent/{mine_id}/job/{id}/{path}");
        let answer = server.post(&mine.key, &path, &json!({ "prompt": "x" })).await;
        assert_eq!(answer.to_string(), r#"404 {"error":"no such job"}"#);
    }
    assert_eq!(server.job(&theirs, &job["id"]).await, job);
}

#[tokio::test]
async fn a_read_key_reads_and_does_not_write() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    let reading = server.key(&team.organization, |new| new.scope = Scope::Read).await;
    let project = &team.project.id;
    assert_eq!(server.get(&reading, &format!("/v1/analytics/{project}/views")).await.status, 200);
    let job = server.create_job(&team, "Fix broken links").await;
    let id = job["id"].as_str().unwrap();
    for path in [
        format!("/v2/agent/{project}/job"),
        format!("/v2/agent/{project}/job/{id}/message"),
        format!("/v2/agent/{project}/job/{id}/archive"),
        format!("/v1/analytics/{project}/events"),
    ] {
        // The body is junk: the scope is judged before it.
        let answer = server.post(&reading, &path, &json!(7)).await;
        let expected = r#"403 {"error":"this API key may only read; use one with the scope write"}"#;
        assert_eq!(answer.to_string(), expected);
        assert_eq!(answer.header("x-error-code"), "scope_too_small");
    }
    assert_eq!(server.job(&team, &job["id"]).await, job);
}

#[tokio::test]
async fn an_address_outside_the_allowlist_is_refused_before_anything_is_told() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    let elsewhere =
        server.key(&team.organization, |new| new.allow = Allow::parse(["192.0.2.0/24"]).unwrap()).await;
    let here = server.key(&team.organization, |new| new.allow = Allow::parse(["127.0.0.0/8"]).unwrap()).await;
    for project in [team.project.id.0.as_str(), "nowhere"] {
        let path = format!("/v1/analytics/{project}/views");
        let lie =
            server.request(Method::GET, &path).bearer_auth(&elsewhere).header("x-forwarded-for", "192.0.2.1");
        assert_eq!(
            send(lie).await.to_string(),
            r#"403 {"error":"this API key may not be used from this address"}"#
        );
    }
    assert_eq!(server.get(&here, &format!("/v1/analytics/{}/views", team.project.id)).await.status, 200);
}
