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
    let told = String::from_utf8_lossy(&demo.stderr).into_owned();
    assert!(demo.status.success(), "{told}");
    let shown: Value = serde_json::from_slice(&demo.stdout).unwrap();
    let mut fields: Vec<_> = shown.as_object().unwrap().keys().map(String::as_str).collect();
    fields.sort_unstable();
    assert_eq!(fields, ["apiKey", "baseUrl", "jobId", "loginUrl", "prLink", "projectId"]);
    let (base, project) = (shown["baseUrl"].as_str().unwrap(), shown["projectId"].as_str().unwrap());
    assert_eq!(shown["prLink"], format!("{base}/p/{project}/pulls/1"));
    for step in ["created", "started", "fetched", "edit", "ended"] {
        assert!(told.contains(&format!("  {step}")), "no step {step} in {told}");
    }
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0);
}

#[test]
fn a_demo_that_has_ended_offers_only_what_still_works() {
    let home = home();
    let demo = |data: &[&str]| {
        let once = ["demo", "--once", "--listen", "127.0.0.1:0"];
        let output = docwright(home.path()).args(once).args(data).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (shown, told) = demo(&[]);
    assert!(shown.starts_with("prLink ") && shown.lines().count() == 1, "{shown}");
    assert!(told.ends_with("To look around: docwright demo\n"), "{told}");

    let (_, told) = demo(&["--data", "kept"]);
    let command = told.lines().find_map(|line| line.strip_prefix("  docwright pull view ")).unwrap();
    let args: Vec<_> = ["pull", "view"].into_iter().chain(command.split(' ')).collect();
    assert!(run(home.path(), &args).status.success(), "{told}");
}

#[test]
fn the_demo_does_not_touch_a_directory_with_something_in_it() {
    let home = home();
    std::fs::write(home.path().join("precious"), "").unwrap();
    let (code, told) = refusal(home.path(), &["demo", "--once", "--data", home.path().to_str().unwrap()]);
    assert!(code == 1 && told.contains("is not empty"), "{told}");
}
