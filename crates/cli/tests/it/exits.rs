//! Tests what scripts depend on (exit codes, one JSON value, no escapes), and error messages.

use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::{Output, Stdio};

use serde_json::Value;

use crate::support::{Client, Serving, docwright, home, refusal};

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn exit_codes() {
    let home = home();
    let serving = Serving::start(home.path());
    let client = Client::of(home.path(), &serving);
    let project = client.project.as_str();
    #[track_caller]
    fn check(output: Output, code: i32, sentence: &str) {
        assert!(output.status.code() == Some(code) && stderr(&output).contains(sentence), "{output:?}");
    }
    let run = |args: &[&str]| client.docwright().args(args).output().unwrap();
    let with_key = |key: &str| {
        client.docwright().env("DOCWRIGHT_API_KEY", key).args(["views", project]).output().unwrap()
    };
    check(run(&["views", project]), 0, "");
    check(run(&["views", "nowhere"]), 1, "see `docwright project list`");
    check(run(&["job", "view", project, "nothing"]), 1, "see `docwright job list PROJECT`");
    check(run(&["views", project, "--limit", "0"]), 1, "limit must be between 1 and 250, got 0\n");
    check(run(&["report", "series", project, "--interval", "year"]), 1, "interval must be one of hour,");
    check(run(&["views", project, "--csv", "--json"]), 2, "cannot be used with");
    let file = run(&["report", "not-found", project, "--csv"]);
    assert_eq!(String::from_utf8(file.stdout).unwrap(), "path,human,ai,total,referrers\r\n");
    check(run(&[]), 2, "Usage: docwright");
    check(run(&["views"]), 2, "<PROJECT>");
    check(run(&["job", "list", project, "--status", "done"]), 2, "possible values: active");
    check(run(&["job", "create", project, "Write a poem.", "--watch"]), 3, "Write a poem");
    check(with_key("dw_wrong"), 4, "DOCWRIGHT_API_KEY");
    check(with_key(""), 1, "docwright key create");
    check(
        run(&["job", "create", project, "Replace \"none\" with \"x\".", "--watch"]),
        5,
        "Nothing was changed, so there is no pull request: \"none\" was found nowhere",
    );
    let read = ["key", "create", "--name", "R", "--scope", "read", "--json"];
    let key: Value = serde_json::from_slice(&run(&read).stdout).unwrap();
    let mut reader = client.docwright();
    reader.env("DOCWRIGHT_API_KEY", key["key"].as_str().unwrap());
    check(reader.args(["job", "create", project, "x"]).output().unwrap(), 4, "docwright key create");
}

#[test]
fn every_list_is_one_json_value_and_nothing_piped_has_escapes() {
    let home = home();
    let serving = Serving::start(home.path());
    let client = Client::of(home.path(), &serving);
    let project = client.project.as_str();
    let job = client.json(&["create", "Replace \"one\" with \"eins\".", "--watch", "--json"]);
    let job = job["id"].as_str().unwrap();
    for args in [
        &["org", "list"][..],
        &["project", "list"],
        &["project", "view", project],
        &["key", "list"],
        &["job", "list", project],
        &["job", "view", project, job],
        &["job", "diff", project, job],
        &["pull", "list", project],
        &["pull", "view", project, "1"],
        &["views", project],
        &["visitors", project, "--sort", "path"],
        &["report", "series", project, "--interval", "week"],
        &["report", "agents", project],
        &["report", "referrers", project],
        &["report", "not-found", project, "--path", "/guides"],
        &["report", "live", project],
        &["reclassify", project],
        &["login"],
        &["doctor"],
    ] {
        // The variables of a terminal must not matter, because the output is a pipe.
        let command = || {
            let mut command = client.docwright();
            command.env("TERM", "xterm-256color").env("CLICOLOR_FORCE", "1").args(args);
            command
        };
        let plain = command().output().unwrap();
        assert!(plain.status.success() && !plain.stdout.is_empty(), "{args:?}: {plain:?}");
        let printed = [plain.stdout, plain.stderr].concat();
        assert!(!printed.contains(&0x1b), "{args:?}");
        let json = command().arg("--json").output().unwrap();
        let one = serde_json::from_slice::<Value>(&json.stdout);
        assert!(one.is_ok() && json.stdout.ends_with(b"\n"), "{args:?}: {json:?}");
    }
}

