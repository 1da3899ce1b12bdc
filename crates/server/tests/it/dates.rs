//! Tests the date formats that clients send: each means exactly one moment. The tests count the views just
//! before and just after it.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::json;

use crate::support::{Team, TestServer};

/// The date in the query, and the first millisecond that isn't before it.
const DATES: &[(&str, &str)] = &[
    // Dates alone: midnight in UTC.
    ("2026-03-01", "2026-03-01T00:00:00Z"),
    ("20260301", "2026-03-01T00:00:00Z"),
    ("2026-02-28", "2026-02-28T00:00:00Z"),
    ("2024-02-29", "2024-02-29T00:00:00Z"),
    ("%202026-03-01%20", "2026-03-01T00:00:00Z"),
    // The formats of libraries: JavaScript, Python, Go, Java, Ruby, PostgreSQL, date(1).
    ("2026-03-01T00:00:00Z", "2026-03-01T00:00:00Z"),
    ("2026-03-01T00:00:00.000Z", "2026-03-01T00:00:00Z"),
    ("2026-03-01T00%3A00%3A00.000Z", "2026-03-01T00:00:00Z"),
    ("2026-03-01T00:00:00.123456%2B00:00", "2026-03-01T00:00:00.124Z"),
    ("2026-03-01T00:00:00.123456+00:00", "2026-03-01T00:00:00.124Z"),
    ("2026-03-01T00:00:00.123000%2B00:00", "2026-03-01T00:00:00.123Z"),
    ("2026-03-01T00:00:00.123000+00:00", "2026-03-01T00:00:00.123Z"),
    ("2026-03-01T00:00:00.123456789Z", "2026-03-01T00:00:00.124Z"),
    ("2026-03-01T00:00Z", "2026-03-01T00:00:00Z"),
    ("2026-03-01T00:00:00%20%2B0000", "2026-03-01T00:00:00Z"),
    ("2026-03-01%2000:00:00", "2026-03-01T00:00:00Z"),
    ("2026-03-01+00:00:00", "2026-03-01T00:00:00Z"),
    ("2026-03-01%2000:00:00%2B00", "2026-03-01T00:00:00Z"),
    ("2026-03-01T00:00:00,123Z", "2026-03-01T00:00:00.123Z"),
    ("20260301T000000Z", "2026-03-01T00:00:00Z"),
    ("20260301T053000+0530", "2026-03-01T00:00:00Z"),
    ("2026-03-01t00:00:00z", "2026-03-01T00:00:00Z"),
    // Without an offset, a time is in UTC.
    ("2026-03-01T00:00:00", "2026-03-01T00:00:00Z"),
    ("2026-03-01T00:00", "2026-03-01T00:00:00Z"),
    ("2026-03-01T00", "2026-03-01T00:00:00Z"),
    ("2026-03-01T00:00:00.5", "2026-03-01T00:00:00.500Z"),
    // Offsets, with and without an encoded plus.
    ("2026-03-01T00:00:00%2B05:30", "2026-02-28T18:30:00Z"),
    ("2026-03-01T00:00:00+05:30", "2026-02-28T18:30:00Z"),
    ("2026-03-01+00:00:00+05:30", "2026-02-28T18:30:00Z"),
    ("2026-03-01T00:00:00-05:30", "2026-03-01T05:30:00Z"),
    ("2026-03-01T00:00:00%E2%88%9205:30", "2026-03-01T05:30:00Z"),
    ("2026-03-01T00:00:00%2B0530", "2026-02-28T18:30:00Z"),
    ("2026-03-01T00:00:00%2B05", "2026-02-28T19:00:00Z"),
    ("2026-03-01T00:00:00%2B05:45", "2026-02-28T18:15:00Z"),
    ("2026-03-01T00:00:00-00:00", "2026-03-01T00:00:00Z"),
    ("2026-03-01T00:00:00%2B14:00", "2026-02-28T10:00:00Z"),
    ("2026-03-01T00:00:00-12:00", "2026-03-01T12:00:00Z"),
    ("2026-03-01T00:00:00%2B23:59", "2026-02-28T00:01:00Z"),
    // Fractions of any length, rounded up to the millisecond.
    ("2026-03-01T00:00:00.1Z", "2026-03-01T00:00:00.100Z"),
    ("2026-03-01T00:00:00.12Z", "2026-03-01T00:00:00.120Z"),
    ("2026-03-01T00:00:00.123Z", "2026-03-01T00:00:00.123Z"),
    ("2026-03-01T00:00:00.1234Z", "2026-03-01T00:00:00.124Z"),
    ("2026-03-01T00:00:00.12300Z", "2026-03-01T00:00:00.123Z"),
    ("2026-03-01T00:00:00.123001Z", "2026-03-01T00:00:00.124Z"),
    ("2026-03-01T00:00:00.1230000Z", "2026-03-01T00:00:00.123Z"),
    ("2026-03-01T00:00:00.12300001Z", "2026-03-01T00:00:00.124Z"),
    ("2026-03-01T00:00:00.123000000Z", "2026-03-01T00:00:00.123Z"),
    ("2026-03-01T00:00:00.1230000001Z", "2026-03-01T00:00:00.124Z"),
    ("2026-03-01T00:00:00.12300000000Z", "2026-03-01T00:00:00.123Z"),
    ("2026-03-01T00:00:00.123000000001Z", "2026-03-01T00:00:00.124Z"),
    ("2026-02-28T23:59:59.999000000001Z", "2026-03-01T00:00:00Z"),
    ("2026-02-28T23:59:59.9999%2B00:00", "2026-03-01T00:00:00Z"),
    ("2026-02-28T23:59:59.999Z", "2026-02-28T23:59:59.999Z"),
    // The end of a day, and a leap second.
    ("2026-02-28T24:00:00Z", "2026-03-01T00:00:00Z"),
    ("2026-02-28T24:00", "2026-03-01T00:00:00Z"),
    ("2026-02-28T24:00:00%2B05:30", "2026-02-28T18:30:00Z"),
    ("2026-02-28T23:59:60Z", "2026-03-01T00:00:00Z"),
];

