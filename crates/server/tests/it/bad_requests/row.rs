//! Describes a request and its expected response, and sends it.

use reqwest::Method;
use serde_json::Value;

use crate::support::{Answer, TestServer};
use crate::{openapi, raw};

pub(crate) const SITE: &str = "https://docs.acme.dev";

/// A request. `{project}`, `{job}` and `{key}` in its path and its headers are replaced by existing ones.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) method: String,
    pub(super) path: String,
    headers: Vec<(&'static str, Vec<u8>)>,
    body: Vec<u8>,
    length: Length,
    /// `400 invalid_body`, or with the whole sentence: `400 invalid_body: expected a JSON object`.
    pub(super) expected: String,
    /// For a 405: the methods that `Allow` must list.
    allow: String,
}

enum Length {
    /// `Content-Length` is the length of the body.
    Actual,
    /// `Content-Length` is this, whatever the length of the body.
    Claimed(u64),
    Chunked,
}

/// A request with a valid key, and without a body.
pub(super) fn row(line: &str, name: impl Into<String>, expected: impl Into<String>) -> Row {
    let (method, path) = line.split_once(' ').unwrap();
    Row {
        name: name.into(),
        method: method.into(),
        path: path.into(),
        headers: vec![("authorization", b"Bearer {key}".to_vec())],
        body: Vec::new(),
        length: Length::Actual,
        expected: expected.into(),
        allow: String::new(),
    }
}

impl Row {
    pub(super) fn allow(mut self, methods: &str) -> Self {
        self.allow = methods.into();
        self
    }

    pub(super) fn header(mut self, name: &'static str, value: impl AsRef<[u8]>) -> Self {
        self.headers.push((name, value.as_ref().to_vec()));
        self
    }

    pub(super) fn without_key(mut self) -> Self {
        self.headers.retain(|(name, _)| *name != "authorization");
        self
    }

    pub(super) fn content_type(self, content_type: impl AsRef<[u8]>) -> Self {
        self.header("content-type", content_type)
    }

    pub(super) fn json(self, body: impl AsRef<[u8]>) -> Self {
        self.content_type("application/json").body(body)
    }

    pub(super) fn body(mut self, body: impl AsRef<[u8]>) -> Self {
        self.body = body.as_ref().to_vec();
        self
    }

    /// Claims this length in `Content-Length`.
    pub(super) fn claim_length(mut self, bytes: u64) -> Self {
        self.length = Length::Claimed(bytes);
        self
    }

    pub(super) fn chunked(mut self) -> Self {
        self.length = Length::Chunked;
        self
    }

    fn bytes(&self, fill: impl Fn(&str) -> String) -> Vec<u8> {
        let mut out = format!(
            "{} {} HTTP/1.1\r\nhost: docwright\r\nconnection: close\r\n",
            self.method,
            fill(&self.path)
        )
        .into_bytes();
        for (name, value) in &self.headers {
            out.extend(format!("{name}: ").bytes());
            match std::str::from_utf8(value) {
                Ok(text) => out.extend(fill(text).bytes()),
                Err(_) => out.extend(value),
            }
            out.extend(b"\r\n");
        }
        match self.length {
            Length::Actual => out.extend(format!("content-length: {}\r\n\r\n", self.body.len()).bytes()),
            Length::Claimed(bytes) => out.extend(format!("content-length: {bytes}\r\n\r\n").bytes()),
            Length::Chunked => {
                out.extend(format!("transfer-encoding: chunked\r\n\r\n{:x}\r\n", self.body.len()).bytes())
            }
        }
        out.extend(&self.body);
        if matches!(self.length, Length::Chunked) {
            out.extend(b"\r\n0\r\n\r\n");
        }
        out
    }
}

/// A server with a project that has a site, one job and one view.
pub(super) struct TestProject {
    pub(super) server: TestServer,
    key: String,
    project: String,
    job: String,
}