#[test]
fn an_unreachable_server_is_reported_once_with_advice() {
    let home = home();
    let client = |url: &str| {
        let mut command = docwright(home.path());
        command.env("DOCWRIGHT_URL", url).env("DOCWRIGHT_API_KEY", "dw_x").args(["views", "p"]);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        stderr(&output)
    };
    // Nothing listens on port 1.
    let silent = client("http://127.0.0.1:1");
    assert!(silent.contains("start the server with `docwright serve`"), "{silent}");
    assert_eq!(silent.matches("Connection refused").count(), 1, "{silent}");
    assert!(client("docs").contains("such as http://127.0.0.1:4747"));
    assert!(client("http://:").contains("such as http://127.0.0.1:4747"));

    let (code, message) = refusal(home.path(), &["key", "list", "--data", "/dev/null/x"]);
    assert!(code == 1 && message.matches("os error").count() == 1, "{message}");
    let (code, message) = refusal(home.path(), &["demo", "--listen", "here"]);
    assert!(code == 2 && message.contains("such as 127.0.0.1:4747"), "{message}");
    let (code, message) = refusal(home.path(), &["--config", "none.toml", "key", "list"]);
    assert!(code == 1 && message.matches("os error").count() == 1, "{message}");
}

#[test]
fn a_bad_value_is_wrong_usage_as_a_flag_and_an_error_elsewhere() {
    let home = home();
    for (command, flag, value, expected) in [
        ("serve", "--listen", "foo", "such as 127.0.0.1:4747"),
        ("serve", "--public-url", "docs", "https://docs-tools.example.com"),
        ("serve", "--trusted-proxy", "10.0.0.0/8,me", "`me` is not an IP address"),
        ("serve", "--proxy-header", "Via", "X-Forwarded-For"),
        ("serve", "--workers", "some", "a whole number, or 0"),
        ("worker", "--workers", "0", "`docwright worker` only runs jobs: set --workers to at least 1"),
        ("serve", "--jobs-in-flight", "0", "a whole number, at least 1"),
        ("serve", "--page-views", "maybe", "yes or no"),
        ("serve", "--jobs-per-hour", "many", "a whole number, at least 1"),
        ("login", "--public-url", "docs", "https://docs-tools.example.com"),
        ("org create", "--name", " ", "needs a name"),
        ("key create --name K", "--allow", "home", "home"),
        ("project create --name D --repository .", "--site", "docs", "https://docs.acme.dev"),
        ("project create --name D --repository .", "--docs-path", "../docs", "--docs-path"),
    ] {
        let args: Vec<_> = command.split(' ').chain([flag, value]).collect();
        let (code, message) = refusal(home.path(), &args);
        assert!(
            code == 2 && message.contains(expected) && message.contains(flag),
            "{args:?}: {code} {message}"
        );
    }
    for (name, value) in [
        ("LISTEN", "foo"),
        ("WORKERS", "some"),
        ("PAGE_VIEWS", "maybe"),
        ("PUBLIC_URL", "docs"),
        ("LOG", "loud"),
    ] {
        let output =
            docwright(home.path()).env(format!("DOCWRIGHT_{name}"), value).arg("serve").output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{name}: {output:?}");
    }
    let worker = docwright(home.path()).env("DOCWRIGHT_WORKERS", "0").arg("worker").output().unwrap();
    let message = String::from_utf8(worker.stderr).unwrap();
    assert!(message.contains("`docwright worker` only runs jobs: set --workers to at least 1"), "{message}");
    assert_eq!(worker.status.code(), Some(1));
    assert!(!home.path().join(".local").join("share/docwright/docwright.db").exists());
}

/// The message of `docwright views` for a server that sends this response once.
fn message_for_response(response: &'static str) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let serving = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let _ = client.read(&mut [0; 4096]).unwrap();
        client.write_all(response.as_bytes()).unwrap();
    });
    let home = home();
    let mut command = docwright(home.path());
    command.env("DOCWRIGHT_URL", url).env("DOCWRIGHT_API_KEY", "dw_x").args(["views", "p"]);
    let output = command.output().unwrap();
    serving.join().unwrap();
    assert!(output.status.code() == Some(1) && output.stdout.is_empty(), "{output:?}");
    stderr(&output)
}

