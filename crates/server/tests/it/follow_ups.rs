//! Tests follow-ups and archiving: a job has one branch and one pull request, and no message is lost.

use serde_json::{Value, json};
use store::WorkerId;

use crate::support::{Team, TestServer, git};

async fn run_to_completion(server: &TestServer, team: &Team, job: &Value) -> Value {
    server.run_queued_jobs().await;
    let job = server.job(team, &job["id"]).await;
    assert_eq!(job["status"], "completed", "{:?}", server.events(team, &job["id"]).await.last());
    job
}

fn file(team: &Team, job: &Value, name: &str) -> String {
    git(&team.repository, &["show", &format!("{}:{name}", job["source"]["ref"].as_str().unwrap())])
}

#[tokio::test]
async fn a_follow_up_adds_to_the_same_branch_and_pull_request() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[("a.md", "one two\n")]).await;
    let job = server.create_job(&team, "Replace \"one\" with \"eins\".").await;
    let first = run_to_completion(&server, &team, &job).await;

    let answer =
        server.ask(&team, &job, "message", &json!({ "prompt": "Replace \"two\" with \"zwei\"." })).await;
    assert_eq!((answer.status, &answer.json()["status"]), (200, &json!("active")), "{answer}");
    assert_eq!(answer.json()["prLink"], first["prLink"], "kept during a follow-up");
    let second = run_to_completion(&server, &team, &job).await;
    assert_eq!(second["prLink"], first["prLink"]);
    assert_eq!(file(&team, &job, "a.md"), "eins zwei");
    let path = format!("/v2/agent/{}/job/{}/diff", team.project.id, job["id"].as_str().unwrap());
    let diff = server.get(&team.key, &path).await.body;
    assert!(diff.contains("-one two\n+eins zwei\n"), "the diff of the whole job: {diff}");
    let pulls = server.app.pulls.pulls(&team.project.id, 10).await.unwrap();
    assert_eq!(pulls.len(), 1);
    assert!(pulls[0].body.contains("eins") && pulls[0].body.contains("zwei"), "the body describes both runs");
    let kinds: Vec<_> =
        server.events(&team, &job["id"]).await.iter().map(|e| e["type"].to_string()).collect();
    assert_eq!(kinds.iter().filter(|kind| *kind == "\"ended\"").count(), 2);
}

#[tokio::test]
async fn a_follow_up_keeps_the_commits_of_a_person() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[("a.md", "one two\n"), ("b.md", "b\n")]).await;
    let job = server.create_job(&team, "Replace \"one\" with \"eins\".").await;
    run_to_completion(&server, &team, &job).await;
    let work = tempfile::tempdir().unwrap();
    let branch = job["source"]["ref"].as_str().unwrap();
    git(work.path(), &["clone", "-q", "-b", branch, team.repository.to_str().unwrap(), "."]);
    std::fs::write(work.path().join("b.md"), "by hand\n").unwrap();
    git(work.path(), &["commit", "-qam", "By hand"]);
    git(work.path(), &["push", "-q", "origin", branch]);

    server.ask(&team, &job, "message", &json!({ "prompt": "Replace \"two\" with \"zwei\"." })).await;
    run_to_completion(&server, &team, &job).await;
    assert_eq!(
        (file(&team, &job, "a.md"), file(&team, &job, "b.md")),
        ("eins zwei".into(), "by hand".into())
    );
}

#[tokio::test]
async fn a_message_to_a_waiting_job_is_part_of_its_first_run() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[("a.md", "one two\n")]).await;
    let job = server.create_job(&team, "Replace \"one\" with \"eins\".").await;
    server.ask(&team, &job, "message", &json!({ "prompt": "Replace \"two\" with \"zwei\"." })).await;
    run_to_completion(&server, &team, &job).await;
    assert_eq!(file(&team, &job, "a.md"), "eins zwei");
}

#[tokio::test]
async fn a_follow_up_on_a_job_without_a_change_makes_its_first() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[("a.md", "one\n")]).await;
    let job = server.create_job(&team, "Replace \"none\" with \"x\".").await;
    assert_eq!(run_to_completion(&server, &team, &job).await["prLink"], Value::Null);
    server.ask(&team, &job, "message", &json!({ "prompt": "Replace \"one\" with \"two\"." })).await;
    assert!(run_to_completion(&server, &team, &job).await["prLink"].is_string());
}

