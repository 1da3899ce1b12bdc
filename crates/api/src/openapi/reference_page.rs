//! Renders the API reference as an HTML page without scripts or resources from elsewhere.

use askama::Template;
use axum::extract::State;
use axum::http::header::CONTENT_SECURITY_POLICY;
use axum::response::{Html, IntoResponse, Response};
use serde_json::Value;

use super::description;
use crate::error::ApiError;
use app::App;

const CONTENT_POLICY: &str =
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'";

#[derive(Template)]
#[template(path = "docs.html")]
struct ReferencePage {
    introduction: Vec<Vec<Span>>,
    version: String,
    server: String,
    tags: Vec<TagView>,
}

struct TagView {
    name: String,
    description: String,
    operations: Vec<OperationView>,
}

struct OperationView {
    id: String,
    method: String,
    path: String,
    summary: String,
    description: Vec<Span>,
    inputs: Vec<Input>,
    bodies: Vec<Example>,
    responses: Vec<ResponseView>,
}

struct Input {
    name: String,
    location: String,
    kind: String,
    required: bool,
    description: Vec<Span>,
}

struct ResponseView {
    status: String,
    description: Vec<Span>,
    headers: String,
    examples: Vec<Example>,
    /// Codes, each with its sentence.
    errors: Vec<(String, Vec<Span>)>,
}

struct Example {
    kind: String,
    text: String,
}

/// Text, or code between backticks.
struct Span {
    is_code: bool,
    text: String,
}

/// `GET /docs`
pub(crate) async fn show(State(app): State<App>) -> Result<Response, ApiError> {
    let html = reference_page(description(&app)).render().map_err(anyhow::Error::from)?;
    Ok(([(CONTENT_SECURITY_POLICY, CONTENT_POLICY)], Html(html)).into_response())
}

fn reference_page(document: &Value) -> ReferencePage {
    let info = &document["info"];
    ReferencePage {
        introduction: text(&info["description"]).split("\n\n").map(spans).collect(),
        version: text(&info["version"]),
        server: text(&document["servers"][0]["url"]),
        tags: items(&document["tags"]).map(|tag| tag_view(document, tag)).collect(),
    }
}

fn tag_view(document: &Value, tag: &Value) -> TagView {
    let has_tag = |operation: &&(String, String, &Value)| operation.2["tags"][0] == tag["name"];
    TagView {
        name: text(&tag["name"]),
        description: text(&tag["description"]),
        operations: operations(document)
            .iter()
            .filter(has_tag)
            .map(|operation| operation_view(document, operation))
            .collect(),
    }
}

/// The method, the path and the description of every operation.
fn operations(document: &Value) -> Vec<(String, String, &Value)> {
    let paths = document["paths"].as_object().into_iter().flatten();
    paths
        .flat_map(|(path, methods)| {
            let methods = methods.as_object().into_iter().flatten();
            methods.map(|(method, operation)| (method.to_uppercase(), path.clone(), operation))
        })
        .collect()
}

fn operation_view(document: &Value, (method, path, operation): &(String, String, &Value)) -> OperationView {
    let responses = operation["responses"].as_object().into_iter().flatten();
    OperationView {
        id: text(&operation["operationId"]),
        method: method.clone(),
        path: path.clone(),
        summary: text(&operation["summary"]),
        description: spans(&text(&operation["description"])),
        inputs: inputs(document, operation),
        bodies: examples(&operation["requestBody"]["content"]),
        responses: responses.map(|(status, response)| response_view(status, response)).collect(),
    }
}

/// The parameters, then the fields of the body.
fn inputs(document: &Value, operation: &Value) -> Vec<Input> {
    let parameters = items(&operation["parameters"]).map(|parameter| Input {
        name: text(&parameter["name"]),
        location: text(&parameter["in"]),
        kind: describe_type(&parameter["schema"]),
        required: parameter["required"] == true,
        description: spans(&text(&parameter["description"])),
    });
    parameters
        .chain(fields(document, &operation["requestBody"]["content"]["application/json"]["schema"]))
        .collect()
}

fn fields(document: &Value, schema: &Value) -> Vec<Input> {
    let schema = if schema["type"] == "array" { &schema["items"] } else { schema };
    let pointer = text(&schema["$ref"]);
    let Some(schema) = document.pointer(pointer.trim_start_matches('#')).filter(|_| !pointer.is_empty())
    else {
        return Vec::new();
    };
    let properties = schema["properties"].as_object().into_iter().flatten();
    let field = |(name, schema_of_field): (&String, &Value)| Input {
        name: name.clone(),
        location: "body".into(),
        kind: describe_type(schema_of_field),
        required: items(&schema["required"]).any(|required| required == name.as_str()),
        description: spans(&text(&schema_of_field["description"])),
    };
    properties.map(field).collect()
}

/// A type in a few words, such as `integer, 1 to 100`.
fn describe_type(schema: &Value) -> String {
    let plain = match &schema["type"] {
        Value::Array(types) => types.iter().find(|name| *name != "null").map(text).unwrap_or_default(),
        name if name.is_string() => text(name),
        _ => items(&schema["anyOf"]).map(|option| text(&option["format"])).collect::<Vec<_>>().join(" or "),
    };
    let words: Vec<_> = items(&schema["enum"]).filter_map(|word| word.as_str()).collect();
    let bounds = (&schema["minimum"], &schema["maximum"], &schema["maxLength"]);
    let mut kind = match bounds {
        _ if !words.is_empty() => words.join(", "),
        (Value::Number(min), Value::Number(max), _) if max.as_i64() != Some(i64::MAX) => {
            format!("{plain}, {min} to {max}")
        }
        (_, _, Value::Number(max)) => format!("{plain}, up to {max} characters"),
        _ => plain,
    };
    if let Some(default) = schema.get("default") {
        kind += &format!("; {default} by default");
    }
    kind
}

fn response_view(status: &str, response: &Value) -> ResponseView {
    let errors = response["content"]["application/json"]["examples"].as_object().into_iter().flatten();
    let errors: Vec<_> =
        errors.map(|(code, example)| (code.clone(), spans(&text(&example["value"]["error"])))).collect();
    ResponseView {
        status: status.to_owned(),
        // The description of an error lists its codes, and the page shows each code with its sentence.
        description: if errors.is_empty() { spans(&text(&response["description"])) } else { Vec::new() },
        headers: headers(response),
        examples: examples(&response["content"]),
        errors,
    }
}

/// The headers that not every response has.
fn headers(response: &Value) -> String {
    let names = response["headers"].as_object().into_iter().flatten().map(|(name, _)| name.as_str());
    let own = names.filter(|name| !matches!(*name, "X-Request-Id" | "X-Error-Code"));
    own.collect::<Vec<_>>().join(", ")
}

fn examples(content: &Value) -> Vec<Example> {
    let kinds = content.as_object().into_iter().flatten();
    kinds
        .filter_map(|(kind, media)| {
            Some(Example { kind: kind.clone(), text: example(media.get("example")?) })
        })
        .collect()
}

fn example(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    }
}

fn spans(text: &str) -> Vec<Span> {
    let parts = text.split('`').enumerate();
    parts
        .map(|(n, text)| Span { is_code: n % 2 == 1, text: text.to_owned() })
        .filter(|span| !span.text.is_empty())
        .collect()
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
