//! What the operations on page views do.

use std::time::Duration;

use serde_json::{Value, json};
use wire::{BrowserView, ImportProgress, IngestResult, PageView, PageViews, PageVisitors, Totals, ViewEvent};

use super::agent::{bad_query, limit_reached};
use super::answer::Answer;
use super::operation::{Operation, reference, store_down};
use super::parameters::{pages, query, required_header};
use super::reports::{form, of_path, order};
use crate::error::{ApiError, not_next};
use app::address_limit::TooOften;

pub(super) const TAG: &str = "Page views";

pub(crate) fn get_views() -> Operation {
    let [limit, offset] = pages(250, 50);
    let done =
        Answer::json::<PageViews>(200, "Totals of the range, and the pages, most read first.", views())
            .csv("path,human,ai,total\r\n\"/guide\",80,30,110\r\n")
            .header("Link")
            .counted();
    Operation::new(TAG, "getViews", "Ask who reads")
        .about("`human` counts browsers. `ai` counts assistants and coding agents that read for somebody, and whatever reads Markdown. Crawlers, search engines and monitors are in neither.")
        .with_key()
        .parameter(query("dateFrom", moment(), "From this moment on; a date is its midnight in UTC, a time without an offset is UTC."))
        .parameter(query("dateTo", moment(), "Before this moment; not before `dateFrom`."))
        .parameter(of_path())
        .parameter(order())
        .parameter(limit)
        .parameter(offset)
        .parameter(form())
        .answers(done)
        .refuses([bad_query(250), limit_reached(1_000)])
}

pub(crate) fn get_visitors() -> Operation {
    let [limit, offset] = pages(250, 50);
    let done = Answer::json::<PageVisitors>(
        200,
        "Totals of the range, and the pages, most readers first.",
        visitors(),
    )
    .csv("path,human,ai,total\r\n\"/guide\",50,12,61\r\n")
    .header("Link")
    .counted();
    Operation::new(TAG, "getVisitors", "Ask how many read")
        .about("Distinct readers of each UTC day that begins in the range, added up: who comes on two days is two. Somebody who reads both as `human` and as `ai` is one of `total`.")
        .with_key()
        .parameter(query("dateFrom", moment(), "Days that begin at this moment or later."))
        .parameter(query("dateTo", moment(), "Days that begin before this moment; not before `dateFrom`."))
        .parameter(of_path())
        .parameter(order())
        .parameter(limit)
        .parameter(offset)
        .parameter(form())
        .answers(done)
        .refuses([bad_query(250), limit_reached(1_000)])
}

pub(crate) fn send_events() -> Operation {
    let event =
        json!({ "path": "/guide", "timestamp": "2026-11-15T12:00:00Z", "userAgent": "Claude-User/1.0" });
    let array = json!({ "type": "array", "items": reference::<ViewEvent>(), "maxItems": 10_000 });
    let content = json!({
        "application/json": { "schema": array, "example": [event] },
        "application/x-ndjson": { "schema": { "type": "string" }, "example": format!("{event}\n") },
    });
    let taken = json!({ "accepted": 1, "duplicates": 0, "rejected": [{ "line": 2, "message": "path or url is missing" }] });
    Operation::new(TAG, "sendEvents", "Send page views in")
        .about("At most 10,000 events and 8 MiB. An event that is not right is rejected with its line; the others are kept. 503 means that nothing was kept.")
        .with_key()
        .writes()
        .content::<ViewEvent>(content, "8 MiB", "application/json (an array) or application/x-ndjson (one event a line)")
        .parameter(query("file", digest(), "The events are a part of this file: it is noted with them, and must be the next one. The SHA-256 of what its reader knows it by."))
        .parameter(query("from", byte(), "With `file`: the byte, unpacked, that the part begins at."))
        .parameter(query("to", byte(), "With `file`: the byte that the next part will begin at."))
        .parameter(query("hash", digest(), "With `file`: the SHA-256 of the file up to `to`."))
        .answers(Answer::json::<IngestResult>(202, "Everything that was accepted is on disk.", taken))
        .refuses([bad_part(), not_next(52_428_800)])
}

pub(crate) fn get_import() -> Operation {
    let progress = json!(ImportProgress { bytes: 52_428_800, hash: Some("9f".repeat(32)) });
    Operation::new(TAG, "getImport", "Ask how far a file was imported")
        .about("What `docwright import` asks before it sends a file, so that nothing of it counts twice.")
        .with_key()
        .answers(Answer::json::<ImportProgress>(200, "0 bytes, if nothing of it was.", progress))
}

fn bad_part() -> ApiError {
    ApiError::invalid("invalid_query", "from must be there when file is")
}

fn digest() -> Value {
    json!({ "type": "string", "pattern": "^[0-9a-f]{64}$" })
}

fn byte() -> Value {
    json!({ "type": "integer", "format": "int64", "minimum": 0, "maximum": i64::MAX })
}

pub(crate) fn collect() -> Operation {
    let view = json!({ "url": "https://docs.acme.dev/guide", "referrer": "https://www.example.com/" });
    let schema = reference::<BrowserView>();
    let too_often = TooOften { per_minute: 300, wait: Duration::from_secs(1) };
    let content = json!({
        "text/plain": { "schema": { "type": "string", "contentMediaType": "application/json" }, "example": view.to_string() },
        "application/json": { "schema": schema, "example": view },
    });
    Operation::new(TAG, "sendView", "Send a view from a browser")
        .about("What the script `/js/docwright.js` does; no key. User agent and address are the request's. At most 8 KiB.")
        .parameter(origin())
        .content::<BrowserView>(content, "8 KiB", "text/plain or application/json")
        .answers(Answer::empty(204, "The view is on disk.").header("Access-Control-Allow-Origin"))
        .refuses([ApiError::NoSuchProject, ApiError::OriginNotAllowed, ApiError::TooManyBeacons(too_often), store_down()])
}

pub(crate) fn preflight() -> Operation {
    let allowed = Answer::empty(204, "The site may send JSON.")
        .header("Access-Control-Allow-Origin")
        .header("Access-Control-Allow-Methods");
    Operation::new(TAG, "askToSendView", "Ask to send a view from a browser")
        .about("What a browser asks by itself before it sends JSON.")
        .parameter(origin())
        .answers(allowed)
        .refuses([ApiError::NoSuchProject, ApiError::OriginNotAllowed, store_down()])
}

pub(crate) fn script() -> Operation {
    let tag = "<script defer src=\"…/js/docwright.js\" data-project=\"prj_…\"></script>";
    Operation::new(TAG, "getScript", "The script for a docs site")
        .about("Counts each page that is read, on single-page sites, too. No cookie.")
        .answers(Answer::text(200, "Loaded by the site's pages.", "text/javascript", tag).header("ETag"))
        .answers(Answer::empty(304, "Nothing has changed.").header("ETag"))
}

fn origin() -> Value {
    required_header(
        "Origin",
        json!({ "type": "string" }),
        "The site, as browsers send it; one of the project's.",
    )
}

pub(super) fn moment() -> Value {
    json!({
        "anyOf": [{ "type": "string", "format": "date" }, { "type": "string", "format": "date-time" }],
        "examples": ["2026-03-01", "2026-03-01T12:00:00+05:30"],
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
