//! Several servers that store page views in ClickHouse: none of them owns the views.

use jiff::SignedDuration;
use serde_json::{Value, json};
use server::{Server, Settings, do_chores};
use store::ViewsChoice;
use tempfile::TempDir;

use crate::cluster::Database;
use crate::engine::{EngineDatabase, OwnServer};
use crate::pages::Browser;
use crate::postgres::serve_with;
use crate::support::{Answer, Team, TestServer};

/// A database of PostgreSQL and one of ClickHouse, which any number of servers share.
struct Installation {
    database: Database,
    engine: EngineDatabase,
    keys: TempDir,
}

impl Installation {
    fn new() -> Self {
        Self::on(EngineDatabase::create())
    }

    fn on(engine: EngineDatabase) -> Self {
        Self { database: Database::create(), engine, keys: tempfile::tempdir().unwrap() }
    }

    async fn serve(&self) -> TestServer {
        self.serve_with(|_| {}).await
    }

    /// A server with an empty data directory.
    async fn serve_with(&self, shape: impl FnOnce(&mut Settings)) -> TestServer {
        let url = self.engine.url();
        serve_with(&self.database, &self.keys, |settings| {
            settings.views_url = Some(url.parse().unwrap());
            settings.metrics = true;
            shape(settings);
        })
        .await
    }
}

async fn send(server: &TestServer, team: &Team, path: &str) -> Answer {
    let view = json!([{ "path": path, "eventId": path, "userAgent": "Mozilla/5.0 Firefox/140.0" }]);
    server.post(&team.key, &format!("/v1/analytics/{}/events", team.project.id), &view).await
}

async fn total(server: &TestServer, team: &Team) -> Value {
    let views = server.get(&team.key, &format!("/v1/analytics/{}/views", team.project.id)).await;
    assert_eq!(views.status, 200, "{views}");
    views.json()["totals"]["total"].clone()
}