const OFFSETS: [i64; 5] = [-1_000, -1, 0, 1, 1_000];

/// Moments around every moment of the table, in milliseconds since 1970.
fn moments() -> BTreeSet<i64> {
    DATES.iter().flat_map(|(_, meant)| OFFSETS.map(|offset| millisecond(meant) + offset)).collect()
}

fn millisecond(text: &str) -> i64 {
    text.parse::<Timestamp>().unwrap().as_millisecond()
}

async fn report(server: &TestServer, team: &Team, moments: impl Iterator<Item = String>) {
    let event = |at| json!({ "path": "/a", "userAgent": "Claude-User/1.0", "timestamp": at });
    let events: Vec<_> = moments.map(event).collect();
    let path = format!("/v1/analytics/{}/events", team.project.id);
    let result = server.post(&team.key, &path, &json!(events)).await.json();
    assert_eq!(result, json!({ "accepted": events.len(), "duplicates": 0, "rejected": [] }));
}

async fn count(server: &TestServer, team: &Team, query: &str) -> u64 {
    let answer = server.get(&team.key, &format!("/v1/analytics/{}/views?{query}", team.project.id)).await;
    assert_eq!(answer.status, 200, "{query}: {answer}");
    answer.json()["totals"]["total"].as_u64().unwrap()
}

#[tokio::test]
async fn a_date_splits_the_views_at_its_moment() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    let all = moments();
    report(&server, &team, all.iter().map(|at| Timestamp::from_millisecond(*at).unwrap().to_string())).await;
    let mut wrong = Vec::new();
    for (text, meant) in DATES {
        let bound = millisecond(meant);
        let after = all.range(bound..).count() as u64;
        let expected = [after, all.len() as u64 - after, 0, all.len() as u64];
        let got = [
            count(&server, &team, &format!("dateFrom={text}")).await,
            count(&server, &team, &format!("dateTo={text}")).await,
            count(&server, &team, &format!("dateFrom={text}&dateTo={text}")).await,
            count(&server, &team, "").await,
        ];
        if got != expected {
            wrong.push(format!("{text}: {got:?}, not {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Times of events are rounded down, and bounds are rounded up. So a view in the millisecond of a bound is
/// before it.
#[tokio::test]
async fn a_view_between_two_milliseconds_counts_in_the_earlier_one() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    let moments = ["00.1230", "00.123000001", "00.1239999", "00.124"];
    report(&server, &team, moments.iter().map(|at| format!("2026-03-01T00:00:{at}Z"))).await;
    for (bound, before) in [
        ("00.122999", 0),
        ("00.123", 0),
        ("00.1230001", 3),
        ("00.1239999", 3),
        ("00.124", 3),
        ("00.124001", 4),
    ] {
        let bound = format!("2026-03-01T00:00:{bound}Z");
        assert_eq!(count(&server, &team, &format!("dateTo={bound}")).await, before, "{bound}");
        assert_eq!(count(&server, &team, &format!("dateFrom={bound}")).await, 4 - before, "{bound}");
    }
}

#[tokio::test]
async fn the_ends_of_a_range_can_have_different_formats() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    report(&server, &team, (0..48).map(|hour| format!("2026-03-0{}T{:02}:00:00Z", 1 + hour / 24, hour % 24)))
        .await;
    for (from, to, hours) in [
        ("2026-03-01", "2026-03-02", 24),
        ("2026-03-01", "2026-03-01T24:00", 24),
        ("2026-03-01T00:00:00%2B05:30", "2026-03-02T00:00:00%2B05:30", 19),
        ("2026-03-01T00:00:00-05:00", "2026-03-01T06:00:00.0000001Z", 2),
        ("2026-03-01T01:00:00.0001Z", "2026-03-01t03:00:00z", 1),
        ("20260301T22", "2026-03-02+02:00:00", 4),
    ] {
        assert_eq!(
            count(&server, &team, &format!("dateFrom={from}&dateTo={to}")).await,
            hours,
            "{from} to {to}"
        );
    }
}
