//! Lists requests with missing and malformed API keys.

use super::row::{Row, row};

/// One route of each kind.
const ROUTES: &[&str] = &[
    "GET /v1/analytics/{project}/views",
    "POST /v2/agent/{project}/job",
    "POST /v2/agent/{project}/job/{job}/archive",
    "HEAD /v2/agent/{project}/job/{job}",
];

const INVALID_HEADERS: &[&[u8]] = &[
    b"",
    b"Bearer",
    b"Bearer ",
    b"Bearer{key}",
    b"{key}",
    b"Bearer: {key}",
    b"Bearer={key}",
    b"Bearer\t{key}",
    b"Basic {key}",
    b"Basic ZHc6",
    b"Token {key}",
    b"Digest username=\"{key}\"",
    b"Bearer Bearer {key}",
    b"Bearer \"{key}\"",
    b"Bearer '{key}'",
    b"Bearer <{key}>",
    b"Bearer {key}x",
    b"Bearer x{key}",
    b"Bearer {key},",
    b"Bearer {key} {key}",
    b"Bearer {key}, Bearer {key}",
    b"Bearer {key};x",
    b"Bearer dw_",
    b"Bearer dw_x",
    b"Bearer null",
    b"Bearer undefined",
    b"Bearer $KEY",
    b"Bearer dw_0000000000000000000000000000000000000000000000",
    b"Bearer DW_{key}",
    b"Bearer {key}%00",
    b"Bearer \xff",
    b"Bearer {key}\xff",
    b"Bearer cl\xc3\xa9",
];

pub(super) fn rows() -> Vec<Row> {
    ROUTES.iter().flat_map(|route| rows_for(route)).collect()
}

fn rows_for(route: &str) -> Vec<Row> {
    let refused = |name: String| row(route, format!("{name}, {route}"), "401 unauthorized").without_key();
    let mut rows = vec![
        refused("no key".into()),
        refused("a key as a cookie".into()).header("cookie", "key={key}"),
        refused("a key by another name".into()).header("x-api-key", "{key}"),
        refused("a key for a proxy".into()).header("proxy-authorization", "Bearer {key}"),
        refused("two keys, the first good".into())
            .header("authorization", "Bearer {key}")
            .header("authorization", "Bearer dw_x"),
        refused("two keys, the last good".into())
            .header("authorization", "Basic eDp5")
            .header("authorization", "Bearer {key}"),
    ];
    for header in INVALID_HEADERS {
        let name = format!("the key `{}`", String::from_utf8_lossy(header));
        rows.push(refused(name).header("authorization", header));
    }
    if let Some(path) = route.strip_prefix("GET ") {
        rows.push(
            row(
                &format!("GET {path}?key={{key}}&access_token={{key}}"),
                "a key in the query",
                "401 unauthorized",
            )
            .without_key(),
        );
    }
    let long = format!("Bearer {}", "x".repeat(12_000));
    rows.push(refused("a long key".into()).header("authorization", long));
    rows
}
