//! Tests the limits of connections, streams and memory with slow clients and large bodies.

use std::time::Duration;

use reqwest::Method;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::support::{Team, TestServer, send};

/// Only reached if the server is broken.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);

/// A client that writes raw bytes, and can be slow.
pub(crate) struct RawClient(TcpStream);

impl RawClient {
    /// Gets one response first, so that the server has surely accepted the connection.
    pub(crate) async fn send(server: &TestServer, text: &str) -> Self {
        let mut client = Self(TcpStream::connect(server.url.trim_start_matches("http://")).await.unwrap());
        client.check_is_served().await;
        client.0.write_all(text.as_bytes()).await.unwrap();
        client
    }

    /// Ignores errors: the server may close the connection.
    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        let _ = self.0.write_all(bytes).await;
    }

    /// Reads until the server closes or resets the connection.
    async fn read_to_end(mut self) -> String {
        let (mut all, mut some) = (Vec::new(), [0; 1024]);
        let reading = async {
            while let Ok(read @ 1..) = self.0.read(&mut some).await {
                all.extend_from_slice(&some[..read]);
            }
        };
        timeout(TIMEOUT, reading).await.expect("the server never closes the connection");
        String::from_utf8(all).unwrap()
    }

    async fn check_is_closed(self) {
        let rest = self.read_to_end().await;
        assert!(rest.is_empty() || rest == "ok\n", "{rest}");
    }

    /// Reads until `text` arrived.
    pub(crate) async fn until(&mut self, text: &str) -> String {
        let (mut all, mut some) = (String::new(), [0; 1024]);
        let reading = async {
            while !all.contains(text) {
                let read = self.0.read(&mut some).await.unwrap();
                assert!(read > 0, "the connection ended after {all}");
                all.push_str(std::str::from_utf8(&some[..read]).unwrap());
            }
        };
        timeout(TIMEOUT, reading).await.expect("the text never arrived");
        all
    }

    /// Checks that the server still answers requests on this connection.
    async fn check_is_served(&mut self) {
        self.0.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        self.until("\r\n\r\n").await;
    }
}

pub(crate) fn post(team: &Team, path: &str, length: usize) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n",
        team.key
    )
}

pub(crate) async fn start_with_connections(max: usize) -> TestServer {
    TestServer::start_with(|settings| settings.bounds.connections = max).await
}

async fn check_health(server: &TestServer) {
    let client = reqwest::Client::new(); // opens a new connection
    let answer = client.get(format!("{}/healthz", server.url)).timeout(TIMEOUT).send().await.unwrap();
    assert_eq!(answer.status(), 200);
}

#[tokio::test]
async fn the_connection_that_is_idle_longest_is_closed_first() {
    let server = start_with_connections(4).await;
    let team = server.team("acme", &[]).await;
    let mut active = RawClient::send(&server, "").await;
    let headers = RawClient::send(&server, "GET /healthz HTTP/1.1\r\nx-slow: ").await;
    let path = format!("/v2/agent/{}/job", team.project.id);
    let asking = post(&team, &path, 100).replace("host: x", "host: x\r\nexpect: 100-continue");
    let mut body = RawClient::send(&server, &asking).await;
    body.until("100 Continue\r\n\r\n").await;
    let silent = RawClient::send(&server, "").await;
    active.check_is_served().await;
    // All four connections are in use. Each new one replaces the one that is idle longest.
    let first = RawClient::send(&server, "").await;
    headers.check_is_closed().await;
    active.check_is_served().await;
    let _second = RawClient::send(&server, "").await;
    body.check_is_closed().await;
    let _third = RawClient::send(&server, "").await;
    silent.check_is_closed().await;
    let _fourth = RawClient::send(&server, "").await;
    first.check_is_closed().await;
    active.check_is_served().await;
}

#[tokio::test]
async fn many_slow_clients_do_not_block_others() {
    let server = start_with_connections(64).await;
    let mut slow = Vec::new();
    for turn in 0..300 {
        slow.push(
            RawClient::send(&server, "POST /login HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n").await,
        );
        if turn % 100 == 0 {
            check_health(&server).await;
        }
    }
}

