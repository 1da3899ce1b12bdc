//! Tests page views from browsers, which have an origin instead of an API key, and the script that sends
//! them.

use std::io::Write;
use std::sync::Arc;

use async_trait::async_trait;
use flate2::{Compression, write::GzEncoder};
use jiff::SignedDuration;
use reqwest::header::{CONTENT_TYPE, ORIGIN, USER_AGENT};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use store::ProjectId;
use traffic::{
    Counts, Event, Failure, FilePart, IngestError, ListQuery, Progress, Range, Receipt, Views, Visitors,
};

use crate::support::{Answer, Team, TestServer, send};

const SITE: &str = "https://docs.acme.dev";
const CHROME: &str =
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36";
const CORS: [&str; 3] =
    ["access-control-allow-origin", "access-control-allow-methods", "access-control-allow-headers"];

/// A project with a site.
struct DocsSite {
    server: TestServer,
    team: Team,
    project: ProjectId,
}

impl DocsSite {
    async fn start() -> Self {
        Self::on(TestServer::start().await).await
    }

    async fn on(server: TestServer) -> Self {
        let team = server.team("acme", &[]).await;
        let sites = vec!["http://localhost:3000".into(), SITE.into(), "no site".into()];
        let project = server.project(&team, |new| new.sites = sites).await.id;
        Self { server, team, project }
    }

    fn request(&self, method: Method) -> RequestBuilder {
        self.server.request(method, &format!("/v1/collect/{}", self.project))
    }

    /// A request as the script sends it.
    fn beacon(&self, body: impl Into<String>) -> RequestBuilder {
        let request = self.request(Method::POST).header(ORIGIN, SITE).header(USER_AGENT, CHROME);
        request.header(CONTENT_TYPE, "text/plain;charset=UTF-8").body(body.into())
    }

    async fn view(&self, path: &str) -> Answer {
        send(self.beacon(json!({ "url": format!("{SITE}{path}") }).to_string())).await
    }

    async fn views(&self) -> Value {
        let path = format!("/v1/analytics/{}/views", self.project);
        self.server.get(&self.team.key, &path).await.json()
    }

    async fn totals(&self) -> (u64, u64) {
        let totals = self.views().await["totals"].clone();
        (totals["human"].as_u64().unwrap(), totals["ai"].as_u64().unwrap())
    }
}

/// Checks the status and the code, and that scripts of the site can read the response.
#[track_caller]
fn check(answer: &Answer, expected: &str) {
    let code = answer.header("x-error-code");
    assert_eq!(format!("{} {code}", answer.status).trim(), expected, "{answer}");
    assert_eq!((answer.header("access-control-allow-origin"), answer.header("vary")), (SITE, "Origin"));
    if answer.status >= 400 {
        let body = answer.json();
        assert_eq!(body.as_object().unwrap().keys().collect::<Vec<_>>(), ["error"]);
    }
}

