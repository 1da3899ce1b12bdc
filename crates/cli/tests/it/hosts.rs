//! Tests `docwright project` with a repository on a host: problems are reported immediately, and a job opens its pull
//! request there.

use std::fs;
use std::path::Path;

use fakehost::{Access, FakeHost, Kind};
use serde_json::{Value, json};

use crate::models::write_settings;
use crate::support::{Client, Serving, home, json, refusal, repository, run};

const TOKEN: &str = "tok-canary-0123456789abcdef";
const NAME: &str = "acme/docs";

/// Starts a fake GitHub with one repository, and writes files with tokens for it and settings that allow it.
async fn github(home: &Path) -> FakeHost {
    write_settings(home, "hosts_allow_private = true\n");
    let host = FakeHost::start(Kind::GitHub).await;
    host.repository(NAME, &[("docs/a.md", "one two\n")]).await;
    for (file, token, access) in [
        ("good", TOKEN, Some(Access::Full)),
        ("read", "tok-read", Some(Access::ReadOnly)),
        ("less", "tok-less", Some(Access::ReadOnlyOfWriter)),
        ("push", "tok-push", Some(Access::NoPulls)),
        ("bad", "tok-bad", None),
    ] {
        if let Some(access) = access {
            host.token(token, access);
        }
        fs::write(home.join(file), format!("{token}\n")).unwrap();
    }
    fs::write(home.join("empty"), "\n").unwrap();
    host
}

