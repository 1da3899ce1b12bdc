//! The same server on PostgreSQL: its whole way once, and what it says when the database is gone.

use jiff::SignedDuration;
use serde_json::json;
use server::Worker;
use store::ViewsChoice;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::cluster::Database;
use crate::pages::Browser;
use crate::support::{Team, TestServer};
use crate::watch::watch;

/// A server on a database of its own. What is first ends first.
pub(crate) async fn on_postgres() -> (TestServer, Database, TempDir) {
    let (database, keys) = (Database::create(), tempfile::tempdir().unwrap());
    let server = serve(&database, &keys).await;
    (server, database, keys)
}

async fn serve(database: &Database, keys: &TempDir) -> TestServer {
    serve_with(database, keys, |_| {}).await
}

pub(crate) async fn serve_with(
    database: &Database,
    keys: &TempDir,
    shape: impl FnOnce(&mut server::Settings),
) -> TestServer {
    let file = keys.path().join("master.key");
    std::fs::write(&file, "5ea1".repeat(16)).unwrap();
    TestServer::start_with(|settings| {
        settings.database_url = Some(database.url().parse().unwrap());
        settings.master_key_file = Some(file);
        shape(settings);
    })
    .await
}

fn path(team: &Team, job: &serde_json::Value, what: &str) -> String {
    format!("/v2/agent/{}/job/{}/{what}", team.project.id, job["id"].as_str().unwrap())
}

#[tokio::test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn a_job_goes_its_whole_way() {
    let (server, database, _keys) = on_postgres().await;
    let team = server.team("acme", &[("a.md", "one two\n")]).await;
    let job = server.create_job(&team, "Replace \"one\" with \"eins\".").await;
    let events = path(&team, &job, "events");
    let (told, ()) = tokio::join!(watch(&server, &team.key, &events, None), server.run_queued_jobs());
    assert!(told.iter().map(|event| event.2).eq(1..=told.len() as u64));
    assert_eq!((told[0].1.as_str(), told.last().unwrap().1.as_str()), ("created", "ended"));
    let first = server.job(&team, &job["id"]).await;
    assert_eq!(first["status"], "completed", "{:?}", server.events(&team, &job["id"]).await.last());
    assert!(first["prLink"].as_str().unwrap().ends_with("/pulls/1"), "{first}");

    let more = json!({ "prompt": "Replace \"two\" with \"zwei\"." });
    assert_eq!(server.ask(&team, &job, "message", &more).await.status, 200);
    server.run_queued_jobs().await;
    assert_eq!(server.job(&team, &job["id"]).await["prLink"], first["prLink"]);
    let diff = server.get(&team.key, &path(&team, &job, "diff")).await.body;
    assert!(diff.contains("-one two\n+eins zwei\n"), "{diff}");
    let archived = server.ask(&team, &job, "archive", &json!({})).await;
    assert_eq!(archived.json()["status"], "archived", "{archived}");
    assert_eq!(server.ask(&team, &job, "message", &more).await.status, 409);
    assert_eq!(database.sql("SELECT count(*), min(state) FROM pulls"), "1|open");
}

#[tokio::test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn two_servers_share_their_jobs_but_no_data_directory() {
    let (here, database, keys) = on_postgres().await;
    let there = serve(&database, &keys).await;
    assert_ne!(here.data(), there.data());
    let team = here.team("acme", &[("a.md", "one\n")]).await;
    let job = here.create_job(&team, "Replace \"one\" with \"eins\".").await;
    let events = path(&team, &job, "events");
    let (told, ()) = tokio::join!(watch(&here, &team.key, &events, None), there.run_queued_jobs());
    assert_eq!(told.last().unwrap().1, "ended");
    assert_eq!(there.job(&team, &job["id"]).await["status"], "completed");
}

#[tokio::test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn one_server_keeps_page_views_and_the_others_say_so() {
    let (here, database, keys) = on_postgres().await;
    let there = serve(&database, &keys).await;
    let team = here.team("acme", &[]).await;
    let views = format!("/v1/analytics/{}/views", team.project.id);
    let events = format!("/v1/analytics/{}/events", team.project.id);
    assert_eq!(here.get(&team.key, &views).await.status, 200);
    assert_eq!(here.post(&team.key, &events, &json!([{ "path": "/" }])).await.status, 202);
    for refused in [
        there.get(&team.key, &views).await,
        there.post(&team.key, &events, &json!([{ "path": "/" }])).await,
        there.post("", &format!("/v1/collect/{}", team.project.id), &json!({ "path": "/" })).await,
    ] {
        assert_eq!((refused.status, refused.header("retry-after")), (503, "1"), "{refused}");
        assert_eq!(refused.header("x-error-code"), "views_elsewhere");
        assert!(
            refused.body.contains("another server of this installation stores the page views"),
            "{refused}"
        );
    }
    let page = Browser::signed_in(&there, &team).await.get(&format!("/p/{}/readers", team.project.id)).await;
    assert_eq!((page.status, page.body.contains("stores the page views")), (503, true), "{page}");
    assert_eq!(there.get(&team.key, "/v1/nothing").await.status, 404);
    // Findings are in the database.
    let findings = format!("/v1/findings/{}", team.project.id);
    assert_eq!(there.get(&team.key, &findings).await.status, 200);
    assert_eq!(there.get(&team.key, &format!("/v2/agent/{}/jobs", team.project.id)).await.status, 200);
}