impl TestProject {
    pub(super) async fn create() -> Self {
        let project = Self::on(TestServer::start().await).await;
        let view = row("POST /v1/analytics/{project}/events", "a view", "202");
        let response = project.send(&view.json(r#"[{"path":"/a","userAgent":"Claude-User/1.0"}]"#)).await;
        assert_eq!(response.body, r#"{"accepted":1,"duplicates":0,"rejected":[]}"#);
        project
    }

    /// On this server, without a view.
    pub(super) async fn on(server: TestServer) -> Self {
        let team = server.team("acme", &[]).await;
        let project = server.project(&team, |new| new.sites = vec![SITE.into()]).await.id.0;
        let job = serde_json::json!({ "prompt": "Fix broken links" });
        let job = server.post(&team.key, &format!("/v2/agent/{project}/job"), &job).await.json();
        Self { server, key: team.key, project, job: job["id"].as_str().unwrap().to_owned() }
    }

    /// Replaces the placeholders by the existing project, job and key.
    pub(super) fn fill(&self, text: &str) -> String {
        text.replace("{project}", &self.project).replace("{job}", &self.job).replace("{key}", &self.key)
    }

    pub(super) async fn send(&self, row: &Row) -> Answer {
        let mut answers = raw::exchange(&self.server, &row.bytes(|text| self.fill(text))).await;
        let answer = answers.pop().unwrap_or_else(|| panic!("{}: no answer", row.name));
        let path = self.fill(row.path.split('?').next().unwrap());
        openapi::check_response(&Method::from_bytes(row.method.as_bytes()).unwrap(), &path, &answer);
        answer
    }

    /// All data that a request could change.
    async fn state(&self) -> Vec<String> {
        let Self { project, job, .. } = self;
        let paths = [
            format!("/v2/agent/{project}/jobs"),
            format!("/v2/agent/{project}/job/{job}/events"),
            format!("/v1/analytics/{project}/views"),
        ];
        let mut all = Vec::new();
        for path in paths {
            all.push(self.server.get(&self.key, &path).await.to_string());
        }
        all
    }

    /// Checks that each request gets the expected error in the documented format, and changes nothing.
    pub(super) async fn check_refused(&self, rows: &[Row]) {
        let before = self.state().await;
        let mut wrong = Vec::new();
        for row in rows {
            let answer = self.send(row).await;
            check_error_format(&row.name, &row.method, &answer);
            let shared = answer.headers.keys().any(|name| name.as_str().starts_with("access-control"));
            assert!(
                !shared || row.path.starts_with("/v1/collect/"),
                "{}: scripts of other sites must not read it",
                row.name
            );
            wrong.extend(difference(row, &answer));
        }
        assert!(wrong.is_empty(), "{} of {} rows:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
        assert_eq!(self.state().await, before, "a refused request changed something");
    }
}

fn difference(row: &Row, answer: &Answer) -> Option<String> {
    let Row { name, method, path, expected, allow, .. } = row;
    let got = format!("{} {}", answer.status, answer.header("x-error-code"));
    let sentence = if method == "HEAD" { "".into() } else { answer.json()["error"].clone() };
    let full = format!("{got}: {}", sentence.as_str().unwrap_or_default());
    let right = (*expected == got || *expected == full) && answer.header("allow") == allow;
    (!right).then(|| format!("{name} ({method} {path:.80}): {full} {:?}, not {expected}", answer.headers))
}

/// Checks the format of an error, including its headers.
#[track_caller]
pub(crate) fn check_error_format(name: &str, method: &str, answer: &Answer) {
    let what = format!("{name}: {answer}");
    assert!(answer.status >= 400, "{what}");
    assert_eq!(answer.header("content-type"), "application/json", "{what}");
    let id = answer.header("x-request-id");
    assert!(id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{what}");
    let seconds = answer.header("retry-after").parse::<u32>().unwrap_or(0);
    assert_eq!(seconds > 0, [429, 503].contains(&answer.status), "{what}: Retry-After");
    let challenge = if answer.status == 401 { "Bearer" } else { "" };
    assert_eq!(answer.header("www-authenticate"), challenge, "{what}");
    assert_eq!(answer.header("allow").is_empty(), answer.status != 405, "{what}: Allow");
    match method {
        "HEAD" => assert_eq!(answer.body, ""),
        _ => check_body(&what, &answer.json()),
    }
}

#[track_caller]
fn check_body(what: &str, body: &Value) {
    let fields = body.as_object().unwrap();
    assert!(fields.keys().all(|name| ["error", "details"].contains(&name.as_str())), "{what}");
    check_sentence(what, &body["error"]);
    let Some(details) = body.get("details") else { return };
    assert!(!details.as_array().unwrap().is_empty(), "{what}");
    for detail in details.as_array().unwrap() {
        assert_eq!(detail.as_object().unwrap().len(), 1, "{what}");
        check_sentence(what, &detail["message"]);
    }
}

#[track_caller]
fn check_sentence(what: &str, value: &Value) {
    let text = value.as_str().unwrap_or_else(|| panic!("{what}: no sentence"));
    assert!(!text.is_empty() && text.trim() == text && text.chars().count() < 400, "{what}");
    assert!(!text.contains(char::is_control), "{what}: more than a line");
}
