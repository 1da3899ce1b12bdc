//! Tests a data directory that is deleted, replaced or moved while the server runs: no write is acknowledged
//! that would be lost, and nothing is pushed that another server may own.

use reqwest::Method;
use serde_json::json;
use server::model::Provider;
use server::{Server, Settings, Worker};
use tokio_util::sync::CancellationToken;

use crate::agent::{create, edit, server_with};
use crate::pages::Browser;
use crate::postgres::on_postgres;
use crate::provider::{FakeProvider, Turn, finish};
use crate::support::{Team, TestServer, git, send};

const FILES: &[(&str, &str)] = &[("a.md", "one\n")];
const PROMPT: &str = "Replace \"one\" with \"eins\".";

/// Checks the directory as it is now, without a cached result.
#[track_caller]
fn check_lost(server: &TestServer, sentence: &str) {
    let lost = server.app.directory.check().unwrap_err().to_string();
    assert!(lost.contains(sentence), "{lost}");
}

async fn check_writes_are_refused(server: &TestServer, team: &Team) {
    let browser = Browser::signed_in(server, team).await;
    let job = server.create_job(team, PROMPT).await;
    std::fs::remove_dir_all(server.data()).unwrap();
    check_lost(server, "was deleted under this server");
    let project = &team.project.id;
    for (path, body) in [
        (format!("/v2/agent/{project}/job"), json!({ "prompt": PROMPT })),
        (
            format!("/v2/agent/{project}/job/{}/message", job["id"].as_str().unwrap()),
            json!({ "prompt": PROMPT }),
        ),
        (format!("/v1/analytics/{project}/events"), json!([{ "path": "/" }])),
        (format!("/v1/collect/{project}"), json!({ "path": "/" })),
    ] {
        let refused = server.post(&team.key, &path, &body).await;
        assert_eq!((refused.status, refused.header("retry-after")), (503, "1"), "{path}: {refused}");
        assert_eq!(refused.header("x-error-code"), "data_directory_lost");
        assert!(refused.body.contains("data directory was deleted or replaced"), "{refused}");
    }
    let form = server.request(Method::POST, &format!("/p/{project}/jobs")).header("accept", "text/html");
    let form = send(form.header("cookie", browser.cookie()).form(&[("prompt", PROMPT)])).await;
    assert!(form.status == 503 && form.body.contains("Nothing was changed"), "{form}");
    // Reads from the open files still work.
    assert_eq!(server.job(team, &job["id"]).await["id"], job["id"]);
    let list = server.get(&team.key, &format!("/v2/agent/{project}/jobs")).await;
    assert_eq!((list.status, list.json()["jobs"].as_array().map(Vec::len)), (200, Some(1)), "{list}");
}

#[tokio::test]
async fn writes_are_refused_without_the_data_directory() {
    let server = TestServer::start().await;
    let team = server.team("acme", FILES).await;
    check_writes_are_refused(&server, &team).await;
}

#[tokio::test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn writes_are_refused_without_the_data_directory_on_postgres() {
    let (server, _database, _keys) = on_postgres().await;
    let team = server.team("acme", FILES).await;
    check_writes_are_refused(&server, &team).await;
}

/// A directory that is moved away and back still has the lock, so no other server used it.
#[tokio::test]
async fn a_job_is_released_and_resumes_when_the_directory_is_back() {
    let provider = FakeProvider::start([edit("a minute", "two minutes"), Turn::Silence]).await;
    let (server, team) = server_with(&provider, Provider::Anthropic, |_| {}).await;
    let job = create(&server, &team, "Say how long the setup takes").await;
    let (worker, stop) = (Worker::new(server.app.clone(), 1), CancellationToken::new());
    let working = tokio::spawn({
        let stop = stop.clone();
        async move { worker.work(stop).await }
    });
    while provider.sent().len() < 2 {
        tokio::task::yield_now().await;
    }
    let away = server.data().with_extension("away");
    std::fs::rename(server.data(), &away).unwrap();
    while server.app.jobs.counts().await.unwrap().running > 0 {}
    check_lost(&server, "was deleted under this server");
    assert_eq!(server.job(&team, &job["id"]).await["status"], "active");

    provider.say(finish("Say two minutes"));
    std::fs::rename(&away, server.data()).unwrap();
    while server.job(&team, &job["id"]).await["status"] == "active" {}
    assert_eq!(server.job(&team, &job["id"]).await["status"], "completed");
    stop.cancel();
    working.await.unwrap();
}

/// Not even before the worker stops its jobs.
#[tokio::test]
async fn nothing_is_pushed_without_the_lock() {
    let server = TestServer::start_with(|settings| settings.metrics = true).await;
    let team = server.team("acme", FILES).await;
    server.create_job(&team, PROMPT).await;
    std::fs::remove_file(server.data().join("lock")).unwrap();
    let released =
        async { while !server.get("", "/metrics").await.body.contains("outcome=\"given_back\"} 1") {} };
    tokio::select! { () = server.run_queued_jobs() => {}, () = released => {} }
    assert_eq!(git(&team.repository, &["for-each-ref", "--format=%(refname)"]), "refs/heads/main");
    check_lost(&server, "lock was deleted under this server");
}

/// A second server can't start when the lock file is deleted. It can when the directory is replaced, because
/// the first server then refuses writes.
#[tokio::test]
async fn a_second_server_starts_only_if_the_first_one_refuses_writes() {
    let server = TestServer::start().await;
    let mut settings = Settings::new(server.data());
    settings.listen = "127.0.0.1:0".parse().unwrap();
    let second = || Server::open(&settings, server.clock.clone());
    std::fs::remove_file(server.data().join("lock")).unwrap();
    let refused = second().await.err().unwrap().to_string();
    assert!(refused.contains("another Docwright server is using"), "{refused}");
    std::fs::rename(server.data(), server.data().with_extension("old")).unwrap();
    let second = second().await.unwrap();
    second.app.directory.check().unwrap();
    check_lost(&server, "was replaced under this server");
}
