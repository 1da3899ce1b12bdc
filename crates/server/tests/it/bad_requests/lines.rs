//! What is wrong with single events: each is turned away with its line and a sentence, in an array
//! as in lines, and the good ones around it are kept.

use super::row::{Place, row};

/// The event, and the sentence; without what stands around a parser's own words.
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

const UNFIT: &str = "the JSON does not fit this operation: ";

#[tokio::test]
async fn a_wrong_event_is_turned_away_alone() {
    let place = Place::open().await;
    let good = r#"{"path":"/good","userAgent":"Claude-User/1.0"}"#;
    let events: Vec<_> = LINES.iter().map(|(event, _)| *event).chain([good]).collect();
    for (kind, body) in
        [("application/json", format!("[{}]", events.join(","))), ("application/x-ndjson", events.join("\n"))]
    {
        let send = row("POST /v1/analytics/{project}/events", kind, "202").kind(kind).body(body);
        let taken = place.send(&send).await.json();
        let rejected = taken["rejected"].as_array().unwrap();
        assert_eq!(rejected.len(), LINES.len(), "{kind}: {rejected:?}");
        for (at, (told, (event, sentence))) in rejected.iter().zip(LINES).enumerate() {
            assert_eq!(told["line"], at + 1, "{kind}: {event}");
            let words = told["message"].as_str().unwrap().trim_start_matches(UNFIT);
            let end = words.strip_prefix(sentence).unwrap_or_else(|| panic!("{kind}: {event}: {words}"));
            assert!(end.is_empty() || end.starts_with([' ', ',', ':']), "{kind}: {event}: {words}");
        }
        assert_eq!(taken["accepted"], 1);
    }
    let views = place.send(&row("GET /v1/analytics/{project}/views", "views", "200")).await.json();
    assert_eq!(views["totals"]["ai"], 3, "the one that was there, and the good ones");
}