#[tokio::test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn the_loss_of_the_server_with_the_page_views_is_loud() {
    let (here, database, keys) = on_postgres().await;
    let there = serve_with(&database, &keys, |settings| settings.metrics = true).await;
    let team = here.team("acme", &[]).await;
    let available = async |value: u8| {
        there.app.views_owner.renew().await.unwrap();
        let metrics = there.get("", "/metrics").await.body;
        assert!(metrics.contains(&format!("\ndocwright_page_views_available {value}\n")), "{metrics}");
        assert!(metrics.contains("\ndocwright_page_views_stored_here 0\n"), "{metrics}");
    };
    available(1).await;
    assert_eq!(there.get("", "/readyz").await.body, "ready\n");
    // `here` says nothing any more.
    there.clock.advance(SignedDuration::from_secs(61));
    available(0).await;
    let ready = there.get("", "/readyz").await;
    assert_eq!(ready.status, 200, "{ready}");
    let sentence =
        "the server that stores the page views hasn't run for 1 min; start it, or copy its views.db";
    assert!(ready.body.starts_with(&format!("ready\ndegraded: {sentence}")), "{ready}");
    let refused = there.get(&team.key, &format!("/v1/analytics/{}/views", team.project.id)).await;
    assert_eq!((refused.status, refused.header("x-error-code")), (503, "views_elsewhere"));
    assert!(refused.body.contains(sentence), "{refused}");
    here.clock.advance(SignedDuration::from_secs(61));
    here.app.views_owner.renew().await.unwrap();
    available(1).await;
    assert_eq!(there.get("", "/readyz").await.body, "ready\n");
}

#[tokio::test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn a_server_that_was_replaced_acknowledges_no_page_views() {
    let (here, database, keys) = on_postgres().await;
    let team = here.team("acme", &[]).await;
    let events = format!("/v1/analytics/{}/events", team.project.id);
    assert_eq!(here.post(&team.key, &events, &json!([{ "path": "/" }])).await.status, 202);
    // Its directory has no page views.
    let there = serve_with(&database, &keys, |settings| settings.page_views = ViewsChoice::TakeEmpty).await;
    // `here` hasn't read yet who stores them.
    assert!(here.app.stores_views());
    let refused = here.post(&team.key, &events, &json!([{ "path": "/" }])).await;
    assert_eq!((refused.status, refused.header("x-error-code")), (503, "views_elsewhere"), "{refused}");
    assert!(!here.app.stores_views());
    assert_eq!(there.post(&team.key, &events, &json!([{ "path": "/" }])).await.status, 202);
    // Its page views are outdated, so it stays out until it starts again, also if the other one leaves.
    database.sql("DELETE FROM views_home");
    here.app.views_owner.renew().await.unwrap();
    assert!(!here.app.stores_views());
}

#[tokio::test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn page_views_that_lack_later_ones_take_over_only_by_force() {
    let (mut here, database, keys) = on_postgres().await;
    let team = here.team("acme", &[]).await;
    let events = format!("/v1/analytics/{}/events", team.project.id);
    assert_eq!(here.post(&team.key, &events, &json!([{ "path": "/" }])).await.status, 202);
    let there = serve_with(&database, &keys, |settings| settings.page_views = ViewsChoice::TakeEmpty).await;
    assert_eq!(there.post(&team.key, &events, &json!([{ "path": "/later" }])).await.status, 202);
    here.stop().await;
    let mut settings = server::Settings::new(here.data());
    settings.database_url = Some(database.url().parse().unwrap());
    settings.master_key_file = Some(keys.path().join("master.key"));
    settings.page_views = ViewsChoice::Take;
    let refused = server::Server::open(&settings, here.clock.clone()).await.err().unwrap();
    let sentence = "lacks page views that another server stored since";
    assert!(format!("{refused:#}").contains(sentence), "{refused:#}");
    settings.page_views = ViewsChoice::TakeEmpty;
    assert!(server::Server::open(&settings, here.clock.clone()).await.unwrap().app.stores_views());
}

