//! Describes parameters of the path, of the query, and of headers.

use serde_json::{Value, json};

/// The parameters in the template of a path.
pub(super) fn path_parameters(template: &str) -> Vec<Value> {
    let names = template.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    names
        .map(|name| {
            parameter("path", name, json!({ "type": "string", "minLength": 1 }), path_description(name))
        })
        .collect()
}

fn path_description(name: &str) -> &'static str {
    match name {
        "projectId" => "The id of the project. The API keys page and `docwright project list` show it.",
        "id" => "The id of the job.",
        "finding" => "The id of the finding.",
        "file" => "The SHA-256 hash that identifies the file. The client chooses it.",
        "provider" => "The kind of host: `github`, `gitlab`, `gitea`, or `forgejo`.",
        _ => "",
    }
}

pub(super) fn query(name: &str, schema: Value, description: &str) -> Value {
    parameter("query", name, schema, description)
}

pub(super) fn header(name: &str, schema: Value, description: &str) -> Value {
    parameter("header", name, schema, description)
}

pub(super) fn required_header(name: &str, schema: Value, description: &str) -> Value {
    let mut parameter = header(name, schema, description);
    parameter["required"] = json!(true);
    parameter
}

/// `limit` and `offset`.
pub(super) fn paging(max: u32, default: u32) -> [Value; 2] {
    let limit = json!({ "type": "integer", "minimum": 1, "maximum": max, "default": default });
    let offset =
        json!({ "type": "integer", "format": "int64", "minimum": 0, "maximum": i64::MAX, "default": 0 });
    [
        query("limit", limit, "The maximum number of rows."),
        query(
            "offset",
            offset,
            "The number of rows to skip. While `hasMore` is true, increase it by `limit`.",
        ),
    ]
}

fn parameter(location: &str, name: &str, schema: Value, description: &str) -> Value {
    json!({ "in": location, "name": name, "required": location == "path", "schema": schema, "description": description })
}
