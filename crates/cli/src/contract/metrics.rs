//! Collects the names, types and labels of the metrics at `/metrics`.

use std::sync::Arc;

use base::SystemClock;
use server::{Server, Settings};
use tokio_util::sync::CancellationToken;

use super::facts::Facts;

/// Labels whose values are part of the contract: alerts name them.
const ENUMERATED: [&str; 3] = ["status", "outcome", "direction"];

/// Scrapes a new server after its first request.
pub(super) fn scrape() -> String {
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let folder = tempfile::tempdir().unwrap();
        let mut settings = Settings::new(folder.path().join("data"));
        settings.listen = "127.0.0.1:0".parse().unwrap();
        (settings.metrics, settings.workers) = (true, 0);
        let server = Server::open(&settings, Arc::new(SystemClock)).await.unwrap();
        let (url, stop) = (server.app.public_url.clone(), CancellationToken::new());
        let running = tokio::spawn(server.run(stop.clone()));
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let get = |path: &str| client.get(format!("{url}{path}")).send();
        assert!(get("/healthz").await.unwrap().status().is_success());
        let text = get("/metrics").await.unwrap().text().await.unwrap();
        stop.cancel();
        running.await.unwrap().unwrap();
        text
    })
}

pub(super) fn collect(text: &str, facts: &mut Facts) {
    let mut family = "";
    for line in text.lines() {
        if let Some(declared) = line.strip_prefix("# TYPE ") {
            facts.offer(declared);
            family = declared.split(' ').next().unwrap();
        } else if !line.starts_with('#') {
            collect_labels(family, line, facts);
        }
    }
}

fn collect_labels(family: &str, sample: &str, facts: &mut Facts) {
    let Some((_, labels)) = sample.rsplit_once(' ').unwrap().0.split_once('{') else { return };
    for label in labels.trim_end_matches('}').split("\",") {
        let (name, value) = label.split_once("=\"").unwrap();
        facts.offer(format!("{family} label {name}"));
        // HTTP defines the statuses of requests, so they are not part of the contract.
        if ENUMERATED.contains(&name) && family != "docwright_http_requests_total" {
            facts.offer(format!("{family} label {name} = {}", value.trim_end_matches('"')));
        }
    }
}