#[tokio::test]
async fn streams_stay_open_and_are_limited() {
    let server = start_with_connections(8).await;
    let team = server.team("acme", &[("a.md", "one\n")]).await;
    let job = server.create_job(&team, "Replace \"one\" with \"two\".").await;
    let path = format!("/v2/agent/{}/job/{}/events", team.project.id, job["id"].as_str().unwrap());
    let ask = format!(
        "GET {path} HTTP/1.1\r\nhost: x\r\naccept: text/event-stream\r\nauthorization: Bearer {}\r\n\r\n",
        team.key
    );
    let mut streams = Vec::new();
    for _ in 0..2 {
        let mut stream = RawClient::send(&server, &ask).await;
        stream.until("event: created").await;
        streams.push(stream);
    }
    let mut third = RawClient::send(&server, &ask).await;
    let refused = third.until("}").await;
    assert!(
        refused.contains("503 Service Unavailable") && refused.contains("x-error-code: busy"),
        "{refused}"
    );
    assert!(refused.contains("retry-after: 1"), "{refused}");
    let mut newcomers = Vec::new();
    for _ in 0..20 {
        newcomers.push(RawClient::send(&server, "").await);
    }
    server.run_queued_jobs().await;
    for stream in &mut streams {
        let last = stream.until("\r\n0\r\n\r\n").await; // the last chunk
        assert!(last.contains("event: ended"), "{last}");
        stream.check_is_served().await;
    }
    // The streams ended, so others can be opened, and their connections can be replaced.
    let again = RawClient::send(&server, &ask).await.until("event: ended").await;
    assert!(again.contains("200 OK"), "{again}");
    for _ in 0..20 {
        newcomers.push(RawClient::send(&server, "").await);
    }
    for stream in streams {
        stream.check_is_closed().await;
    }
}

#[tokio::test]
async fn a_stop_ends_streams_and_does_not_wait_for_idle_clients() {
    let mut server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    let job = server.create_job(&team, "Fix broken links").await;
    let path = format!("/v2/agent/{}/job/{}/events", team.project.id, job["id"].as_str().unwrap());
    let ask = format!(
        "GET {path} HTTP/1.1\r\nhost: x\r\naccept: text/event-stream\r\nauthorization: Bearer {}\r\n\r\n",
        team.key
    );
    let mut stream = RawClient::send(&server, &ask).await;
    stream.until("event: created").await;
    let mut refused = RawClient::send(&server, &(post(&team, "/v2/agent/nowhere/job", 2) + "{}")).await;
    assert!(refused.until("}").await.contains("no_such_project"));
    // Less than the time that the server reads a refused body for.
    timeout(Duration::from_millis(1_500), server.stop()).await.expect("the server waits for a client");
    let last = stream.read_to_end().await;
    assert!(last.ends_with("0\r\n\r\n"), "the last chunk: {last}");
}

#[tokio::test]
async fn a_body_that_exceeds_the_memory_budget_is_a_503() {
    const MIB: usize = 1 << 20;
    let server = TestServer::start_with(|settings| settings.bounds.bodies = 3 * MIB).await;
    let team = server.team("acme", &[]).await;
    let path = format!("/v1/analytics/{}/events", team.project.id);
    // Its body isn't sent, so it needs almost no memory.
    let _announced = RawClient::send(&server, &post(&team, &path, 8 * MIB)).await;
    let mut large = RawClient::send(&server, &post(&team, &path, 2 * MIB)).await;
    large.0.write_all(&vec![b' '; 2 * MIB - 2]).await.unwrap();
    let events = json!([{ "path": "/a" }]);
    let padded = format!("{}{events}", " ".repeat(MIB + MIB / 2));
    let offer = async || {
        let request = server.request(Method::POST, &path).bearer_auth(&team.key);
        send(request.header("content-type", "application/json").body(padded.clone())).await
    };
    let reads_all = async {
        while server.app.bodies.free_bytes() > MIB {
            tokio::task::yield_now().await;
        }
    };
    timeout(TIMEOUT, reads_all).await.expect("the body uses no memory");
    let refused = offer().await;
    assert_eq!((refused.status, refused.header("x-error-code")), (503, "busy"), "{refused}");
    assert_eq!(refused.header("retry-after"), "1");
    assert_eq!(server.post(&team.key, &path, &events).await.status, 202, "a small one fits");

    large.0.write_all(b"[]").await.unwrap();
    let done = large.until("}").await;
    assert!(done.contains("202 Accepted"), "{done}");
    assert_eq!(offer().await.status, 202, "the memory is free again");
}