/// Why a server doesn't start.
async fn start_error(installation: &Installation, shape: impl FnOnce(&mut Settings)) -> String {
    let dir = tempfile::tempdir().unwrap();
    let mut settings = Settings::new(dir.path().join("data"));
    settings.listen = "127.0.0.1:0".parse().unwrap();
    settings.database_url = Some(installation.database.url().parse().unwrap());
    settings.master_key_file = Some(installation.keys.path().join("master.key"));
    shape(&mut settings);
    let clock = std::sync::Arc::new(base::SystemClock);
    match Server::open(&settings, clock).await {
        Ok(_) => panic!("the server started"),
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
#[cfg_attr(not(has_engines), ignore = "PostgreSQL or ClickHouse is not installed")]
async fn every_server_takes_and_counts_page_views() {
    let installation = Installation::new();
    let (here, there) = (installation.serve().await, installation.serve().await);
    let team = here.team("acme", &[]).await;
    for (server, path, duplicates) in [(&here, "/a", 0), (&there, "/b", 0), (&there, "/a", 1)] {
        let receipt = send(server, &team, path).await;
        assert_eq!((receipt.status, &receipt.json()["duplicates"]), (202, &json!(duplicates)), "{receipt}");
    }
    assert_eq!((total(&here, &team).await, total(&there, &team).await), (json!(2), json!(2)));
    assert!(!here.data().join("views.db").exists(), "the data directory has no page views");
    for server in [&here, &there] {
        assert_eq!(server.get("", "/readyz").await.body, "ready\n");
        let metrics = server.get("", "/metrics").await.body;
        assert!(metrics.contains("\ndocwright_page_views_stored_here 1\n"), "{metrics}");
    }
    // The data directory of one is lost, and a server on an empty one joins.
    drop(here);
    let another = installation.serve().await;
    assert_eq!(total(&another, &team).await, json!(2));
    assert_eq!(send(&another, &team, "/b").await.json()["duplicates"], 1);
    let page =
        Browser::signed_in(&another, &team).await.get(&format!("/p/{}/readers", team.project.id)).await;
    assert_eq!(page.status, 200, "{page}");
}

#[tokio::test]
#[cfg_attr(not(has_engines), ignore = "PostgreSQL or ClickHouse is not installed")]
async fn page_views_are_taken_while_clickhouse_is_away() {
    let folder = tempfile::tempdir().unwrap();
    let mut engine = OwnServer::start(folder.path(), "");
    let installation = Installation::on(EngineDatabase::create_on(engine.port));
    let server = installation.serve().await;
    let team = server.team("acme", &[]).await;
    assert_eq!(send(&server, &team, "/a").await.status, 202);
    assert_eq!(total(&server, &team).await, json!(1));
    engine.kill();

    assert_eq!(send(&server, &team, "/b").await.status, 202);
    let views = format!("/v1/analytics/{}/views", team.project.id);
    let refused = server.get(&team.key, &views).await;
    assert_eq!((refused.status, refused.header("retry-after")), (503, "1"), "{refused}");
    assert_eq!(refused.header("x-error-code"), "views_unavailable");
    server.app.views_owner.renew().await.unwrap();
    let ready = server.get("", "/readyz").await;
    assert!(ready.body.starts_with("ready\ndegraded: ClickHouse doesn't answer"), "{ready}");
    let metrics = server.get("", "/metrics").await.body;
    assert!(!metrics.contains("\ndocwright_page_views_waiting 0\n"), "{metrics}");
    assert!(metrics.contains("\ndocwright_page_views_available 0\n"), "{metrics}");
    let browser = Browser::signed_in(&server, &team).await;
    let readers = browser.get(&format!("/p/{}/readers", team.project.id)).await;
    assert!(readers.status == 503 && readers.body.contains("Views are still taken"), "{readers}");
    for page in ["/".to_owned(), format!("/p/{}/settings", team.project.id)] {
        assert_eq!(browser.get(&page).await.status, 200, "{page}");
    }

    engine.restart();
    assert_eq!(total(&server, &team).await, json!(2));
    server.app.views_owner.renew().await.unwrap();
    assert_eq!(server.get("", "/readyz").await.body, "ready\n");
}

#[tokio::test]
#[cfg_attr(not(has_engines), ignore = "PostgreSQL or ClickHouse is not installed")]
async fn page_views_are_never_split_between_a_directory_and_clickhouse() {
    let installation = Installation::new();
    let in_directory = serve_with(&installation.database, &installation.keys, |_| {}).await;
    let team = in_directory.team("acme", &[]).await;
    assert_eq!(send(&in_directory, &team, "/a").await.status, 202);
    let url = installation.engine.url();
    let shared = |settings: &mut Settings| settings.views_url = Some(url.parse().unwrap());
    let error = start_error(&installation, shared).await;
    assert!(error.starts_with("the page views of this installation are in the data directory"), "{error}");

    let server = installation.serve_with(|settings| settings.page_views = ViewsChoice::TakeEmpty).await;
    assert_eq!(total(&server, &team).await, json!(0));
    let refused = send(&in_directory, &team, "/b").await;
    assert_eq!((refused.status, refused.header("x-error-code")), (503, "views_elsewhere"), "{refused}");
    assert_eq!(send(&server, &team, "/b").await.status, 202);

    for choice in [ViewsChoice::IfFree, ViewsChoice::Take] {
        let error = start_error(&installation, |settings| settings.page_views = choice).await;
        assert!(
            error.starts_with("the servers of this installation store page views in ClickHouse"),
            "{error}"
        );
    }
    let error = start_error(&installation, |settings| {
        settings.page_views = ViewsChoice::Leave;
        shared(settings);
    });
    assert!(error.await.starts_with("with views_url, every server takes page views"));
    // Without page views, a server starts and sends requests about them elsewhere.
    let without = serve_with(&installation.database, &installation.keys, |settings| {
        settings.page_views = ViewsChoice::Leave;
    });
    let refused = send(&without.await, &team, "/c").await;
    assert_eq!(refused.header("x-error-code"), "views_elsewhere", "{refused}");
    assert_eq!(total(&server, &team).await, json!(1), "the shared page views are as before");
}

#[tokio::test]
#[cfg_attr(not(has_engines), ignore = "PostgreSQL or ClickHouse is not installed")]
async fn any_server_purges_deleted_projects() {
    let installation = Installation::new();
    let (here, there) = (installation.serve().await, installation.serve().await);
    let team = here.team("acme", &[]).await;
    assert_eq!(send(&here, &team, "/a").await.status, 202);
    assert_eq!(total(&there, &team).await, json!(1));
    assert!(here.app.upkeep.delete_project(&team.project.id).await.unwrap());
    there.clock.advance(SignedDuration::from_mins(2));
    here.clock.advance(SignedDuration::from_mins(2));
    do_chores(&there.app).await;
    assert_eq!(installation.database.sql("SELECT count(*) FROM views_projects"), "0");
    assert_eq!(installation.database.sql("SELECT count(*) FROM projects"), "0");
}

#[tokio::test]
#[cfg_attr(not(has_engines), ignore = "PostgreSQL or ClickHouse is not installed")]
async fn jobs_are_shown_while_clickhouse_is_away() {
    let folder = tempfile::tempdir().unwrap();
    let mut engine = OwnServer::start(folder.path(), "");
    let installation = Installation::on(EngineDatabase::create_on(engine.port));
    let server = installation.serve().await;
    let team = server.team("acme", &[("a.md", "one\n")]).await;
    // Without a view there is nothing to ask ClickHouse.
    assert_eq!(send(&server, &team, "/a").await.status, 202);
    let job = server.create_job(&team, "Replace \"one\" with \"eins\".").await;
    server.run_queued_jobs().await;
    let browser = Browser::signed_in(&server, &team).await;
    let merged = browser.merge(&format!("/p/{}/pulls/1", team.project.id)).await;
    assert_eq!(merged.status, 303, "{merged}");
    server.clock.advance(SignedDuration::from_hours(72));
    let effect = format!("/v1/analytics/{}/effect", team.project.id);
    let found = server.get(&team.key, &effect).await;
    assert_eq!(found.json()["merges"][0]["effect"]["days"], 2, "{found}");
    engine.kill();

    let away = server.get(&team.key, &effect).await;
    assert_eq!((away.status, away.header("x-error-code")), (503, "views_unavailable"), "{away}");
    let browser = Browser::signed_in(&server, &team).await;
    for page in [format!("jobs/{}", job["id"].as_str().unwrap()), "pulls/1".into()] {
        let shown = browser.get(&format!("/p/{}/{page}", team.project.id)).await;
        assert_eq!(shown.status, 200, "{page}: {shown}");
    }
}
