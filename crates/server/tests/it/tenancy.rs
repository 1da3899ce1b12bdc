//! Tests every operation with every kind of key: the documented response, the same bytes for what doesn't
//! exist and for what a key can't see, and no change by a refused request.

use reqwest::header::{DATE, HeaderMap};
use serde_json::Value;
use store::{Allow, Expiry, KeyText, ProjectId, Scope};

use crate::bad_requests::row::check_error_format;
use crate::findings::open_finding;
use crate::operations::Operation;
use crate::support::{Answer, Team, TestServer, send};

const UNAUTHORIZED: &str = "401 unauthorized";
const NO_PROJECT: &str = "404 no_such_project";
/// The path that each project's finding is about.
const SUBJECT: &str = "/setup";

/// Two organizations; the first has two projects, each with a job and a finding.
struct Matrix {
    server: TestServer,
    mine: Team,
    job: String,
    finding: String,
    sibling: ProjectId,
    siblings_job: String,
    siblings_finding: String,
    theirs: Team,
    theirs_job: String,
    theirs_finding: String,
}

impl Matrix {
    async fn open() -> Self {
        let server = TestServer::start_with(|settings| settings.limits.jobs = 1_000).await;
        let (mine, theirs) = (server.team("acme", &[]).await, server.team("globex", &[]).await);
        let sibling = server.project(&mine, |_| {}).await.id;
        let job = new_job(&server, &mine.key, &mine.project.id).await;
        let siblings_job = new_job(&server, &mine.key, &sibling).await;
        let theirs_job = new_job(&server, &theirs.key, &theirs.project.id).await;
        let finding = open_finding(&server, &mine.key, &mine.project.id, SUBJECT).await;
        let siblings_finding = open_finding(&server, &mine.key, &sibling, SUBJECT).await;
        let theirs_finding = open_finding(&server, &theirs.key, &theirs.project.id, SUBJECT).await;
        Self {
            server,
            mine,
            job,
            finding,
            sibling,
            siblings_job,
            siblings_finding,
            theirs,
            theirs_job,
            theirs_finding,
        }
    }

    /// Sends the example body, with this finding. An empty key sends none.
    async fn call(&self, operation: &Operation, key: &str, path: &str, finding: &str) -> Answer {
        let mut request = self.server.request(operation.method.clone(), path);
        if !key.is_empty() {
            request = request.bearer_auth(key);
        }
        send(match operation.example_body_for(finding) {
            Some(body) => request.json(&body),
            None => request,
        })
        .await
    }

    /// Every kind of key that can't see the project, and the expected error.
    async fn invalid_keys(&self) -> Vec<(&'static str, String, &'static str)> {
        let Self { server, mine, .. } = self;
        let ours = &mine.organization;
        let wrong = format!("{}{}", &mine.key[..48], if mine.key.ends_with('0') { '1' } else { '0' });
        let revoked = server.key(ours, |_| {}).await;
        let known = server.app.accounts.key(&KeyText::parse(&revoked).unwrap()).await.unwrap().unwrap();
        server.app.accounts.revoke_key(&ours.id, &known.id).await.unwrap();
        let now = Expiry::At(server.app.clock.now());
        let elsewhere = Allow::parse(["192.0.2.0/24", "2001:db8::/32"]).unwrap();
        let other = vec![self.sibling.clone()];
        vec![
            ("no key", String::new(), UNAUTHORIZED),
            ("a key with a wrong checksum", wrong, UNAUTHORIZED),
            ("an unknown key", KeyText::random().reveal().to_owned(), UNAUTHORIZED),
            ("a revoked key", revoked, UNAUTHORIZED),
            ("an expired key", server.key(ours, |new| new.expiry = now).await, UNAUTHORIZED),
            (
                "a key for other addresses",
                server.key(ours, |new| new.allow = elsewhere).await,
                "403 address_not_allowed",
            ),
            (
                "a key for another project",
                server.key(ours, |new| new.projects = Some(other)).await,
                NO_PROJECT,
            ),
            ("a key for no project", server.key(ours, |new| new.projects = Some(vec![])).await, NO_PROJECT),
            ("a key of another organization", self.theirs.key.clone(), NO_PROJECT),
        ]
    }

