//! Tests `docwright pull` and `docwright project` while a server runs.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::{Client, Serving, git, home, json, refusal, run};

fn run_job(client: &Client, prompt: &str) -> Value {
    let done = client.job(&["create", prompt, "--watch", "--json"]);
    assert!(done.status.success(), "{done:?}");
    serde_json::from_slice(&done.stdout).unwrap()
}

#[track_caller]
fn check_error(home: &Path, args: &[&str], sentence: &str) {
    let (code, message) = refusal(home, args);
    assert_eq!((code, message.as_str()), (1, format!("error: {sentence}\n").as_str()), "{args:?}");
}

#[test]
fn a_pull_request_is_viewed_and_merged_by_command() {
    let home = home();
    let serving = Serving::start(home.path());
    let client = Client::of(home.path(), &serving);
    let project = client.project.as_str();
    let message = run(home.path(), &["pull", "list", project]);
    assert!(String::from_utf8(message.stderr).unwrap().contains("No pull requests yet"));
    let job = run_job(&client, "Replace \"one\" with \"eins\".");
    let listed = json(home.path(), &["pull", "list", project, "--json"]);
    let pull = &listed[0];
    assert_eq!((&pull["number"], &pull["state"], &pull["base"]), (&json!(1), &json!("open"), &json!("main")));
    assert_eq!((&pull["url"], &pull["job"]), (&job["prLink"], &job["id"]));

    let viewed = json(home.path(), &["pull", "view", project, "1", "--json"]);
    assert!(viewed["diff"].as_str().unwrap().contains("-one two\n+eins two\n"), "{viewed}");
    assert_eq!(viewed["commits"][0]["id"], viewed["headCommit"]);
    let output = String::from_utf8(run(home.path(), &["pull", "view", project, "1"]).stdout).unwrap();
    assert!(output.contains("state         open\n") && output.contains("\n+eins two\n"), "{output}");

    let stale = "0".repeat(40);
    let (code, message) = refusal(home.path(), &["pull", "merge", project, "1", "--seen", &stale]);
    assert!(code == 1 && message.contains("review it, then merge again"), "{message}");
    let seen = |digits: &str| refusal(home.path(), &["pull", "merge", project, "1", "--seen", digits]);
    assert_eq!((seen("abc123").0, seen("main").0, seen("0000000").0), (2, 2, 1));
    let seen = &viewed["headCommit"].as_str().unwrap()[..10];
    assert!(output.contains(&format!("\n{seen}  ")), "as printed: {output}");
    let merged = json(home.path(), &["pull", "merge", project, "1", "--seen", seen, "--json"]);
    assert_eq!(merged["state"], "merged");
    let tip = git(&home.path().join("docs.git"), &["rev-parse", "main"]);
    assert_eq!(merged["mergeCommit"], json!(tip));
    assert_eq!(git(&home.path().join("docs.git"), &["show", "main:a.md"]), "eins two");

    check_error(home.path(), &["pull", "merge", project, "1"], "pull request #1 is already merged");
    check_error(home.path(), &["pull", "close", project, "1"], "pull request #1 is already merged");
    let gone = format!("there is no pull request #2; see `docwright pull list {project}`");
    check_error(home.path(), &["pull", "view", project, "2"], &gone);
    let nowhere = "there is no project nowhere; see `docwright project list`";
    check_error(home.path(), &["pull", "list", "nowhere"], nowhere);
}

#[test]
fn a_conflict_is_reported_before_a_merge() {
    let home = home();
    let serving = Serving::start(home.path());
    let client = Client::of(home.path(), &serving);
    let project = client.project.as_str();
    run_job(&client, "Replace \"one\" with \"eins\".");
    let view = || String::from_utf8(run(home.path(), &["pull", "view", project, "1"]).stderr).unwrap();
    assert_eq!(view(), "");
    let work = home.path().join("work");
    git(home.path(), &["clone", "-q", "docs.git", "work"]);
    std::fs::write(work.join("a.md"), "uno two\n").unwrap();
    git(&work, &["commit", "-q", "-a", "-m", "Otherwise"]);
    git(&work, &["push", "-q", "origin", "main"]);
    assert!(view().contains("the changes conflict with `main` in `a.md`"), "{}", view());
}

#[test]
fn a_pull_request_is_closed_once() {
    let home = home();
    let serving = Serving::start(home.path());
    let client = Client::of(home.path(), &serving);
    let project = client.project.as_str();
    run_job(&client, "Replace \"one\" with \"eins\".");
    let closed = json(home.path(), &["pull", "close", project, "1", "--json"]);
    assert_eq!(closed["state"], "closed");
    check_error(home.path(), &["pull", "close", project, "1"], "pull request #1 is already closed");
    let sentence = "pull request #1 is closed: start a new job for a new one";
    check_error(home.path(), &["pull", "merge", project, "1"], sentence);
    assert_eq!(git(&home.path().join("docs.git"), &["show", "main:a.md"]), "one two");
}

#[test]
fn an_update_changes_only_what_it_names() {
    let home = home();
    let serving = Serving::start(home.path());
    let client = Client::of(home.path(), &serving);
    let project = client.project.as_str();
    let view = || json(home.path(), &["project", "view", project, "--json"]);
    let update = |args: &[&str]| {
        json(home.path(), &[&["project", "update", project, "--json"], args].concat());
        view()
    };
    let before = view();
    let mut after = update(&["--site", "https://A.example/", "--site", "https://b.example"]);
    assert_eq!(after["sites"].take(), json!(["https://a.example", "https://b.example"]));
    after["sites"] = json!([]);
    assert_eq!(after, before, "nothing else");
    git(&home.path().join("docs.git"), &["branch", "next", "main"]);
    let after = update(&["--name", "Handbook", "--ref", "next"]);
    assert_eq!((&after["name"], &after["ref"]), (&json!("Handbook"), &json!("next")));
    assert_eq!(after["sites"], json!(["https://a.example", "https://b.example"]));
    let after = update(&["--ref", "", "--site", ""]);
    assert_eq!((&after["ref"], &after["sites"]), (&Value::Null, &json!([])));

    std::fs::rename(home.path().join("docs.git"), home.path().join("moved.git")).unwrap();
    let moved = home.path().join("moved.git").to_str().unwrap().to_owned();
    assert_eq!(update(&["--repository", &moved])["repository"], json!(moved));
    run_job(&client, "Replace \"one\" with \"eins\".");

    let refused = |args: &[&str], exit: i32, expected: &str| {
        let (code, message) = refusal(home.path(), &[&["project", "update", project], args].concat());
        assert!(code == exit && message.contains(expected), "{message}");
    };
    refused(&["--ref", "gone"], 1, "no branch `gone`");
    refused(&["--docs-path", "nope"], 1, "no folder `nope`");
    refused(&["--model", "gpt"], 1, "docwright model list");
    refused(&["--site", "docs"], 2, "https://docs.acme.dev");
    refused(&["--name", " "], 2, "needs a name");
    assert_eq!(refusal(home.path(), &["project", "update", project]).0, 2);
}
