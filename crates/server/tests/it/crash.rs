//! Tests that an interrupted job is resumed and ends with one pull request.

use serde_json::json;
use store::{NewEvent, WorkerId};
use tokio_util::sync::CancellationToken;

use crate::support::{Team, TestServer, git};

const FILES: &[(&str, &str)] = &[("a.md", "one\n")];
const PROMPT: &str = "Replace \"one\" with \"two\".";

async fn pulls(server: &TestServer, team: &Team) -> usize {
    server.app.pulls.pulls(&team.project.id, 100).await.unwrap().len()
}

/// Leases the job as a worker that then dies.
async fn lease_and_die(server: &TestServer, worker: &str) -> store::Lease {
    let worker = WorkerId(worker.into());
    server.app.queue.heartbeat(&worker).await.unwrap();
    server.app.queue.lease_next(&worker).await.unwrap().unwrap()
}

async fn expire_leases(server: &TestServer) {
    server.clock.advance(store::LEASE);
}

#[tokio::test]
async fn another_worker_runs_the_job_of_a_dead_worker() {
    let server = TestServer::start().await;
    let team = server.team("acme", FILES).await;
    let job = server.create_job(&team, PROMPT).await;
    let dead = lease_and_die(&server, "dead").await;
    server.run_queued_jobs().await; // the lease is still valid, so nothing runs
    assert_eq!(server.job(&team, &job["id"]).await["status"], "active");
    expire_leases(&server).await;
    server.run_queued_jobs().await;
    assert_eq!(server.job(&team, &job["id"]).await["status"], "completed");
    assert!(server.app.queue.record(&dead, vec![NewEvent::new("step", "late")]).await.is_err());
    assert_eq!(pulls(&server, &team).await, 1);
}

#[tokio::test]
async fn a_worker_that_died_before_it_recorded_the_end_leaves_one_pull_request() {
    // The run completes, but its end isn't recorded, as if the process died just before.
    let server = TestServer::start().await;
    let team = server.team("acme", FILES).await;
    let job = server.create_job(&team, PROMPT).await;
    server.run_queued_jobs().await;
    let first = server.job(&team, &job["id"]).await;
    let branch = first["source"]["ref"].as_str().unwrap().to_owned();
    let tip = git(&team.repository, &["rev-parse", &branch]);

    let raw = raw_store(&server).await;
    sqlx::query("UPDATE jobs SET status = 'active', pr_link = NULL, ended_at = NULL")
        .execute(&raw)
        .await
        .unwrap();
    server.run_queued_jobs().await;
    let again = server.job(&team, &job["id"]).await;
    assert_eq!((&again["status"], &again["prLink"]), (&json!("completed"), &first["prLink"]));
    assert_eq!(pulls(&server, &team).await, 1);
    assert_eq!(git(&team.repository, &["rev-parse", &branch]), tip);
}

#[tokio::test]
async fn a_resumed_job_without_a_cache_finds_its_branch_on_the_host() {
    let server = TestServer::start().await;
    let team = server.team("acme", FILES).await;
    let job = server.create_job(&team, PROMPT).await;
    server.run_queued_jobs().await;
    let first = server.job(&team, &job["id"]).await;
    // A new machine has no cache, and main moved.
    let repos = server.data().join("repos");
    std::fs::remove_dir_all(&repos).unwrap();
    let branch = first["source"]["ref"].as_str().unwrap().to_owned();
    let tip = git(&team.repository, &["rev-parse", &branch]);
    let tree = git(&team.repository, &["rev-parse", "main^{tree}"]);
    let moved = git(&team.repository, &["commit-tree", &tree, "-p", "main", "-m", "Moved on"]);
    git(&team.repository, &["update-ref", "refs/heads/main", &moved]);

    let raw = raw_store(&server).await;
    sqlx::query("UPDATE jobs SET status = 'active', pr_link = NULL, ended_at = NULL")
        .execute(&raw)
        .await
        .unwrap();
    server.run_queued_jobs().await;
    let again = server.job(&team, &job["id"]).await;
    assert_eq!((&again["status"], &again["prLink"]), (&json!("completed"), &first["prLink"]));
    assert_eq!(git(&team.repository, &["rev-parse", &branch]), tip);
}

#[tokio::test]
async fn a_message_before_an_unrecorded_end_is_answered_on_the_same_branch() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[("a.md", "one and more\n")]).await;
    let job = server.create_job(&team, PROMPT).await;
    server.run_queued_jobs().await;
    let raw = raw_store(&server).await;
    sqlx::query("UPDATE jobs SET status = 'active', pr_link = NULL, ended_at = NULL")
        .execute(&raw)
        .await
        .unwrap();
    let more = json!({ "prompt": "Replace \"more\" with \"less\"." });
    assert_eq!(server.ask(&team, &job, "message", &more).await.status, 200);
    server.run_queued_jobs().await;
    let ended = server.job(&team, &job["id"]).await;
    assert_eq!(ended["status"], "completed");
    let branch = ended["source"]["ref"].as_str().unwrap();
    assert_eq!(git(&team.repository, &["show", &format!("{branch}:a.md")]), "two and less");
    assert_eq!(pulls(&server, &team).await, 1);
    let path = format!("/v2/agent/{}/job/{}/diff", team.project.id, job["id"].as_str().unwrap());
    let diff = server.get(&team.key, &path).await.body;
    assert!(diff.contains("-one and more\n+two and less\n"), "the whole change: {diff}");
}

#[tokio::test]
async fn a_stale_pin_is_removed_at_the_next_start() {
    let server = TestServer::start().await;
    let team = server.team("acme", FILES).await;
    let job = server.create_job(&team, PROMPT).await;
    server.run_queued_jobs().await;
    let job = job["id"].as_str().unwrap();
    let pins = server.data().join(format!("repos/{}.git/refs/docwright/pins", team.project.id));
    let (pin, base) = (pins.join(job), pins.join(format!("{job}-base")));
    std::fs::copy(&base, &pin).unwrap();
    let (worker, stop) = (server::Worker::new(server.app.clone(), 1), CancellationToken::new());
    let working = async {
        while pin.exists() {
            tokio::task::yield_now().await;
        }
        stop.cancel();
    };
    tokio::join!(worker.work(stop.clone()), working);
    assert!(base.exists(), "the pin of the base commit stays");
}

async fn raw_store(server: &TestServer) -> sqlx::SqlitePool {
    sqlx::SqlitePool::connect(server.data().join("docwright.db").to_str().unwrap()).await.unwrap()
}
