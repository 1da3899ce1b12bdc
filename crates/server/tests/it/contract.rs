//! Tests what clients rely on besides the bodies: ETags, links, rate limits, and replays.

use reqwest::Method;
use serde_json::json;

use crate::support::{TestServer, send};

#[tokio::test]
async fn a_poll_of_an_unchanged_job_is_304() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[("a.md", "one\n")]).await;
    let job = server.create_job(&team, "Replace \"one\" with \"two\".").await;
    let path = format!("/v2/agent/{}/job/{}", team.project.id, job["id"].as_str().unwrap());
    let first = server.get(&team.key, &path).await;
    let tag = first.header("etag").to_owned();
    let strong = tag.strip_prefix("W/").unwrap(); // a proxy may have decompressed the response
    let poll = async |tag: &str| {
        send(server.request(Method::GET, &path).bearer_auth(&team.key).header("if-none-match", tag)).await
    };
    for same in [tag.clone(), format!("\"x\", {tag}"), strong.to_owned(), "*".into()] {
        let again = poll(&same).await;
        assert_eq!(
            (again.status, again.body.as_str(), again.header("etag")),
            (304, "", tag.as_str()),
            "{same}"
        );
    }
    server.run_queued_jobs().await;
    assert_eq!(poll(&tag).await.status, 200);
    let head = send(server.request(Method::HEAD, &path).bearer_auth(&team.key)).await;
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    assert!(!head.header("etag").is_empty());
}

#[tokio::test]
async fn jobs_are_listed_in_pages_with_links() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    for _ in 0..5 {
        server.create_job(&team, "Fix broken links").await;
    }
    let root = format!("/v2/agent/{}/jobs", team.project.id);
    let mut path = format!("{root}?limit=2&status=active");
    let mut ids = Vec::new();
    for part in 0..3 {
        let page = server.get(&team.key, &path).await;
        let body = page.json();
        assert_eq!(body["hasMore"], part < 2);
        ids.extend(body["jobs"].as_array().unwrap().iter().map(|job| job["id"].to_string()));
        let next = page.header("link").split(", ").find(|link| link.ends_with("rel=\"next\""));
        path = next.map(|link| link[1..link.find('>').unwrap()].to_owned()).unwrap_or_default();
        assert_eq!(path.is_empty(), part == 2);
    }
    let mut unique = ids.clone();
    unique.sort();
    unique.dedup();
    assert_eq!((ids.len(), unique.len()), (5, 5));
    for (query, problem) in [
        ("limit=0", "limit must be between 1 and 100, got 0"),
        ("limit=101", "limit must be between 1 and 100, got 101"),
        ("offset=x", "offset must be a whole number, at least 0"),
        ("status=done", "status must be one of active, completed, archived, failed"),
    ] {
        let answer = server.get(&team.key, &format!("{root}?{query}")).await;
        assert_eq!((answer.status, answer.json()["error"].as_str()), (400, Some(problem)));
    }
    let none = server.get(&team.key, &format!("{root}?status=failed")).await;
    assert_eq!(none.body, r#"{"jobs":[],"hasMore":false}"#);
}

#[tokio::test]
async fn a_request_with_the_same_idempotency_key_is_executed_once() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    let path = format!("/v2/agent/{}/job", team.project.id);
    let create = async |key: &str, prompt: &str| {
        let body = json!({ "prompt": prompt });
        send(
            server
                .request(Method::POST, &path)
                .bearer_auth(&team.key)
                .header("idempotency-key", key)
                .json(&body),
        )
        .await
    };
    let first = create("k-1", "Fix broken links").await;
    assert_eq!((first.status, first.header("idempotent-replay")), (201, ""));
    server.run_queued_jobs().await;
    let again = create("k-1", "Fix broken links").await;
    assert_eq!((again.status, &again.body, again.header("idempotent-replay")), (201, &first.body, "true"));
    let other = create("k-1", "Fix typos").await;
    assert_eq!((other.status, other.header("x-error-code")), (422, "idempotency_key_reused"));
    assert_eq!(create("k-2", "Fix broken links").await.status, 201);
    for bad in ["", &"x".repeat(256)] {
        let answer = create(bad, "Fix broken links").await;
        assert_eq!((answer.status, answer.header("x-error-code")), (400, "invalid_idempotency_key"));
    }
}

