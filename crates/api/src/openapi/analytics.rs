//! Describes the operations that count and ingest page views.

use std::time::Duration;

use serde_json::{Value, json};
use wire::{BrowserView, ImportProgress, IngestResult, PageView, PageViews, PageVisitors, Totals, ViewEvent};

use super::agent::{invalid_limit, limit_reached};
use super::operation::{Operation, database_error, schema_reference};
use super::parameters::{paging, query, required_header};
use super::reports::{format_parameter, path_parameter, sort_parameter};
use super::response::Response;
use crate::error::{ApiError, unexpected_part};
use app::address_limit::TooOften;

pub(super) const TAG: &str = "Page views";

pub(crate) fn get_views() -> Operation {
    let [limit, offset] = paging(250, 50);
    let response = Response::json::<PageViews>(
        200,
        "The totals of the range, and the pages with the most views first.",
        views(),
    )
    .csv("path,human,ai,total\r\n\"/guide\",80,30,110\r\n")
    .header("Link")
    .rate_limited();
    Operation::new(TAG, "getViews", "Get page views")
        .description("`human` counts browsers. `ai` counts assistants and coding agents that read on behalf of a person, and everything that reads Markdown. Neither includes crawlers, search engines, and monitors.")
        .needs_key()
        .parameter(query("dateFrom", date_schema(), "Include views from this time on. A date means midnight in UTC, and a time without an offset is in UTC."))
        .parameter(query("dateTo", end_date_schema(), "Include views before this time. It must not be before `dateFrom`."))
        .parameter(path_parameter())
        .parameter(sort_parameter())
        .parameter(limit)
        .parameter(offset)
        .parameter(format_parameter())
        .response(response)
        .errors([invalid_limit(250), limit_reached(1_000)])
}

pub(crate) fn get_visitors() -> Operation {
    let [limit, offset] = paging(250, 50);
    let response = Response::json::<PageVisitors>(
        200,
        "The totals of the range, and the pages with the most visitors first.",
        visitors(),
    )
    .csv("path,human,ai,total\r\n\"/guide\",50,12,61\r\n")
    .header("Link")
    .rate_limited();
    Operation::new(TAG, "getVisitors", "Get visitors")
        .description("The sum of the distinct visitors of each UTC day that begins in the range. A visitor who comes on two days counts twice. A visitor who reads both as `human` and as `ai` counts once in `total`.")
        .needs_key()
        .parameter(query("dateFrom", date_schema(), "Include days that begin at this time or later."))
        .parameter(query("dateTo", end_date_schema(), "Include days that begin before this time. It must not be before `dateFrom`."))
        .parameter(path_parameter())
        .parameter(sort_parameter())
        .parameter(limit)
        .parameter(offset)
        .parameter(format_parameter())
        .response(response)
        .errors([invalid_limit(250), limit_reached(1_000)])
}

pub(crate) fn send_events() -> Operation {
    let event =
        json!({ "path": "/guide", "timestamp": "2026-11-15T12:00:00Z", "userAgent": "Claude-User/1.0" });
    let array = json!({ "type": "array", "items": schema_reference::<ViewEvent>(), "maxItems": 10_000 });
    let content = json!({
        "application/json": { "schema": array, "example": [event] },
        "application/x-ndjson": { "schema": { "type": "string" }, "example": format!("{event}\n") },
    });
    let result = json!({ "accepted": 1, "duplicates": 0, "rejected": [{ "line": 2, "message": "an event needs `path` or `url`" }] });
    Operation::new(TAG, "sendEvents", "Send page views")
        .description("Send at most 10,000 events and 8 MiB. An invalid event is rejected with its line number, and the others are stored. 503 means that nothing was stored.")
        .needs_key()
        .needs_write_scope()
        .body_as::<ViewEvent>(content, "8 MiB", "application/json (an array) or application/x-ndjson (one event per line)")
        .parameter(query("file", hash_schema(), "The file that the events are a part of, as a SHA-256 hash that the client chooses. The server records the part, and refuses it unless it's the next one."))
        .parameter(query("from", offset_schema(), "With `file`: the byte of the uncompressed file at which the part begins."))
        .parameter(query("to", offset_schema(), "With `file`: the byte at which the next part begins."))
        .parameter(query("hash", hash_schema(), "With `file`: the SHA-256 hash of the file up to `to`."))
        .response(Response::json::<IngestResult>(202, "The accepted events are on disk.", result))
        .errors([invalid_part(), unexpected_part(52_428_800)])
}

