//! The description as a page: everything from this server, nothing to run.

use askama::Template;
use axum::extract::State;
use axum::http::header::CONTENT_SECURITY_POLICY;
use axum::response::{Html, IntoResponse, Response};
use serde_json::Value;

use super::described;
use crate::error::ApiError;
use app::App;

const POLICY: &str =
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'";

#[derive(Template)]
#[template(path = "docs.html")]
struct Page {
    introduction: Vec<Vec<Span>>,
    version: String,
    server: String,
    tags: Vec<Tag>,
}

struct Tag {
    name: String,
    description: String,
    operations: Vec<Shown>,
}

struct Shown {
    id: String,
    method: String,
    path: String,
    summary: String,
    description: Vec<Span>,
    inputs: Vec<Input>,
    bodies: Vec<Example>,
    answers: Vec<Answered>,
}

struct Input {
    name: String,
    place: String,
    kind: String,
    required: bool,
    description: Vec<Span>,
}

struct Answered {
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
    code: bool,
    text: String,
}

/// `GET /docs`
pub(crate) async fn show(State(app): State<App>) -> Result<Response, ApiError> {
    let html = page(described(&app)).render().map_err(anyhow::Error::from)?;
    Ok(([(CONTENT_SECURITY_POLICY, POLICY)], Html(html)).into_response())
}

fn page(document: &Value) -> Page {
    let info = &document["info"];
    Page {
        introduction: text(&info["description"]).split("\n\n").map(spans).collect(),
        version: text(&info["version"]),
        server: text(&document["servers"][0]["url"]),
        tags: items(&document["tags"]).map(|tag| shown_tag(document, tag)).collect(),
    }
}

fn shown_tag(document: &Value, tag: &Value) -> Tag {
    let mine = |operation: &&(String, String, &Value)| operation.2["tags"][0] == tag["name"];
    Tag {
        name: text(&tag["name"]),
        description: text(&tag["description"]),
        operations: all(document).iter().filter(mine).map(|found| shown(document, found)).collect(),
    }
}

/// Method, path and description of every operation.
fn all(document: &Value) -> Vec<(String, String, &Value)> {
    let paths = document["paths"].as_object().into_iter().flatten();
    paths
        .flat_map(|(path, methods)| {
            let methods = methods.as_object().into_iter().flatten();
            methods.map(|(method, operation)| (method.to_uppercase(), path.clone(), operation))
        })
        .collect()
}

fn shown(document: &Value, (method, path, operation): &(String, String, &Value)) -> Shown {
    let responses = operation["responses"].as_object().into_iter().flatten();
    Shown {
        id: text(&operation["operationId"]),
        method: method.clone(),
        path: path.clone(),
        summary: text(&operation["summary"]),
        description: spans(&text(&operation["description"])),
        inputs: inputs(document, operation),
        bodies: examples(&operation["requestBody"]["content"]),
        answers: responses.map(|(status, response)| answered(status, response)).collect(),
    }
}

/// Parameters, then the fields of the body.
fn inputs(document: &Value, operation: &Value) -> Vec<Input> {
    let parameters = items(&operation["parameters"]).map(|one| Input {
        name: text(&one["name"]),
        place: text(&one["in"]),
        kind: kind(&one["schema"]),
        required: one["required"] == true,
        description: spans(&text(&one["description"])),
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
    let field = |(name, one): (&String, &Value)| Input {
        name: name.clone(),
        place: "body".into(),
        kind: kind(one),
        required: items(&schema["required"]).any(|required| required == name.as_str()),
        description: spans(&text(&one["description"])),
    };
    properties.map(field).collect()
}

/// A type in a few words: `integer, 1 to 100`.
fn kind(schema: &Value) -> String {
    let plain = match &schema["type"] {
        Value::Array(types) => types.iter().find(|one| *one != "null").map(text).unwrap_or_default(),
        one if one.is_string() => text(one),
        _ => items(&schema["anyOf"]).map(|one| text(&one["format"])).collect::<Vec<_>>().join(" or "),
    };
    let words: Vec<_> = items(&schema["enum"]).filter_map(|word| word.as_str()).collect();
    let bounds = (&schema["minimum"], &schema["maximum"], &schema["maxLength"]);
    let mut kind = match bounds {
        _ if !words.is_empty() => words.join(", "),
        (Value::Number(low), Value::Number(high), _) if high.as_i64() != Some(i64::MAX) => {
            format!("{plain}, {low} to {high}")
        }
        (_, _, Value::Number(most)) => format!("{plain}, up to {most} characters"),
        _ => plain,
    };
    if let Some(usual) = schema.get("default") {
        kind += &format!("; {usual} by default");
    }
    kind
}

fn answered(status: &str, response: &Value) -> Answered {
    let errors = response["content"]["application/json"]["examples"].as_object().into_iter().flatten();
    let errors: Vec<_> =
        errors.map(|(code, one)| (code.clone(), spans(&text(&one["value"]["error"])))).collect();
    Answered {
        status: status.to_owned(),
        // An error's description is its codes, which are about to be told one by one.
        description: if errors.is_empty() { spans(&text(&response["description"])) } else { Vec::new() },
        headers: headers(response),
        examples: examples(&response["content"]),
        errors,
    }
}

/// The headers that this answer has and not all others.
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
        .map(|(n, text)| Span { code: n % 2 == 1, text: text.to_owned() })
        .filter(|span| !span.text.is_empty())
        .collect()
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
