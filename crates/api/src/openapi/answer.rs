//! What an operation answers: as asked, or with an error.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::operation::{Named, Schemas, reference, types};
use crate::error::ApiError;

const LIMITS: [&str; 5] =
    ["RateLimit", "RateLimit-Policy", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"];

pub(super) struct Answer {
    status: u16,
    description: &'static str,
    content: Map<String, Value>,
    headers: Vec<&'static str>,
    links: Map<String, Value>,
    types: Vec<Named>,
}

impl Answer {
    /// No body.
    pub(super) fn empty(status: u16, description: &'static str) -> Self {
        Self {
            status,
            description,
            content: Map::new(),
            headers: vec!["X-Request-Id"],
            links: Map::new(),
            types: Vec::new(),
        }
    }

    pub(super) fn json<T: ToSchema>(status: u16, description: &'static str, example: Value) -> Self {
        let mut answer =
            Self::empty(status, description).content("application/json", reference::<T>(), example);
        answer.types = types::<T>();
        answer
    }

    pub(super) fn array<T: ToSchema>(status: u16, description: &'static str, example: Value) -> Self {
        let array = json!({ "type": "array", "items": reference::<T>() });
        let mut answer =
            Self::empty(status, description).content("application/json", array, json!([example]));
        answer.types = types::<T>();
        answer
    }

    pub(super) fn text(status: u16, description: &'static str, kind: &str, example: &str) -> Self {
        Self::empty(status, description).content(kind, json!({ "type": "string" }), json!(example))
    }

    pub(super) fn content(mut self, kind: &str, schema: Value, example: Value) -> Self {
        self.content.insert(kind.into(), json!({ "schema": schema, "example": example }));
        self
    }

    /// The same as a file for spreadsheets.
    pub(super) fn csv(self, example: &str) -> Self {
        self.content("text/csv", json!({ "type": "string" }), json!(example)).header("Content-Disposition")
    }

    pub(super) fn header(mut self, name: &'static str) -> Self {
        self.headers.push(name);
        self
    }

    /// It counts, and says how many are left.
    pub(super) fn counted(mut self) -> Self {
        self.headers.extend(LIMITS);
        self
    }

    /// Another operation that this answer has what is needed for.
    pub(super) fn leads_to(mut self, operations: &[&str], id: &str) -> Self {
        for operation in operations {
            let parameters = json!({ "projectId": "$request.path.projectId", "id": id });
            let link = json!({ "operationId": operation, "parameters": parameters });
            self.links.insert((*operation).into(), link);
        }
        self
    }

    pub(super) fn describe(self, schemas: &mut Schemas) -> (String, Value) {
        schemas.add(self.types, true);
        let headers: Map<_, _> =
            self.headers.iter().map(|name| (name.to_string(), header_named(name))).collect();
        let mut response = json!({ "description": self.description, "headers": headers });
        if !self.content.is_empty() {
            response["content"] = Value::Object(self.content);
        }
        if !self.links.is_empty() {
            response["links"] = Value::Object(self.links);
        }
        (self.status.to_string(), response)
    }
}

/// Errors by status, each with its codes and its sentence as an example.
pub(super) fn refusals(errors: &[ApiError]) -> Map<String, Value> {
    let mut by_status: BTreeMap<u16, Vec<&ApiError>> = BTreeMap::new();
    for error in errors {
        by_status.entry(error.status().as_u16()).or_default().push(error);
    }
    by_status.into_iter().map(|(status, errors)| (status.to_string(), refusal(status, &errors))).collect()
}

fn refusal(status: u16, errors: &[&ApiError]) -> Value {
    let codes: Vec<_> = errors.iter().map(|error| error.code()).collect();
    let mut headers = json!({
        "X-Request-Id": header_named("X-Request-Id"),
        "X-Error-Code": { "description": "The error, for machines.", "required": true,
                          "schema": { "type": "string", "enum": codes } },
    });
    let also: &[&str] = match status {
        401 => &["WWW-Authenticate"],
        429 => &["Retry-After"],
        503 => &["Retry-After"],
        _ => &[],
    };
    let counted = errors.iter().any(|error| matches!(error, ApiError::LimitReached(_)));
    let limits: &[&str] = if counted { &LIMITS } else { &[] };
    for name in also.iter().chain(limits) {
        headers[*name] = header_named(name);
    }
    let example =
        |error: &&ApiError| (error.code().to_owned(), json!({ "value": { "error": error.to_string() } }));
    let examples: Map<_, _> = errors.iter().map(example).collect();
    let schema = reference::<wire::Error>();
    json!({
        "description": codes.join(", "),
        "headers": headers,
        "content": { "application/json": { "schema": schema, "examples": examples } },
    })
}

fn header_named(name: &str) -> Value {
    json!({ "$ref": format!("#/components/headers/{name}") })
}

/// Every header that answers have, once. Those that are always there are required.
pub(super) fn headers() -> Value {
    let text = |description: &str| json!({ "description": description, "schema": { "type": "string" } });
    let number = |description: &str| json!({ "description": description, "required": true, "schema": { "type": "integer", "minimum": 0 } });
    let required = |mut header: Value| {
        header["required"] = json!(true);
        header
    };
    json!({
        "X-Request-Id": required(text("The request in the server's log; the client's own, if it sent a sane one.")),
        "Location": text("Where the job is; not on a replay."),
        "ETag": required(text("Send it as `If-None-Match` and get 304 as long as nothing changes.")),
        "Link": text("The neighbouring pages: `rel=\"next\"`, `rel=\"prev\"`."),
        "Content-Disposition": text("The file's name, of CSV."),
        "Retry-After": number("Seconds to wait."),
        "WWW-Authenticate": required(text("`Bearer`")),
        "Idempotent-Replay": text("`true` when this is the answer of an earlier request."),
        "Access-Control-Allow-Origin": required(text("The site that asked.")),
        "Access-Control-Allow-Methods": required(text("`POST`")),
        "Allow": required(text("The methods that there are.")),
        "RateLimit": text("How much of the limit is left: `\"default\";r=99;t=3600`."),
        "RateLimit-Policy": text("The limit: `\"default\";q=100;w=3600`."),
        "X-RateLimit-Limit": text("How many an hour."),
        "X-RateLimit-Remaining": text("How many are left."),
        "X-RateLimit-Reset": text("When the count begins anew, in seconds since 1970."),
    })
}
