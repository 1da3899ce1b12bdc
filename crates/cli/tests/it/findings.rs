//! Tests `docwright finding`, and the reports of effects, with a running server.

use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};

use crate::support::{Client, Serving, home};

const CHROME: &str = "Mozilla/5.0 Chrome/120.0";

/// A client of a project with a finding about each of these paths.
fn with_findings<'a>(home: &'a Path, serving: &Serving, paths: &[&str]) -> Client<'a> {
    let client = Client::of(home, serving);
    let event = |path: &&str| json!({ "path": path, "status": 404, "userAgent": CHROME });
    let events: Vec<_> = paths.iter().flat_map(|path| vec![event(path); 6]).collect();
    let url = format!("{}/v1/analytics/{}/events", serving.url, client.project);
    let _ = rustls::crypto::ring::default_provider().install_default();
    let http = reqwest::blocking::Client::new();
    let sent = http.post(url).bearer_auth(client.key()).json(&events).send().unwrap();
    assert_eq!(sent.status(), 202);
    make_chores_due(home);
    while listed(&client, &[]).len() < paths.len() {}
    client
}

/// The server looked for findings when there were no views yet, and would look again in five minutes.
fn make_chores_due(home: &Path) {
    let path = home.join(".local/share/docwright/docwright.db");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let db = sqlx::SqlitePool::connect(path.to_str().unwrap()).await.unwrap();
        sqlx::query("UPDATE project_chores SET due_at = 0").execute(&db).await.unwrap();
        db.close().await;
    });
}

fn finding(client: &Client<'_>, args: &[&str]) -> Output {
    client.docwright().args(["finding", args[0], &client.project]).args(&args[1..]).output().unwrap()
}

fn report(client: &Client<'_>, args: &[&str]) -> Output {
    client.docwright().args(["report", args[0], &client.project]).args(&args[1..]).output().unwrap()
}

#[track_caller]
fn parse(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

fn listed(client: &Client<'_>, filter: &[&str]) -> Vec<Value> {
    let list = parse(&finding(client, &[&["list", "--json"], filter].concat()));
    list["findings"].as_array().unwrap().clone()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn findings_are_listed_fixed_and_dismissed() {
    let home = home();
    let serving = Serving::start(home.path());
    let client = with_findings(home.path(), &serving, &["/setup", "/start", "/pricing"]);
    let ids: Vec<_> = listed(&client, &["--sort", "newest", "--kind", "not-found"])
        .iter()
        .map(|finding| finding["id"].as_str().unwrap().to_owned())
        .collect();
    let table = text(&finding(&client, &["list", "--limit", "2"]).stdout);
    let head: Vec<_> = table.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(head, ["ID", "SUBJECT", "KIND", "STATE", "COUNTS", "HUMAN", "AI", "JOB"]);
    assert_eq!(table.lines().count(), 3, "{table}");
    let more = text(&finding(&client, &["list", "--limit", "2"]).stderr);
    assert_eq!(more, "There are more findings. To see them, add --offset 2\n");

    let viewed = finding(&client, &["view", &ids[0]]);
    let (fields, next) = (text(&viewed.stdout), text(&viewed.stderr));
    assert!(fields.contains("requests    6 human, 0 AI") && fields.contains("\nPaths:\n  /"), "{fields}");
    assert!(next.contains(&format!("docwright finding fix {} {} --watch", client.project, ids[0])), "{next}");

    let one = finding(&client, &["fix", &ids[0], "--prompt", "Replace \"one\" with \"eins\".", "--watch"]);
    assert_eq!(one.status.code(), Some(0), "{one:?}");
    let two = finding(&client, &["fix", &ids[1], &ids[2], "--prompt", "Replace \"two\" with \"zwei\"."]);
    let message = text(&two.stderr);
    let job = text(&two.stdout).trim().to_owned();
    assert!(message.starts_with("Started the job. To follow it: docwright job view"), "{message}");
    assert_eq!(parse(&finding(&client, &["view", &ids[2], "--json"]))["job"]["id"], json!(job));
    let again = finding(&client, &["fix", &ids[1]]);
    assert_eq!(again.status.code(), Some(1));
    assert!(text(&again.stderr).contains("a job fixes these findings already"), "{again:?}");

    let dismissed = finding(&client, &["dismiss", &ids[1], "--reason", "An old product"]);
    let fields = text(&dismissed.stdout);
    let has = |field: &str| fields.lines().any(|line| line.split_whitespace().eq(field.split(' ')));
    assert!(has("state dismissed") && has("note An old product"), "{fields}");
    assert_eq!(listed(&client, &["--state", "dismissed"]).len(), 1);
    let unknown = finding(&client, &["view", "fnd_nothing"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(text(&unknown.stderr).contains("see `docwright finding list PROJECT`"), "{unknown:?}");
    let none = finding(&client, &["list", "--kind", "stale"]);
    assert_eq!((text(&none.stdout), text(&none.stderr)), (String::new(), "No findings match.\n".into()));
}

#[test]
fn effects_and_weeks_are_reported() {
    let home = home();
    let serving = Serving::start(home.path());
    let client = Client::of(home.path(), &serving);
    let none = report(&client, &["effect"]);
    assert_eq!(text(&none.stderr), "No pull request of a job was merged in this time.\n");
    assert!(client.job(&["create", "Replace \"one\" with \"eins\".", "--watch"]).status.success());
    let merged = crate::support::run(home.path(), &["pull", "merge", &client.project, "1"]);
    assert!(merged.status.success(), "{merged:?}");
    let merges = parse(&report(&client, &["effect", "--from", "2026-01-01", "--json"]));
    assert_eq!((merges["merges"].as_array().unwrap().len(), &merges["hasMore"]), (1, &json!(false)));
    let table = text(&report(&client, &["effect"]).stdout);
    assert!(table.contains("/pulls/1") && table.contains("nothing to compare yet"), "{table}");
    let merged_on = &merges["merges"][0]["mergedAt"].as_str().unwrap()[..10];
    let week = parse(&report(&client, &["weekly", "--week", merged_on, "--json"]));
    assert_eq!(week["merges"].as_array().unwrap().len(), 1, "{week}");
    let fields = text(&report(&client, &["weekly", "--week", merged_on]).stdout);
    assert!(fields.contains("open findings  0") && fields.contains("Merged pull requests:"), "{fields}");
    let refused = report(&client, &["weekly", "--week", "soon"]);
    assert!(text(&refused.stderr).contains("week must be a day of the week, as YYYY-MM-DD"), "{refused:?}");
}