    /// All data that a request can change: jobs, their events, views, findings, and the last use of a key.
    async fn state(&self) -> Vec<String> {
        let Self { server, mine, theirs, .. } = self;
        let mut all = Vec::new();
        for (key, project, job) in [
            (&mine.key, &mine.project.id, &self.job),
            (&mine.key, &self.sibling, &self.siblings_job),
            (&theirs.key, &theirs.project.id, &self.theirs_job),
        ] {
            for path in [
                format!("/v2/agent/{project}/jobs"),
                format!("/v2/agent/{project}/job/{job}/events"),
                format!("/v1/analytics/{project}/views"),
                format!("/v1/findings/{project}"),
            ] {
                all.push(server.get(key, &path).await.to_string());
            }
        }
        let keys = server.app.accounts.keys(None).await.unwrap();
        let good = [&mine.key, &theirs.key].map(|key| KeyText::parse(key).unwrap().hint());
        let others = keys.iter().filter(|key| !good.contains(&key.hint));
        all.extend(others.map(|key| format!("{:?}", (&key.id, key.last_used_at, key.revoked_at))));
        all
    }
}

async fn new_job(server: &TestServer, key: &str, project: &ProjectId) -> String {
    let body = serde_json::json!({ "prompt": "Fix broken links" });
    let job = server.post(key, &format!("/v2/agent/{project}/job"), &body).await;
    assert_eq!(job.status, 201, "{job}");
    job.json()["id"].as_str().unwrap().to_owned()
}

#[track_caller]
fn check(operation: &Operation, who: &str, answer: &Answer, expected: &str) {
    let got = format!("{} {}", answer.status, answer.header("x-error-code"));
    assert_eq!(got, expected, "{} with {who}: {answer}", operation.id);
    assert!(operation.has_error(expected), "{} does not describe {expected}", operation.id);
    check_error_format(&operation.id, operation.method.as_str(), answer);
}

/// The jobs of these tests have no pull request, which the key may know.
fn is_success(operation: &Operation, answer: &Answer) -> bool {
    match operation.id.as_str() {
        "getPull" => answer.header("x-error-code") == "no_pull_request",
        _ => (200..300).contains(&answer.status),
    }
}

/// A response without its request id and its date.
fn comparable(answer: &Answer) -> (u16, String, HeaderMap) {
    let mut headers = answer.headers.clone();
    headers.remove("x-request-id");
    headers.remove(DATE);
    (answer.status, answer.body.clone(), headers)
}

#[tokio::test]
async fn an_invalid_key_is_refused_by_every_operation() {
    let matrix = Matrix::open().await;
    let keys = matrix.invalid_keys().await;
    let before = matrix.state().await;
    for operation in Operation::with_key() {
        let finding = &matrix.finding;
        let path = operation.path(&matrix.mine.project.id.0, &matrix.job, finding);
        let nowhere = operation.path("nowhere", "nothing", "nothing");
        let missing = matrix.call(&operation, &matrix.mine.key, &nowhere, finding).await;
        check(&operation, "a good key, nowhere", &missing, NO_PROJECT);
        let stranger = matrix.call(&operation, "", &nowhere, finding).await;
        for (who, key, expected) in &keys {
            let answer = matrix.call(&operation, key, &path, finding).await;
            check(&operation, who, &answer, expected);
            for same in [&missing, &stranger].into_iter().filter(|same| same.status == answer.status) {
                assert_eq!(comparable(&answer), comparable(same), "{} with {who}", operation.id);
            }
            let elsewhere = matrix.call(&operation, key, &nowhere, finding).await;
            assert_eq!(comparable(&elsewhere), comparable(&answer), "{} with {who}, nowhere", operation.id);
        }
    }
    assert_eq!(matrix.state().await, before);
}

