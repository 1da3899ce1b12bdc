//! Tests that organizations share memory and streams fairly, and that a stream ends with its key or session.

use jiff::SignedDuration;
use reqwest::Method;
use serde_json::json;
use server::HOOK_SECRET;
use store::{DataDir, Hosting, Role, Scope};
use tokio::time::timeout;

use crate::bounds::{RawClient, TIMEOUT, post, start_with_connections};
use crate::pages::Browser;
use crate::people::{PASSWORD, browser, person};
use crate::support::{Team, TestServer, send};

const MIB: usize = 1 << 20;

async fn wait_until(condition: impl Fn() -> bool) {
    let waiting = async {
        while !condition() {
            tokio::task::yield_now().await;
        }
    };
    timeout(TIMEOUT, waiting).await.expect("the condition never becomes true");
}

/// Sends a body of `length` without its last two bytes.
async fn slow_body(server: &TestServer, request: &str, length: usize) -> RawClient {
    let mut slow = RawClient::send(server, request).await;
    slow.write(&vec![b' '; length - 2]).await;
    slow
}

/// Sends page views in a body of about `length`.
async fn send_views(server: &TestServer, team: &Team, length: usize) -> u16 {
    let path = format!("/v1/analytics/{}/events", team.project.id);
    let body = format!("{}{}", " ".repeat(length), json!([{ "path": "/a" }]));
    let request = server.request(Method::POST, &path).bearer_auth(&team.key);
    send(request.header("content-type", "application/json").body(body)).await.status
}

#[tokio::test]
async fn slow_webhooks_without_a_key_use_no_memory_of_an_organization() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    let hosting = Hosting { kind: Some("github".into()), ..Hosting::default() };
    let hooked = server.project(&team, |new| new.hosting = hosting).await;
    server.app.secrets.put_secret(&hooked.id.0, HOOK_SECRET, b"hook-secret-0123456789").await.unwrap();
    let hook = format!(
        "POST /hooks/github/{} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        hooked.id,
        2 * MIB
    );
    let all = server.app.bodies.free_bytes();
    let mut slow = Vec::new();
    for _ in 0..10 {
        slow.push(slow_body(&server, &hook, 2 * MIB).await);
    }
    wait_until(|| server.app.bodies.public_free_bytes() < 2 * MIB).await;
    assert_eq!(server.app.bodies.free_bytes(), all);
    assert_eq!(send_views(&server, &team, 8 * MIB - 100).await, 202);
    let job = server.create_job(&team, "Fix broken links").await;
    assert_eq!(job["status"], "active");
}

#[tokio::test]
async fn slow_bodies_without_a_session_do_not_block_sign_ins() {
    let server = TestServer::start_with(|settings| settings.bounds.bodies = 5 * MIB).await;
    let team = server.team("acme", &[]).await;
    let login = format!("POST /login HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n", 4096);
    let mut slow = Vec::new();
    for _ in 0..256 {
        slow.push(slow_body(&server, &login, 4096).await);
    }
    wait_until(|| server.app.bodies.public_free_bytes() == 0).await;
    person(&server, &team, "ada@acme.dev", Role::Owner).await;
    let form = [("name", "ada@acme.dev"), ("password", PASSWORD)];
    let mut statuses = Vec::new();
    let signing_in = async {
        while statuses.last() != Some(&303) {
            statuses.push(send(server.request(Method::POST, "/login").form(&form)).await.status);
        }
    };
    timeout(TIMEOUT, signing_in).await.expect("slow bodies block all sign-ins");
}

#[tokio::test]
async fn slow_bodies_of_one_organization_give_way_to_another() {
    let server = TestServer::start_with(|settings| settings.bounds.bodies = 5 * MIB).await;
    let (acme, globex) = (server.team("acme", &[]).await, server.team("globex", &[]).await);
    let request = post(&acme, &format!("/v1/analytics/{}/events", acme.project.id), 2 * MIB);
    let [first, second] =
        [slow_body(&server, &request, 2 * MIB).await, slow_body(&server, &request, 2 * MIB).await];
    wait_until(|| server.app.bodies.free_bytes() == 0).await;
    assert_eq!(send_views(&server, &acme, MIB).await, 503, "it uses the whole budget");
    assert_eq!(send_views(&server, &globex, MIB).await, 202);
    let refused = |answer: &str| answer.starts_with("HTTP/1.1 503") && answer.contains("x-error-code: busy");
    let (mut first, mut second) = (first, second);
    tokio::select! {
        answer = first.until("}") => assert!(refused(&answer), "{answer}"),
        answer = second.until("}") => assert!(refused(&answer), "{answer}"),
    }
}