fn create(home: &Path, host: &FakeHost, token: &str, more: &[&str]) -> (i32, String) {
    let (url, token) = (format!("{}/{NAME}", host.url()), home.join(token));
    let token = token.to_str().unwrap();
    let mut args = vec!["project", "create", "--name", "D", "--host", "github", "--token-file", token];
    args.extend(["--repository", &url]);
    args.extend(more.iter().copied());
    refusal(home, &args)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_problem_of_a_host_is_reported_immediately() {
    let home = home();
    let host = github(home.path()).await;
    let error = |token: &str, more: &[&str]| {
        let (code, message) = create(home.path(), &host, token, more);
        assert_eq!(code, 1, "{message}");
        assert!(!message.contains("tok-"), "{message}");
        message
    };
    assert!(error("bad", &[]).contains("it is wrong, expired or revoked"));
    assert!(error("read", &[]).contains("may not push"));
    assert!(error("less", &[]).contains("may not push"));
    assert!(error("push", &[]).contains("lacks the permission `pull_requests=write`"));
    assert!(error("empty", &[]).contains("the file is empty: write the token"));
    assert!(error("none", &[]).contains("No such file"));
    assert!(error("good", &["--ref", "gone"]).contains("no branch `gone`"));
    assert!(error("good", &["--docs-path", "gone"]).contains("no folder `gone`"));
    host.set(NAME, |settings| settings.archived = true);
    assert!(error("good", &[]).contains("archived"));
    let (code, message) = create(home.path(), &host, "good", &["--author", "Bot"]);
    assert!(code == 2 && message.contains("Docs Bot <bot@acme.dev>"), "{message}");
    assert_eq!(json(home.path(), &["project", "list", "--json"]), json!([]), "nothing was created");
}

/// The host accepted the token when the project was created, so it isn't simply wrong.
#[tokio::test(flavor = "multi_thread")]
async fn doctor_says_that_a_token_is_revoked_or_expired() {
    let home = home();
    let host = github(home.path()).await;
    let (code, message) = create(home.path(), &host, "good", &[]);
    assert_eq!(code, 0, "{message}");
    let report = || String::from_utf8(run(home.path(), &["doctor"]).stdout).unwrap();
    assert!(!report().contains("revoked"));
    for end in ["revoked", "expired"] {
        match end {
            "revoked" => host.revoke(TOKEN),
            _ => host.token(TOKEN, Access::Expired),
        }
        let report = report();
        let expected = format!("D: the token for {}/{NAME} is revoked or expired", host.url());
        assert!(report.contains(&expected), "{end}: {report}");
        assert!(report.contains("store it: docwright project update prj_"), "{report}");
        assert!(!report.contains(TOKEN), "{report}");
    }
}

/// A token is for the host that it was given for, however the project gets to another one.
#[tokio::test(flavor = "multi_thread")]
async fn a_token_does_not_move_to_another_host() {
    let home = home();
    let host = github(home.path()).await;
    let other = FakeHost::start(Kind::GitHub).await;
    other.repository(NAME, &[("docs/a.md", "one two\n")]).await;
    other.token(TOKEN, Access::Full);
    let (url, token) = (format!("{}/{NAME}", host.url()), home.path().join("good"));
    let mut args = vec!["project", "create", "--name", "D", "--host", "github", "--json"];
    args.extend(["--token-file", token.to_str().unwrap(), "--repository", &url]);
    let project = json(home.path(), &args)["id"].as_str().unwrap().to_owned();

    let elsewhere = format!("{}/{NAME}", other.url());
    let moved = ["project", "update", &project, "--host", "github", "--repository", &elsewhere];
    let (code, message) = refusal(home.path(), &moved);
    assert!(code == 1 && message.contains("token"), "{message}");
    assert!(other.requests().iter().all(|seen| seen.authorization.is_none()));

    let docs = repository(home.path(), &[("a.md".to_owned(), "one".to_owned())]);
    let here = ["project", "update", &project, "--repository", &docs, "--host", ""];
    run(home.path(), &here);
    let (code, message) = refusal(home.path(), &moved);
    assert!(code == 1 && message.contains("token"), "{message}");
    assert!(other.requests().iter().all(|seen| seen.authorization.is_none()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_opens_its_pull_request_on_the_host() {
    let home = home();
    let host = github(home.path()).await;
    let (url, token) = (format!("{}/{NAME}", host.url()), home.path().join("good"));
    let mut args = vec!["project", "create", "--name", "D", "--host", "github", "--json"];
    args.extend(["--token-file", token.to_str().unwrap(), "--repository", &url]);
    args.extend(["--label", "docs", "--author", "Docs Bot <bot@acme.dev>"]);
    let project = json(home.path(), &args);
    assert_eq!((&project["host"], &project["repository"]), (&json!("github"), &json!(url)));
    let id = project["id"].as_str().unwrap().to_owned();

    let hook = json(home.path(), &["project", "hook", &id, "--json"]);
    assert!(hook["url"].as_str().unwrap().ends_with(&format!("/hooks/github/{id}")), "{hook}");
    let again = json(home.path(), &["project", "hook", &id, "--json"]);
    assert_eq!(hook, again, "it stays until it is rotated");
    assert_ne!(json(home.path(), &["project", "hook", &id, "--rotate", "--json"])["secret"], hook["secret"]);
    let log = json(home.path(), &["audit", "--json"]);
    let log: Vec<_> = log.as_array().unwrap().iter().map(|entry| entry["what"].as_str().unwrap()).collect();
    let hooks = ["rotated the hook secret of", "showed the hook secret of", "made the hook secret of"];
    assert_eq!(log[..3], hooks);

    let serving = Serving::start(home.path());
    let mut client = Client::of(home.path(), &serving);
    client.project = id.clone();
    let done = client.job(&["create", "Replace \"one\" with \"eins\".", "--watch", "--json"]);
    assert!(done.status.success(), "{done:?}");
    let job: Value = serde_json::from_slice(&done.stdout).unwrap();
    let pulls = host.pulls(NAME);
    assert_eq!((pulls.len(), &pulls[0].labels), (1, &vec!["docs".to_owned()]));
    assert_eq!(job["prLink"], json!(format!("{url}/pull/{}", pulls[0].number)));
    assert_eq!(job["source"]["repository"], json!(url));

    // The host shows its own pull requests.
    let (code, message) = refusal(home.path(), &["pull", "list", &id]);
    assert!(code == 1 && message.contains(&format!("are at {url}")), "{message}");
    // A new token is checked before it replaces the old one.
    let bad = home.path().join("bad");
    let (code, message) =
        refusal(home.path(), &["project", "update", &id, "--token-file", bad.to_str().unwrap()]);
    assert!(code == 1 && message.contains("does not accept the token"), "{message}");
    assert!(run(home.path(), &["project", "update", &id, "--label", ""]).status.success());
    assert_eq!(json(home.path(), &["project", "view", &id, "--json"])["labels"], json!([]));
    let log = serving.stop();
    assert!(!log.contains("canary"), "{log}");
}
