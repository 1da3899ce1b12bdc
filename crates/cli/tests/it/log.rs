//! Tests the log of a server: JSON, text, and that it never contains a secret.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;

use reqwest::blocking::{Client, RequestBuilder, Response};
use serde_json::{Value, json};

use crate::support::{Serving, docwright, home, json, refusal, repository};

/// Requests with a secret in every part that can have one.
struct Scenario {
    secrets: Vec<String>,
    /// Request id and status of each answer, and the error code if there was one.
    answers: Vec<(String, u16, Option<String>)>,
    key_id: String,
    job: String,
}

impl Scenario {
    fn send(&mut self, request: RequestBuilder) -> Response {
        let answer = request.send().unwrap();
        let header = |name: &str| answer.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
        self.answers.push((
            header("x-request-id").unwrap(),
            answer.status().as_u16(),
            header("x-error-code"),
        ));
        answer
    }

    fn run(home: &Path, url: &str) -> Self {
        std::fs::write(home.join("token"), "canary-forge-token\n").unwrap();
        let repository = repository(home, &[("a.md".into(), "one two\n".into())]);
        let create = ["project", "create", "--name", "D", "--repository", &repository, "--json"];
        let project = json(home, &[&create[..], &["--token-file", "token"]].concat());
        let key = json(home, &["key", "create", "--name", "K", "--json"]);
        let login = json(home, &["login", "--json"]);
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let (project, key_id, key) = (text(&project["id"]), text(&key["id"]), text(&key["key"]));
        let login = text(&login["loginUrl"]).split_once("token=").unwrap().1.to_owned();
        let secrets = vec![key.clone(), login.clone(), "canary-forge-token".into(), "canary-prompt".into()];
        let mut scenario = Self { secrets, answers: Vec::new(), key_id, job: String::new() };
        scenario.jobs(&format!("{url}/v2/agent/{project}"), &key);
        scenario.pages(url, &login);
        scenario.mistakes(url, &key);
        scenario
    }

    fn jobs(&mut self, agent: &str, key: &str) {
        let http = client();
        for prompt in ["Replace \"one\" with \"canary-prompt\".", "Write a poem about a canary-prompt."] {
            let create =
                http.post(format!("{agent}/job")).bearer_auth(key).json(&json!({ "prompt": prompt }));
            let job: Value = self.send(create).json().unwrap();
            let job = format!("{agent}/job/{}", job["id"].as_str().unwrap());
            // The stream ends when the job does.
            let watch = http.get(format!("{job}/events")).bearer_auth(key);
            self.send(watch.header("accept", "text/event-stream")).text().unwrap();
            let more = json!({ "prompt": "Sing of a canary-prompt." });
            self.send(http.post(format!("{job}/message")).bearer_auth(key).json(&more));
            self.job = job.rsplit('/').next().unwrap().to_owned();
        }
    }

    fn pages(&mut self, url: &str, login: &str) {
        let http = client();
        self.send(http.get(format!("{url}/login?token={login}")));
        let entered = self.send(http.post(format!("{url}/login")).body(format!("token={login}")));
        let cookie = entered.headers()["set-cookie"].to_str().unwrap();
        let cookie = cookie.split(';').next().unwrap().to_owned();
        self.secrets.push(cookie.split_once('=').unwrap().1.to_owned());
        self.send(http.get(format!("{url}/")).header("cookie", cookie));
    }

    fn mistakes(&mut self, url: &str, key: &str) {
        let http = client();
        self.send(http.get(format!("{url}/v1/analytics/{key}/views?key={key}")).basic_auth(key, Some(key)));
        self.send(http.get(format!("{url}/%0a%1b[2J\u{9b}2J?canary-prompt")).bearer_auth(key));
        self.send(http.get(format!("{url}/v3")).header("x-request-id", "my-own.id_1"));
    }
}

fn client() -> Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap()
}

#[track_caller]
fn has_no_secret(log: &str, scenario: &Scenario) {
    for secret in &scenario.secrets {
        let line = log.lines().find(|line| line.contains(secret.as_str()));
        assert_eq!(line, None, "{secret} is in the log");
    }
    assert!(!log.contains("?token="), "no login link in the log");
}

