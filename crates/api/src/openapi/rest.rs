//! What the operations around the server do, and the words before it all.

use serde_json::{Value, json};

use super::answer::Answer;
use super::operation::{Operation, store_down};
use crate::error::ApiError;

const TAG: &str = "The server";

pub(super) const INTRODUCTION: &str = "\
An agent that turns a prompt into a pull request on the docs repository, and page views that tell human readers from AI ones.

Send an API key as `Authorization: Bearer dw_…`. Everything is JSON in UTF-8; moments are RFC 3339 in UTC with milliseconds. Fields and query parameters that are not known are ignored; a known one of the wrong type is a 400. HEAD works wherever GET does. Bodies may come as `Content-Encoding: gzip` or `zstd`; answers go out as `Accept-Encoding` asks.

An error is `{\"error\": \"one sentence\"}`, sometimes with `details`; `X-Error-Code` is for machines. Checked in this order: 401, 403 for the address, 404, 403 for the scope, 429, 415, 413, 400. What is not there and what a key may not see are the same 404. Another method is a 405 with `Allow`.";

pub(super) fn tags() -> Value {
    json!([
        { "name": "Agent jobs", "description": "A prompt becomes a pull request." },
        { "name": "Page views", "description": "Who reads the docs: people, and AI on their behalf." },
        { "name": TAG, "description": "For whoever runs it or writes a client." },
    ])
}

pub(crate) fn alive() -> Operation {
    let done = Answer::text(200, "The process runs.", "text/plain", "ok\n");
    Operation::new(TAG, "alive", "Is it running?").answers(done)
}

pub(crate) fn ready() -> Operation {
    let done = Answer::text(200, "Requests can be served.", "text/plain", "ready\n");
    Operation::new(TAG, "ready", "Can it do its work?").answers(done).refuses([store_down()])
}

pub(crate) fn description() -> Operation {
    let done = Answer::empty(200, "This description, OpenAPI 3.1.").header("ETag").content(
        "application/json",
        json!({ "type": "object" }),
        json!({ "openapi": "3.1.0" }),
    );
    Operation::new(TAG, "getDescription", "This description")
        .answers(done)
        .answers(Answer::empty(304, "Nothing has changed.").header("ETag"))
}

pub(crate) fn reference_page() -> Operation {
    let done = Answer::text(200, "A page for people.", "text/html", "<!doctype html>…");
    Operation::new(TAG, "getReference", "This description, for people").answers(done)
}

pub(crate) fn metrics() -> Operation {
    let counts = "# TYPE docwright_queue_depth gauge\ndocwright_queue_depth 0\n";
    let done = Answer::text(200, "Counts, in Prometheus's text format.", "text/plain", counts);
    Operation::new(TAG, "getMetrics", "How busy is it?")
        .about("There only when the operator has asked for it: `docwright serve --metrics`.")
        .answers(done)
        .refuses([ApiError::NoSuchRoute])
}

pub(crate) fn hook() -> Operation {
    let event = json!({ "action": "closed", "number": 1, "repository": { "full_name": "acme/docs" } });
    let content = json!({ "application/json": { "schema": { "type": "object" }, "example": event } });
    Operation::new(TAG, "takeHook", "Word from the repository host")
        .about("What GitHub, GitLab, Gitea and Forgejo send when a pull request moves on. No key: signed with the secret that `docwright project hook` shows. At most 2 MiB.")
        .untyped(content, "2 MiB", "application/json")
        .answers(Answer::empty(204, "What is new is in the job's events."))
        .refuses([ApiError::UnsignedHook, ApiError::NoHost, store_down()])
}
