//! Tests `docwright model` and `[models.NAME]`, with a provider that gives each request the same answer.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Output;
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

use crate::support::{docwright, home, json, refusal};

pub(crate) const KEY: &str = "sk-test-0123456789";

pub(crate) fn write_settings(home: &Path, text: &str) {
    let folder = home.join(".config/docwright");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("docwright.toml"), text).unwrap();
}

/// Starts a provider that gives each request the same answer.
fn provider(status: &'static str, kind: &'static str, body: String) -> String {
    provider_with_headers(status, kind, body).0
}

/// Starts a provider that also sends the headers of the request.
pub(crate) fn provider_with_headers(
    status: &'static str,
    kind: &'static str,
    body: String,
) -> (String, Receiver<String>) {
    let (sender, headers) = channel();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        loop {
            let mut stream = BufReader::new(listener.accept().unwrap().0);
            let (mut length, mut line, mut head) = (0, String::new(), String::new());
            while line != "\r\n" {
                line.clear();
                stream.read_line(&mut line).unwrap();
                head += &line;
                length =
                    line.strip_prefix("content-length: ").map_or(length, |text| text.trim().parse().unwrap());
            }
            stream.read_exact(&mut vec![0; length]).unwrap();
            // It has no description of its models.
            let is_description = head.starts_with("GET ");
            let status = if is_description { "404 Not Found" } else { status };
            let answer = format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n");
            stream.get_mut().write_all((answer + &body).as_bytes()).unwrap();
            if !is_description {
                let _ = sender.send(head);
            }
        }
    });
    (url, headers)
}

fn streamed(delta: Value) -> String {
    provider("200 OK", "text/event-stream", stream(delta))
}

pub(crate) fn stream(delta: Value) -> String {
    let usage = json!({ "prompt_tokens": 1000, "completion_tokens": 100 });
    let chunk = json!({ "choices": [{ "delta": delta, "finish_reason": "stop" }], "usage": usage });
    format!("data: {chunk}\n\ndata: [DONE]\n\n")
}

fn table(url: &str) -> String {
    format!(
        "[models.fast]\nprovider = \"compatible\"\nmodel = \"small:7b\"\nbase_url = \"{url}\"\nallow_private = true\n\
         api_key_env = \"FAST_KEY\"\nprices = {{ input = 3, output = 15.0 }}\n"
    )
}

fn test(home: &Path, url: &str, more: &[&str]) -> Output {
    write_settings(home, &table(url));
    let mut command = docwright(home);
    command.env("FAST_KEY", KEY).env("http_proxy", "http://127.0.0.1:1");
    command.args(["model", "test", "fast"]).args(more).output().unwrap()
}

#[test]
fn a_model_uses_the_proxy_only_with_use_proxy() {
    let home = home();
    let proxy = provider("502 No", "text/plain", String::new());
    write_settings(home.path(), &format!("{}use_proxy = true\n", table("http://models.example/v1")));
    let mut command = docwright(home.path());
    command.env("FAST_KEY", KEY).env("http_proxy", proxy);
    let message = command.args(["model", "test", "fast"]).output().unwrap().stderr;
    let message = String::from_utf8(message).unwrap();
    assert_eq!(message, "error: fast: models.example failed with the status 502\n");
}

#[test]
fn a_model_that_answers_and_calls_tools_passes_the_test() {
    let home = home();
    let call = || json!({ "tool_calls": [{ "index": 0, "id": "1", "function": { "name": "read", "arguments": "{\"path\": \"docs/install.md\"}" } }] });
    let output = test(home.path(), &streamed(call()), &[]);
    let message = String::from_utf8(output.stdout).unwrap();
    assert!(
        message.starts_with("fast: it answers, and calls tools (") && output.status.success(),
        "{message}"
    );
    let (first, findings) = message.split_once('\n').unwrap();
    assert!(first.ends_with(" ms, 1000 tokens in, 100 out, cost 0.004500)"), "{message}");
    assert_eq!(
        findings,
        "  tool calls: yes\n  several calls in one answer: no\n  calls written as text: no\n  \
         context: unknown; set context_tokens if you know it\n  longest answer: 16000 tokens\n"
    );

    let output = test(home.path(), &streamed(call()), &["--json"]);
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["usage"], json!({ "input": 1000, "output": 100, "cached": 0 }));
    assert_eq!((&result["ok"], &result["name"]), (&json!(true), &json!("fast")));
}

