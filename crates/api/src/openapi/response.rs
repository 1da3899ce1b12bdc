//! Describes the responses of an operation, including its errors.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::operation::{NamedSchema, Schemas, named_schemas, schema_reference};
use crate::error::ApiError;

const RATE_LIMIT_HEADERS: [&str; 5] =
    ["RateLimit", "RateLimit-Policy", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"];

/// The description of a successful response.
pub(super) struct Response {
    status: u16,
    description: &'static str,
    content: Map<String, Value>,
    headers: Vec<&'static str>,
    links: Map<String, Value>,
    schemas: Vec<NamedSchema>,
}

impl Response {
    /// A response without a body.
    pub(super) fn empty(status: u16, description: &'static str) -> Self {
        Self {
            status,
            description,
            content: Map::new(),
            headers: vec!["X-Request-Id"],
            links: Map::new(),
            schemas: Vec::new(),
        }
    }

    pub(super) fn json<T: ToSchema>(status: u16, description: &'static str, example: Value) -> Self {
        let mut response =
            Self::empty(status, description).content("application/json", schema_reference::<T>(), example);
        response.schemas = named_schemas::<T>();
        response
    }

    pub(super) fn array<T: ToSchema>(status: u16, description: &'static str, example: Value) -> Self {
        let array = json!({ "type": "array", "items": schema_reference::<T>() });
        let mut response =
            Self::empty(status, description).content("application/json", array, json!([example]));
        response.schemas = named_schemas::<T>();
        response
    }

    pub(super) fn text(status: u16, description: &'static str, kind: &str, example: &str) -> Self {
        Self::empty(status, description).content(kind, json!({ "type": "string" }), json!(example))
    }

    pub(super) fn content(mut self, kind: &str, schema: Value, example: Value) -> Self {
        self.content.insert(kind.into(), json!({ "schema": schema, "example": example }));
        self
    }

    /// Also offers the response as CSV.
    pub(super) fn csv(self, example: &str) -> Self {
        self.content("text/csv", json!({ "type": "string" }), json!(example)).header("Content-Disposition")
    }

    pub(super) fn header(mut self, name: &'static str) -> Self {
        self.headers.push(name);
        self
    }

    /// Adds the headers of the rate limit, which the request counts towards.
    pub(super) fn rate_limited(mut self) -> Self {
        self.headers.extend(RATE_LIMIT_HEADERS);
        self
    }

    /// Adds links to the operations that take the id in this response.
    pub(super) fn links_to(mut self, operations: &[&str], id: &str) -> Self {
        for operation in operations {
            let parameters = json!({ "projectId": "$request.path.projectId", "id": id });
            let link = json!({ "operationId": operation, "parameters": parameters });
            self.links.insert((*operation).into(), link);
        }
        self
    }

    pub(super) fn describe(self, schemas: &mut Schemas) -> (String, Value) {
        schemas.add(self.schemas, true);
        let headers: Map<_, _> =
            self.headers.iter().map(|name| (name.to_string(), header_reference(name))).collect();
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

/// The errors by status. Each is described by its codes, with its sentences as examples.
pub(super) fn error_responses(errors: &[ApiError]) -> Map<String, Value> {
    let mut by_status: BTreeMap<u16, Vec<&ApiError>> = BTreeMap::new();
    for error in errors {
        by_status.entry(error.status().as_u16()).or_default().push(error);
    }
    by_status
        .into_iter()
        .map(|(status, errors)| (status.to_string(), error_response(status, &errors)))
        .collect()
}

fn error_response(status: u16, errors: &[&ApiError]) -> Value {
    let codes: Vec<_> = errors.iter().map(|error| error.code()).collect();
    let mut headers = json!({
        "X-Request-Id": header_reference("X-Request-Id"),
        "X-Error-Code": { "description": "The error, for programs.", "required": true,
                          "schema": { "type": "string", "enum": codes } },
    });
    let status_headers: &[&str] = match status {
        401 => &["WWW-Authenticate"],
        429 | 503 => &["Retry-After"],
        _ => &[],
    };
    let is_rate_limited = errors.iter().any(|error| matches!(error, ApiError::LimitReached(_)));
    let limit_headers: &[&str] = if is_rate_limited { &RATE_LIMIT_HEADERS } else { &[] };
    for name in status_headers.iter().chain(limit_headers) {
        headers[*name] = header_reference(name);
    }
    let example =
        |error: &&ApiError| (error.code().to_owned(), json!({ "value": { "error": error.to_string() } }));
    let examples: Map<_, _> = errors.iter().map(example).collect();
    let schema = schema_reference::<wire::Error>();
    json!({
        "description": codes.join(", "),
        "headers": headers,
        "content": { "application/json": { "schema": schema, "examples": examples } },
    })
}

fn header_reference(name: &str) -> Value {
    json!({ "$ref": format!("#/components/headers/{name}") })
}

/// All headers of responses. Those that a response always has are required.
pub(super) fn headers() -> Value {
    let text = |description: &str| json!({ "description": description, "schema": { "type": "string" } });
    let number = |description: &str| json!({ "description": description, "required": true, "schema": { "type": "integer", "minimum": 0 } });
    let required = |mut header: Value| {
        header["required"] = json!(true);
        header
    };
    json!({
        "X-Request-Id": required(text("Identifies the request in the server's log. If you send a valid id, the server uses it.")),
        "Location": text("The URL path of the job. Not on a replay."),
        "ETag": required(text("Send it as `If-None-Match` to get a 304 while nothing changed.")),
        "Link": text("The next and the previous part of the list: `rel=\"next\"`, `rel=\"prev\"`."),
        "Content-Disposition": text("For CSV: the name of the file."),
        "Retry-After": number("The number of seconds to wait."),
        "WWW-Authenticate": required(text("`Bearer`")),
        "Idempotent-Replay": text("`true` if this is the response to an earlier request."),
        "Access-Control-Allow-Origin": required(text("The site that sent the request.")),
        "Access-Control-Allow-Methods": required(text("`POST`")),
        "Allow": required(text("The methods that the route supports.")),
        "RateLimit": text("What is left of the limit: `\"default\";r=99;t=3600`."),
        "RateLimit-Policy": text("The limit: `\"default\";q=100;w=3600`."),
        "X-RateLimit-Limit": text("The number of requests per hour."),
        "X-RateLimit-Remaining": text("The number of requests that are left."),
        "X-RateLimit-Reset": text("When the limit resets, in seconds since 1970."),
    })
}
