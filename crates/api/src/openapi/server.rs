//! Describes the operations about the server itself, and the introduction of the API reference.

use serde_json::{Value, json};

use super::operation::{Operation, database_error};
use super::response::Response;
use crate::error::ApiError;

const TAG: &str = "Server";

pub(super) const INTRODUCTION: &str = "\
Docwright has an agent that turns a prompt into a pull request on the docs repository, and page-view analytics that distinguish human readers from AI readers.

Send an API key as `Authorization: Bearer dw_…`. Bodies are JSON in UTF-8. Times are in the format of RFC 3339, in UTC, with milliseconds. The server ignores unknown fields and query parameters; a known one of the wrong type is a 400. HEAD works wherever GET does. You can send bodies with `Content-Encoding: gzip` or `zstd`. Responses are compressed as `Accept-Encoding` allows.

An error is `{\"error\": \"one sentence\"}`, sometimes with `details`; `X-Error-Code` is for programs. The server checks in this order: 401, 403 for the address, 404, 403 for the scope, 429, 415, 413, 400. What doesn't exist and what a key can't see get the same 404. A method that a route doesn't support is a 405 with `Allow`.";

pub(super) fn tags() -> Value {
    json!([
        { "name": "Agent jobs", "description": "Turn a prompt into a pull request." },
        { "name": "Page views", "description": "Count who reads the docs: people, and AI on their behalf." },
        { "name": super::findings::TAG, "description": "See what hurts readers, fix it, and see whether that helped." },
        { "name": TAG, "description": "For operators and authors of clients." },
    ])
}

pub(crate) fn get_liveness() -> Operation {
    let response = Response::text(200, "The process runs.", "text/plain", "ok\n");
    Operation::new(TAG, "alive", "Check liveness").response(response)
}

pub(crate) fn get_readiness() -> Operation {
    let response = Response::text(200, "The server can serve requests.", "text/plain", "ready\n");
    Operation::new(TAG, "ready", "Check readiness").response(response).errors([database_error()])
}

pub(crate) fn get_description() -> Operation {
    let response = Response::empty(200, "The API's OpenAPI 3.1 description.").header("ETag").content(
        "application/json",
        json!({ "type": "object" }),
        json!({ "openapi": "3.1.0" }),
    );
    Operation::new(TAG, "getDescription", "Get the OpenAPI description")
        .response(response)
        .response(Response::empty(304, "Nothing changed.").header("ETag"))
}

pub(crate) fn get_reference() -> Operation {
    let response = Response::text(200, "An HTML page.", "text/html", "<!doctype html>…");
    Operation::new(TAG, "getReference", "Get the API reference").response(response)
}

pub(crate) fn get_metrics() -> Operation {
    let counts = "# TYPE docwright_queue_depth gauge\ndocwright_queue_depth 0\n";
    let response =
        Response::text(200, "The metrics, in the text format of Prometheus.", "text/plain", counts);
    Operation::new(TAG, "getMetrics", "Get metrics")
        .description("This route exists only if the operator enables it: `docwright serve --metrics`.")
        .response(response)
        .errors([ApiError::NoSuchRoute])
}

pub(crate) fn receive_webhook() -> Operation {
    let event = json!({ "action": "closed", "number": 1, "repository": { "full_name": "acme/docs" } });
    let content = json!({ "application/json": { "schema": { "type": "object" }, "example": event } });
    Operation::new(TAG, "takeHook", "Receive a webhook")
        .description("GitHub, GitLab, Gitea, and Forgejo send this when a pull request changes. Instead of an API key, it has a signature with the secret that `docwright project hook` shows. The body can have at most 2 MiB.")
        .untyped_body(content, "2 MiB", "application/json")
        .response(Response::empty(204, "The job's events have the new state."))
        .errors([ApiError::UnsignedHook, ApiError::NoHost, database_error()])
}
