//! Who does several things wrong at once is told of the first: 401, 403 for the address, 404,
//! 403 for the scope, 429, 415, 413, 400.

use reqwest::header::ORIGIN;
use store::{Allow, Scope};

use crate::bad_requests::row::{SITE, check_shape};
use crate::operations::Operation;
use crate::raw;
use crate::support::{Answer, TestServer};

/// What can be wrong, first to last.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Wrong {
    Key,
    Address,
    Project,
    Job,
    Scope,
    Limit,
    Kind,
    Size,
    Content,
}

const ORDER: [(Wrong, &str); 10] = [
    (Wrong::Key, "401 unauthorized"),
    (Wrong::Address, "403 address_not_allowed"),
    (Wrong::Project, "404 no_such_project"),
    (Wrong::Job, "404 no_such_job"),
    (Wrong::Scope, "403 scope_too_small"),
    (Wrong::Limit, "429 rate_limited"),
    (Wrong::Kind, "415 unsupported_media_type"),
    (Wrong::Size, "413 too_large"),
    (Wrong::Content, "400 invalid_body"),
    (Wrong::Content, "400 invalid_query"),
];

/// A server whose limits are used up, or not, and a key for each thing that can be wrong with one.
struct House {
    server: TestServer,
    project: String,
    job: String,
    good: String,
    reading: String,
    elsewhere: String,
}

impl House {
    async fn open(jobs: u32, reads: u32) -> Self {
        let server = TestServer::start_with(|settings| {
            settings.limits.jobs = jobs;
            settings.limits.reads = reads;
            settings.limits.beacons = reads;
        })
        .await;
        let team = server.team("acme", &[]).await;
        let project = server.project(&team, |new| new.sites = vec![SITE.into()]).await.id.0;
        let body = serde_json::json!({ "prompt": "Fix broken links" });
        let job = server.post(&team.key, &format!("/v2/agent/{project}/job"), &body).await;
        server.get(&team.key, &format!("/v1/analytics/{project}/views")).await;
        let job = job.json()["id"].as_str().unwrap().to_owned();
        let reading = server.key(&team.organization, |new| new.scope = Scope::Read).await;
        let allow = Allow::parse(["192.0.2.0/24"]).unwrap();
        let shape = |new: &mut store::NewKey| (new.scope, new.allow) = (Scope::Read, allow);
        let elsewhere = server.key(&team.organization, shape).await;
        Self { server, project, job, good: team.key, reading, elsewhere }
    }

    /// Right up to `first`, and wrong from there on in every way that there is.
    async fn ask(&self, operation: &Operation, first: Wrong) -> Answer {
        let key = match first {
            Wrong::Key => "dw_wrong",
            Wrong::Address => &self.elsewhere,
            Wrong::Project | Wrong::Job | Wrong::Scope => &self.reading,
            _ => &self.good,
        };
        let project = if first <= Wrong::Project { "nowhere" } else { &self.project };
        let job = if first <= Wrong::Job { "nothing" } else { &self.job };
        let path = operation.path(project, job);
        send(
            self,
            &format!("{} {path}?limit=junk&dateFrom=junk", operation.method),
            &format!("authorization: Bearer {key}"),
            first,
        )
        .await
    }
}

/// The body is of no type, too large, or junk: whatever comes first from `first` on.
async fn send(house: &House, line: &str, header: &str, first: Wrong) -> Answer {
    let kind = if first <= Wrong::Kind { "image/png" } else { "application/json" };
    let length = if first <= Wrong::Size { 10_000_000_000_u64 } else { 4 };
    let request = format!(
        "{line} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{header}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\njunk"
    );
    raw::exchange(&house.server, request.as_bytes()).await.pop().unwrap()
}

#[track_caller]
fn check(what: &str, method: &str, answer: &Answer, expected: &str) {
    let got = format!("{} {}", answer.status, answer.header("x-error-code"));
    assert_eq!(got, expected, "{what}: {answer}");
    check_shape(what, method, answer);
}

#[tokio::test]
async fn the_first_thing_wrong_is_told() {
    let (used_up, fresh) = (House::open(1, 1).await, House::open(1_000, 1_000).await);
    let mut told = 0;
    for operation in Operation::with_key() {
        // Both are a 400, and the body comes first.
        let hidden = |expected| expected == "400 invalid_query" && operation.answers("400 invalid_body");
        let known = |expected| operation.answers(expected) && !hidden(expected);
        for (first, expected) in ORDER.into_iter().filter(|(_, expected)| known(expected)) {
            let house = if first <= Wrong::Limit { &used_up } else { &fresh };
            let answer = house.ask(&operation, first).await;
            check(&operation.id, operation.method.as_str(), &answer, expected);
            told += 1;
        }
    }
    assert!(told >= 45, "{told} answers");
}

#[tokio::test]
async fn the_first_thing_wrong_with_a_view_is_told() {
    let (used_up, fresh) = (House::open(1, 1).await, House::open(1_000, 1_000).await);
    let collect = |project: &str| format!("POST /v1/collect/{project}");
    let (good, evil) = (format!("{ORIGIN}: {SITE}"), format!("{ORIGIN}: https://evil.example"));
    let (mine, others) = (collect(&used_up.project), collect(&fresh.project));
    let view = format!(
        "POST /v1/collect/{} HTTP/1.0\r\n{good}\r\ncontent-length: 12\r\n\r\n{{\"path\":\"/\"}}",
        used_up.project
    );
    assert_eq!(raw::exchange(&used_up.server, view.as_bytes()).await[0].status, 204);
    for (house, line, header, first, expected) in [
        (&used_up, &collect("nowhere"), &evil, Wrong::Project, "404 no_such_project"),
        (&used_up, &mine, &evil, Wrong::Scope, "403 origin_not_allowed"),
        (&used_up, &mine, &good, Wrong::Limit, "429 rate_limited"),
        (&fresh, &others, &good, Wrong::Kind, "415 unsupported_media_type"),
        (&fresh, &others, &good, Wrong::Size, "413 too_large"),
        (&fresh, &others, &good, Wrong::Content, "400 invalid_body"),
    ] {
        check(line, "POST", &send(house, line, header, first).await, expected);
    }
    let preflight = |project: &str| format!("OPTIONS /v1/collect/{project}");
    check(
        "ask",
        "OPTIONS",
        &send(&fresh, &preflight("nowhere"), &evil, Wrong::Project).await,
        "404 no_such_project",
    );
    check(
        "ask",
        "OPTIONS",
        &send(&fresh, &preflight(&fresh.project), &evil, Wrong::Scope).await,
        "403 origin_not_allowed",
    );
}
