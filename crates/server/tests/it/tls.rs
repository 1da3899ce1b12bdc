//! Tests a server that serves HTTPS itself.

use std::time::Duration;

use reqwest::{Certificate, Client};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::TestServer;

/// A server with a certificate for 127.0.0.1, and a client that trusts it.
async fn start(shape: impl FnOnce(&mut server::Settings)) -> (TestServer, Client) {
    let identity = rcgen::generate_simple_self_signed(["127.0.0.1".into()]).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let (cert, key) = (dir.path().join("cert.pem"), dir.path().join("key.pem"));
    std::fs::write(&cert, identity.cert.pem()).unwrap();
    std::fs::write(&key, identity.signing_key.serialize_pem()).unwrap();
    let with_certificate = |settings: &mut server::Settings| {
        (settings.tls_cert, settings.tls_key) = (Some(cert), Some(key));
        shape(settings);
    };
    let now = "2026-11-15T12:00:00Z".parse().unwrap();
    let server = TestServer::start_in(dir, now, with_certificate, |_| {}).await;
    let certificate = Certificate::from_der(identity.cert.der()).unwrap();
    let client = Client::builder().tls_certs_only([certificate]).https_only(true).build().unwrap();
    (server, client)
}

fn address(server: &TestServer) -> &str {
    server.url.strip_prefix("https://").unwrap()
}

#[tokio::test]
async fn a_server_with_a_certificate_serves_https() {
    let (server, client) = start(|_| {}).await;
    let team = server.team("acme", &[("a.md", "one\n")]).await;
    let jobs = format!("{}/v2/agent/{}/job", server.url, team.project.id);
    let body = json!({ "prompt": "Replace \"one\" with \"two\"." });
    let created = client.post(&jobs).bearer_auth(&team.key).json(&body).send().await.unwrap();
    assert_eq!((created.status().as_u16(), created.version()), (201, reqwest::Version::HTTP_11));
    assert_eq!(created.headers()["strict-transport-security"], "max-age=31536000");
    let job: Value = created.json().await.unwrap();
    server.run_queued_jobs().await;

    let events = client.get(format!("{jobs}/{}/events", job["id"].as_str().unwrap()));
    let events = events.bearer_auth(&team.key).header("accept", "text/event-stream").send().await.unwrap();
    let events = events.text().await.unwrap();
    assert!(events.contains("Pull request #1 is open"), "{events}");
    let login = format!("{}/login?token=wrong", server.url);
    assert_eq!(client.get(login).send().await.unwrap().status(), 410, "pages are served, too");
}

#[tokio::test]
async fn plain_http_gets_a_sentence() {
    let (server, _) = start(|_| {}).await;
    let answer = Client::new().get(format!("http://{}/healthz", address(&server))).send().await.unwrap();
    assert_eq!(
        (answer.status().as_u16(), &answer.headers()["x-error-code"]),
        (400, &"https_only".parse().unwrap())
    );
    assert!(answer.text().await.unwrap().contains("use a URL that begins with https://"));
}

#[tokio::test]
async fn clients_without_a_handshake_take_no_place_from_others() {
    let (mut server, client) = start(|settings| settings.bounds.connections = 16).await;
    let mut silent = Vec::new();
    for n in 0..24 {
        let mut stream = TcpStream::connect(address(&server)).await.unwrap();
        let begin: &[u8] = if n % 2 == 0 { b"" } else { &[0x16, 3, 1, 2, 0, 1] };
        stream.write_all(begin).await.unwrap();
        silent.push(stream);
    }
    let healthy = client.get(format!("{}/healthz", server.url)).timeout(Duration::from_secs(30)).send().await;
    assert_eq!(healthy.unwrap().status(), 200);
    let began = std::time::Instant::now();
    server.stop().await;
    assert!(began.elapsed() < Duration::from_secs(9), "a stop does not wait for handshakes");
    for mut stream in silent {
        let _ = stream.read(&mut [0; 64]).await;
    }
}
