//! Tests invalid events in a batch: each is rejected with its line and a reason, and valid ones are stored.

use super::row::{TestProject, row};

/// The event, and the beginning of the message without [`PREFIX`].
const LINES: &[(&str, &str)] = &[
    ("7", "expected a JSON object"),
    ("null", "expected a JSON object"),
    ("[]", "expected a JSON object"),
    (r#"["/a"]"#, "expected a JSON object"),
    (r#""/a""#, "expected a JSON object"),
    ("{}", "an event needs `path` or `url`"),
    (r#"{"path":null}"#, "an event needs `path` or `url`"),
    (r#"{"Path":"/a"}"#, "an event needs `path` or `url`"),
    (r#"{"path":7}"#, "invalid type: integer `7`, expected a string"),
    (r#"{"path":["/a"]}"#, "invalid type: sequence, expected a string"),
    (r#"{"path":""}"#, "a page is a path that begins with `/`, or an http or https URL"),
    (r#"{"path":"a"}"#, "a page is a path that begins with `/`, or an http or https URL"),
    (r#"{"url":"ftp://x/a"}"#, "a page is a path that begins with `/`, or an http or https URL"),
    (r#"{"url":{}}"#, "invalid type: map, expected a string"),
    (r#"{"path":"/\u0007"}"#, "the path of a page must not contain control characters"),
    (r#"{"path":"/a","path":"/b"}"#, "duplicate field `path`"),
    (r#"{"path":"/\ud800"}"#, "not valid JSON: unexpected end of hex escape"),
    (r#"{"path":"/a","timestamp":7}"#, "invalid type: integer `7`, expected a string"),
    (r#"{"path":"/a","timestamp":""}"#, "timestamp: `` is not a date: write YYYY-MM-DD or"),
    (r#"{"path":"/a","timestamp":"yesterday"}"#, "timestamp: `yesterday` is not a date: write YYYY-MM-DD or"),
    (r#"{"path":"/a","timestamp":"2026-02-29"}"#, "timestamp: `2026-02-29` is not a date: write"),
    (r#"{"path":"/a","timestamp":"1763208000"}"#, "timestamp: `1763208000` is not a date: write"),
    (
        r#"{"path":"/a","timestamp":"1999-12-31T23:59:59.999Z"}"#,
        "timestamp 1999-12-31T23:59:59.999Z is before the year 2000",
    ),
    (
        r#"{"path":"/a","timestamp":"2026-11-16T12:00:00.001Z"}"#,
        "timestamp 2026-11-16T12:00:00.001Z is more than a day ahead of the server's clock",
    ),
    (
        r#"{"path":"/a","timestamp":"9999-12-31T23:59:59-23:59"}"#,
        "timestamp: `9999-12-31T23:59:59-23:59` is not a date",
    ),
    (r#"{"path":"/a","timestamp":"a\nb"}"#, "timestamp: `ab` is not a date: write YYYY-MM-DD or"),
    (r#"{"path":"/a","method":7}"#, "invalid type: integer `7`, expected a string"),
    (r#"{"path":"/a","status":"200"}"#, "invalid type: string \"200\", expected u16"),
    (r#"{"path":"/a","status":200.5}"#, "invalid type: floating point `200.5`, expected u16"),
    (r#"{"path":"/a","status":-1}"#, "invalid value: integer `-1`, expected u16"),
    (r#"{"path":"/a","status":99}"#, "status must be between 100 and 599, got 99"),
    (r#"{"path":"/a","status":600}"#, "status must be between 100 and 599, got 600"),
    (r#"{"path":"/a","status":65536}"#, "invalid value: integer `65536`, expected u16"),
    (r#"{"path":"/a","status":1e999}"#, "not valid JSON: number out of range"),
    (r#"{"path":"/a","userAgent":7}"#, "invalid type: integer `7`, expected a string"),
    (r#"{"path":"/a","ip":7}"#, "invalid type: integer `7`, expected a string"),
    (r#"{"path":"/a","ip":"junk"}"#, "ip must be an IPv4 or IPv6 address"),
    (r#"{"path":"/a","ip":"1.2.3.4:80"}"#, "ip must be an IPv4 or IPv6 address"),
    (r#"{"path":"/a","ip":"256.1.1.1"}"#, "ip must be an IPv4 or IPv6 address"),
    (r#"{"path":"/a","referrer":[]}"#, "invalid type: sequence, expected a string"),
    (r#"{"path":"/a","accept":{}}"#, "invalid type: map, expected a string"),
    (r#"{"path":"/a","eventId":7}"#, "invalid type: integer `7`, expected a string"),
    (r#"{"path":"/a","eventId":""}"#, "eventId must be 1 to 255 characters long"),
];

const PREFIX: &str = "the JSON doesn't match this operation: ";

#[tokio::test]
async fn an_invalid_event_is_rejected_alone() {
    let project = TestProject::create().await;
    let valid = r#"{"path":"/good","userAgent":"Claude-User/1.0"}"#;
    let events: Vec<_> = LINES.iter().map(|(event, _)| *event).chain([valid]).collect();
    for (kind, body) in
        [("application/json", format!("[{}]", events.join(","))), ("application/x-ndjson", events.join("\n"))]
    {
        let send = row("POST /v1/analytics/{project}/events", kind, "202").content_type(kind).body(body);
        let result = project.send(&send).await.json();
        let rejected = result["rejected"].as_array().unwrap();
        assert_eq!(rejected.len(), LINES.len(), "{kind}: {rejected:?}");
        for (at, (rejection, (event, message))) in rejected.iter().zip(LINES).enumerate() {
            assert_eq!(rejection["line"], at + 1, "{kind}: {event}");
            let text = rejection["message"].as_str().unwrap().trim_start_matches(PREFIX);
            let end = text.strip_prefix(message).unwrap_or_else(|| panic!("{kind}: {event}: {text}"));
            assert!(end.is_empty() || end.starts_with([' ', ',', ':']), "{kind}: {event}: {text}");
        }
        assert_eq!(result["accepted"], 1);
    }
    let views = project.send(&row("GET /v1/analytics/{project}/views", "views", "200")).await.json();
    assert_eq!(views["totals"]["ai"], 3, "the view of the test project, and the valid ones");
}