#[tokio::test]
async fn after_a_merge_a_follow_up_is_refused() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[("a.md", "one\n")]).await;
    let job = server.create_job(&team, "Replace \"one\" with \"two\".").await;
    run_to_completion(&server, &team, &job).await;
    let branch = format!("refs/heads/{}", job["source"]["ref"].as_str().unwrap());
    git(&team.repository, &["update-ref", "refs/heads/main", &branch]);
    // Merged by hand: the server doesn't know it until the run asks.
    let prompt = json!({ "prompt": "Replace \"two\" with \"three\"." });
    assert_eq!(server.ask(&team, &job, "message", &prompt).await.status, 200);
    server.run_queued_jobs().await;
    assert_eq!(server.job(&team, &job["id"]).await["status"], "failed");
    let last = server.events(&team, &job["id"]).await.pop().unwrap();
    assert_eq!(last["message"], "pull request #1 was merged; create a new job");
    let known = server.ask(&team, &job, "message", &prompt).await;
    assert_eq!(known.to_string(), r#"409 {"error":"the job's pull request is merged; create a new job"}"#);
}

#[tokio::test]
async fn a_job_can_use_an_existing_branch() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[("a.md", "one two three\n")]).await;
    git(&team.repository, &["branch", "topic", "main"]);
    let create = async |prompt: &str| {
        let path = format!("/v2/agent/{}/job", team.project.id);
        server
            .post(&team.key, &path, &json!({ "prompt": prompt, "branch": "topic", "draft": true }))
            .await
            .json()
    };
    let first = create("Replace \"one\" with \"eins\".").await;
    assert_eq!(first["source"]["ref"], "topic");
    let first = run_to_completion(&server, &team, &first).await;
    let second = create("Replace \"two\" with \"zwei\".").await;
    let second = run_to_completion(&server, &team, &second).await;
    assert_eq!(first["prLink"], second["prLink"], "the open pull request is adopted");
    assert_eq!(file(&team, &second, "a.md"), "eins zwei three");
    let pulls = server.app.pulls.pulls(&team.project.id, 10).await.unwrap();
    assert_eq!((pulls.len(), pulls[0].title.starts_with("Draft: ")), (1, true));
}

#[tokio::test]
async fn a_job_can_start_from_another_branch() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[("a.md", "one\n")]).await;
    git(&team.repository, &["branch", "next", "main"]);
    let path = format!("/v2/agent/{}/job", team.project.id);
    let body = json!({ "prompt": "Replace \"one\" with \"two\".", "ref": "next" });
    let job = server.post(&team.key, &path, &body).await.json();
    run_to_completion(&server, &team, &job).await;
    assert_eq!(server.app.pulls.pulls(&team.project.id, 10).await.unwrap()[0].base, "next");
}

#[tokio::test]
async fn an_archived_job_is_final() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[("a.md", "one\n")]).await;
    let job = server.create_job(&team, "Replace \"one\" with \"two\".").await;
    let archived = server.ask(&team, &job, "archive", &json!({})).await;
    assert_eq!((archived.status, &archived.json()["status"]), (200, &json!("archived")));
    assert!(archived.json()["archivedAt"].is_string());
    server.run_queued_jobs().await;
    assert_eq!(server.job(&team, &job["id"]).await, archived.json());
    assert_eq!(server.ask(&team, &job, "archive", &json!({})).await.json(), archived.json());
    assert_eq!(server.ask(&team, &job, "message", &json!({ "prompt": "x" })).await.status, 409);
    assert!(server.app.pulls.pulls(&team.project.id, 10).await.unwrap().is_empty());
    assert_eq!(git(&team.repository, &["branch", "--format=%(refname:short)"]), "main");
}

#[tokio::test]
async fn an_archive_of_a_running_job_waits_for_its_worker() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[("a.md", "one\n")]).await;
    let job = server.create_job(&team, "Replace \"one\" with \"two\".").await;
    let worker = WorkerId("slow".into());
    server.app.queue.heartbeat(&worker).await.unwrap();
    let lease = server.app.queue.lease_next(&worker).await.unwrap().unwrap();
    let body = json!({});
    let archive = server.ask(&team, &job, "archive", &body);
    let release = async {
        while server.app.queue.jobs_to_stop(&worker).await.unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        server.app.queue.release(&lease).await.unwrap();
    };
    let (archived, ()) = tokio::join!(archive, release);
    assert_eq!(archived.json()["status"], "archived");
    let late = store::NewPull {
        job: job["id"].as_str().unwrap().into(),
        title: "late".into(),
        body: String::new(),
        head: job["source"]["ref"].as_str().unwrap().into(),
        base: "main".into(),
        head_commit: "c".into(),
        base_commit: "b".into(),
    };
    assert!(
        server.app.pulls.open_pull(&team.project.id, &late).await.is_err(),
        "a late pull request is refused"
    );
}
