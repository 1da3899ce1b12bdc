//! Tests `docwright model key`: where a key comes from, and that no command prints it.

use std::io::Write;
use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::{Value, json};

use crate::models::{KEY, provider_with_headers, stream, write_settings};
use crate::support::{Serving, docwright, home, json, refusal, run};

/// A table that names no key, with more lines.
fn table(url: &str, more: &str) -> String {
    format!(
        "[models.fast]\nprovider = \"compatible\"\nmodel = \"m\"\nbase_url = \"{url}\"\nallow_private = true\n{more}"
    )
}

/// Stores a key from standard input.
fn store_key(home: &Path, name: &str, key: &str) -> Output {
    let mut command = docwright(home);
    command.args(["model", "key", name, "--key-file", "-"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The command may refuse before it reads.
    let _ = child.stdin.take().unwrap().write_all(key.as_bytes());
    child.wait_with_output().unwrap()
}

fn key_source(home: &Path) -> Value {
    json(home, &["model", "list", "--json"])[1]["key"].clone()
}

/// The key that `model test` sends.
fn sent_key(home: &Path, more: &str) -> String {
    let call = json!({ "tool_calls": [{ "index": 0, "id": "1", "function": { "name": "read", "arguments": "{}" } }] });
    let (url, headers) = provider_with_headers("200 OK", "text/event-stream", stream(call));
    write_settings(home, &table(&url, more));
    let output = docwright(home).env("FAST_KEY", "of-the-variable").args(["model", "test", "fast"]).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{output:?}");
    let head = headers.recv().unwrap();
    let key = head.lines().find_map(|line| line.strip_prefix("authorization: Bearer "));
    key.unwrap_or_default().to_owned()
}

#[test]
fn a_stored_key_is_used_and_never_printed() {
    let home = home();
    write_settings(home.path(), &table("http://127.0.0.1:1", ""));
    assert_eq!(key_source(home.path()), "none");
    let data = home.path().join(".local/share/docwright");
    assert!(!data.exists(), "a command that only reads creates nothing");
    assert_eq!(sent_key(home.path(), ""), "");

    let stored = store_key(home.path(), "fast", &format!("{KEY}\n"));
    let message = String::from_utf8(stored.stderr).unwrap();
    assert!(
        stored.status.success() && message.contains("after a restart") && !message.contains(KEY),
        "{message}"
    );
    for file in std::fs::read_dir(&data).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes()));
    }
    assert_eq!((key_source(home.path()), sent_key(home.path(), "").as_str()), (json!("store"), KEY));
    let listed = run(home.path(), &["model", "list"]);
    assert!(!String::from_utf8(listed.stdout).unwrap().contains(KEY));

    let variable = "api_key_env = \"FAST_KEY\"\n";
    assert_eq!(sent_key(home.path(), variable), "of-the-variable", "the settings come first");
    assert_eq!(key_source(home.path()), "variable");
    let message = store_key(home.path(), "fast", KEY).stderr;
    assert!(String::from_utf8(message).unwrap().contains("not used: the settings name a variable"));

    assert!(run(home.path(), &["model", "key", "fast", "--remove"]).status.success());
    assert_eq!(sent_key(home.path(), ""), "");
    let (code, message) = refusal(home.path(), &["model", "key", "fast", "--remove"]);
    assert!(code == 1 && message.contains("there is no stored key for a model fast"), "{message}");
}

#[test]
fn a_server_starts_with_a_stored_key() {
    let home = home();
    write_settings(home.path(), "[models.a]\nprovider = \"anthropic\"\nmodel = \"m\"\n");
    let (code, message) = refusal(home.path(), &["serve", "--listen", "127.0.0.1:0"]);
    assert!(code == 1 && message.contains("or store one with `docwright model key`"), "{message}");
    assert!(store_key(home.path(), "a", KEY).status.success());
    Serving::start(home.path());
}

#[test]
fn an_invalid_key_is_refused() {
    let home = home();
    write_settings(home.path(), &table("http://127.0.0.1:1", ""));
    let check = |output: Output, expected: &str| {
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(1) && message.contains(expected), "{message}");
    };
    for key in ["", "\n", "two words", &"k".repeat(10_000)] {
        check(store_key(home.path(), "fast", key), "--key-file names must contain the key and nothing else");
    }
    for name in ["slow", "offline"] {
        check(store_key(home.path(), name, KEY), "in the settings; see `docwright model list`");
    }
    check(run(home.path(), &["model", "key", "fast", "--key-file", "nowhere"]), "--key-file nowhere");
    assert_eq!(refusal(home.path(), &["model", "key", "fast"]).0, 2);
    assert_eq!(refusal(home.path(), &["model", "key", "fast", "--remove", "--key-file", "-"]).0, 2);
}
