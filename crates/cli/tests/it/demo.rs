//! Tests `docwright demo`.

use crate::support::{docwright, home, refusal, run};
use serde_json::Value;

#[test]
fn the_demo_ends_with_a_pull_request_and_leaves_nothing_behind() {
    let home = home();
    let temporary = home.path().join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let demo = docwright(home.path())
        .args(["demo", "--once", "--json", "--listen", "127.0.0.1:0"])
        .env("TMPDIR", &temporary)
        .output()
        .unwrap();
    let messages = String::from_utf8_lossy(&demo.stderr).into_owned();
    assert!(demo.status.success(), "{messages}");
    let result: Value = serde_json::from_slice(&demo.stdout).unwrap();
    let mut fields: Vec<_> = result.as_object().unwrap().keys().map(String::as_str).collect();
    fields.sort_unstable();
    assert_eq!(fields, ["apiKey", "baseUrl", "jobId", "loginUrl", "prLink", "projectId"]);
    let (base, project) = (result["baseUrl"].as_str().unwrap(), result["projectId"].as_str().unwrap());
    assert_eq!(result["prLink"], format!("{base}/p/{project}/pulls/1"));
    for step in ["created", "started", "fetched", "edit", "ended"] {
        assert!(messages.contains(&format!("  {step}")), "no step {step} in {messages}");
    }
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0);
}

#[test]
fn an_ended_demo_suggests_only_commands_that_still_work() {
    let home = home();
    let demo = |data: &[&str]| {
        let once = ["demo", "--once", "--listen", "127.0.0.1:0"];
        let output = docwright(home.path()).args(once).args(data).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (result, messages) = demo(&[]);
    assert!(result.starts_with("prLink ") && result.lines().count() == 1, "{result}");
    assert!(messages.ends_with("To look around, run: docwright demo\n"), "{messages}");

    let (_, messages) = demo(&["--data", "kept"]);
    let command = messages.lines().find_map(|line| line.strip_prefix("  docwright pull view ")).unwrap();
    let args: Vec<_> = ["pull", "view"].into_iter().chain(command.split(' ')).collect();
    assert!(run(home.path(), &args).status.success(), "{messages}");
}

#[test]
fn the_demo_refuses_a_directory_that_is_not_empty() {
    let home = home();
    std::fs::write(home.path().join("precious"), "").unwrap();
    let (code, messages) = refusal(home.path(), &["demo", "--once", "--data", home.path().to_str().unwrap()]);
    assert!(code == 1 && messages.contains("is not empty"), "{messages}");
}
