//! Lists unusual but valid requests, which the server must serve.

use super::row::{Row, SITE, row};

const CREATE: &str = "POST /v2/agent/{project}/job";
const SHOW: &str = "GET /v2/agent/{project}/job/{job}";
const EVENTS: &str = "POST /v1/analytics/{project}/events";
const COLLECT: &str = "POST /v1/collect/{project}";

/// Headers that the server ignores.
const IGNORED_HEADERS: &[(&str, &str)] = &[
    ("accept", "image/png"),
    ("accept", "junk;;q=9"),
    ("accept", ""),
    ("accept-charset", "utf-7"),
    ("accept-language", "tlh"),
    ("range", "bytes=0-0"),
    ("range", "bytes=9999999-"),
    ("range", "junk"),
    ("if-none-match", "junk"),
    ("if-none-match", "\""),
    ("if-match", "\"x\""),
    ("if-modified-since", "Fri, 31 Dec 9999 23:59:59 GMT"),
    ("if-unmodified-since", "junk"),
    ("if-range", "\"x\""),
    ("expect", "100-continue"),
    ("expect", "a miracle"),
    ("upgrade", "websocket"),
    ("upgrade", "h2c"),
    ("content-type", "application/json"),
    ("content-type", "junk"),
    ("cookie", "=;;=,"),
    ("x-http-method-override", "DELETE"),
    ("x-original-url", "/metrics"),
    ("x-forwarded-for", "junk"),
    ("forwarded", "for=\"_"),
    ("host", "evil.example"),
    ("te", "trailers, deflate;q=0.5"),
    ("max-forwards", "0"),
    ("origin", "https://evil.example"),
    ("last-event-id", "junk"),
];

/// Request ids that aren't safe in a log. The server generates its own instead.
const UNSAFE_REQUEST_IDS: &[&[u8]] = &[
    b"",
    b"short",
    &[b'x'; 129],
    b"with a space",
    b"<script>alert(1)</script>",
    b"build\t1234",
    b"cl\xc3\xa9-1234",
    b"build-1234\xff",
    b"{\"id\":\"12345678\"}",
    b"aaaaaaaa,bbbbbbbb",
    b"../../../etc",
    b"%0d%0aset-cookie",
    b"$(reboot)",
    b"'; DROP TABLE jobs",
];

pub(super) fn rows() -> Vec<Row> {
    let mut rows: Vec<_> = IGNORED_HEADERS
        .iter()
        .map(|(name, value)| row(SHOW, format!("{name}: {value}"), "200").header(name, value))
        .collect();
    rows.extend(
        UNSAFE_REQUEST_IDS.iter().map(|id| row(SHOW, "a request id", "200").header("x-request-id", id)),
    );
    rows.extend(keys());
    rows.extend(bodies());
    rows.extend(queries());
    rows
}

fn keys() -> impl Iterator<Item = Row> {
    let headers = ["bearer {key}", "BEARER {key}", "Bearer   {key}", "Bearer {key} ", "\tBearer {key}\t"];
    headers.into_iter().map(|header| row(SHOW, header, "200").without_key().header("authorization", header))
}

fn bodies() -> Vec<Row> {
    let create =
        |name: &str, fields: &str| row(CREATE, name, "201").json(format!("{{\"prompt\":\"x\"{fields}}}"));
    let prompt = r#"{"prompt":"x"}"#;
    let as_kind = |kind: &str| row(CREATE, kind, "201").content_type(kind).body(prompt);
    let deep = format!(",\"x\":{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let beacon = |name: &str| row(COLLECT, name, "204").without_key().header("origin", SITE);
    vec![
        create("an unknown field", r#","x":{"y":[null]}"#),
        create("an unknown field twice", r#","x":1,"x":2"#),
        create("null is none", r#","ref":null,"branch":null,"draft":null,"model":null"#),
        create("a deep unknown field", &deep),
        create("a huge unknown number", r#","x":1e999999"#),
        create("a field of another case", r#","Draft":"yes""#),
        row(CREATE, "a NUL in a prompt", "201").json(r#"{"prompt":"a\u0000b"}"#),
        row(CREATE, "blanks around", "201").json(" \r\n\t{ \"prompt\" : \"x\" }\n\n"),
        row(CREATE, "in chunks", "201").json(prompt).chunked(),
        row(CREATE, "two types, the first good", "201").json(prompt).content_type("text/plain"),
        row(CREATE, "an Idempotency-Key of 255", "201").json(prompt).header("idempotency-key", [b'k'; 255]),
        row(CREATE, "a request for 100 Continue", "201").json(prompt).header("expect", "100-continue"),
        as_kind("application/json; charset=utf-8"),
        as_kind("application/json;charset=iso-8859-1"), // JSON has no charset: RFC 8259, section 11
        as_kind("APPLICATION/JSON ; x"),
        as_kind("application/vnd.acme+json"),
        row(EVENTS, "no events", "202").json("[]"),
        row(EVENTS, "no lines", "202").content_type("application/x-ndjson"),
        row(EVENTS, "lines with a mark", "202")
            .content_type("application/jsonl")
            .body("\u{feff}{\"path\":\"/\"}\r\n"),
        row(EVENTS, "all of them wrong", "202").json("[7,null,[],{}]"),
        row(EVENTS, "no text on a line", "202")
            .content_type("application/ndjson")
            .body(b"{\"path\":\"/\xff\"}"),
        beacon("a view without a type").body(r#"{"path":"/"}"#),
        beacon("a view with a key").header("authorization", "Bearer junk").body(r#"{"url":"HTTPS://x"}"#),
        row("POST /v2/agent/{project}/job/{job}/archive", "a body that isn't read", "200")
            .content_type("image/png")
            .body("junk"),
    ]
}

fn queries() -> Vec<Row> {
    let ask = |line: &str| row(line, line, "200");
    let mut rows = vec![
        ask("GET /v1/analytics/{project}/views?unknown=%FF&&=&=x&%zz&limit=1"),
        ask("GET /v1/analytics/{project}/views?limit=x&limit=5"),
        ask("GET /v1/analytics/{project}/views?limit=005&offset=-0"),
        ask("GET /v1/analytics/{project}/views?limit=%2B5"),
        ask("GET /v1/analytics/{project}/views?LIMIT=0&datefrom=junk"),
        ask("GET /v1/analytics/{project}/views?offset=9223372036854775807&limit=250"),
        ask("GET /v1/analytics/{project}/views?dateFrom=0000-01-01&dateTo=9999-12-31T23:59:60.999-23:59"),
        ask("GET /v2/agent/{project}/jobs?offset=9223372036854775807&status=active"),
        ask("GET /v2/agent/{project}/jobs?dateFrom=junk"),
    ];
    for path in ["/healthz", "/readyz", "/openapi.json", "/docs", "/js/docwright.js", "/metrics"] {
        rows.push(ask(&format!("GET {path}")).without_key());
        rows.push(ask(&format!("HEAD {path}?limit=junk&%FF")).header("authorization", "Bearer junk"));
        rows.push(ask(&format!("GET {path}")).header("range", "bytes=1-2").header("accept", "image/png"));
    }
    for path in ["job/{job}", "job/{job}/events", "job/{job}/diff", "jobs"] {
        rows.push(ask(&format!("HEAD /v2/agent/{{project}}/{path}")));
    }
    rows.push(ask("HEAD /v1/analytics/{project}/views"));
    let stream = row("HEAD /v2/agent/{project}/job/{job}/events", "a stream by HEAD", "200");
    rows.push(stream.header("accept", "text/event-stream"));
    rows
}