#[test]
fn any_response_of_a_server_becomes_a_harmless_message() {
    let moved = message_for_response(
        "HTTP/1.1 301 Moved\r\nlocation: https://docs.example/v1\r\ncontent-length: 0\r\n\r\n",
    );
    assert!(moved.contains("https://docs.example/v1") && moved.contains("DOCWRIGHT_URL"), "{moved}");
    let page = message_for_response("HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n<html>");
    assert!(page.contains("check that DOCWRIGHT_URL is right"), "{page}");
    let cut = message_for_response("HTTP/1.1 200 OK\r\ncontent-length: 60\r\n\r\n{");
    assert!(cut.contains("cut off"), "{cut}");
    let steering = message_for_response(concat!(
        "HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n",
        r#"{"error":"no \u001b[31m\u202egood","details":[{"message":"more"}]}"#
    ));
    assert_eq!(steering, "error: no \u{fffd}[31m\u{fffd}good; more\n");
}

#[test]
fn health_asks_the_server_without_a_key() {
    let home = home();
    let serving = Serving::start_at(home.path(), "0.0.0.0:0");
    let port = serving.url.rsplit(':').next().unwrap().to_owned();
    let ask =
        |name: &str, value: &str| docwright(home.path()).arg("health").env(name, value).output().unwrap();
    for (name, value) in [
        ("LANG", "C: found by its data directory".to_owned()),
        ("DOCWRIGHT_LISTEN", format!("0.0.0.0:{port}")),
        ("DOCWRIGHT_LISTEN", format!("127.0.0.1:{port}")),
        ("DOCWRIGHT_URL", format!("http://127.0.0.1:{port}")),
    ] {
        let healthy = ask(name, &value);
        assert_eq!(
            (healthy.status.code(), healthy.stdout.as_slice()),
            (Some(0), &b"ready\n"[..]),
            "{healthy:?}"
        );
    }
    serving.stop();
    let gone = ask("DOCWRIGHT_LISTEN", &format!("0.0.0.0:{port}"));
    assert_eq!(gone.status.code(), Some(1));
    assert!(stderr(&gone).contains(&format!("http://127.0.0.1:{port} cannot be reached")), "{gone:?}");
}

#[test]
fn the_server_of_this_machine_is_the_default() {
    let home = home();
    let serving = Serving::start(home.path());
    let client = Client::of(home.path(), &serving);
    let mut command = client.docwright();
    // The client does not use a proxy for this machine.
    command.env_remove("DOCWRIGHT_URL").env("http_proxy", "http://127.0.0.1:1");
    let output = command.args(["views", &client.project]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn closed_outputs_and_odd_locales_cause_no_panic() {
    let home = home();
    let closed = std::fs::File::options().write(true).open("/dev/full").unwrap();
    for args in [&["completions", "bash"][..], &["man"], &["key", "list", "--json"], &["doctor"]] {
        let full = closed.try_clone().unwrap();
        let output = docwright(home.path()).args(args).env("LC_ALL", "xx_YY").stdout(full).output().unwrap();
        assert!(
            output.status.code() == Some(1) && !stderr(&output).contains("panicked"),
            "{args:?}: {output:?}"
        );
        let mut unread =
            docwright(home.path()).args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(unread.stdout.take());
        let output = unread.wait_with_output().unwrap();
        assert!(!stderr(&output).contains("panicked"), "{args:?}: {output:?}");
    }
    let odd = std::ffi::OsStr::new("caf\u{e9}").to_owned();
    let mut command = docwright(home.path());
    assert!(
        command.args(["org", "create", "--name"]).arg(odd).env("LC_ALL", "C").status().unwrap().success()
    );
    let shut = home.path().join("shut");
    std::fs::create_dir(&shut).unwrap();
    std::fs::set_permissions(&shut, std::fs::Permissions::from_mode(0o500)).unwrap();
    let inside = shut.join("data");
    let (code, message) = refusal(home.path(), &["key", "list", "--data", inside.to_str().unwrap()]);
    assert!(code == 1 && message.contains("there is no data directory"), "{message}");
    let (code, message) =
        refusal(home.path(), &["key", "create", "--name", "K", "--data", inside.to_str().unwrap()]);
    // Root may write everywhere.
    assert!(code == 0 || (code == 1 && message.contains("cannot be used")), "{message}");
}
