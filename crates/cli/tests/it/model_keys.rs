//! `docwright model key`: where a key comes from, and that nobody sees it.

use std::io::Write;
use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::{Value, json};

use crate::models::{KEY, heard, settings, stream};
use crate::support::{Serving, docwright, home, json, refusal, run};

/// A table that names no key, and whatever else.
fn table(url: &str, more: &str) -> String {
    format!(
        "[models.fast]\nprovider = \"compatible\"\nmodel = \"m\"\nbase_url = \"{url}\"\nallow_private = true\n{more}"
    )
}

/// Gives the key on standard input.
fn keep(home: &Path, name: &str, key: &str) -> Output {
    let mut command = docwright(home);
    command.args(["model", "key", name, "--key-file", "-"]);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // One that refuses before it reads is as good.
    let _ = child.stdin.take().unwrap().write_all(key.as_bytes());
    child.wait_with_output().unwrap()
}

fn place(home: &Path) -> Value {
    json(home, &["model", "list", "--json"])[1]["key"].clone()
}

/// What `model test` sends as its key.
fn sent(home: &Path, more: &str) -> String {
    let call = json!({ "tool_calls": [{ "index": 0, "id": "1", "function": { "name": "ready", "arguments": "{}" } }] });
    let (url, told) = heard("200 OK", "text/event-stream", stream(call));
    settings(home, &table(&url, more));
    let output = docwright(home).env("FAST_KEY", "of-the-variable").args(["model", "test", "fast"]).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{output:?}");
    let head = told.recv().unwrap();
    let key = head.lines().find_map(|line| line.strip_prefix("authorization: Bearer "));
    key.unwrap_or_default().to_owned()
}

#[test]
fn a_key_is_kept_used_and_shown_to_nobody() {
    let home = home();
    settings(home.path(), &table("http://127.0.0.1:1", ""));
    assert_eq!(place(home.path()), "none");
    let data = home.path().join(".local/share/docwright");
    assert!(!data.exists(), "who only looks makes nothing");
    assert_eq!(sent(home.path(), ""), "");

    let kept = keep(home.path(), "fast", &format!("{KEY}\n"));
    let told = String::from_utf8(kept.stderr).unwrap();
    assert!(kept.status.success() && told.contains("once it is restarted") && !told.contains(KEY), "{told}");
    for file in std::fs::read_dir(&data).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        assert!(!bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes()));
    }
    assert_eq!((place(home.path()), sent(home.path(), "").as_str()), (json!("store"), KEY));
    let listed = run(home.path(), &["model", "list"]);
    assert!(!String::from_utf8(listed.stdout).unwrap().contains(KEY));

    let variable = "api_key_env = \"FAST_KEY\"\n";
    assert_eq!(sent(home.path(), variable), "of-the-variable", "the settings come first");
    assert_eq!(place(home.path()), "variable");
    let told = keep(home.path(), "fast", KEY).stderr;
    assert!(String::from_utf8(told).unwrap().contains("not used: the settings name a variable"));

    assert!(run(home.path(), &["model", "key", "fast", "--remove"]).status.success());
    assert_eq!(sent(home.path(), ""), "");
    let (code, told) = refusal(home.path(), &["model", "key", "fast", "--remove"]);
    assert!(code == 1 && told.contains("no key of a model fast is kept"), "{told}");
}

#[test]
fn a_server_starts_with_the_key_that_is_kept() {
    let home = home();
    settings(home.path(), "[models.a]\nprovider = \"anthropic\"\nmodel = \"m\"\n");
    let (code, told) = refusal(home.path(), &["serve", "--listen", "127.0.0.1:0"]);
    assert!(code == 1 && told.contains("or keep one with `docwright model key`"), "{told}");
    assert!(keep(home.path(), "a", KEY).status.success());
    Serving::start(home.path());
}

#[test]
fn what_cannot_be_kept_is_refused() {
    let home = home();
    settings(home.path(), &table("http://127.0.0.1:1", ""));
    let check = |output: Output, expected: &str| {
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(1) && told.contains(expected), "{told}");
    };
    for key in ["", "\n", "two words", &"k".repeat(10_000)] {
        check(keep(home.path(), "fast", key), "--key-file must hold the key and nothing else");
    }
    for name in ["slow", "offline"] {
        check(keep(home.path(), name, KEY), "the settings name no model");
    }
    check(run(home.path(), &["model", "key", "fast", "--key-file", "nowhere"]), "--key-file nowhere");
    assert_eq!(refusal(home.path(), &["model", "key", "fast"]).0, 2);
    assert_eq!(refusal(home.path(), &["model", "key", "fast", "--remove", "--key-file", "-"]).0, 2);
}