fn events_path(team: &Team, job: &serde_json::Value) -> String {
    format!("/v2/agent/{}/job/{}/events", team.project.id, job["id"].as_str().unwrap())
}

async fn stream(server: &TestServer, team: &Team, job: &serde_json::Value, key: &str) -> RawClient {
    let path = events_path(team, job);
    let ask = format!(
        "GET {path} HTTP/1.1\r\nhost: x\r\naccept: text/event-stream\r\nauthorization: Bearer {key}\r\n\r\n"
    );
    RawClient::send(server, &ask).await
}

const LAST_CHUNK: &str = "0\r\n\r\n";

#[tokio::test]
async fn an_organization_with_all_streams_gives_way_to_another() {
    let server = start_with_connections(8).await; // which allows two streams
    let (acme, globex) = (server.team("acme", &[]).await, server.team("globex", &[]).await);
    let (job, other) =
        (server.create_job(&acme, "Fix links").await, server.create_job(&globex, "Fix links").await);
    let read = server.key(&acme.organization, |new| new.scope = Scope::Read).await;
    let mut streams = Vec::new();
    for _ in 0..2 {
        let mut open = stream(&server, &acme, &job, &read).await;
        open.until("event: created").await;
        streams.push(open);
    }
    let refused = stream(&server, &acme, &job, &read).await.until("}").await;
    assert!(refused.contains("503 Service Unavailable"), "{refused}");
    let mut open = stream(&server, &globex, &other, &globex.key).await;
    assert!(open.until("event: created").await.contains("200 OK"));
    streams[1].until(LAST_CHUNK).await;
    let refused = stream(&server, &acme, &job, &read).await.until("}").await;
    assert!(refused.contains("503 Service Unavailable"), "each has its share: {refused}");
    assert_eq!(server.ask(&globex, &other, "message", &json!({ "prompt": "And images" })).await.status, 200);
    open.until("And images").await;
    assert_eq!(server.ask(&acme, &job, "message", &json!({ "prompt": "And names" })).await.status, 200);
    streams[0].until("And names").await;
}

#[tokio::test]
async fn the_stream_of_a_revoked_key_gets_no_later_events() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    let job = server.create_job(&team, "Fix broken links").await;
    let read = server.key(&team.organization, |new| new.scope = Scope::Read).await;
    let (mut revoked, mut open) =
        (stream(&server, &team, &job, &read).await, stream(&server, &team, &job, &team.key).await);
    revoked.until("event: created").await;
    open.until("event: created").await;
    let keys = server.app.accounts.keys(Some(&team.organization.id)).await.unwrap();
    let key = keys.iter().find(|key| key.scope == Scope::Read).unwrap();
    assert!(server.app.accounts.revoke_key(&team.organization.id, &key.id).await.unwrap());
    assert_eq!(server.ask(&team, &job, "message", &json!({ "prompt": "Later words" })).await.status, 200);
    open.until("Later words").await;
    let rest = revoked.until(LAST_CHUNK).await;
    assert!(!rest.contains("Later words") && !rest.contains("event:"), "{rest}");
}

#[tokio::test]
async fn the_stream_of_an_expired_key_ends() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    let job = server.create_job(&team, "Fix broken links").await;
    let mut open = stream(&server, &team, &job, &team.key).await;
    open.until("event: created").await;
    server.clock.advance(SignedDuration::from_hours(24 * 8));
    open.until(LAST_CHUNK).await;
}

/// Opens the event stream of a job's page in the dashboard.
async fn page_stream(
    browser: &Browser<'_>,
    server: &TestServer,
    team: &Team,
    job: &serde_json::Value,
) -> RawClient {
    let path = format!("/p/{}/jobs/{}/events", team.project.id, job["id"].as_str().unwrap());
    let ask = format!("GET {path} HTTP/1.1\r\nhost: x\r\ncookie: {}\r\n\r\n", browser.cookie());
    let mut open = RawClient::send(server, &ask).await;
    open.until("data: news").await;
    open
}