#[tokio::test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn page_views_are_stored_only_if_they_can_be_acknowledged() {
    let (server, database, _keys) = on_postgres().await;
    let team = server.team("acme", &[]).await;
    let events = format!("/v1/analytics/{}/events", team.project.id);
    let firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0";
    let event = json!([{ "path": "/", "userAgent": firefox }]);
    assert_eq!(server.post(&team.key, &events, &event).await.status, 202);
    database.close();
    let refused = server.post(&team.key, &events, &event).await;
    assert_eq!((refused.status, refused.header("retry-after")), (503, "1"), "{refused}");
    database.open_again();
    while server.post(&team.key, &events, &event).await.status != 202 {}
    let counts = server.get(&team.key, &format!("/v1/analytics/{}/views", team.project.id)).await;
    assert_eq!(counts.json()["totals"]["total"], 2, "{counts}");
}

#[tokio::test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn a_database_that_is_gone_is_a_503_and_an_odd_path_a_404() {
    let (server, database, _keys) = on_postgres().await;
    let team = server.team("acme", &[("a.md", "one\n")]).await;
    let jobs = format!("/v2/agent/{}/jobs", team.project.id);
    assert_eq!(server.get(&team.key, "/v2/agent/%00/jobs").await.status, 404);
    let odd = format!("/v2/agent/{}/job/%00", team.project.id);
    assert_eq!(server.get(&team.key, &odd).await.status, 404);
    database.close();
    let answer = server.get(&team.key, &jobs).await;
    assert_eq!((answer.status, answer.header("retry-after")), (503, "1"), "{answer}");
    assert_eq!(
        answer.to_string(),
        r#"503 {"error":"the server's database doesn't answer; try again in a moment"}"#
    );
}

/// As after a failover to a standby: every session that begins now may only read.
fn set_read_only(database: &Database, to: &str) {
    let set = format!("ALTER DATABASE %I SET default_transaction_read_only = {to}");
    database.sql(&format!(
        "SET TRANSACTION READ WRITE; DO $$ BEGIN EXECUTE format('{set}', current_database()); END $$"
    ));
    database.close();
    database.open_again();
}

#[tokio::test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn readyz_proves_a_write_to_the_database_and_reads_go_on_without() {
    let (server, database, _keys) = on_postgres().await;
    let team = server.team("acme", &[("a.md", "one\n")]).await;
    let ready = async || {
        server.clock.advance(SignedDuration::from_secs(5));
        server.get("", "/readyz").await
    };
    assert_eq!(ready().await.to_string(), "200 ready\n");
    set_read_only(&database, "on");
    let told = ready().await;
    let sentence = "the disk of the PostgreSQL server is read-only; make it writable again";
    // The first one may find that its connection was cut.
    let told = if told.body.contains("read-only") { told } else { ready().await };
    assert_eq!(told.to_string(), format!(r#"503 {{"error":"the server is not ready: {sentence}"}}"#));
    for list in
        [format!("/v2/agent/{}/jobs", team.project.id), format!("/v1/analytics/{}/views", team.project.id)]
    {
        while server.get(&team.key, &list).await.status != 200 {}
    }
    let jobs = format!("/v2/agent/{}/job", team.project.id);
    let refused = server.post(&team.key, &jobs, &json!({ "prompt": "Fix links" })).await;
    assert_eq!((refused.status, refused.header("x-error-code")), (503, "unavailable"), "{refused}");
    set_read_only(&database, "off");
    while ready().await.status != 200 {}
    // Connections that were cut are found one by one.
    let create = async || server.post(&team.key, &jobs, &json!({ "prompt": "Fix links" })).await.status;
    while create().await != 201 {}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn work_goes_on_when_the_database_is_back() {
    let (server, database, _keys) = on_postgres().await;
    let team = server.team("acme", &[("a.md", "one\n")]).await;
    let (worker, stop) = (Worker::new(server.app.clone(), 1), CancellationToken::new());
    let working = tokio::spawn({
        let stop = stop.clone();
        async move { worker.work(stop).await }
    });
    let jobs = format!("/v2/agent/{}/jobs", team.project.id);
    database.close();
    assert_eq!(server.get(&team.key, &jobs).await.status, 503);
    database.open_again();
    while server.get(&team.key, &jobs).await.status != 200 {}
    let job = server.create_job(&team, "Replace \"one\" with \"eins\".").await;
    while server.job(&team, &job["id"]).await["status"] == "active" {}
    assert_eq!(server.job(&team, &job["id"]).await["status"], "completed");
    stop.cancel();
    working.await.unwrap();
}
