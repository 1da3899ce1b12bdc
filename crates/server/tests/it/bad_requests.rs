//! Junk at every door: the right status, the right code, the one shape, and nothing kept.

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

use row::{Place, Row, check_shape, row};

use crate::collect::Full;
use crate::support::TestServer;

type Table = fn() -> Vec<Row>;

/// Every table of refusals, by the door it stands at.
const DOORS: &[(&str, Table)] = &[
    ("jobs", jobs::rows),
    ("events", events::rows),
    ("beacon", events::beacon_rows),
    ("queries", queries::rows),
    ("paths", paths::rows),
    ("methods", paths::wrong_methods),
    ("keys", keys::rows),
];

async fn refuses(door: &str) {
    let (_, rows) = DOORS.iter().find(|(name, _)| *name == door).unwrap();
    Place::open().await.refuses(&rows()).await;
}

#[tokio::test]
async fn jobs_that_cannot_be() {
    refuses("jobs").await;
}

#[tokio::test]
async fn events_that_cannot_be() {
    refuses("events").await;
}

#[tokio::test]
async fn views_that_no_browser_of_the_site_sends() {
    refuses("beacon").await;
}

#[tokio::test]
async fn questions_that_make_no_sense() {
    refuses("queries").await;
}

#[tokio::test]
async fn ids_and_routes_that_are_not_there() {
    refuses("paths").await;
}

#[tokio::test]
async fn methods_that_a_route_does_not_take() {
    refuses("methods").await;
}

#[tokio::test]
async fn keys_that_open_nothing() {
    refuses("keys").await;
}

#[test]
fn no_door_is_without_its_table() {
    let mut seen = HashSet::new();
    for (door, rows) in DOORS {
        let rows = rows();
        println!("{door}: {}", rows.len());
        for row in rows {
            let Row { name, method, path, .. } = &row;
            assert!(seen.insert(format!("{name} {method} {path}")), "{door}: {name} {method} {path} twice");
        }
    }
    assert!(seen.len() >= 150, "{}", seen.len());
}

#[tokio::test]
async fn odd_requests_are_ordinary_ones() {
    let place = Place::over(TestServer::start_with(|settings| settings.metrics = true).await).await;
    let mut wrong = Vec::new();
    for row in odd::rows() {
        let answer = place.send(&row).await;
        if answer.status.to_string() != row.expected {
            wrong.push(format!("{} ({} {:.80}): {answer}", row.name, row.method, row.path));
        }
        assert_eq!(answer.header("x-request-id").len(), 32, "{}", row.name);
        assert!(!answer.headers.contains_key("content-range"), "{}", row.name);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn whoever_cannot_be_served_now_is_told_when_to_come_back() {
    let full = TestServer::start_from(|_| {}, |app| app.views = Arc::new(Full)).await;
    let place = Place::over(full).await;
    let site = |row: Row| row.without_key().header("origin", row::SITE).body(r#"{"path":"/a"}"#);
    for row in [
        row("POST /v1/analytics/{project}/events", "events", "503 busy").json(r#"[{"path":"/a"}]"#),
        row("POST /v1/analytics/{project}/events", "lines", "503 busy")
            .kind("application/jsonl")
            .body(r#"{"path":"/a"}"#),
        site(row("POST /v1/collect/{project}", "a view", "503 busy")),
    ] {
        let answer = place.send(&row).await;
        check_shape(&row.name, "POST", &answer);
        assert_eq!(
            format!("{} {}", answer.status, answer.header("x-error-code")),
            row.expected,
            "{}",
            row.name
        );
    }
}
