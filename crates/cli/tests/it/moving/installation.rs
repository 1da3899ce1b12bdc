//! An installation on SQLite with jobs, keys, members and page views, and the answers that its server gives.

use std::net::TcpListener;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{Client, Serving, docwright, json as run_json};

const FIREFOX: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0";

pub(super) struct Installation {
    home: PathBuf,
    key: String,
    project: String,
    /// The same after a move: links to pull requests begin with it.
    pub(super) listen: String,
    serving: std::cell::RefCell<Option<Serving>>,
}

/// What a server answers, by path.
#[derive(Debug, PartialEq)]
pub(super) struct Answers(Vec<(String, Value)>);

impl Installation {
    /// Its server still runs.
    pub(super) fn create(home: &Path) -> Self {
        let listen = free_address();
        let serving = Serving::start_at(home, &listen);
        let files = [("a.md".into(), "one two\n".into()), ("b.md".into(), "three\n".into())];
        let client = Client::with(home, &serving, &files);
        let installation = Self {
            home: home.to_owned(),
            key: client.key().to_owned(),
            project: client.project.clone(),
            listen,
            serving: std::cell::RefCell::default(),
        };
        for prompt in ["Replace \"one\" with \"eins\".", "Replace \"three\" with \"drei\"."] {
            installation.run_job(&serving, prompt);
        }
        run_json(home, &["user", "invite", "--role", "member", "--json"]);
        for day in 1..28 {
            installation.send(&serving, &views_of_day(day));
        }
        installation.serving.replace(Some(serving));
        installation
    }

    /// Stops the server, and returns what it answered last.
    pub(super) fn stop(&self) -> Answers {
        let serving = self.serving.take().unwrap();
        let answers = Answers::of(self, &serving);
        serving.stop();
        answers
    }

    pub(super) fn serve(&self) -> Serving {
        Serving::start_at(&self.home, &self.listen)
    }

    pub(super) fn run_job(&self, serving: &Serving, prompt: &str) {
        let mut command = docwright(&self.home);
        command.env("DOCWRIGHT_URL", &serving.url).env("DOCWRIGHT_API_KEY", &self.key);
        let output = command.args(["job", "create", &self.project, prompt, "--watch"]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
    }

    /// Counts once more.
    pub(super) fn send_view(&self, serving: &Serving) {
        let views = format!("/v1/analytics/{}/views", self.project);
        let before = self.get(serving, &views);
        self.send(serving, &[json!({ "path": "/new", "userAgent": FIREFOX })]);
        assert_ne!(self.get(serving, &views), before);
    }

    fn send(&self, serving: &Serving, events: &[Value]) {
        let url = format!("{}/v1/analytics/{}/events", serving.url, self.project);
        let answer = http().post(url).bearer_auth(&self.key).json(events).send().unwrap();
        assert_eq!(answer.status(), 202, "{}", answer.text().unwrap());
    }

    fn get(&self, serving: &Serving, path: &str) -> Value {
        let answer = http().get(format!("{}{path}", serving.url)).bearer_auth(&self.key).send().unwrap();
        let (status, text) = (answer.status().as_u16(), answer.text().unwrap());
        let mut body = serde_json::from_str(&text).unwrap_or(Value::String(text));
        // When the server last looked at the pull request.
        if let Some(body) = body.as_object_mut() {
            body.remove("checkedAt");
        }
        json!({ "status": status, "body": body })
    }

    fn analytics(&self, report: &str) -> String {
        format!("/v1/analytics/{}/{report}?dateFrom=2026-10-01&dateTo=2026-11-01", self.project)
    }
}

impl Answers {
    pub(super) fn of(installation: &Installation, serving: &Serving) -> Self {
        let jobs = format!("/v2/agent/{}/jobs", installation.project);
        let list = installation.get(serving, &jobs);
        let jobs_found = list["body"]["jobs"].as_array().unwrap_or_else(|| panic!("{list:#}")).clone();
        let mut paths = vec![jobs];
        for job in &jobs_found {
            let job = format!("/v2/agent/{}/job/{}", installation.project, job["id"].as_str().unwrap());
            paths.extend(["", "/events", "/diff", "/pull"].map(|part| format!("{job}{part}")));
        }
        paths.extend(
            ["views", "visitors", "agents", "referrers", "not-found"]
                .map(|name| installation.analytics(name)),
        );
        Self(paths.into_iter().map(|path| (path.clone(), installation.get(serving, &path))).collect())
    }
}

/// An address that no server listens on.
pub(super) fn free_address() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

pub(super) fn http() -> reqwest::blocking::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::blocking::Client::new()
}

/// Views by people and agents, some of missing pages.
fn views_of_day(day: u32) -> Vec<Value> {
    let view = |n: u32| {
        json!({
            "path": format!("/p{}", n % 7),
            "timestamp": format!("2026-10-{day:02}T{:02}:00:00Z", n % 24),
            "eventId": format!("{day}-{n}"),
            "ip": format!("192.0.2.{}", n % 5),
            "status": if n.is_multiple_of(6) { 404 } else { 200 },
            "referrer": "https://chatgpt.com/",
            "userAgent": if n.is_multiple_of(3) { "GPTBot/1.2" } else { FIREFOX },
        })
    };
    (0..40).map(view).collect()
}
