//! One request, and exactly what it must be answered.

use reqwest::Method;
use serde_json::Value;

use crate::support::{Answer, TestServer};
use crate::{described, raw};

pub(crate) const SITE: &str = "https://docs.acme.dev";

/// `{project}`, `{job}` and `{key}` in the path and in headers stand for ones that are there.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) method: String,
    pub(super) path: String,
    headers: Vec<(&'static str, Vec<u8>)>,
    body: Vec<u8>,
    length: Length,
    /// `400 invalid_body`, or with the whole sentence: `400 invalid_body: expected a JSON object`.
    pub(super) expected: String,
    /// Of a 405: the methods that there are.
    allow: String,
}

enum Length {
    /// As long as the body is.
    True,
    Told(u64),
    Chunked,
}

/// With a good key, and nothing else.
pub(super) fn row(line: &str, name: impl Into<String>, expected: impl Into<String>) -> Row {
    let (method, path) = line.split_once(' ').unwrap();
    Row {
        name: name.into(),
        method: method.into(),
        path: path.into(),
        headers: vec![("authorization", b"Bearer {key}".to_vec())],
        body: Vec::new(),
        length: Length::True,
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

    pub(super) fn kind(self, kind: impl AsRef<[u8]>) -> Self {
        self.header("content-type", kind)
    }

    pub(super) fn json(self, body: impl AsRef<[u8]>) -> Self {
        self.kind("application/json").body(body)
    }

    pub(super) fn body(mut self, body: impl AsRef<[u8]>) -> Self {
        self.body = body.as_ref().to_vec();
        self
    }

    /// Tells of so many bytes, whatever there are.
    pub(super) fn length(mut self, bytes: u64) -> Self {
        self.length = Length::Told(bytes);
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
            Length::True => out.extend(format!("content-length: {}\r\n\r\n", self.body.len()).bytes()),
            Length::Told(bytes) => out.extend(format!("content-length: {bytes}\r\n\r\n").bytes()),
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
pub(super) struct Place {
    pub(super) server: TestServer,
    key: String,
    project: String,
    job: String,
}

impl Place {
    pub(super) async fn open() -> Self {
        let place = Self::over(TestServer::start().await).await;
        let view = row("POST /v1/analytics/{project}/events", "a view", "202");
        let taken = place.send(&view.json(r#"[{"path":"/a","userAgent":"Claude-User/1.0"}]"#)).await;
        assert_eq!(taken.body, r#"{"accepted":1,"duplicates":0,"rejected":[]}"#);
        place
    }

    /// Without a view.
    pub(super) async fn over(server: TestServer) -> Self {
        let team = server.team("acme", &[]).await;
        let project = server.project(&team, |new| new.sites = vec![SITE.into()]).await.id.0;
        let job = serde_json::json!({ "prompt": "Fix broken links" });
        let job = server.post(&team.key, &format!("/v2/agent/{project}/job"), &job).await.json();
        Self { server, key: team.key, project, job: job["id"].as_str().unwrap().to_owned() }
    }

    /// With the project, job and key that there are.
    pub(super) fn fill(&self, text: &str) -> String {
        text.replace("{project}", &self.project).replace("{job}", &self.job).replace("{key}", &self.key)
    }

    pub(super) async fn send(&self, row: &Row) -> Answer {
        let mut answers = raw::exchange(&self.server, &row.bytes(|text| self.fill(text))).await;
        let answer = answers.pop().unwrap_or_else(|| panic!("{}: no answer", row.name));
        let path = self.fill(row.path.split('?').next().unwrap());
        described::check(&Method::from_bytes(row.method.as_bytes()).unwrap(), &path, &answer);
        answer
    }

    /// Everything that a request could have changed.
    async fn kept(&self) -> Vec<String> {
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

    /// Each row is answered as it says, in the one shape, and leaves nothing behind.
    pub(super) async fn refuses(&self, rows: &[Row]) {
        let before = self.kept().await;
        let mut wrong = Vec::new();
        for row in rows {
            let answer = self.send(row).await;
            check_shape(&row.name, &row.method, &answer);
            let shared = answer.headers.keys().any(|name| name.as_str().starts_with("access-control"));
            assert!(!shared || row.path.starts_with("/v1/collect/"), "{}: no script's to read", row.name);
            wrong.extend(difference(row, &answer));
        }
        assert!(wrong.is_empty(), "{} of {} rows:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
        assert_eq!(self.kept().await, before, "something was kept");
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

/// The one shape of an error, to the last header.
#[track_caller]
pub(crate) fn check_shape(name: &str, method: &str, answer: &Answer) {
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
