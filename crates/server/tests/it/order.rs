//! Tests the order of errors for requests with several faults: 401, 403 for the address, 404, 403 for the
//! scope, 429, 415, 413, 400.

use reqwest::header::ORIGIN;
use store::{Allow, Scope};

use crate::bad_requests::row::{SITE, check_error_format};
use crate::findings::open_finding;
use crate::operations::Operation;
use crate::raw;
use crate::support::{Answer, TestServer};

/// The faults of a request, in the order in which they are reported.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Fault {
    Key,
    Address,
    Project,
    /// The path names no job, or no finding.
    Job,
    Scope,
    Limit,
    Kind,
    Size,
    Content,
}

const ORDER: [(Fault, &str); 11] = [
    (Fault::Key, "401 unauthorized"),
    (Fault::Address, "403 address_not_allowed"),
    (Fault::Project, "404 no_such_project"),
    (Fault::Job, "404 no_such_job"),
    (Fault::Job, "404 no_such_finding"),
    (Fault::Scope, "403 scope_too_small"),
    (Fault::Limit, "429 rate_limited"),
    (Fault::Kind, "415 unsupported_media_type"),
    (Fault::Size, "413 too_large"),
    (Fault::Content, "400 invalid_body"),
    (Fault::Content, "400 invalid_query"),
];

/// A server whose limits can be used up, and a key for each fault of a key.
struct Fixture {
    server: TestServer,
    project: String,
    job: String,
    finding: String,
    valid_key: String,
    read_key: String,
    other_address_key: String,
}

impl Fixture {
    async fn start(jobs: u32, reads: u32) -> Self {
        let server = TestServer::start_with(|settings| {
            settings.limits.jobs = jobs;
            settings.limits.reads = reads;
            settings.limits.beacons = reads;
        })
        .await;
        let team = server.team("acme", &[]).await;
        let project = server.project(&team, |new| new.sites = vec![SITE.into()]).await.id;
        let body = serde_json::json!({ "prompt": "Fix broken links" });
        let job = server.post(&team.key, &format!("/v2/agent/{project}/job"), &body).await;
        server.get(&team.key, &format!("/v1/analytics/{project}/views")).await;
        let job = job.json()["id"].as_str().unwrap().to_owned();
        let finding = open_finding(&server, &team.key, &project, "/setup").await;
        let read_key = server.key(&team.organization, |new| new.scope = Scope::Read).await;
        let allow = Allow::parse(["192.0.2.0/24"]).unwrap();
        let shape = |new: &mut store::NewKey| (new.scope, new.allow) = (Scope::Read, allow);
        let other_address_key = server.key(&team.organization, shape).await;
        Self { server, project: project.0, job, finding, valid_key: team.key, read_key, other_address_key }
    }

    /// Sends a request that has `first` and all later faults.
    async fn send_with_faults(&self, operation: &Operation, first: Fault) -> Answer {
        let key = match first {
            Fault::Key => "dw_wrong",
            Fault::Address => &self.other_address_key,
            Fault::Project | Fault::Job | Fault::Scope => &self.read_key,
            _ => &self.valid_key,
        };
        let project = if first <= Fault::Project { "nowhere" } else { &self.project };
        let (job, finding) = match first <= Fault::Job {
            true => ("nothing", "nothing"),
            false => (self.job.as_str(), self.finding.as_str()),
        };
        let path = operation.path(project, job, finding);
        send(
            self,
            &format!("{} {path}?limit=junk&dateFrom=junk&week=junk", operation.method),
            &format!("authorization: Bearer {key}"),
            first,
        )
        .await
    }
}

/// Sends a body that has `first` and all later faults of a body.
async fn send(fixture: &Fixture, line: &str, header: &str, first: Fault) -> Answer {
    let kind = if first <= Fault::Kind { "image/png" } else { "application/json" };
    let length = if first <= Fault::Size { 10_000_000_000_u64 } else { 4 };
    let request = format!(
        "{line} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{header}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\njunk"
    );
    raw::exchange(&fixture.server, request.as_bytes()).await.pop().unwrap()
}

#[track_caller]
fn check(what: &str, method: &str, answer: &Answer, expected: &str) {
    let got = format!("{} {}", answer.status, answer.header("x-error-code"));
    assert_eq!(got, expected, "{what}: {answer}");
    check_error_format(what, method, answer);
}

#[tokio::test]
async fn the_first_error_in_the_documented_order_is_returned() {
    let (used_up, unused) = (Fixture::start(1, 1).await, Fixture::start(1_000, 1_000).await);
    let mut checked = 0;
    for operation in Operation::with_key() {
        // Both are a 400, and the body is checked first.
        let is_hidden = |expected| expected == "400 invalid_query" && operation.has_error("400 invalid_body");
        // The findings of a body are read after all these checks.
        let is_of_body = |expected| expected == "404 no_such_finding" && !operation.has_finding_id();
        let is_reported =
            |expected| operation.has_error(expected) && !is_hidden(expected) && !is_of_body(expected);
        for (first, expected) in ORDER.into_iter().filter(|(_, expected)| is_reported(expected)) {
            let fixture = if first <= Fault::Limit { &used_up } else { &unused };
            let answer = fixture.send_with_faults(&operation, first).await;
            check(&operation.id, operation.method.as_str(), &answer, expected);
            checked += 1;
        }
    }
    assert!(checked >= 80, "{checked} errors");
}

#[tokio::test]
async fn the_first_error_of_a_browser_view_is_returned() {
    let (used_up, unused) = (Fixture::start(1, 1).await, Fixture::start(1_000, 1_000).await);
    let collect = |project: &str| format!("POST /v1/collect/{project}");
    let (good, evil) = (format!("{ORIGIN}: {SITE}"), format!("{ORIGIN}: https://evil.example"));
    let (mine, others) = (collect(&used_up.project), collect(&unused.project));
    let view = format!(
        "POST /v1/collect/{} HTTP/1.0\r\n{good}\r\ncontent-length: 12\r\n\r\n{{\"path\":\"/\"}}",
        used_up.project
    );
    assert_eq!(raw::exchange(&used_up.server, view.as_bytes()).await[0].status, 204);
    for (fixture, line, header, first, expected) in [
        (&used_up, &collect("nowhere"), &evil, Fault::Project, "404 no_such_project"),
        (&used_up, &mine, &evil, Fault::Scope, "403 origin_not_allowed"),
        (&used_up, &mine, &good, Fault::Limit, "429 rate_limited"),
        (&unused, &others, &good, Fault::Kind, "415 unsupported_media_type"),
        (&unused, &others, &good, Fault::Size, "413 too_large"),
        (&unused, &others, &good, Fault::Content, "400 invalid_body"),
    ] {
        check(line, "POST", &send(fixture, line, header, first).await, expected);
    }
    let preflight = |project: &str| format!("OPTIONS /v1/collect/{project}");
    check(
        "ask",
        "OPTIONS",
        &send(&unused, &preflight("nowhere"), &evil, Fault::Project).await,
        "404 no_such_project",
    );
    check(
        "ask",
        "OPTIONS",
        &send(&unused, &preflight(&unused.project), &evil, Fault::Scope).await,
        "403 origin_not_allowed",
    );
}