pub(crate) fn get_import() -> Operation {
    let progress = json!(ImportProgress { bytes: 52_428_800, hash: Some("9f".repeat(32)) });
    Operation::new(TAG, "getImport", "Get the progress of an import")
        .description("`docwright import` calls this before it sends a file, so that no line counts twice.")
        .needs_key()
        .response(Response::json::<ImportProgress>(
            200,
            "How far the file was imported: 0 bytes if nothing was.",
            progress,
        ))
}

fn invalid_part() -> ApiError {
    ApiError::invalid("invalid_query", "from is required with file")
}

fn hash_schema() -> Value {
    json!({ "type": "string", "pattern": "^[0-9a-f]{64}$" })
}

fn offset_schema() -> Value {
    json!({ "type": "integer", "format": "int64", "minimum": 0, "maximum": i64::MAX })
}

pub(crate) fn send_view() -> Operation {
    let view = json!({ "url": "https://docs.acme.dev/guide", "referrer": "https://www.example.com/" });
    let schema = schema_reference::<BrowserView>();
    let too_often = TooOften { per_minute: 300, wait: Duration::from_secs(1) };
    let content = json!({
        "text/plain": { "schema": { "type": "string", "contentMediaType": "application/json" }, "example": view.to_string() },
        "application/json": { "schema": schema, "example": view },
    });
    Operation::new(TAG, "sendView", "Send a page view from a browser")
        .description("The script `/js/docwright.js` calls this, without an API key. The server takes the user agent and the address from the request. The body can have at most 8 KiB.")
        .parameter(origin())
        .body_as::<BrowserView>(content, "8 KiB", "text/plain or application/json")
        .response(Response::empty(204, "The view is on disk.").header("Access-Control-Allow-Origin"))
        .errors([ApiError::NoSuchProject, ApiError::OriginNotAllowed, ApiError::TooManyBeacons(too_often), database_error()])
}

pub(crate) fn preflight_view() -> Operation {
    let allowed = Response::empty(204, "The site can send JSON.")
        .header("Access-Control-Allow-Origin")
        .header("Access-Control-Allow-Methods");
    Operation::new(TAG, "askToSendView", "Preflight request for a page view")
        .description("Browsers send this before they send JSON to another site.")
        .parameter(origin())
        .response(allowed)
        .errors([ApiError::NoSuchProject, ApiError::OriginNotAllowed, database_error()])
}

pub(crate) fn get_script() -> Operation {
    let tag = "<script defer src=\"…/js/docwright.js\" data-project=\"prj_…\"></script>";
    Operation::new(TAG, "getScript", "Get the script for a docs site")
        .description("The script counts page views, also on single-page sites. It sets no cookies.")
        .response(Response::text(200, "The script.", "text/javascript", tag).header("ETag"))
        .response(Response::empty(304, "Nothing changed.").header("ETag"))
}

fn origin() -> Value {
    required_header(
        "Origin",
        json!({ "type": "string" }),
        "The site, as browsers send it. It must be a site of the project.",
    )
}

pub(super) fn date_schema() -> Value {
    date_schema_with(["2026-03-01", "2026-03-01T12:00:00+05:30"])
}

/// Its examples are after those of [`date_schema`], so that every combination is a valid range.
pub(super) fn end_date_schema() -> Value {
    date_schema_with(["2026-04-01", "2026-04-01T12:00:00+05:30"])
}

fn date_schema_with(examples: [&str; 2]) -> Value {
    json!({
        "anyOf": [{ "type": "string", "format": "date" }, { "type": "string", "format": "date-time" }],
        "examples": examples,
    })
}

fn visitors() -> Value {
    json!(PageVisitors {
        totals: Totals { human: 70, ai: 20, total: 88 },
        visitors: vec![PageView { path: "/guide".into(), human: 50, ai: 12, total: 61 }],
        has_more: true,
    })
}

fn views() -> Value {
    json!(PageViews {
        totals: Totals { human: 120, ai: 45, total: 165 },
        views: vec![PageView { path: "/guide".into(), human: 80, ai: 30, total: 110 }],
        has_more: true,
    })
}
