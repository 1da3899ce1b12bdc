//! Parameters: of the path, of the query, headers.

use serde_json::{Value, json};

/// Those that the path's template names.
pub(super) fn in_path(template: &str) -> Vec<Value> {
    let names = template.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    names
        .map(|name| parameter("path", name, json!({ "type": "string", "minLength": 1 }), described(name)))
        .collect()
}

fn described(name: &str) -> &'static str {
    match name {
        "projectId" => "The project; its id is on the API keys page and in `docwright project list`.",
        "id" => "The job.",
        "file" => "The SHA-256 of what the reader of the file knows it by.",
        "provider" => "The kind of host: `github`, `gitlab`, `gitea` or `forgejo`.",
        _ => "",
    }
}

pub(super) fn query(name: &str, schema: Value, description: &str) -> Value {
    parameter("query", name, schema, description)
}

pub(super) fn header(name: &str, schema: Value, description: &str) -> Value {
    parameter("header", name, schema, description)
}

/// A header without which nothing goes.
pub(super) fn required_header(name: &str, schema: Value, description: &str) -> Value {
    let mut parameter = header(name, schema, description);
    parameter["required"] = json!(true);
    parameter
}

/// `limit` and `offset`.
pub(super) fn pages(most: u32, usual: u32) -> [Value; 2] {
    let limit = json!({ "type": "integer", "minimum": 1, "maximum": most, "default": usual });
    let offset =
        json!({ "type": "integer", "format": "int64", "minimum": 0, "maximum": i64::MAX, "default": 0 });
    [
        query("limit", limit, "How many at most."),
        query("offset", offset, "How many to skip; while `hasMore` is true, raise it by `limit`."),
    ]
}

fn parameter(place: &str, name: &str, schema: Value, description: &str) -> Value {
    json!({ "in": place, "name": name, "required": place == "path", "schema": schema, "description": description })
}
