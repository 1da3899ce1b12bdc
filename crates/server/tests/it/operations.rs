//! The operations of the API, read off its description, so that no test forgets one.

use reqwest::Method;
use serde_json::Value;

/// One operation, as the description has it.
pub(crate) struct Operation {
    pub(crate) id: String,
    pub(crate) method: Method,
    /// With `{projectId}` and `{id}`.
    path: String,
    pub(crate) has_key: bool,
    described: Value,
}

impl Operation {
    pub(crate) fn all() -> Vec<Self> {
        let document = server::openapi("http://127.0.0.1");
        let paths = document["paths"].as_object().unwrap().iter();
        let described = paths.flat_map(|(path, methods)| {
            methods.as_object().unwrap().iter().map(move |(method, described)| (path, method, described))
        });
        described.map(|(path, method, described)| Self::new(path, method, described)).collect()
    }

    /// Those that need a key.
    pub(crate) fn with_key() -> Vec<Self> {
        let all: Vec<_> = Self::all().into_iter().filter(|operation| operation.has_key).collect();
        assert!(all.len() >= 9, "{}", all.len());
        all
    }

    fn new(path: &str, method: &str, described: &Value) -> Self {
        Self {
            id: described["operationId"].as_str().unwrap().to_owned(),
            method: method.to_ascii_uppercase().parse().unwrap(),
            path: path.to_owned(),
            has_key: !described["security"].as_array().unwrap().is_empty(),
            described: described.clone(),
        }
    }

    pub(crate) fn path(&self, project: &str, job: &str) -> String {
        self.path.replace("{projectId}", project).replace("{id}", job)
    }

    pub(crate) fn is_about_a_job(&self) -> bool {
        self.path.contains("{id}")
    }

    /// The body of its example, as JSON.
    pub(crate) fn example(&self) -> Option<&Value> {
        self.described["requestBody"]["content"]["application/json"].get("example")
    }

    /// Whether this answer is described: `403 scope_too_small`.
    pub(crate) fn answers(&self, expected: &str) -> bool {
        let (status, code) = expected.split_once(' ').unwrap();
        let codes = &self.described["responses"][status]["headers"]["X-Error-Code"]["schema"]["enum"];
        codes.as_array().is_some_and(|codes| codes.iter().any(|known| known == code))
    }
}

/// Without a key anybody may ask: a new one of these is a decision, and not an oversight.
#[test]
fn nothing_else_is_open_to_everybody() {
    let open: Vec<_> = Operation::all().into_iter().filter(|one| !one.has_key).map(|one| one.id).collect();
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
