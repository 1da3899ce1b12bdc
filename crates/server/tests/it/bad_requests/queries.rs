//! Lists invalid numbers, statuses and dates in queries.

use super::row::{Row, row};

const VIEWS: &str = "GET /v1/analytics/{project}/views";
const JOBS: &str = "GET /v2/agent/{project}/jobs";

/// Texts that aren't an integer.
const NOT_INTEGERS: &[&str] = &[
    "",
    "+",
    "%20",
    "ten",
    "1.0",
    "1.",
    ".5",
    "1e2",
    "0x10",
    "1_0",
    "1,0",
    "1;2",
    "+5",
    "5+",
    "5%20",
    "%095",
    "5%00",
    "5%0A",
    "%FF",
    "5%",
    "%zz",
    "%u0035",
    "null",
    "true",
    "NaN",
    "Infinity",
    "[]",
    "%5B5%5D",
    "%D9%A3",
    "%EF%BC%95",
    "%E2%85%A4",
    "9223372036854775808",
    "-9223372036854775809",
    "99999999999999999999999999",
    "--1",
    "5-",
    "%22%22",
    "%3Cscript%3E",
];

const NOT_DATES: &[&str] = &[
    "",
    "+",
    "now",
    "yesterday",
    "null",
    "0",
    "2026",
    "2026-03",
    "2026-3-1",
    "26-03-01",
    "2026-13-01",
    "2026-00-01",
    "2026-03-00",
    "2026-03-32",
    "2026-02-29",
    "1900-02-29",
    "2026-04-31",
    "01-03-2026",
    "03/01/2026",
    "1+Mar+2026",
    "Sun,+01+Mar+2026+00:00:00+GMT",
    "2026-060",
    "2026-W09",
    "2026-W09-7",
    "2026W097",
    "1772323200",
    "1772323200000",
    "%2B2026-03-01",
    "-2026-03-01",
    "%2B002026-03-01",
    "2026-0301",
    "202603-01",
    "2026-03-01Z",
    "2026-03-01T",
    "2026-03-01T9:00",
    "2026-03-01T25:00Z",
    "2026-03-01T24:00:01Z",
    "2026-03-01T24:00:00.001Z",
    "2026-03-01T00:60Z",
    "2026-03-01T00:00:61Z",
    "2026-03-01T00:00:00.Z",
    "2026-03-01T00:00:00.%D9%A3Z",
    "2026-03-01T00:00:00ZZ",
    "2026-03-01T00:00:00%2B24:00",
    "2026-03-01T00:00:00%2B5:30",
    "2026-03-01T00:00:00%2B05:60",
    "2026-03-01T00:00:00%2B",
    "2026-03-01T00:00:00Z%2B01:00",
    "2026-03-01T00:00:00EST",
    "2026-03-01T00:00:00+Europe/Paris",
    "2026-03-01T00:00:00Z%5BUTC%5D",
    "2026-03-01x00:00:00Z",
    "2026-03-01T00-00-00Z",
    "2026-03-01/2026-03-02",
    "P1D",
    "2026-03-01%00",
    "2026-03-01%0A2026-03-02",
    "%FF",
    "%EF%BC%92026-03-01",
    "2026-03-0%C3%A9",
    "%7B%7D",
    "2026%E2%80%9003%E2%80%9001",
    "2026-03-01T00:00:00%E2%80%8BZ",
    "99999-01-01",
];

pub(super) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for (route, max) in [(VIEWS, 250), (JOBS, 100)] {
        let ask = |query: &str, expected: &str| row(&format!("{route}?{query}"), query, expected);
        let limit = format!("400 invalid_query: limit must be a whole number, between 1 and {max}");
        let offset = "400 invalid_query: offset must be a whole number, at least 0";
        for text in NOT_INTEGERS {
            rows.push(ask(&format!("limit={text}"), &limit));
            rows.push(ask(&format!("offset={text}"), offset));
        }
        let range = |got: i64| format!("400 invalid_query: limit must be between 1 and {max}, got {got}");
        for number in [0, -1, max + 1, i64::MAX, i64::MIN] {
            rows.push(ask(&format!("limit={number}"), &range(number)));
        }
        for number in [-1, i64::MIN] {
            let negative = format!("400 invalid_query: offset must be at least 0, got {number}");
            rows.push(ask(&format!("offset={number}"), &negative));
        }
        rows.push(ask("limit", &limit));
        rows.push(ask("limit=5&limit=x", &limit));
        rows.push(ask("limit=x&limit=0", &range(0)));
        rows.push(ask("%6Cimit=0", &range(0)));
        rows.push(ask("unknown=%FF&limit=0&unknown", &range(0)));
    }
    for text in
        ["", "done", "Active", "ACTIVE", "active,failed", "+active", "active%00", "%FF", "null", "*", "%00"]
    {
        let expected = "400 invalid_query: status must be one of active, completed, archived, failed";
        rows.push(row(&format!("{JOBS}?status={text}"), format!("status={text}"), expected));
    }
    rows.extend(dates());
    rows
}

fn dates() -> Vec<Row> {
    let ask = |query: String| row(&format!("{VIEWS}?{query}"), query, "400 invalid_query");
    let mut rows: Vec<_> = NOT_DATES
        .iter()
        .flat_map(|text| [format!("dateFrom={text}"), format!("dateTo={text}")])
        .map(ask)
        .collect();
    let long = format!("dateFrom={}", "9".repeat(5_000));
    rows.push(ask(long));
    for (from, to) in [
        ("2026-03-02", "2026-03-01"),
        ("2026-03-01T00:00:00.001Z", "2026-03-01"),
        ("2026-03-01T00:00:00-01:00", "2026-03-01T00:59:59.999Z"),
        ("2026-03-01T00:00:00Z", "2026-03-01T00:00:00%2B00:01"),
        ("2026-03-01T00:00:00.0000001Z", "2026-03-01"),
        ("9999-12-31", "0000-01-01"),
    ] {
        rows.push(ask(format!("dateFrom={from}&dateTo={to}")));
    }
    rows
}
