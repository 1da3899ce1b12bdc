//! Tests invalid requests to every route: each gets the documented status, code and JSON error, and changes
//! nothing.

mod events;
mod jobs;
mod keys;
mod lines;
mod odd;
mod paths;
mod protocol;
mod queries;
pub(crate) mod row;

use std::collections::HashSet;
use std::sync::Arc;

use row::{Row, TestProject, check_error_format, row};

use crate::collect::BusyViews;
use crate::support::TestServer;

type Table = fn() -> Vec<Row>;

/// The tables of invalid requests, by name.
const TABLES: &[(&str, Table)] = &[
    ("jobs", jobs::rows),
    ("events", events::rows),
    ("beacon", events::beacon_rows),
    ("queries", queries::rows),
    ("paths", paths::rows),
    ("methods", paths::wrong_methods),
    ("keys", keys::rows),
];

async fn check_table(name: &str) {
    let (_, rows) = TABLES.iter().find(|(table, _)| *table == name).unwrap();
    TestProject::create().await.check_refused(&rows()).await;
}

#[tokio::test]
async fn invalid_jobs_are_refused() {
    check_table("jobs").await;
}

#[tokio::test]
async fn invalid_events_are_refused() {
    check_table("events").await;
}

#[tokio::test]
async fn invalid_views_from_browsers_are_refused() {
    check_table("beacon").await;
}

#[tokio::test]
async fn invalid_queries_are_refused() {
    check_table("queries").await;
}

#[tokio::test]
async fn unknown_ids_and_routes_are_404() {
    check_table("paths").await;
}

#[tokio::test]
async fn unsupported_methods_are_405() {
    check_table("methods").await;
}

#[tokio::test]
async fn invalid_keys_are_401() {
    check_table("keys").await;
}

#[test]
fn the_tables_have_no_duplicates() {
    let mut seen = HashSet::new();
    for (table, rows) in TABLES {
        let rows = rows();
        println!("{table}: {}", rows.len());
        for row in rows {
            let Row { name, method, path, .. } = &row;
            assert!(seen.insert(format!("{name} {method} {path}")), "{table}: {name} {method} {path} twice");
        }
    }
    assert!(seen.len() >= 150, "{}", seen.len());
}

#[tokio::test]
async fn odd_but_valid_requests_are_served() {
    let project = TestProject::on(TestServer::start_with(|settings| settings.metrics = true).await).await;
    let mut wrong = Vec::new();
    for row in odd::rows() {
        let answer = project.send(&row).await;
        if answer.status.to_string() != row.expected {
            wrong.push(format!("{} ({} {:.80}): {answer}", row.name, row.method, row.path));
        }
        assert_eq!(answer.header("x-request-id").len(), 32, "{}", row.name);
        assert!(!answer.headers.contains_key("content-range"), "{}", row.name);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn a_503_has_retry_after() {
    let server = TestServer::start_from(|_| {}, |app| app.views = Arc::new(BusyViews)).await;
    let project = TestProject::on(server).await;
    let site = |row: Row| row.without_key().header("origin", row::SITE).body(r#"{"path":"/a"}"#);
    for row in [
        row("POST /v1/analytics/{project}/events", "events", "503 busy").json(r#"[{"path":"/a"}]"#),
        row("POST /v1/analytics/{project}/events", "lines", "503 busy")
            .content_type("application/jsonl")
            .body(r#"{"path":"/a"}"#),
        site(row("POST /v1/collect/{project}", "a view", "503 busy")),
    ] {
        let answer = project.send(&row).await;
        check_error_format(&row.name, "POST", &answer);
        assert_eq!(
            format!("{} {}", answer.status, answer.header("x-error-code")),
            row.expected,
            "{}",
            row.name
        );
    }
}
