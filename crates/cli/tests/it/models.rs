//! `docwright model …` and `[models.NAME]`, against a provider that says one thing.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Output;
use std::sync::mpsc::{Receiver, channel};

use serde_json::{Value, json};

use crate::support::{docwright, home, json, refusal};

pub(crate) const KEY: &str = "sk-test-0123456789";

pub(crate) fn settings(home: &Path, text: &str) {
    let folder = home.join(".config/docwright");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("docwright.toml"), text).unwrap();
}

/// Answers one request, then is gone.
fn provider(status: &'static str, kind: &'static str, body: String) -> String {
    heard(status, kind, body).0
}

/// Also tells the headers of that request.
pub(crate) fn heard(status: &'static str, kind: &'static str, body: String) -> (String, Receiver<String>) {
    let (tell, told) = channel();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
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
        let _ = tell.send(head);
        let head = format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n");
        stream.get_mut().write_all((head + &body).as_bytes()).unwrap();
    });
    (url, told)
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
    settings(home, &table(url));
    let mut command = docwright(home);
    command.env("FAST_KEY", KEY).env("http_proxy", "http://127.0.0.1:1");
    command.args(["model", "test", "fast"]).args(more).output().unwrap()
}

#[test]
fn a_proxy_is_used_by_those_who_ask_for_it() {
    let home = home();
    let proxy = provider("502 No", "text/plain", String::new());
    settings(home.path(), &format!("{}use_proxy = true\n", table("http://models.example/v1")));
    let mut command = docwright(home.path());
    command.env("FAST_KEY", KEY).env("http_proxy", proxy);
    let said = command.args(["model", "test", "fast"]).output().unwrap().stderr;
    let said = String::from_utf8(said).unwrap();
    assert_eq!(said, "error: fast: models.example is in trouble, with the status 502\n");
}

#[test]
fn a_model_that_answers_and_calls_tools_is_fit() {
    let home = home();
    let call = || json!({ "tool_calls": [{ "index": 0, "id": "1", "function": { "name": "ready", "arguments": "{}" } }] });
    let output = test(home.path(), &streamed(call()), &[]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.starts_with("fast: it answers, and calls tools (") && output.status.success(), "{said}");
    assert!(said.ends_with(" ms, 1000 tokens in, 100 out, cost 0.004500)\n"), "{said}");

    let output = test(home.path(), &streamed(call()), &["--json"]);
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(shown["usage"], json!({ "input": 1000, "output": 100, "cached": 0 }));
    assert_eq!((&shown["ok"], &shown["name"]), (&json!(true), &json!("fast")));
}

#[test]
fn what_is_wrong_with_a_model_is_one_sentence() {
    let home = home();
    let wrong_key = format!(r#"{{"error":{{"message":"no {KEY}"}}}}"#);
    let page = "<html><title>Welcome</title></html>".to_owned();
    let gone = || "http://127.0.0.1:1".to_owned();
    for (url, told) in [
        (streamed(json!({ "content": "Ready!" })), "did not call the tool that it was asked to"),
        (provider("401 No", "application/json", wrong_key), "does not take the API key"),
        (provider("200 OK", "text/html", page), "is no API of the kind `compatible`"),
        (gone(), "cannot be reached: Connection refused"),
    ] {
        let output = test(home.path(), &url, &[]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.starts_with("error: fast: ") && said.contains(told), "{said}");
        assert!(said.lines().count() == 1 && !said.contains(KEY), "{said}");
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(1), &b""[..]));
    }
    let output = test(home.path(), &gone(), &["--json"]);
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&shown["ok"], &shown["usage"], output.status.code()), (&json!(false), &Value::Null, Some(1)));
}

#[test]
fn models_are_listed_without_their_keys() {
    let home = home();
    assert_eq!(json(home.path(), &["model", "list", "--json"])[0]["name"], "offline");
    assert!(json(home.path(), &["model", "test", "offline", "--json"])["ok"].as_bool().unwrap());
    settings(home.path(), &table("http://127.0.0.1:1"));
    assert_eq!(
        json(home.path(), &["model", "list", "--json"])[1],
        json!({
            "name": "fast", "provider": "compatible", "url": "http://127.0.0.1:1", "model": "small:7b",
            "key": "variable",
        })
    );
}

#[test]
fn a_table_that_is_wrong_is_refused_by_name() {
    let home = home();
    let anthropic = "[models.a]\nprovider = \"anthropic\"\nmodel = \"m\"\n";
    let refused = |text: &str, told: &str| {
        settings(home.path(), text);
        for command in [&["model", "test", "a"][..], &["serve", "--listen", "127.0.0.1:0"]] {
            let (code, said) = refusal(home.path(), command);
            assert!(code == 1 && said.contains(told) && !said.contains(KEY), "{text}: {said}");
        }
    };
    let with = |line: &str| format!("{anthropic}{line}\n");
    refused(&with(&format!("api_key = \"{KEY}\"")), "a key does not belong into a settings file");
    refused(&with("api_key_env = \"NOWHERE\""), "models.a: the variable NOWHERE is not set");
    refused(&with("api_key_file = \"/nowhere\""), "models.a: /nowhere cannot be read");
    refused(&with(&format!("api_kye = \"{KEY}\"")), "models.a: unknown field `api_kye`");
    refused(&with("prices = { input = -1, output = 1 }"), "prices are numbers of at least 0");
    refused(&with("call_seconds = 0"), "must be at least 1");
    refused(anthropic, "anthropic wants an API key: set api_key_env or api_key_file");
    refused(&anthropic.replace("\"anthropic\"", "\"claude\""), "a provider is one of anthropic, openai");
    refused(&anthropic.replace("models.a", "models.offline"), "`offline` is the editor that needs no model");
    refused(&anthropic.replace("models.a", "models.\"a b\""), "a model's name has up to 64");
    refused(&with("base_url = \"http://169.254.169.254\""), "is never called");
    refused("models = 1\n", "models must be tables such as [models.fast]");
    settings(home.path(), "");
    let (code, said) = refusal(home.path(), &["model", "test", "a"]);
    assert_eq!(
        (code, said.as_str()),
        (1, "error: the settings name no model `a`; see `docwright model list`\n")
    );
}

/// A repository's own files are not where settings come from.
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
        settings(home.path(), table);
        let said = docwright(home.path()).args(["serve", "--listen", "127.0.0.1:0"]).output().unwrap();
        let text = String::from_utf8(said.stderr).unwrap();
        assert!(!said.status.success() && text.contains(expected), "{text}");
    }
}