#[tokio::test]
async fn a_view_in_a_browser_counts_as_human() {
    let docs = DocsSite::start().await;
    let answer = docs.view("/guide/?token=secret#part").await;
    check(&answer, "204");
    assert_eq!((answer.body.as_str(), answer.header("set-cookie")), ("", ""));
    check(&docs.view("/guide.md").await, "204"); // a script ran in the page, so it's HTML
    check(&docs.view("/logo.svg").await, "204");
    let elsewhere = json!({ "url": "https://mirror.example/guide", "referrer": "https://search.example/" });
    check(&send(docs.beacon(elsewhere.to_string())).await, "204");
    check(&send(docs.beacon(r#"{"path": "/"}"#)).await, "204");
    let expected = json!({
        "totals": { "human": 4, "ai": 0, "total": 4 },
        "views": [
            { "path": "/guide", "human": 3, "ai": 0, "total": 3 },
            { "path": "/", "human": 1, "ai": 0, "total": 1 },
        ],
        "hasMore": false,
    });
    assert_eq!(docs.views().await, expected);
}

#[tokio::test]
async fn the_reader_and_the_time_come_from_the_request() {
    let docs = DocsSite::start().await;
    let false_fields = json!({
        "path": "/a", "timestamp": "2020-01-01", "userAgent": "ChatGPT-User/1.0", "status": 404,
        "method": "POST", "ip": "junk", "accept": "text/markdown", "unknown": {},
    });
    check(&send(docs.beacon(false_fields.to_string()).header("accept", "text/markdown")).await, "204");
    assert_eq!(docs.totals().await, (1, 0));
    let today = format!("/v1/analytics/{}/views?dateFrom=2026-11-15&dateTo=2026-11-16", docs.project);
    assert_eq!(docs.server.get(&docs.team.key, &today).await.json()["totals"]["human"], 1);

    let send_as = async |agent: &str| {
        let request = docs.request(Method::POST).header(ORIGIN, SITE).header(USER_AGENT, agent);
        check(&send(request.body(r#"{"path": "/a"}"#)).await, "204");
    };
    send_as("Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)").await;
    send_as("Mozilla/5.0 (X11; Linux x86_64) HeadlessChrome/141.0.0.0 Safari/537.36").await;
    send_as("curl/8.5.0").await;
    assert_eq!(
        docs.totals().await,
        (1, 0),
        "bots aren't human, and none of these reads on behalf of a person"
    );
    send_as("Mozilla/5.0 AppleWebKit/537.36; compatible; ChatGPT-User/1.0; +https://openai.com/bot").await;
    assert_eq!(docs.totals().await, (1, 1));
}

#[tokio::test]
async fn a_view_with_an_id_counts_once_and_a_prefetch_never() {
    let docs = DocsSite::start().await;
    for _ in 0..2 {
        check(&send(docs.beacon(r#"{"path": "/a", "eventId": "one"}"#)).await, "204");
    }
    assert_eq!(docs.totals().await, (1, 0));
    for (name, value) in
        [("sec-purpose", "prefetch"), ("sec-purpose", "Prefetch;prerender"), ("purpose", "prefetch")]
    {
        check(&send(docs.beacon(r#"{"path": "/a"}"#).header(name, value)).await, "204");
    }
    assert_eq!(docs.totals().await, (1, 0));
}

#[tokio::test]
async fn only_sites_of_the_project_can_send_views() {
    let docs = DocsSite::start().await;
    let send_from = async |method: Method, origin: Option<&str>| {
        let mut request = docs.request(method).header(USER_AGENT, CHROME).body(r#"{"path": "/a"}"#);
        if let Some(origin) = origin {
            request = request.header(ORIGIN, origin);
        }
        send(request).await
    };
    for same in [SITE, "https://DOCS.acme.dev", "https://docs.acme.dev:443", "http://localhost:3000"] {
        let answer = send_from(Method::POST, Some(same)).await;
        assert_eq!((answer.status, answer.header(CORS[0]), answer.header("vary")), (204, same, "Origin"));
    }
    let foreign = [
        "null",
        "",
        "http://docs.acme.dev",
        "https://docs.acme.dev:8443",
        "https://acme.dev",
        "https://docs.acme.dev.evil.example",
        "https://evil.example",
        "http://localhost",
        "docs.acme.dev",
    ];
    for method in [Method::POST, Method::OPTIONS] {
        for origin in foreign.map(Some).into_iter().chain([None]) {
            let answer = send_from(method.clone(), origin).await;
            assert_eq!(
                (answer.status, answer.header("x-error-code")),
                (403, "origin_not_allowed"),
                "{origin:?}"
            );
            assert!(answer.json()["error"].as_str().unwrap().contains("--site"));
            assert!(CORS.iter().all(|name| answer.header(name).is_empty()));
        }
    }
    assert_eq!(docs.totals().await, (4, 0));
    assert_eq!(docs.team.project.sites, [""; 0]);
    let without = docs.server.request(Method::POST, &format!("/v1/collect/{}", docs.team.project.id));
    assert_eq!(send(without.header(ORIGIN, SITE).body(r#"{"path": "/a"}"#)).await.status, 403);
}

#[tokio::test]
async fn a_preflight_of_the_site_is_granted() {
    let docs = DocsSite::start().await;
    let ask = docs.request(Method::OPTIONS).header(ORIGIN, SITE);
    let ask = ask.header("access-control-request-method", "POST");
    let answer = send(ask.header("access-control-request-headers", "content-type")).await;
    check(&answer, "204");
    assert_eq!(CORS.map(|name| answer.header(name)), [SITE, "POST", "content-type"]);
    assert_eq!(answer.header("access-control-max-age"), "86400");
    assert_eq!(answer.header("access-control-allow-credentials"), "");
    let wrong = send(docs.request(Method::PUT).header(ORIGIN, SITE)).await;
    assert_eq!((wrong.status, wrong.header("allow")), (405, "POST,OPTIONS"));

    let views = format!("/v1/analytics/{}/views", docs.project);
    for path in [views.as_str(), "/healthz", "/login", "/assets/docwright.css"] {
        for method in [Method::GET, Method::OPTIONS] {
            let answer = send(docs.server.request(method, path).header(ORIGIN, SITE)).await;
            assert!(
                CORS.iter().all(|name| answer.header(name).is_empty()),
                "scripts of other sites must not read {path}"
            );
        }
    }
}

#[tokio::test]
async fn invalid_views_get_a_json_error() {
    let docs = DocsSite::start().await;
    for id in ["nothing", "%00", "%FF", &"x".repeat(5_000)] {
        let request = docs.server.request(Method::POST, &format!("/v1/collect/{id}"));
        let answer = send(request.header(ORIGIN, SITE).body("junk")).await;
        assert_eq!(answer.to_string(), r#"404 {"error":"no such project"}"#);
    }
    let long = |bytes: usize| format!(r#"{{"path": "/a", "x": "{}"}}"#, "x".repeat(bytes - 23));
    let kinds = ["", "text/plain", "application/json", "application/csp-report+json", "TEXT/PLAIN; x=y"];
    for kind in kinds {
        let send_as = async |body: String| {
            let request = docs.request(Method::POST).header(ORIGIN, SITE).body(body);
            send(if kind.is_empty() { request } else { request.header(CONTENT_TYPE, kind) }).await
        };
        check(&send_as(long(8 * 1024)).await, "204");
        let large = send_as(long(8 * 1024 + 1)).await;
        check(&large, "413 too_large");
        assert!(large.body.contains("at most 8 KiB"), "{large}");
        for junk in [
            "",
            "{",
            "{}",
            "[]",
            "7",
            "null",
            "url=/a",
            r#"[{"path":"/a"}]"#,
            r#"{"path":7}"#,
            r#"{"path":""}"#,
            r#"{"path":"a"}"#,
            r#"{"url":"about:blank"}"#,
            r#"{"url":"file:///a"}"#,
            r#"{"path":"/a","referrer":{}}"#,
            r#"{"path":"/a","eventId":""}"#,
            "{\"path\":\"/\u{1}\"}",
            r#"{"path":"/\u0001"}"#,
        ] {
            check(&send_as(junk.into()).await, "400 invalid_body");
        }
        check(&send_as(format!(r#"{{"path":"/{}"}}"#, "a".repeat(2_000))).await, "400 invalid_body");
    }
    for kind in ["text/html", "application/x-www-form-urlencoded", "multipart/form-data", "image/png"] {
        let request = docs.request(Method::POST).header(ORIGIN, SITE).header(CONTENT_TYPE, kind);
        check(&send(request.body(long(9_000))).await, "415 unsupported_media_type");
    }
    let before = docs.request(Method::POST).body("junk");
    assert_eq!(send(before.header(CONTENT_TYPE, "image/png")).await.status, 403);
}

#[tokio::test]
async fn views_are_limited_per_address() {
    let server = TestServer::start_with(|settings| settings.limits.beacons = 3).await;
    let docs = DocsSite::on(server).await;
    for _ in 0..3 {
        check(&docs.view("/a").await, "204");
    }
    let over = docs.view("/a").await;
    check(&over, "429 rate_limited");
    assert_eq!(over.header("retry-after"), "20");
    assert!(over.body.contains("3 page views per minute"), "{over}");
    let junk = docs.request(Method::POST).header(ORIGIN, SITE).header(CONTENT_TYPE, "image/png");
    check(&send(junk).await, "429 rate_limited");
    let forged = docs.beacon(r#"{"path": "/a"}"#).header("x-forwarded-for", "203.0.113.5");
    check(&send(forged).await, "429 rate_limited");
    docs.server.clock.advance(SignedDuration::from_secs(20));
    check(&docs.view("/a").await, "204");
    check(&docs.view("/a").await, "429 rate_limited");
    docs.server.clock.advance(SignedDuration::from_mins(1));
    check(&docs.view("/a").await, "204");
    assert_eq!(docs.totals().await, (5, 0));
}

#[tokio::test]
async fn behind_a_trusted_proxy_the_limit_is_per_reader() {
    let server = TestServer::start_with(|settings| {
        settings.limits.beacons = 1;
        settings.proxies.trusted = vec!["127.0.0.0/8".parse().unwrap()];
    })
    .await;
    let docs = DocsSite::on(server).await;
    let view_from = async |address: &str| {
        let answer = send(docs.beacon(r#"{"path": "/a"}"#).header("x-forwarded-for", address)).await;
        answer.status
    };
    assert_eq!(view_from("203.0.113.5").await, 204);
    assert_eq!(view_from("203.0.113.5").await, 429);
    assert_eq!(view_from("203.0.113.6").await, 204);
    assert_eq!(view_from("2001:db8:0:1::1").await, 204);
    assert_eq!(view_from("2001:db8:0:1::2").await, 429, "one network");
    assert_eq!(view_from("junk").await, 204);
    assert_eq!(view_from("unknown").await, 429, "readers without a valid address share one limit");
}

/// Page views that can't be stored now.
pub(crate) struct BusyViews;

#[async_trait]
impl Views for BusyViews {
    async fn ingest(&self, _: &str, _: Vec<Event>) -> Result<Receipt, IngestError> {
        Err(IngestError::Busy)
    }

    async fn ingest_part(&self, _: &str, _: FilePart, _: Vec<Event>) -> Result<Receipt, IngestError> {
        Err(IngestError::Busy)
    }

    async fn progress(&self, _: &str, _: &str) -> Result<Option<Progress>, Failure> {
        Ok(None)
    }

    async fn count(&self, _: &str, _: &Range, _: &ListQuery) -> Result<Counts, Failure> {
        Ok(Counts::default())
    }

    async fn visitors(&self, _: &str, _: &Range, _: &ListQuery) -> Result<Visitors, Failure> {
        Ok(Visitors::default())
    }

    async fn forget(&self, _: &str) -> Result<(), Failure> {
        Ok(())
    }

    async fn close(&self) {}
}

#[tokio::test]
async fn a_view_that_cannot_be_stored_is_not_acknowledged() {
    let docs =
        DocsSite::on(TestServer::start_from(|_| {}, |app| app.views = Arc::new(BusyViews)).await).await;
    let answer = docs.view("/a").await;
    check(&answer, "503 busy");
    assert_eq!(answer.header("retry-after"), "1");
}

#[tokio::test]
async fn the_script_is_small_and_any_site_can_load_it() {
    let server = TestServer::start().await;
    let script = async |method: Method, tag: &str| {
        send(server.request(method, "/js/docwright.js").header("if-none-match", tag)).await
    };
    let first = script(Method::GET, "").await;
    assert_eq!(first.status, 200);
    let mut compressed = GzEncoder::new(Vec::new(), Compression::default());
    compressed.write_all(first.body.as_bytes()).unwrap();
    let size = compressed.finish().unwrap().len();
    assert!(size < 1024, "{size} bytes");
    let tag = first.header("etag").to_owned();
    let again = script(Method::GET, &tag).await;
    assert_eq!((again.status, again.body.as_str()), (304, ""));
    let head = script(Method::HEAD, "").await;
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    for answer in [&first, &again, &head] {
        assert_eq!(answer.header("etag"), tag);
        assert_eq!(answer.header("cache-control"), "public, max-age=3600");
        assert_eq!(answer.header("x-content-type-options"), "nosniff");
        assert_eq!(answer.header("access-control-allow-origin"), "*");
        assert_eq!(answer.header("cross-origin-resource-policy"), "cross-origin");
    }
    assert_eq!(first.header("content-type"), "text/javascript; charset=utf-8");
}
