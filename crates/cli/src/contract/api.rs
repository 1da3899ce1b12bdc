//! Collects the facts of the API's description: paths, operations, parameters, bodies, responses and their types.

use serde_json::{Map, Value};

use super::facts::Facts;

/// Deeper than any type. It ends the recursion of a type that contains itself.
const MAX_DEPTH: usize = 8;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    /// What a client sends. It can omit what is not required.
    Request,
    /// What a client reads. It can rely on what is required.
    Response,
}

pub(super) fn collect(document: &Value, facts: &mut Facts) {
    let api = Api { document };
    for (path, methods) in entries(&document["paths"]) {
        for (method, operation) in entries(methods) {
            api.operation(&format!("{} {path}", method.to_uppercase()), operation, facts);
        }
    }
}

struct Api<'a> {
    document: &'a Value,
}

impl Api<'_> {
    fn operation(&self, name: &str, operation: &Value, facts: &mut Facts) {
        facts.offer(name);
        facts.offer(format!("{name} operationId {}", text(&operation["operationId"])));
        // An empty alternative means that it works without a key.
        let alternatives = items(&operation["security"]);
        if !alternatives.iter().any(|alternative| entries(alternative).count() == 0) {
            for scheme in alternatives.iter().flat_map(entries) {
                facts.require(name, &format!("security {}", scheme.0));
            }
        }
        for parameter in items(&operation["parameters"]) {
            self.parameter(name, self.resolve(parameter), facts);
        }
        let request = &operation["requestBody"];
        if request["required"] == true {
            facts.require(name, "body");
        }
        self.content(&format!("{name} request"), request, Direction::Request, facts);
        for (status, response) in entries(&operation["responses"]) {
            self.response(&format!("{name} {status}"), self.resolve(response), facts);
        }
    }

    fn parameter(&self, operation: &str, parameter: &Value, facts: &mut Facts) {
        let name = format!("{} {}", text(&parameter["in"]), text(&parameter["name"]));
        if parameter["required"] == true {
            facts.require(operation, &name);
        }
        let (at, schema) = (format!("{operation} {name}"), &parameter["schema"]);
        if !schema["default"].is_null() {
            facts.offer(format!("{at} default {}", schema["default"]));
        }
        self.schema(&at, schema, Direction::Request, 0, facts);
    }

    fn response(&self, at: &str, response: &Value, facts: &mut Facts) {
        facts.offer(at);
        for (name, header) in entries(&response["headers"]) {
            let header = self.resolve(header);
            let at = format!("{at} header {name}");
            if header["required"] == true {
                facts.offer(format!("{at} always"));
            }
            self.schema(&at, &header["schema"], Direction::Response, 0, facts);
        }
        self.content(at, response, Direction::Response, facts);
    }

    fn content(&self, at: &str, body: &Value, direction: Direction, facts: &mut Facts) {
        for (kind, content) in entries(&body["content"]) {
            let at = format!("{at} {kind}");
            facts.offer(&at);
            self.schema(&at, &content["schema"], direction, 0, facts);
        }
    }

    fn schema(&self, at: &str, schema: &Value, direction: Direction, depth: usize, facts: &mut Facts) {
        let schema = self.resolve(schema);
        if depth > MAX_DEPTH {
            return;
        }
        for alternative in ["allOf", "anyOf", "oneOf"].iter().flat_map(|name| items(&schema[name])) {
            self.schema(at, alternative, direction, depth + 1, facts);
        }
        let typed = format!("{at}: {}", type_of(schema));
        facts.offer(&typed);
        for value in items(&schema["enum"]) {
            facts.offer(format!("{at} = {}", text(value)));
        }
        for required in items(&schema["required"]) {
            match direction {
                Direction::Request => facts.require(&typed, text(required)),
                Direction::Response => facts.offer(format!("{at} .{} always", text(required))),
            }
        }
        for (name, property) in entries(&schema["properties"]) {
            self.schema(&format!("{at} .{name}"), property, direction, depth + 1, facts);
        }
        if !schema["items"].is_null() {
            self.schema(&format!("{at} []"), &schema["items"], direction, depth + 1, facts);
        }
    }

    fn resolve<'v>(&'v self, value: &'v Value) -> &'v Value {
        let pointer = value["$ref"].as_str().and_then(|name| name.strip_prefix('#'));
        pointer.map_or(value, |pointer| self.document.pointer(pointer).unwrap())
    }
}

/// `string (date-time)`, `integer | null`
fn type_of(schema: &Value) -> String {
    let types = match &schema["type"] {
        Value::Array(types) => types.iter().map(text).collect::<Vec<_>>().join(" | "),
        Value::String(name) => name.clone(),
        _ => "any".to_owned(),
    };
    schema["format"].as_str().map_or(types.clone(), |format| format!("{types} ({format})"))
}

fn entries(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().map(Map::iter).into_iter().flatten()
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("null")
}