#[tokio::test]
async fn a_job_of_another_project_is_a_404() {
    let matrix = Matrix::open().await;
    let Matrix { mine, siblings_job, theirs_job, .. } = &matrix;
    let before = matrix.state().await;
    let read_key = matrix.server.key(&mine.organization, |new| new.scope = Scope::Read).await;
    let operations = Operation::with_key();
    for operation in operations.iter().filter(|operation| operation.has_job_id()) {
        for key in [&mine.key, &read_key] {
            let at = async |job: &str| {
                let path = operation.path(&mine.project.id.0, job, "");
                let answer = matrix.call(operation, key, &path, "").await;
                check(operation, job, &answer, "404 no_such_job");
                comparable(&answer)
            };
            let missing = at("01a1dd26-4199-70ce-9396-3df47d75158f").await;
            assert_eq!(at(siblings_job).await, missing, "{}", operation.id);
            assert_eq!(at(theirs_job).await, missing, "{}", operation.id);
        }
    }
    assert_eq!(matrix.state().await[..12], before[..12]);
}

#[tokio::test]
async fn a_finding_of_another_project_is_a_404() {
    let matrix = Matrix::open().await;
    let Matrix { mine, siblings_finding, theirs_finding, .. } = &matrix;
    let before = matrix.state().await;
    let operations = Operation::with_key();
    let about_findings = operations.iter().filter(|operation| operation.has_error("404 no_such_finding"));
    let mut checked = 0;
    for operation in about_findings {
        let at = async |finding: &str| {
            let path = operation.path(&mine.project.id.0, "", finding);
            let answer = matrix.call(operation, &mine.key, &path, finding).await;
            check(operation, finding, &answer, "404 no_such_finding");
            comparable(&answer)
        };
        let missing = at("fnd_0000000000000000").await;
        assert_eq!(at(siblings_finding).await, missing, "{}", operation.id);
        assert_eq!(at(theirs_finding).await, missing, "{}", operation.id);
        checked += 1;
    }
    assert_eq!(checked, 4, "one, one job, several, and dismiss");
    assert_eq!(matrix.state().await, before);
}

#[tokio::test]
async fn a_read_key_can_only_read() {
    let matrix = Matrix::open().await;
    let Matrix { server, mine, job, finding, .. } = &matrix;
    let read_key = server.key(&mine.organization, |new| new.scope = Scope::Read).await;
    let before = matrix.state().await;
    for operation in Operation::with_key() {
        let path = operation.path(&mine.project.id.0, job, finding);
        let answer = matrix.call(&operation, &read_key, &path, finding).await;
        match operation.method.as_str() {
            "GET" => assert!(is_success(&operation, &answer), "{}: {answer}", operation.id),
            _ => check(&operation, "a read key", &answer, "403 scope_too_small"),
        }
    }
    assert_eq!(matrix.state().await[..12], before[..12]);
}

#[tokio::test]
async fn a_valid_key_can_call_every_operation() {
    let matrix = Matrix::open().await;
    let Matrix { server, mine, .. } = &matrix;
    let narrowed = vec![mine.project.id.clone()];
    let here = Allow::parse(["127.0.0.0/8", "::1"]).unwrap();
    let keys = [
        mine.key.clone(),
        server.key(&mine.organization, |new| new.projects = Some(narrowed)).await,
        server.key(&mine.organization, |new| new.allow = here).await,
        server.key(&mine.organization, |new| new.expiry = Expiry::Never).await,
    ];
    for (number, operation) in Operation::with_key().into_iter().enumerate() {
        for (index, key) in keys.iter().enumerate() {
            let job = new_job(server, key, &mine.project.id).await;
            let finding = match operation.has_error("404 no_such_finding") {
                true => {
                    let path = format!("/page-{number}-{index}");
                    open_finding(server, key, &mine.project.id, &path).await
                }
                false => String::new(),
            };
            let path = operation.path(&mine.project.id.0, &job, &finding);
            let answer = matrix.call(&operation, key, &path, &finding).await;
            assert!(is_success(&operation, &answer), "{}: {answer}", operation.id);
            let foreign = server.key(&matrix.theirs.organization, |_| {}).await;
            let hidden = matrix.call(&operation, &foreign, &path, &finding).await;
            check(&operation, "a key of another organization", &hidden, NO_PROJECT);
        }
    }
    let views = server.get(&mine.key, &format!("/v1/analytics/{}/views", mine.project.id)).await.json();
    assert_eq!(views["totals"]["ai"], Value::from(keys.len()), "the example views were stored");
}