#[tokio::test]
async fn over_the_limit_is_429_before_the_body_is_read() {
    let server = TestServer::start_with(|settings| {
        settings.limits.jobs = 2;
        settings.limits.reads = 1;
    })
    .await;
    let team = server.team("acme", &[]).await;
    let path = format!("/v2/agent/{}/job", team.project.id);
    let create = async |key: Option<&str>| {
        let mut request = server.request(Method::POST, &path).bearer_auth(&team.key);
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        send(request.json(&json!({ "prompt": "Fix broken links" }))).await
    };
    let first = create(Some("k")).await;
    assert_eq!((first.status, first.header("x-ratelimit-remaining")), (201, "1"));
    assert_eq!(first.header("ratelimit"), "\"default\";r=1;t=3600");
    assert_eq!(create(None).await.status, 201);
    let over = create(None).await;
    assert_eq!(
        (over.status, over.header("x-error-code"), over.header("retry-after")),
        (429, "rate_limited", "3600")
    );
    assert_eq!(create(Some("k")).await.status, 201, "a replay isn't counted");
    assert_eq!(create(Some("")).await.status, 429, "an invalid key can't be a replay");
    let junk = send(server.request(Method::POST, &path).bearer_auth(&team.key).body("junk")).await;
    assert_eq!(junk.status, 429, "before 415");
    let views = format!("/v1/analytics/{}/views", team.project.id);
    let bad = format!("{views}?limit=0");
    assert_eq!(server.get(&team.key, &bad).await.status, 400, "an invalid query isn't counted");
    assert_eq!(server.get(&team.key, &views).await.header("x-ratelimit-remaining"), "0");
    assert_eq!(server.get(&team.key, &views).await.status, 429);
    assert_eq!(server.get(&team.key, &bad).await.status, 429, "before 400");
    server.clock.advance(jiff::SignedDuration::from_hours(1));
    assert_eq!((create(None).await.status, server.get(&team.key, &views).await.status), (201, 200));
}

#[tokio::test]
async fn a_valid_request_id_of_the_client_is_used() {
    let server = TestServer::start().await;
    let ask = async |id: &str| send(server.request(Method::GET, "/healthz").header("x-request-id", id)).await;
    assert_eq!(ask("build-1234.5_a").await.header("x-request-id"), "build-1234.5_a");
    for invalid in ["short", "with space", "<script>alert(1)</script>", &"x".repeat(129)] {
        assert_eq!(ask(invalid).await.header("x-request-id").len(), 32, "{invalid}");
    }
    assert_eq!(send(server.request(Method::GET, "/readyz")).await.to_string(), "200 ready\n");
}

#[tokio::test]
async fn the_options_of_a_new_job_are_checked() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    let path = format!("/v2/agent/{}/job", team.project.id);
    for (field, value, code) in [
        ("ref", json!("-x"), "invalid_branch"),
        ("branch", json!("a..b"), "invalid_branch"),
        ("branch", json!("x.lock"), "invalid_branch"),
        ("model", json!("gpt"), "invalid_model"),
        ("draft", json!("yes"), "invalid_body"),
        ("ref", json!(7), "invalid_body"),
    ] {
        let mut body = json!({ "prompt": "Fix broken links" });
        body[field] = value;
        let answer = server.post(&team.key, &path, &body).await;
        assert_eq!((answer.status, answer.header("x-error-code")), (400, code), "{body}");
    }
    assert!(server.has_no_jobs(&team.project.id).await);
}
