//! Lists invalid page views of servers and browsers.

use super::jobs::{NOT_JSON, NOT_OBJECTS};
use super::row::{Row, SITE, row};

const EVENTS: &str = "POST /v1/analytics/{project}/events";
const COLLECT: &str = "POST /v1/collect/{project}";
const PREFLIGHT: &str = "OPTIONS /v1/collect/{project}";

/// Bodies that aren't an array of events.
const NOT_ARRAYS: &[(&str, &[u8])] = &[
    ("nothing", b""),
    ("an object", b"{}"),
    ("an event without its array", b"{\"path\":\"/a\"}"),
    ("null", b"null"),
    ("a number", b"7"),
    ("a text", b"\"/a\""),
    ("a cut-off array", b"[{\"path\":\"/a\"}"),
    ("a comma too many", b"[{\"path\":\"/a\"},]"),
    ("a cut-off event", b"[{\"path\":\"/a\""),
    ("a cut-off text", b"[{\"path\":\"/a"),
    ("two arrays", b"[{\"path\":\"/a\"}][]"),
    ("junk at the end", b"[{\"path\":\"/a\"}]x"),
    ("lines for an array", b"{\"path\":\"/a\"}\n{\"path\":\"/b\"}\n"),
    ("a byte-order mark", b"\xef\xbb\xbf[{\"path\":\"/a\"}]"),
    ("no text in the middle", b"[{\"path\":\"/a\"},{\"path\":\"/\xff\"}]"),
    ("no JSON in the middle", b"[{\"path\":\"/a\"},{path:1}]"),
    ("a NUL between events", b"[{\"path\":\"/a\"},\0{\"path\":\"/a\"}]"),
    ("no number", b"[{\"path\":\"/a\",\"status\":NaN}]"),
];

/// Origins that aren't the site.
const OTHER_ORIGINS: &[&[u8]] = &[
    b"",
    b"null",
    b"*",
    b"docs.acme.dev",
    b"//docs.acme.dev",
    b"http://docs.acme.dev",
    b"https://docs.acme.dev:8443",
    b"https://acme.dev",
    b"https://docs.acme.dev.evil.example",
    b"https://evil.example/docs.acme.dev",
    b"https://docs.acme.dev@evil.example",
    b"https://evil.example, https://docs.acme.dev",
    b"https://docs.acme.dev https://x.example",
    b"https://docs.acme.dev/guide",
    b"https://docs.acme.dev?x",
    b"https://docs.acme.dev#x",
    b"https://docs.acme.dev:",
    b"https://docs.acme.dev:+443",
    b"https://docs.acme.dev:99999",
    b"https://docs.acme.dev.",
    b"https://d\xc3\xb6cs.acme.dev",
    b"https://docs.acme.dev\xff",
    b"file://docs.acme.dev",
    b"javascript://docs.acme.dev",
    b"https:docs.acme.dev",
    b"https://",
];

/// Objects that aren't a page view.
const NOT_VIEWS: &[&str] = &[
    "{}",
    r#"{"path":null,"url":null}"#,
    r#"{"path":7}"#,
    r#"{"path":true}"#,
    r#"{"path":["/a"]}"#,
    r#"{"path":{}}"#,
    r#"{"path":""}"#,
    r#"{"path":" "}"#,
    r#"{"path":"a"}"#,
    r#"{"path":"?x"}"#,
    r#"{"url":"about:blank"}"#,
    r#"{"url":"file:///a"}"#,
    r#"{"url":"data:text/html,x"}"#,
    r#"{"url":"javascript:x"}"#,
    r#"{"url":7}"#,
    r#"{"path":"/a","referrer":{}}"#,
    r#"{"path":"/a","referrer":7}"#,
    r#"{"path":"/a","eventId":""}"#,
    r#"{"path":"/a","eventId":7}"#,
    r#"{"path":"/\u0000"}"#,
    r#"{"path":"/\u001b[31m"}"#,
    r#"{"path":"/a","path":"/b"}"#,
];

pub(super) fn rows() -> Vec<Row> {
    let array =
        |(name, body): &(&str, &[u8])| row(EVENTS, format!("events: {name}"), "400 invalid_body").json(body);
    let mut rows: Vec<_> = NOT_ARRAYS.iter().map(array).collect();
    rows.extend(event_content_types());
    rows.extend(event_sizes());
    rows
}

