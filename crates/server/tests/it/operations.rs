//! Lists the operations of the API from its OpenAPI description, so that tests cover all of them.

use reqwest::Method;
use serde_json::{Value, json};

pub(crate) struct Operation {
    pub(crate) id: String,
    pub(crate) method: Method,
    /// With `{projectId}`, and `{id}` or `{finding}`.
    path: String,
    pub(crate) has_key: bool,
    description: Value,
}

impl Operation {
    pub(crate) fn all() -> Vec<Self> {
        let document = server::openapi("http://127.0.0.1");
        let paths = document["paths"].as_object().unwrap().iter();
        let operations = paths.flat_map(|(path, methods)| {
            methods.as_object().unwrap().iter().map(move |(method, operation)| (path, method, operation))
        });
        operations.map(|(path, method, operation)| Self::new(path, method, operation)).collect()
    }

    /// The operations that need a key.
    pub(crate) fn with_key() -> Vec<Self> {
        let all: Vec<_> = Self::all().into_iter().filter(|operation| operation.has_key).collect();
        assert!(all.len() >= 9, "{}", all.len());
        all
    }

    fn new(path: &str, method: &str, description: &Value) -> Self {
        Self {
            id: description["operationId"].as_str().unwrap().to_owned(),
            method: method.to_ascii_uppercase().parse().unwrap(),
            path: path.to_owned(),
            has_key: !description["security"].as_array().unwrap().is_empty(),
            description: description.clone(),
        }
    }

    pub(crate) fn path(&self, project: &str, job: &str, finding: &str) -> String {
        self.path.replace("{projectId}", project).replace("{id}", job).replace("{finding}", finding)
    }

    pub(crate) fn has_job_id(&self) -> bool {
        self.path.contains("{id}")
    }

    pub(crate) fn has_finding_id(&self) -> bool {
        self.path.contains("{finding}")
    }

    /// The JSON of the example body.
    pub(crate) fn example_body(&self) -> Option<&Value> {
        self.description["requestBody"]["content"]["application/json"].get("example")
    }

    /// The example body, with this finding where the example lists findings.
    pub(crate) fn example_body_for(&self, finding: &str) -> Option<Value> {
        let mut body = self.example_body()?.clone();
        if let Some(findings) = body.get_mut("findings") {
            *findings = json!([finding]);
        }
        Some(body)
    }

    /// Whether the description has this error, such as `403 scope_too_small`.
    pub(crate) fn has_error(&self, expected: &str) -> bool {
        let (status, code) = expected.split_once(' ').unwrap();
        let codes = &self.description["responses"][status]["headers"]["X-Error-Code"]["schema"]["enum"];
        codes.as_array().is_some_and(|codes| codes.iter().any(|known| known == code))
    }
}

/// Anybody can call these operations. An addition to this list must be a decision.
#[test]
fn only_known_operations_need_no_key() {
    let open: Vec<_> = Operation::all()
        .into_iter()
        .filter(|operation| !operation.has_key)
        .map(|operation| operation.id)
        .collect();
    let known = [
        "sendView",
        "askToSendView",
        "takeHook",
        "getScript",
        "alive",
        "ready",
        "getMetrics",
        "getDescription",
        "getReference",
    ];
    assert_eq!(open, known);
}