#[tokio::test]
async fn the_stream_of_an_ended_session_ends() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    for name in ["ada@acme.dev", "bob@acme.dev"] {
        person(&server, &team, name, Role::Owner).await;
    }
    let job = server.create_job(&team, "Fix broken links").await;
    let bob = browser(&server, "bob@acme.dev").await;
    let mut stays = page_stream(&bob, &server, &team, &job).await;
    let endings: [(&str, &[(&str, &str)]); 3] = [
        ("/logout", &[]),
        ("/logout/everywhere", &[]),
        ("/people/password", &[("current", PASSWORD), ("new", "another long password")]),
    ];
    for (path, fields) in endings {
        let ada = browser(&server, "ada@acme.dev").await;
        let mut open = page_stream(&ada, &server, &team, &job).await;
        assert_eq!(ada.post(path, fields).await.status, 303, "{path}");
        open.until(LAST_CHUNK).await;
    }
    let people = server.app.people.people(Some(&team.organization.id)).await.unwrap();
    let ada = people.iter().find(|person| person.name == "ada@acme.dev").unwrap();
    let session = server.app.sessions.start_session(&ada.id).await.unwrap().unwrap();
    let cookie = format!("docwright={}", session.reveal());
    let path = format!("/p/{}/jobs/{}/events", team.project.id, job["id"].as_str().unwrap());
    let ask = format!("GET {path} HTTP/1.1\r\nhost: x\r\ncookie: {cookie}\r\n\r\n");
    let mut open = RawClient::send(&server, &ask).await;
    open.until("data: news").await;
    assert_eq!(bob.post(&format!("/people/{}/remove", ada.id.0), &[]).await.status, 303);
    open.until(LAST_CHUNK).await;
    assert_eq!(server.ask(&team, &job, "message", &json!({ "prompt": "And images" })).await.status, 200);
    stays.until("data: news").await;
}

#[tokio::test]
async fn the_dashboard_obeys_the_limit_of_jobs() {
    let server = TestServer::start_with(|settings| settings.limits.jobs = 3).await;
    let team = server.team("acme", &[]).await;
    let browser = Browser::signed_in(&server, &team).await;
    let jobs = format!("/p/{}/jobs", team.project.id);
    let created = browser.post(&jobs, &[("prompt", "Fix broken links")]).await;
    let job = created.header("location").to_owned();
    assert_eq!(browser.post(&format!("{job}/message"), &[("prompt", "And images")]).await.status, 303);
    assert_eq!(browser.post(&format!("{job}/retry"), &[]).await.status, 303);
    let once = Browser::signed_in(&server, &team).await;
    let refused = [
        browser.post(&jobs, &[("prompt", "One \"more\"")]).await,
        once.post(&jobs, &[("prompt", "One more"), ("once", "form-1")]).await,
        browser.post(&format!("{job}/message"), &[("prompt", "One more")]).await,
        once.post(&format!("{job}/message"), &[("prompt", "One more"), ("once", "form-2")]).await,
        browser.post(&format!("{job}/retry"), &[]).await,
    ];
    for answer in &refused {
        assert_eq!(answer.status, 429, "{answer}");
        assert!(answer.body.contains("limit of 3 jobs and follow-ups per hour"), "{answer}");
        assert!(answer.header("retry-after").parse::<u64>().unwrap() <= 3_600);
    }
    assert!(refused[0].body.contains("One &#34;more&#34;"), "the form keeps the prompt: {}", refused[0]);
    let api = format!("/v2/agent/{}/job", team.project.id);
    assert_eq!(
        server.post(&team.key, &api, &json!({ "prompt": "x" })).await.status,
        429,
        "the API and the dashboard share the limit"
    );
    server.clock.advance(SignedDuration::from_hours(1));
    assert_eq!(browser.post(&jobs, &[("prompt", "One more")]).await.status, 303);
}

/// Five people sign in through a proxy.
async fn sign_in_five_people(server: &TestServer) {
    for name in ["a", "b", "c", "d", "e"] {
        let form = [("name", format!("{name}@acme.dev")), ("password", "wrong".into())];
        let request = server.request(Method::POST, "/login").header("x-forwarded-for", "203.0.113.5");
        send(request.form(&form)).await;
    }
}

#[tokio::test]
async fn a_proxy_that_is_not_trusted_is_noticed() {
    let server = TestServer::start().await;
    sign_in_five_people(&server).await;
    let note = DataDir::at(&server.data()).untrusted_proxy().unwrap();
    assert!(note.contains("--trusted-proxy 127.0.0.1") && note.contains("trusted_proxies"), "{note}");

    let trusting = |settings: &mut server::Settings| {
        settings.proxies.trusted = vec!["127.0.0.0/8".parse().unwrap()];
    };
    let server = TestServer::start_with(trusting).await;
    sign_in_five_people(&server).await;
    assert_eq!(DataDir::at(&server.data()).untrusted_proxy(), None);
}
