//! Tests that `/metrics` is served only if enabled, is well-formed, and has correct counts.

use std::collections::BTreeMap;

use reqwest::Method;
use serde_json::json;

use crate::support::{Answer, TestServer, send};

async fn scrape(server: &TestServer) -> Answer {
    send(server.request(Method::GET, "/metrics")).await
}

/// Parses the samples, by name and labels. Checks the format: each family has HELP and TYPE first, all its
/// samples together, and no sample twice.
#[track_caller]
fn parse_samples(text: &str) -> BTreeMap<String, f64> {
    assert!(text.ends_with('\n'));
    let mut samples = BTreeMap::new();
    let mut families: Vec<(String, String)> = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, about) = help.split_once(' ').unwrap();
            assert!(!about.is_empty() && families.iter().all(|(known, _)| known != name), "{line}");
            let kind = lines.next().and_then(|line| line.strip_prefix(&format!("# TYPE {name} "))).unwrap();
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{kind}");
            families.push((name.to_owned(), kind.to_owned()));
            continue;
        }
        let (series, value) = line.rsplit_once(' ').unwrap();
        let (name, kind) = families.last().unwrap();
        let bare = check_series(series);
        let is_of_family = match kind.as_str() {
            "histogram" => ["_bucket", "_sum", "_count"].iter().any(|end| bare == format!("{name}{end}")),
            "counter" => bare == name && name.ends_with("_total"),
            _ => bare == name,
        };
        assert!(is_of_family, "{line} is in the family {name}");
        assert!(samples.insert(series.to_owned(), value.parse().unwrap()).is_none(), "{series} twice");
    }
    samples
}

/// Checks `name{label="value",…}`, and returns the name.
#[track_caller]
fn check_series(series: &str) -> &str {
    let is_name = |text: &str| {
        !text.is_empty()
            && !text.starts_with(|c: char| c.is_ascii_digit())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
    assert!(is_name(name), "{series}");
    let labels = labels.strip_suffix('}').unwrap();
    // No value has a comma or a quote.
    for label in labels.split(',').filter(|label| !label.is_empty()) {
        let (name, value) = label.split_once('=').unwrap();
        let value = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap();
        assert!(is_name(name) && !value.contains(['"', '\\']), "{series}");
    }
    name
}

#[tokio::test]
async fn without_the_setting_metrics_are_a_404() {
    let server = TestServer::start().await;
    let nowhere = send(server.request(Method::GET, "/nowhere")).await;
    let answer = scrape(&server).await;
    assert_eq!(answer.to_string(), nowhere.to_string());
    assert_eq!((answer.status, answer.header("x-error-code")), (404, "no_such_route"));
}

#[tokio::test]
async fn requests_are_counted_by_route_and_not_by_invented_methods_or_paths() {
    let server = TestServer::start_with(|settings| settings.metrics = true).await;
    let team = server.team("acme", &[("a.md", "one\n")]).await;
    let job = server.create_job(&team, "Replace \"one\" with \"two\".").await;
    for _ in 0..3 {
        server.job(&team, &job["id"]).await;
    }
    let path = format!("/v2/agent/{}/job/{}", team.project.id, job["id"].as_str().unwrap());
    send(server.request(Method::HEAD, &path).bearer_auth(&team.key)).await;
    server.get("dw_wrong", &path).await;
    for n in 0..5 {
        let unknown = Method::from_bytes(format!("BREW{n}").as_bytes()).unwrap();
        send(server.request(unknown, &format!("/{n}/{}", team.project.id))).await;
    }
    let answer = scrape(&server).await;
    assert_eq!(answer.header("content-type"), "text/plain; version=0.0.4; charset=utf-8");
    let samples = parse_samples(&answer.body);
    let requests = |labels: &str| samples.get(&format!("docwright_http_requests_total{{{labels}}}")).copied();
    let show = "route=\"/v2/agent/{projectId}/job/{id}\"";
    assert_eq!(requests(&format!("method=\"GET\",{show},status=\"200\"")), Some(3.0), "{answer}");
    assert_eq!(requests(&format!("method=\"HEAD\",{show},status=\"200\"")), Some(1.0));
    assert_eq!(requests(&format!("method=\"GET\",{show},status=\"401\"")), Some(1.0));
    assert_eq!(requests("method=\"other\",route=\"none\",status=\"404\""), Some(5.0));
    let seconds = |part: &str| samples[&format!("docwright_http_request_seconds_{part}")];
    assert_eq!(seconds(&format!("count{{{show}}}")), 5.0);
    assert_eq!(seconds(&format!("bucket{{{show},le=\"+Inf\"}}")), 5.0);
    let buckets: Vec<_> = answer.body.lines().filter(|line| line.contains(&format!("{show},le="))).collect();
    let counts = buckets.iter().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap());
    assert!(counts.is_sorted() && buckets.len() == 12, "{buckets:?}");
    for secret in [team.project.id.0.as_str(), &team.key, "acme", "BREW", job["id"].as_str().unwrap()] {
        assert!(!answer.body.contains(secret), "{secret}");
    }
}

#[tokio::test]
async fn jobs_and_views_are_counted() {
    let server = TestServer::start_with(|settings| settings.metrics = true).await;
    let team = server.team("acme", &[("a.md", "one\n")]).await;
    let before = parse_samples(&scrape(&server).await.body);
    assert_eq!((before["docwright_jobs{status=\"active\"}"], before["docwright_store_up"]), (0.0, 1.0));
    assert_eq!(
        before["docwright_job_runs_total{outcome=\"failed\"}"], 0.0,
        "a counter starts at 0, so that the first failure increases it"
    );
    assert_eq!(before["process_start_time_seconds"], 1_794_744_000.0);
    assert!(before["process_resident_memory_bytes"] > 1e6);
    for prompt in ["Replace \"one\" with \"two\".", "Replace \"none\" with \"x\".", "Write a poem."] {
        server.create_job(&team, prompt).await;
    }
    assert_eq!(parse_samples(&scrape(&server).await.body)["docwright_queue_depth"], 3.0);
    server.run_queued_jobs().await;
    let view = json!({ "path": "/a", "eventId": "e1" });
    let path = format!("/v1/analytics/{}/events", team.project.id);
    server.post(&team.key, &path, &json!([view, view, { "path": "/b" }, { "path": 7 }])).await;

    let samples = parse_samples(&scrape(&server).await.body);
    let check = |series: &str, expected: f64| assert_eq!(samples.get(series), Some(&expected), "{series}");
    check("docwright_jobs{status=\"active\"}", 0.0);
    check("docwright_jobs{status=\"completed\"}", 2.0);
    check("docwright_jobs{status=\"failed\"}", 1.0);
    check("docwright_jobs_running", 0.0);
    check("docwright_queue_depth", 0.0);
    for outcome in ["completed", "unchanged", "failed"] {
        check(&format!("docwright_job_runs_total{{outcome=\"{outcome}\"}}"), 1.0);
    }
    check("docwright_lease_losses_total", 0.0);
    check("docwright_model_tokens_total{model=\"offline\",direction=\"input\"}", 0.0);
    check("docwright_views_accepted_total", 3.0);
    check("docwright_views_duplicates_total", 1.0);
    check("docwright_views_rejected_total", 1.0);
    check("docwright_intake_refused_total", 0.0);
    check(&format!("docwright_build_info{{version=\"{}\"}}", env!("CARGO_PKG_VERSION")), 1.0);
}
