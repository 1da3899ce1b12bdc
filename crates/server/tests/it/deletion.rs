//! Tests that a deleted project leaves nothing behind, and that repository caches are limited.

use std::path::Path;

use jiff::SignedDuration;
use serde_json::json;
use server::{Admin, Settings, do_chores, shrink_caches};

use crate::support::{TestServer, git};

#[tokio::test]
async fn a_deleted_project_disappears_at_once_and_its_data_later() {
    let server = TestServer::start().await;
    let (deleted, other) =
        (server.team("acme", &[("a.md", "one\n")]).await, server.team("globex", &[("a.md", "one\n")]).await);
    let mut views = Vec::new();
    for team in [&deleted, &other] {
        server.create_job(team, "Replace \"one\" with \"two\".").await;
        let events = format!("/v1/analytics/{}/events", team.project.id);
        let read = json!([{ "path": "/", "userAgent": "Claude-User/1.0" }]);
        assert_eq!(server.post(&team.key, &events, &read).await.status, 202);
        views.push(format!("/v1/analytics/{}/views", team.project.id));
    }
    server.run_queued_jobs().await;
    let cache = |id: &store::ProjectId| server.data().join(format!("repos/{id}.git"));
    assert!(cache(&deleted.project.id).is_dir());

    assert!(server.app.upkeep.delete_project(&deleted.project.id).await.unwrap());
    assert_eq!(server.get(&deleted.key, &views[0]).await.to_string(), r#"404 {"error":"no such project"}"#);
    do_chores(&server.app).await;
    assert!(cache(&deleted.project.id).is_dir(), "a job may still use it");
    server.clock.advance(SignedDuration::from_mins(2));
    do_chores(&server.app).await;
    assert!(!cache(&deleted.project.id).exists());
    let repos = std::fs::read_dir(server.data().join("repos")).unwrap();
    let remaining: Vec<_> = repos.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(remaining.iter().all(|name| !name.contains(&deleted.project.id.0)), "{remaining:?}");
    let range = traffic::Range::new(None, None).unwrap();
    let count =
        server.app.views.count(&deleted.project.id.0, &range, &traffic::ListQuery::new(10, 0)).await.unwrap();
    assert_eq!(count.totals.total(), 0);
    assert!(server.has_no_jobs(&deleted.project.id).await);
    assert!(deleted.repository.is_dir(), "the repository itself stays");

    let counts = server.get(&other.key, &views[1]).await.json();
    assert_eq!(counts["totals"]["total"], 1);
    assert!(!server.has_no_jobs(&other.project.id).await && cache(&other.project.id).is_dir());
}

#[tokio::test]
async fn a_cache_with_many_files_is_repacked() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[("a.md", "one two\n")]).await;
    let cache = server.data().join(format!("repos/{}.git", team.project.id));
    server.create_job(&team, "Replace \"one\" with \"eins\".").await;
    server.run_queued_jobs().await;
    let loose = server.data().join("loose");
    std::fs::create_dir(&loose).unwrap();
    for n in 0..1_000 {
        std::fs::write(loose.join(n.to_string()), n.to_string()).unwrap();
    }
    let names: Vec<_> = (0..1_000).map(|n| loose.join(n.to_string()).display().to_string()).collect();
    git(
        &cache,
        &[&["hash-object", "-w"], &names.iter().map(String::as_str).collect::<Vec<_>>()[..]].concat(),
    );
    let count = || git(&cache, &["count-objects"]).split(' ').next().unwrap().parse::<u32>().unwrap();
    assert!(count() >= 1_000);
    shrink_caches(&server.app).await;
    assert_eq!(count(), 0);
    let job = server.create_job(&team, "Replace \"two\" with \"zwei\".").await;
    server.run_queued_jobs().await;
    assert_eq!(server.job(&team, &job["id"]).await["status"], "completed");
}

#[tokio::test]
async fn caches_above_the_limit_are_removed_and_fetched_again() {
    let server = TestServer::start_with(|settings| settings.caches = 0).await;
    let team = server.team("acme", &[("a.md", "one two\n")]).await;
    let cache = server.data().join(format!("repos/{}.git", team.project.id));
    let job = server.create_job(&team, "Replace \"one\" with \"eins\".").await;
    server.run_queued_jobs().await;
    assert!(cache.is_dir());
    shrink_caches(&server.app).await;
    assert!(!cache.exists());
    let more = json!({ "prompt": "Replace \"two\" with \"zwei\"." });
    assert_eq!(server.ask(&team, &job, "message", &more).await.status, 200);
    server.run_queued_jobs().await;
    assert_eq!(server.job(&team, &job["id"]).await["status"], "completed");
    assert!(cache.is_dir());
}

/// The files in a folder that contain a text.
fn files_with(folder: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_with(&path, text));
        } else if std::fs::read(&path).unwrap().windows(text.len()).any(|bytes| bytes == text.as_bytes()) {
            found.push(path.file_name().unwrap().to_string_lossy().into_owned());
        }
    }
    found.sort();
    found
}

#[tokio::test]
async fn a_deleted_project_leaves_no_text_in_any_file() {
    const SECRET: &str = "zebra-quartz-7361";
    let server = TestServer::start().await;
    let team = server.team("acme", &[("a.md", "one\n")]).await;
    let other = server.team("globex", &[("a.md", "one\n")]).await;
    for team in [&team, &other] {
        for n in 0..20 {
            server.create_job(team, &format!("Replace \"one\" with \"{SECRET}-{n}\".")).await;
        }
        let read = |n: u32| json!({ "path": format!("/{SECRET}/{n}"), "userAgent": "Claude-User/1.0" });
        let events: Vec<_> = (0..500).map(read).collect();
        let path = format!("/v1/analytics/{}/events", team.project.id);
        assert_eq!(server.post(&team.key, &path, &json!(events)).await.status, 202);
    }
    server.run_queued_jobs().await;
    let data = server.data();
    assert!(files_with(&data, SECRET).iter().any(|name| name.starts_with("docwright.db")));
    assert!(files_with(&data, SECRET).iter().any(|name| name.starts_with("views.db")));

    // As the admin command does it while the server runs.
    let admin = Admin::open(&Settings::new(data.clone()), server.clock.clone()).await.unwrap();
    for team in [&team, &other] {
        assert!(admin.upkeep.delete_project(&team.project.id).await.unwrap());
    }
    admin.upkeep.close().await;
    server.clock.advance(SignedDuration::from_mins(2));
    do_chores(&server.app).await;
    assert_eq!(files_with(&data, SECRET), Vec::<String>::new());
}
