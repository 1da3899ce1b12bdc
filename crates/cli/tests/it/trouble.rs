//! Tests a server that cannot start (one sentence, exit code 1, no change), and a server whose disk is full (503 until
//! there is space).

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use base::sqlite::{Database, Schema};
use serde_json::{Value, json};

use crate::support::{Serving, docwright, home, json, refusal, repository};

const SERVE: [&str; 3] = ["serve", "--listen", "127.0.0.1:0"];

#[track_caller]
fn check((code, message): (i32, String), sentence: &str) {
    assert!(code == 1 && message.contains(sentence), "{sentence}: {code} {message}");
    assert_eq!(message.trim().lines().count(), 1, "{message}");
}

#[test]
fn a_failed_start_is_one_sentence_and_changes_nothing() {
    let home = home();
    json(home.path(), &["org", "create", "--name", "Acme", "--json"]);
    let before = json(home.path(), &["org", "list", "--json"]);

    let wrong = home.path().join("wrong.key");
    std::fs::write(&wrong, "bad1".repeat(16)).unwrap();
    std::fs::set_permissions(&wrong, std::fs::Permissions::from_mode(0o600)).unwrap();
    let with_key =
        docwright(home.path()).env("DOCWRIGHT_MASTER_KEY_FILE", &wrong).args(SERVE).output().unwrap();
    let message = String::from_utf8(with_key.stderr).unwrap();
    check((with_key.status.code().unwrap(), message), "the master key does not fit this database");
    check(refusal(home.path(), &[&SERVE[..], &["--data", "/proc/docwright"]].concat()), "cannot be used");
    let file = home.path().join("file");
    std::fs::write(&file, "").unwrap();
    check(
        refusal(home.path(), &[&SERVE[..], &["--data", file.to_str().unwrap()]].concat()),
        "cannot be used",
    );
    assert_eq!(json(home.path(), &["org", "list", "--json"]), before);

    // A version with many more migrations has opened the database.
    const NEWER: &[&str] = &["SELECT 1"; 1_000];
    let path = home.path().join(".local/share/docwright/docwright.db");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(Database::open(&path, NEWER, Schema::Migrate)).unwrap();
    drop(runtime);
    check(refusal(home.path(), &SERVE), "was written by a newer version of Docwright");
    check(refusal(home.path(), &["org", "list"]), "was written by a newer version of Docwright");
}

/// Limits the size of every file of the server to this many blocks of 512 bytes, which looks like a full disk.
fn limited(home: &Path, blocks: &str, args: &[&str]) -> Command {
    let program = docwright(home);
    let mut command = Command::new("sh");
    // The signal would end the server before it sees the error.
    command.args(["-c", &format!("trap '' XFSZ; ulimit -S -f {blocks}; exec \"$@\""), "sh"]);
    command.arg(program.get_program()).args(args).current_dir(home).env_clear();
    command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
}

#[test]
fn a_start_on_a_full_disk_is_one_sentence() {
    let home = home();
    let output = limited(home.path(), "8", &SERVE).output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert_eq!(message.trim().lines().count(), 1, "{message}");
    // With space, it starts normally.
    Serving::start(home.path()).stop();
}