#[tokio::test]
async fn a_client_that_is_still_sending_gets_the_response() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    let path = format!("/v1/analytics/{}/events", team.project.id);
    let mut client = RawClient::send(&server, &post(&team, &path, 10_000_000_000)).await;
    let chunk = vec![b' '; 1 << 20];
    for _ in 0..20 {
        if client.0.write_all(&chunk).await.is_err() {
            break; // the server responded, and closed the connection
        }
    }
    let answer = client.read_to_end().await;
    assert!(answer.contains("413 Payload Too Large") && answer.contains("at most 8 MiB"), "{answer}");
}

#[tokio::test]
async fn a_response_that_exceeds_the_memory_budget_is_a_503() {
    let css = include_str!("../../../dashboard/assets/docwright.css");
    let ask = async |server: &TestServer, accept: &str| {
        let request = server.request(Method::GET, "/assets/docwright.css");
        send(request.header("accept-encoding", accept)).await
    };
    let server = TestServer::start_with(|settings| settings.bounds.answers = css.len()).await;
    for _ in 0..20 {
        let answer = ask(&server, "identity").await;
        assert_eq!((answer.status, answer.body.as_str()), (200, css), "one after the other");
        assert_eq!(answer.header("content-length"), css.len().to_string());
    }
    let server = TestServer::start_with(|settings| settings.bounds.answers = css.len() - 1).await;
    let refused = ask(&server, "identity").await;
    assert_eq!((refused.status, refused.header("x-error-code")), (503, "busy"));
}

/// The server doesn't read the body of a request without a key. The body can arrive after the head.
#[tokio::test]
async fn an_unread_body_is_drained_if_it_is_small_and_closes_the_connection_otherwise() {
    let server = TestServer::start().await;
    let refused = |headers: &str| format!("POST /v2/agent/x/job HTTP/1.1\r\nhost: x\r\n{headers}\r\n\r\n");
    let mut small = RawClient::send(&server, &refused("content-length: 5")).await;
    for _ in 0..3 {
        server.get("", "/healthz").await; // gives the server time to respond
    }
    small.0.write_all(b"later").await.unwrap();
    assert!(!small.until("\"}").await.contains("connection: close"));
    small.check_is_served().await;

    for headers in ["content-length: 65537", "expect: 100-continue\r\ncontent-length: 5"] {
        let answer = RawClient::send(&server, &refused(headers)).await.read_to_end().await;
        assert!(answer.starts_with("HTTP/1.1 401") && answer.contains("connection: close"), "{answer}");
    }
    let chunk = format!("8000\r\n{}\r\n", "x".repeat(0x8000)).repeat(3);
    let endless = refused("transfer-encoding: chunked") + &chunk;
    let answer = RawClient::send(&server, &endless).await.read_to_end().await;
    assert!(answer.contains("connection: close"), "{answer}");

    let team = server.team("acme", &[]).await;
    let path = format!("/v2/agent/{}/job", team.project.id);
    let chunked = post(&team, &path, 0).replace("content-length: 0", "transfer-encoding: chunked");
    for broken in ["zz\r\n{}\r\n0\r\n\r\n", "2\r\n{}XX0\r\n\r\n"] {
        let answer = RawClient::send(&server, &format!("{chunked}{broken}")).await.read_to_end().await;
        assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("connection: close"), "{answer}");
    }
}
