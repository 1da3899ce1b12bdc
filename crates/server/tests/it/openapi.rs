//! Checks the response of every request in these tests against the API's OpenAPI description.

use std::sync::OnceLock;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Answer, TestServer};

/// The paths of the dashboard, which aren't part of the API.
const DASHBOARD_PATHS: [&str; 8] =
    ["/login", "/logout", "/join", "/welcome", "/people", "/audit", "/p/", "/assets/"];

fn document() -> &'static Value {
    static DOCUMENT: OnceLock<Value> = OnceLock::new();
    DOCUMENT.get_or_init(|| server::openapi("http://127.0.0.1:4747"))
}

#[track_caller]
pub(crate) fn check_response(method: &Method, path: &str, answer: &Answer) {
    let what = format!("{method} {path} answered {answer}");
    assert!(!answer.header("x-request-id").is_empty(), "{what}: no X-Request-Id");
    let Some(methods) = find_path(path) else {
        let page = path == "/" || DASHBOARD_PATHS.iter().any(|page| path.starts_with(page));
        assert!(page || answer.header("x-error-code") == "no_such_route", "{what}: a path not described");
        return;
    };
    let name = if *method == Method::HEAD { "get".into() } else { method.as_str().to_ascii_lowercase() };
    // Methods are case-sensitive: `post` isn't POST.
    let Some(operation) = methods.get(&name).filter(|_| name != method.as_str()) else {
        assert_eq!(answer.header("x-error-code"), "method_not_allowed", "{what}: a method not described");
        return;
    };
    let response = &operation["responses"][answer.status.to_string()];
    assert!(response.is_object(), "{what}: this status is not described");
    check_headers(response, answer, &what);
    if *method != Method::HEAD {
        check_body(response, answer, &what);
    }
}

/// The operations of a path, by method.
fn find_path(path: &str) -> Option<&'static Value> {
    let paths = document()["paths"].as_object().unwrap();
    let fits = |template: &str| {
        let (template, path) = (template.split('/'), path.split('/'));
        template.clone().count() == path.clone().count()
            && !path.clone().next_back().unwrap_or_default().is_empty()
            && template.zip(path).all(|(part, is)| part == is || part.starts_with('{'))
    };
    paths.iter().find(|(template, _)| fits(template)).map(|(_, methods)| methods)
}

#[track_caller]
fn check_headers(response: &Value, answer: &Answer, what: &str) {
    for (name, header) in response["headers"].as_object().unwrap() {
        let header = resolve(header);
        let value = answer.headers.get(name.as_str()).map(|value| value.to_str().unwrap());
        assert!(value.is_some() || header["required"] != true, "{what}: no {name}");
        let Some(value) = value else { continue };
        let value = match header["schema"]["type"] == "integer" {
            true => json!(value.parse::<i64>().unwrap()),
            false => json!(value),
        };
        assert!(jsonschema::is_valid(&header["schema"], &value), "{what}: {name} is {value}");
    }
}

#[track_caller]
fn check_body(response: &Value, answer: &Answer, what: &str) {
    let Some(content) = response.get("content") else {
        assert_eq!(answer.body, "", "{what}: a body that is not described");
        return;
    };
    let kind = answer.header("content-type").split(';').next().unwrap();
    let media = content.get(kind).unwrap_or_else(|| panic!("{what}: {kind} is not described"));
    if kind != "application/json" {
        return;
    }
    let schema = json!({ "allOf": [media["schema"]], "components": document()["components"] });
    let validator = jsonschema::options().should_validate_formats(true).build(&schema).unwrap();
    if let Err(error) = validator.validate(&answer.json()) {
        panic!("{what}: {error}");
    }
}

fn resolve(value: &Value) -> &Value {
    match value["$ref"].as_str() {
        Some(pointer) => document().pointer(pointer.trim_start_matches('#')).unwrap(),
        None => value,
    }
}

#[tokio::test]
async fn the_description_is_served_as_json_and_as_a_page() {
    let server = TestServer::start().await;
    let served = server.get("", "/openapi.json").await;
    assert_eq!(served.json(), server::openapi(&server.url));
    let page = server.get("", "/docs").await.body;
    assert!(
        !page.contains("src=\"http") && !page.contains("<script"),
        "the page must not load resources from elsewhere"
    );
    for (path, methods) in document()["paths"].as_object().unwrap() {
        for operation in methods.as_object().unwrap().values() {
            let id = operation["operationId"].as_str().unwrap();
            assert!(page.contains(&format!("id=\"{id}\"")), "{id} is not on the page");
            assert!(page.contains(path.as_str()), "{path} is not on the page");
        }
    }
}

#[test]
fn examples_match_their_schemas() {
    for (path, methods) in document()["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let bodies = operation["requestBody"]["content"].as_object().into_iter().flatten();
            let answers = operation["responses"].as_object().unwrap().values();
            let contents = answers.filter_map(|answer| answer["content"].as_object()).flatten();
            for (kind, media) in bodies.chain(contents) {
                let named = media["examples"].as_object().into_iter().flatten();
                for example in
                    media.get("example").into_iter().chain(named.map(|(_, example)| &example["value"]))
                {
                    let schema =
                        json!({ "allOf": [media["schema"]], "components": document()["components"] });
                    assert!(
                        jsonschema::is_valid(&schema, example),
                        "{method} {path}, {kind}: {example} doesn't match the schema"
                    );
                }
            }
        }
    }
}

#[test]
fn every_error_code_is_documented() {
    let documented = include_str!("../../../../docs/errors.md");
    let operations = document()["paths"]
        .as_object()
        .unwrap()
        .values()
        .flat_map(|methods| methods.as_object().unwrap().values());
    let answers = operations.flat_map(|operation| operation["responses"].as_object().unwrap().values());
    let codes =
        answers.filter_map(|answer| answer["headers"]["X-Error-Code"]["schema"]["enum"].as_array()).flatten();
    for code in codes.filter_map(Value::as_str).chain(["no_such_route", "method_not_allowed"]) {
        assert!(documented.contains(&format!("| `{code}` |")), "{code} is not in docs/errors.md");
    }
}
