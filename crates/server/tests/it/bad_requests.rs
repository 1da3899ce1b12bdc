//! Junk at every door: the right status, the right code, the one shape, and nothing kept.

use reqwest::Method;
use reqwest::header::CONTENT_TYPE;

use crate::support::{Team, TestServer, send};

struct Door<'a> {
    server: &'a TestServer,
    team: &'a Team,
    path: String,
}

impl Door<'_> {
    /// `kind` is the content type; an empty one is none.
    async fn check(&self, kind: &str, body: impl Into<reqwest::Body>, expected: &str) {
        let mut request =
            self.server.request(Method::POST, &self.path).bearer_auth(&self.team.key).body(body);
        if !kind.is_empty() {
            request = request.header(CONTENT_TYPE, kind);
        }
        let answer = send(request).await;
        let code = answer.header("x-error-code").to_owned();
        let keys: Vec<_> = answer.json().as_object().unwrap().keys().cloned().collect();
        assert!(keys == ["error"] || keys == ["details", "error"], "{answer}");
        assert_eq!(
            format!("{} {code}: {}", answer.status, answer.json()["error"].as_str().unwrap()),
            expected
        );
    }
}

#[tokio::test]
async fn junk_at_the_job_door() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    let door = Door { server: &server, team: &team, path: format!("/v2/agent/{}/job", team.project.id) };
    const JSON: &str = "application/json";
    let type_wanted = "415 unsupported_media_type: send the body as application/json";
    door.check("", "{}", type_wanted).await;
    door.check("text/plain", r#"{"prompt":"x"}"#, type_wanted).await;
    door.check("application/x-www-form-urlencoded", "prompt=x", type_wanted).await;
    let not_json = "400 invalid_body: not valid JSON: ";
    let unfit = "400 invalid_body: the JSON does not fit this operation: ";
    door.check(JSON, "", &format!("{not_json}EOF while parsing a value at line 1 column 0")).await;
    door.check(JSON, "{", &format!("{not_json}EOF while parsing an object at line 1 column 1")).await;
    door.check(JSON, "{}", &format!("{unfit}missing field `prompt` at line 1 column 2")).await;
    let wrong_type = format!("{unfit}invalid type: integer `7`, expected a string at line 1 column 11");
    door.check(JSON, r#"{"prompt":7}"#, &wrong_type).await;
    let null = format!("{unfit}invalid type: null, expected a string at line 1 column 14");
    door.check(JSON, r#"{"prompt":null}"#, &null).await;
    door.check(JSON, r#"{"prompt":""}"#, "400 invalid_prompt: prompt must not be empty").await;
    door.check(JSON, r#"{"prompt":" \n\t "}"#, "400 invalid_prompt: prompt must not be empty").await;
    let long = format!(r#"{{"prompt":"{}"}}"#, "é".repeat(100_001));
    let too_long = "400 invalid_prompt: prompt must be at most 100,000 characters, got 100001";
    door.check("application/json; charset=utf-8", long, too_long).await;
    door.check(JSON, "x".repeat(2 * 1024 * 1024 + 1), "413 too_large: the body must be at most 2 MiB").await;
    for wrong in [r#"["Fix links"]"#, "7", "null", r#""prompt""#, " [] "] {
        door.check(JSON, wrong, "400 invalid_body: expected a JSON object").await;
    }
    let deep = format!("{not_json}EOF while parsing a list at line 1 column 100005");
    door.check(JSON, format!(r#"{{"x":{}"#, "[".repeat(100_000)), &deep).await;
    let latin: &[u8] = b"{\"prompt\":\"\xff\"}";
    door.check(JSON, latin.to_vec(), &format!("{not_json}invalid unicode code point at line 1 column 12"))
        .await;
    assert!(server.has_no_jobs(&team.project.id).await);
}

#[tokio::test]
async fn junk_at_the_events_door() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    let door =
        Door { server: &server, team: &team, path: format!("/v1/analytics/{}/events", team.project.id) };
    const JSON: &str = "application/json";
    let types = "415 unsupported_media_type: send the body as application/json (an array) or application/x-ndjson (one event a line)";
    door.check("", "[]", types).await;
    door.check("text/csv", "a,b", types).await;
    let array = "400 invalid_body: the body must be a JSON array of events: ";
    door.check(JSON, "", &format!("{array}EOF while parsing a value at line 1 column 0")).await;
    door.check(JSON, "{}", &format!("{array}invalid type: map, expected an array at line 1 column 0")).await;
    door.check(JSON, "[{}", &format!("{array}EOF while parsing a list at line 1 column 3")).await;
    let many = format!("[{}]", vec!["{}"; 10_001].join(","));
    door.check(JSON, many, "413 too_large: send at most 10,000 events at once").await;
    door.check(JSON, " ".repeat(8 * 1024 * 1024 + 1), "413 too_large: the body must be at most 8 MiB").await;
    let counts = server.get(&team.key, &format!("/v1/analytics/{}/views", team.project.id)).await;
    assert_eq!(counts.body, r#"{"totals":{"human":0,"ai":0,"total":0},"views":[],"hasMore":false}"#);
}

#[tokio::test]
async fn junk_in_queries_and_paths() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    let get = async |path: String| server.get(&team.key, &path).await;
    let views = |query: &str| format!("/v1/analytics/{}/views?{query}", team.project.id);
    let answer = get(views("limit=0&offset=-1&dateFrom=soon")).await;
    assert_eq!((answer.status, answer.header("x-error-code")), (400, "invalid_query"));
    assert_eq!(answer.json()["details"].as_array().unwrap().len(), 3, "{answer}");
    let turned = get(views("dateFrom=2026-03-02&dateTo=2026-03-01")).await;
    assert_eq!(turned.status, 400, "{turned}");
    assert_eq!(get(views("unknown=1&limit=1")).await.status, 200);
    assert_eq!(get(views("dateFrom=%FF")).await.status, 400);

    let nowhere = get("/v3/nothing".into()).await;
    assert_eq!((nowhere.status, nowhere.header("x-error-code")), (404, "no_such_route"));
    assert_eq!(nowhere.header("x-request-id").len(), 32);
    for (path, allow) in [(format!("/v2/agent/{}/job", team.project.id), "POST"), (views(""), "GET,HEAD")] {
        let answer = send(server.request(Method::DELETE, &path).bearer_auth(&team.key)).await;
        assert_eq!((answer.status, answer.header("x-error-code")), (405, "method_not_allowed"));
        assert_eq!(answer.header("allow"), allow);
        assert_eq!(answer.header("x-request-id").len(), 32);
    }
    for id in ["nothing", "%00", "%FF", &"x".repeat(5_000)] {
        let answer = get(format!("/v2/agent/{}/job/{id}", team.project.id)).await;
        assert_eq!((answer.status, answer.header("x-error-code")), (404, "no_such_job"), "{id}");
    }
}