#[test]
fn a_problem_of_a_model_is_one_sentence() {
    let home = home();
    let wrong_key = format!(r#"{{"error":{{"message":"no {KEY}"}}}}"#);
    let page = "<html><title>Welcome</title></html>".to_owned();
    let gone = || "http://127.0.0.1:1".to_owned();
    for (url, expected) in [
        (streamed(json!({ "content": "Ready!" })), "doesn't call tools"),
        (provider("401 No", "application/json", wrong_key), "rejects the API key"),
        (provider("200 OK", "text/html", page), "is not an API of the kind `compatible`"),
        (gone(), "cannot be reached: Connection refused"),
    ] {
        let output = test(home.path(), &url, &[]);
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(message.starts_with("error: fast: ") && message.contains(expected), "{message}");
        assert!(message.lines().count() == 1 && !message.contains(KEY), "{message}");
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(1), &b""[..]));
    }
    let output = test(home.path(), &gone(), &["--json"]);
    let result: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&result["ok"], &result["usage"], output.status.code()),
        (&json!(false), &Value::Null, Some(1))
    );
}

#[test]
fn models_are_listed_without_their_keys() {
    let home = home();
    assert_eq!(json(home.path(), &["model", "list", "--json"])[0]["name"], "offline");
    assert!(json(home.path(), &["model", "test", "offline", "--json"])["ok"].as_bool().unwrap());
    write_settings(home.path(), &table("http://127.0.0.1:1"));
    assert_eq!(
        json(home.path(), &["model", "list", "--json"])[1],
        json!({
            "name": "fast", "provider": "compatible", "url": "http://127.0.0.1:1", "model": "small:7b",
            "key": "variable",
        })
    );
}

#[test]
fn an_invalid_model_table_is_refused_with_its_name() {
    let home = home();
    let anthropic = "[models.a]\nprovider = \"anthropic\"\nmodel = \"m\"\n";
    let refused = |text: &str, expected: &str| {
        write_settings(home.path(), text);
        for command in [&["model", "test", "a"][..], &["serve", "--listen", "127.0.0.1:0"]] {
            let (code, message) = refusal(home.path(), command);
            assert!(code == 1 && message.contains(expected) && !message.contains(KEY), "{text}: {message}");
        }
    };
    let with = |line: &str| format!("{anthropic}{line}\n");
    refused(&with(&format!("api_key = \"{KEY}\"")), "a settings file must not contain an API key");
    refused(&with("api_key_env = \"NOWHERE\""), "models.a: the variable NOWHERE is not set");
    refused(&with("api_key_file = \"/nowhere\""), "models.a: /nowhere cannot be read");
    refused(&with(&format!("api_kye = \"{KEY}\"")), "models.a: unknown field `api_kye`");
    refused(&with("prices = { input = -1, output = 1 }"), "prices must be numbers from 0");
    refused(&with("call_seconds = 0"), "must be at least 1");
    refused(&with("max_output_tokens = 100"), "models.a: max_output_tokens must be at least 256");
    refused(&with("context_tokens = 1000"), "models.a: context_tokens must be at least 2048");
    refused(&with("profile = \"tiny\""), "models.a: a profile is full or small");
    refused(&with("concurrent_calls = 0"), "models.a: concurrent_calls must be at least 1");
    refused(anthropic, "anthropic needs an API key: set api_key_env or api_key_file");
    refused(&anthropic.replace("\"anthropic\"", "\"claude\""), "a provider is one of anthropic, openai");
    refused(&anthropic.replace("models.a", "models.offline"), "`offline` is the name of the built-in editor");
    refused(&anthropic.replace("models.a", "models.\"a b\""), "a model's name must have 1 to 64");
    refused(&with("base_url = \"http://169.254.169.254\""), "is never called");
    refused("models = 1\n", "models must be tables such as [models.fast]");
    write_settings(home.path(), "");
    let (code, message) = refusal(home.path(), &["model", "test", "a"]);
    assert_eq!(
        (code, message.as_str()),
        (1, "error: there is no model `a` in the settings; see `docwright model list`\n")
    );
}

/// Settings never come from the files of a repository.
#[test]
fn repo_env() {
    let home = home();
    std::fs::write(home.path().join("docwright.toml"), table("http://127.0.0.1:1")).unwrap();
    std::fs::write(home.path().join(".env"), "FAST_KEY=x\nDOCWRIGHT_MODELS=x\n").unwrap();
    assert_eq!(json(home.path(), &["model", "list", "--json"]).as_array().unwrap().len(), 1);
}

#[test]
fn the_limits_of_a_run_are_checked_at_the_start() {
    for (table, expected) in [
        ("[agent]\nturns = 0\n", "must be at least 1"),
        ("[agent]\nturnz = 5\n", "unknown field `turnz`"),
        ("[agent]\nminutes = \"long\"\n", "invalid type"),
    ] {
        let home = home();
        write_settings(home.path(), table);
        let message = docwright(home.path()).args(["serve", "--listen", "127.0.0.1:0"]).output().unwrap();
        let text = String::from_utf8(message.stderr).unwrap();
        assert!(!message.status.success() && text.contains(expected), "{text}");
    }
}