#[test]
fn the_json_log_has_every_request_and_no_secret() {
    let home = home();
    // Every level, because libraries log, too.
    let serving = Serving::start_with(home.path(), "127.0.0.1:0", |command| {
        command.env("DOCWRIGHT_LOG", "trace");
    });
    let scenario = Scenario::run(home.path(), &serving.url);
    let log = serving.stop();
    has_no_secret(&log, &scenario);
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    let access: Vec<_> = lines.iter().filter(|line| line["target"] == "access").collect();
    assert_eq!(access.len(), scenario.answers.len());
    for (id, status, code) in &scenario.answers {
        let line = access.iter().find(|line| line["span"]["request.id"] == **id).expect(id);
        assert_eq!((&line["level"], &line["status"]), (&json!("INFO"), &json!(status)), "{line}");
        assert_eq!(
            (line["code"].as_str(), &line["client"]),
            (code.as_deref(), &json!("127.0.0.1")),
            "{line}"
        );
        assert!(line["ms"].as_f64().is_some() && line["cut"].is_null(), "{line}");
    }
    let created = access.iter().find(|line| line["status"] == 201).unwrap();
    assert_eq!(created["route"], "/v2/agent/{projectId}/job");
    assert_eq!(
        (&created["span"]["method"], &created["span"]["key.id"]),
        (&json!("POST"), &json!(scenario.key_id))
    );
    assert!(created["bytes"].as_u64().unwrap() > 100, "{created}");
    let ended: Vec<_> = lines.iter().filter(|line| line["span"]["job.id"] == *scenario.job).collect();
    assert!(ended.iter().any(|line| line["outcome"] == "failed"), "{ended:?}");
    assert!(ended.iter().all(|line| line["span"]["project.id"].is_string() && line["span"]["attempt"] == 1));
}

#[test]
fn the_text_log_has_every_request_and_no_secret() {
    let home = home();
    let serving = Serving::start_with(home.path(), "127.0.0.1:0", |command| {
        command.args(["--log-format", "text"]);
    });
    let scenario = Scenario::run(home.path(), &serving.url);
    let quiet = client().get(format!("{}/healthz", serving.url)).send().unwrap();
    let log = serving.stop();
    has_no_secret(&log, &scenario);
    for (id, status, _) in &scenario.answers {
        let mut of_this = log.lines().filter(|line| line.contains(&format!("request.id=\"{id}\"")));
        assert!(of_this.any(|line| line.contains(&format!("answered {status} "))), "{id} {status}: {log}");
    }
    let quiet = quiet.headers()["x-request-id"].to_str().unwrap().to_owned();
    assert!(!log.contains(&quiet), "health checks are not logged");
}

/// Text from outside cannot start a new line or control a terminal.
#[test]
fn a_line_cannot_be_forged() {
    for format in ["text", "json"] {
        let home = home();
        let serving = Serving::start_with(home.path(), "127.0.0.1:0", |command| {
            command.args(["--log-format", format, "--data", "a\nFORGED \x1b[2J"]);
        });
        let mut connection = TcpStream::connect(serving.url.strip_prefix("http://").unwrap()).unwrap();
        let request = "GET /a\u{9b}2J\u{202e}b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        connection.write_all(request.as_bytes()).unwrap();
        connection.read_to_end(&mut Vec::new()).unwrap();
        let log = serving.stop();
        let controls = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
        assert!(log.contains("answered 404") && !log.contains(controls), "{log:?}");
        assert!(log.contains("FORGED") && !log.contains("\nFORGED"), "{log:?}");
    }
}

/// For example, `docwright serve 2>&1 | head -1` closes the pipe.
#[test]
fn a_closed_log_does_not_stop_the_server() {
    let home = home();
    let mut command = docwright(home.path());
    command.args(["serve", "--listen", "127.0.0.1:0"]).stderr(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let url = line.split_once("Docwright serves ").unwrap().1.split(' ').next().unwrap();
    for _ in 0..3 {
        assert_eq!(client().get(format!("{url}/v3")).send().unwrap().status(), 404);
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn an_invalid_log_setting_is_reported() {
    let home = home();
    #[track_caller]
    fn check(home: &Path, args: &[&str], code: i32, expected: &str) {
        let (exit, message) = refusal(home, &[&["serve", "--listen", "127.0.0.1:0"], args].concat());
        assert_eq!((exit, message.contains(expected)), (code, true), "{message}");
    }
    check(home.path(), &["--log", "loud"], 2, "it must be a level");
    check(home.path(), &["--log", "bogus="], 2, "`bogus=` has only one side of `=`");
    check(home.path(), &["--log-format", "xml"], 2, "it must be text or json, not `xml`");
    std::fs::write(home.path().join("log.toml"), "log = \"bogus=\"\n").unwrap();
    check(home.path(), &["--config", "log.toml"], 1, "`bogus=` has only one side of `=`");
    std::fs::write(home.path().join("set.toml"), "metrics = 7\n").unwrap();
    check(home.path(), &["--config", "set.toml"], 1, "metrics: it must be true or false");
}