fn event_content_types() -> Vec<Row> {
    let expected = "415 unsupported_media_type: send the body as application/json (an array) or application/x-ndjson (one event per line)";
    let refused = [
        "",
        "text/plain",
        "text/csv",
        "text/ndjson",
        "application/x-json-stream",
        "application/x-www-form-urlencoded",
        "application/octet-stream",
        "multipart/mixed",
        "application/x-ndjson, application/json",
        "ndjson",
    ];
    let mut rows: Vec<_> = refused
        .iter()
        .map(|kind| row(EVENTS, format!("events as `{kind}`"), expected).content_type(kind).body("[]"))
        .collect();
    rows.push(row(EVENTS, "events as nothing", expected).body("[]"));
    rows
}

fn event_sizes() -> Vec<Row> {
    const MAX_BYTES: usize = 8 * 1024 * 1024;
    let large = "413 too_large: the body must be at most 8 MiB";
    let many = "413 too_large: send at most 10,000 events per request";
    let mut rows = vec![
        row(EVENTS, "10,001 events", many).json(format!("[{}]", vec!["{}"; 10_001].join(","))),
        row(EVENTS, "four million zeros", many).json(format!("[{}]", vec!["0"; 4_000_000].join(","))),
        row(EVENTS, "10,001 lines", many).content_type("application/x-ndjson").body("{}\n".repeat(10_001)),
        row(EVENTS, "10,001 junk lines", many)
            .content_type("application/jsonl")
            .body("x\r\n\n".repeat(10_001)),
    ];
    for kind in ["application/json", "application/x-ndjson"] {
        let row = |name: &str| row(EVENTS, format!("{name}, {kind}"), large).content_type(kind);
        rows.push(row("a byte too many is claimed").claim_length(MAX_BYTES as u64 + 1));
        rows.push(row("ten gigabytes are claimed").claim_length(10_000_000_000));
        rows.push(row("a byte too many, in one piece").body(vec![b' '; MAX_BYTES + 1]));
        rows.push(row("a byte too many, in chunks").body(vec![b' '; MAX_BYTES + 1]).chunked());
    }
    rows
}

pub(super) fn beacon_rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for origin in OTHER_ORIGINS {
        let name = format!("the origin `{}`", String::from_utf8_lossy(origin));
        let from =
            |route| row(route, name.clone(), "403 origin_not_allowed").without_key().header("origin", origin);
        rows.push(from(COLLECT).body(r#"{"path":"/a"}"#));
        rows.push(from(PREFLIGHT).header("access-control-request-method", "POST"));
    }
    rows.push(row(COLLECT, "no origin", "403 origin_not_allowed").without_key());
    rows.push(row(COLLECT, "a key for an origin", "403 origin_not_allowed"));
    rows.push(row(COLLECT, "an address for an origin", "403 origin_not_allowed").header("referer", SITE));
    rows.push(row(PREFLIGHT, "no origin", "403 origin_not_allowed").without_key());
    rows.extend(beacon_bodies());
    rows
}

fn beacon_bodies() -> Vec<Row> {
    let beacon =
        |name: String, expected: &str| row(COLLECT, name, expected).without_key().header("origin", SITE);
    let invalid = |name: String| beacon(name, "400 invalid_body");
    let mut rows = Vec::new();
    rows.extend(NOT_JSON.iter().map(|(name, body)| invalid(format!("view: {name}")).body(body)));
    rows.extend(
        NOT_OBJECTS.iter().map(|body| invalid(format!("view: {body}")).body(body).content_type("text/plain")),
    );
    rows.extend(NOT_VIEWS.iter().map(|body| invalid(format!("view: {body}")).json(body)));
    rows.push(invalid("a path too long".into()).body(format!(r#"{{"path":"/{}"}}"#, "a".repeat(1_024))));
    let id = "x".repeat(256);
    rows.push(invalid("an id too long".into()).body(format!(r#"{{"path":"/a","eventId":"{id}"}}"#)));
    let expected = "415 unsupported_media_type: send the body as text/plain or application/json";
    for kind in [
        "text/html",
        "text/plain2",
        "text",
        "*/*",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/octet-stream",
        "image/png",
        "text/plain, application/json",
        "application/j\u{f6}son",
    ] {
        rows.push(beacon(format!("a view as {kind}"), expected).content_type(kind).body(r#"{"path":"/a"}"#));
    }
    let large = "413 too_large: the body must be at most 8 KiB";
    rows.push(beacon("a byte too many is claimed".into(), large).claim_length(8_193));
    rows.push(beacon("ten gigabytes are claimed".into(), large).claim_length(10_000_000_000));
    rows.push(beacon("a byte too many, in one piece".into(), large).body([b' '; 8_193]));
    rows.push(beacon("a byte too many, in chunks".into(), large).body([b' '; 8_193]).chunked());
    rows
}
