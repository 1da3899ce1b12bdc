//! Tests `docwright job` with a running server.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{Client, Serving, home};

#[test]
fn a_watched_job_prints_its_steps_and_exits_by_its_result() {
    let home = home();
    let serving = Serving::start(home.path());
    let client = Client::of(home.path(), &serving);
    let done = client.job(&["create", "Replace \"one\" with \"eins\".", "--watch", "--json"]);
    assert_eq!(done.status.code(), Some(0));
    let job: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert!(job["prLink"].is_string());
    let messages = String::from_utf8(done.stderr).unwrap();
    for step in ["created", "started", "edit", "ended"] {
        assert!(
            messages.lines().any(|line| line.split_whitespace().nth(1) == Some(step)),
            "{step}: {messages}"
        );
    }
    assert!(!messages.contains('\x1b'), "no escapes without a terminal");

    let id = job["id"].as_str().unwrap();
    let more = client.job(&["message", id, "Replace \"two\" with \"zwei\".", "--watch"]);
    assert_eq!(more.status.code(), Some(0), "{more:?}");
    let messages = String::from_utf8(more.stderr).unwrap();
    assert!(!messages.contains("The job was created"), "only what is new: {messages}");
    let diff = client.job(&["diff", id]);
    assert!(String::from_utf8(diff.stdout).unwrap().contains("+eins zwei"));
    let transcript = client.job(&["transcript", id]);
    let transcript = String::from_utf8(transcript.stdout).unwrap();
    let lines: Vec<Value> = transcript.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!((1..).zip(&lines).all(|(n, line)| line["kind"] == "event" && line["number"] == n), "{lines:?}");

    let nothing = client.job(&["create", "Replace \"none\" with \"x\".", "--watch"]);
    assert_eq!(nothing.status.code(), Some(5));
    let failed = client.job(&["create", "Write a poem.", "--watch"]);
    assert_eq!(failed.status.code(), Some(3));
    assert!(String::from_utf8(failed.stderr).unwrap().contains("Write a poem"));
    assert_eq!(client.json(&["list", "--json"])["jobs"].as_array().unwrap().len(), 3);
    assert_eq!(client.json(&["list", "--status", "failed", "--json"])["jobs"].as_array().unwrap().len(), 1);
    let with_pull = client.json(&["list", "--pull", "open", "--json"]);
    assert_eq!((with_pull["jobs"].as_array().unwrap().len(), &with_pull["jobs"][0]["id"]), (1, &json!(id)));
    assert_eq!(client.json(&["list", "--pull", "none", "--json"])["jobs"].as_array().unwrap().len(), 2);
    let viewed = String::from_utf8(client.job(&["view", id]).stdout).unwrap();
    assert!(viewed.contains("\nits state     open, checked "), "{viewed}");
    assert_eq!(client.json(&["archive", id, "--json"])["status"], "archived");
    assert_eq!(client.job(&["message", id, "More."]).status.code(), Some(1));
    assert_eq!(client.job(&["view", "nothing"]).status.code(), Some(1));
}

#[test]
fn a_prompt_can_come_from_standard_input() {
    use std::io::Write;
    let home = home();
    let serving = Serving::start(home.path());
    let client = Client::of(home.path(), &serving);
    let mut command = client.docwright();
    command.args(["job", "create", &client.project, "-", "--watch", "--json"]);
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"Replace \"one\" with \"two\".\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let job: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(job["status"], "completed");
}

#[test]
fn a_watch_continues_after_a_restart_of_the_server() {
    let home = home();
    let mut serving = Serving::start(home.path());
    let pages: Vec<_> = (0..400).map(|n| (format!("p{n}.md"), "This is one page.\n".repeat(40))).collect();
    let client = Client::with(home.path(), &serving, &pages);
    let mut command = client.docwright();
    command.args(["job", "create", &client.project, "Replace \"one\" with \"two\".", "--watch"]);
    let mut watching = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut messages = BufReader::new(watching.stderr.take().unwrap()).lines().map(Result::unwrap);
    let steps: Vec<_> = messages.by_ref().take_while(|line| !line.contains("fetched")).collect();
    assert_eq!(steps.len(), 2, "created and started: {steps:?}");
    serving.signal("-KILL");
    serving.child.wait().unwrap();
    // The server starts again only after the client has noticed that it is gone.
    assert!(messages.by_ref().any(|line| line.contains("trying again")));
    let address = serving.url.strip_prefix("http://").unwrap().to_owned();
    let _again = Serving::start_at(home.path(), &address);
    let rest: Vec<_> = messages.collect();
    let again = |step| rest.iter().filter(|line| line.split_whitespace().nth(1) == Some(step)).count();
    assert_eq!((again("created"), again("started"), again("ended")), (0, 1, 1), "{rest:?}");
    assert_eq!(watching.wait().unwrap().code(), Some(0));
}