#[test]
fn a_server_with_a_full_disk_answers_503_until_there_is_space() {
    let home = home();
    let repository = repository(home.path(), &[("a.md".into(), "one\n".into())]);
    let project =
        json(home.path(), &["project", "create", "--name", "D", "--repository", &repository, "--json"]);
    let key = json(home.path(), &["key", "create", "--name", "K", "--json"]);
    let serving = Serving::start_with(home.path(), "127.0.0.1:0", |serve| {
        *serve = limited(home.path(), "unlimited", &SERVE);
        serve.stderr(Stdio::piped()).stdout(Stdio::null());
    });
    let _ = rustls::crypto::ring::default_provider().install_default();
    let http = reqwest::blocking::Client::new();
    let url = format!("{}/v2/agent/{}/job", serving.url, project["id"].as_str().unwrap());
    let create = |prompt: &str| {
        let request = http.post(&url).bearer_auth(key["key"].as_str().unwrap());
        request.json(&json!({ "prompt": prompt })).send().unwrap()
    };
    let fill = |bytes: &str| {
        let pid = serving.child.id().to_string();
        let set = Command::new("prlimit").args(["--pid", &pid, &format!("--fsize={bytes}")]).status();
        assert!(set.unwrap().success());
    };
    let views = format!("{}/v1/analytics/{}", serving.url, project["id"].as_str().unwrap());
    let send_view = || {
        let request = http.post(format!("{views}/events")).bearer_auth(key["key"].as_str().unwrap());
        request.json(&json!([{ "path": "/a", "userAgent": "Claude-User/1.0" }])).send().unwrap()
    };
    let read = |url: String| http.get(url).bearer_auth(key["key"].as_str().unwrap()).send().unwrap();
    assert_eq!(read(format!("{}/readyz", serving.url)).text().unwrap(), "ready\n");
    fill("1024:unlimited");
    for refused in [create("Replace \"one\" with \"two\"."), send_view()] {
        let answer = (refused.status().as_u16(), &refused.headers()["retry-after"]);
        assert_eq!(answer, (503, &"1".parse().unwrap()));
        assert_eq!(refused.headers()["x-error-code"], "unavailable");
    }
    assert_eq!(read(format!("{views}/views")).status(), 200, "reads still work");
    while read(format!("{}/readyz", serving.url)).status() != 503 {}
    let doctor = docwright(home.path()).arg("doctor").output().unwrap();
    let doctor = String::from_utf8(doctor.stdout).unwrap();
    assert!(doctor.contains("the server is not ready: the data directory cannot be written"), "{doctor}");
    fill("unlimited:unlimited");
    assert_eq!(send_view().status(), 202);
    while read(format!("{}/readyz", serving.url)).status() != 200 {}
    let made = create("Replace \"one\" with \"two\".");
    assert_eq!(made.status().as_u16(), 201);
    let job: Value = made.json().unwrap();
    let job = format!("{url}/{}", job["id"].as_str().unwrap());
    loop {
        let now = http.get(&job).bearer_auth(key["key"].as_str().unwrap()).send().unwrap();
        let now: Value = now.json().unwrap();
        if now["status"] != "active" {
            assert_eq!(now["status"], "completed", "{now}");
            return;
        }
    }
}

/// As many files open as it may have: git cannot be started, and no repository be read.
#[test]
fn a_job_waits_while_the_server_has_no_file_descriptors() {
    let home = home();
    let repository = repository(home.path(), &[("a.md".into(), "one\n".into())]);
    let project =
        json(home.path(), &["project", "create", "--name", "D", "--repository", &repository, "--json"]);
    let key = json(home.path(), &["key", "create", "--name", "K", "--json"]);
    let serving = Serving::start(home.path());
    let _ = rustls::crypto::ring::default_provider().install_default();
    let http = reqwest::blocking::Client::new();
    let jobs = format!("{}/v2/agent/{}/job", serving.url, project["id"].as_str().unwrap());
    let get = |url: &str| http.get(url).bearer_auth(key["key"].as_str().unwrap()).send().unwrap();
    // One connection, which stays: there are no descriptors for another one.
    assert_eq!(get(&format!("{}/healthz", serving.url)).text().unwrap(), "ok\n");
    let limit = |soft: &str| {
        let pid = serving.child.id().to_string();
        let set = Command::new("prlimit").args(["--pid", &pid, &format!("--nofile={soft}:")]).status();
        assert!(set.unwrap().success());
    };
    // Less than it has: no number below that is free.
    limit("3");
    let made = http.post(&jobs).bearer_auth(key["key"].as_str().unwrap());
    let made = made.json(&json!({ "prompt": "Replace \"one\" with \"two\"." })).send().unwrap();
    assert_eq!(made.status().as_u16(), 201);
    let made: Value = made.json().unwrap();
    let job = format!("{jobs}/{}", made["id"].as_str().unwrap());
    let waiting = || {
        let events: Value = get(&format!("{job}/events")).json().unwrap();
        let waits = |event: &&Value| event["cause"] == "process_open_files";
        events.as_array().into_iter().flatten().find(waits).cloned()
    };
    let waiting = std::iter::repeat_with(waiting).flatten().next().unwrap();
    let message = waiting["message"].as_str().unwrap();
    assert!(message.starts_with("The server has too many open files. Raise the limit"), "{message}");
    limit("1024");
    loop {
        let now: Value = get(&job).json().unwrap();
        if now["status"] != "active" {
            assert_eq!(now["status"], "completed", "{now}");
            return;
        }
    }
}
