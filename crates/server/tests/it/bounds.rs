//! Slow clients, full tables and large bodies: who is served, who is cut off, who is told to come again.

use std::time::Duration;

use reqwest::Method;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::support::{Team, TestServer, send};

/// Only ever waited out when the server is broken.
pub(crate) const A_WHILE: Duration = Duration::from_secs(20);

/// A client that is written by hand, as slow as it likes.
pub(crate) struct Slow(TcpStream);

impl Slow {
    /// Has had one answer already, so that its place is surely taken.
    pub(crate) async fn send(server: &TestServer, text: &str) -> Self {
        let mut slow = Self(TcpStream::connect(server.url.trim_start_matches("http://")).await.unwrap());
        slow.still_served().await;
        slow.0.write_all(text.as_bytes()).await.unwrap();
        slow
    }

    /// As far as the server takes it.
    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        let _ = self.0.write_all(bytes).await;
    }

    /// Whatever comes until the server hangs up; a reset is one way to do so.
    async fn rest(mut self) -> String {
        let (mut all, mut some) = (Vec::new(), [0; 1024]);
        let reading = async {
            while let Ok(read @ 1..) = self.0.read(&mut some).await {
                all.extend_from_slice(&some[..read]);
            }
        };
        timeout(A_WHILE, reading).await.expect("it is never cut off");
        String::from_utf8(all).unwrap()
    }

    async fn cut_off(self) {
        let rest = self.rest().await;
        assert!(rest.is_empty() || rest == "ok\n", "{rest}");
    }

    /// Reads until `text` has come.
    pub(crate) async fn until(&mut self, text: &str) -> String {
        let (mut all, mut some) = (String::new(), [0; 1024]);
        let reading = async {
            while !all.contains(text) {
                let read = self.0.read(&mut some).await.unwrap();
                assert!(read > 0, "it ended with {all}");
                all.push_str(std::str::from_utf8(&some[..read]).unwrap());
            }
        };
        timeout(A_WHILE, reading).await.expect("it never came");
        all
    }

    /// Whether the server has not hung up: it answers one more request.
    async fn still_served(&mut self) {
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

pub(crate) async fn with_places(places: usize) -> TestServer {
    TestServer::start_with(|settings| settings.bounds.connections = places).await
}

async fn healthy(server: &TestServer) {
    let fresh = reqwest::Client::new(); // on a connection of its own
    let answer = fresh.get(format!("{}/healthz", server.url)).timeout(A_WHILE).send().await.unwrap();
    assert_eq!(answer.status(), 200);
}

#[tokio::test]
async fn whoever_keeps_the_server_waiting_longest_gives_way() {
    let server = with_places(4).await;
    let team = server.team("acme", &[]).await;
    let mut kept = Slow::send(&server, "").await;
    let headers = Slow::send(&server, "GET /healthz HTTP/1.1\r\nx-slow: ").await;
    let path = format!("/v2/agent/{}/job", team.project.id);
    let asking = post(&team, &path, 100).replace("host: x", "host: x\r\nexpect: 100-continue");
    let mut body = Slow::send(&server, &asking).await;
    body.until("100 Continue\r\n\r\n").await;
    let silent = Slow::send(&server, "").await;
    kept.still_served().await;
    // Four places are taken. Each newcomer takes one, of those who wait the oldest.
    let first = Slow::send(&server, "").await;
    headers.cut_off().await;
    kept.still_served().await;
    let _second = Slow::send(&server, "").await;
    body.cut_off().await;
    let _third = Slow::send(&server, "").await;
    silent.cut_off().await;
    let _fourth = Slow::send(&server, "").await;
    first.cut_off().await;
    kept.still_served().await;
}

#[tokio::test]
async fn many_slow_clients_are_no_hindrance() {
    let server = with_places(64).await;
    let mut slow = Vec::new();
    for turn in 0..300 {
        slow.push(Slow::send(&server, "POST /login HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n").await);
        if turn % 100 == 0 {
            healthy(&server).await;
        }
    }
}

#[tokio::test]
async fn streams_stay_and_are_bounded() {
    let server = with_places(8).await;
    let team = server.team("acme", &[("a.md", "one\n")]).await;
    let job = server.create_job(&team, "Replace \"one\" with \"two\".").await;
    let path = format!("/v2/agent/{}/job/{}/events", team.project.id, job["id"].as_str().unwrap());
    let ask = format!(
        "GET {path} HTTP/1.1\r\nhost: x\r\naccept: text/event-stream\r\nauthorization: Bearer {}\r\n\r\n",
        team.key
    );
    let mut streams = Vec::new();
    for _ in 0..2 {
        let mut stream = Slow::send(&server, &ask).await;
        stream.until("event: created").await;
        streams.push(stream);
    }
    let mut third = Slow::send(&server, &ask).await;
    let refused = third.until("}").await;
    assert!(
        refused.contains("503 Service Unavailable") && refused.contains("x-error-code: busy"),
        "{refused}"
    );
    assert!(refused.contains("retry-after: 1"), "{refused}");
    let mut newcomers = Vec::new();
    for _ in 0..20 {
        newcomers.push(Slow::send(&server, "").await);
    }
    server.run_queued_jobs().await;
    for stream in &mut streams {
        let last = stream.until("\r\n0\r\n\r\n").await; // the last chunk
        assert!(last.contains("event: ended"), "{last}");
        stream.still_served().await;
    }
    // Their places among the streams are free again, and they stand in line like anybody else.
    let again = Slow::send(&server, &ask).await.until("event: ended").await;
    assert!(again.contains("200 OK"), "{again}");
    for _ in 0..20 {
        newcomers.push(Slow::send(&server, "").await);
    }
    for stream in streams {
        stream.cut_off().await;
    }
}

#[tokio::test]
async fn a_stop_ends_streams_and_waits_for_nobody_idle() {
    let mut server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    let job = server.create_job(&team, "Fix broken links").await;
    let path = format!("/v2/agent/{}/job/{}/events", team.project.id, job["id"].as_str().unwrap());
    let ask = format!(
        "GET {path} HTTP/1.1\r\nhost: x\r\naccept: text/event-stream\r\nauthorization: Bearer {}\r\n\r\n",
        team.key
    );
    let mut stream = Slow::send(&server, &ask).await;
    stream.until("event: created").await;
    let mut unheard = Slow::send(&server, &(post(&team, "/v2/agent/nowhere/job", 2) + "{}")).await;
    assert!(unheard.until("}").await.contains("no_such_project"));
    // Less than a client is heard out for.
    timeout(Duration::from_millis(1_500), server.stop()).await.expect("it waits for somebody");
    let last = stream.rest().await;
    assert!(last.ends_with("0\r\n\r\n"), "the last chunk: {last}");
}

#[tokio::test]
async fn bodies_that_find_no_room_are_told_to_come_again() {
    const MIB: usize = 1 << 20;
    let server = TestServer::start_with(|settings| settings.bounds.bodies = 3 * MIB).await;
    let team = server.team("acme", &[]).await;
    let path = format!("/v1/analytics/{}/events", team.project.id);
    // Announced, and not sent: this one takes next to nothing.
    let _announced = Slow::send(&server, &post(&team, &path, 8 * MIB)).await;
    let mut large = Slow::send(&server, &post(&team, &path, 2 * MIB)).await;
    large.0.write_all(&vec![b' '; 2 * MIB - 2]).await.unwrap();
    let events = json!([{ "path": "/a" }]);
    let padded = format!("{}{events}", " ".repeat(MIB + MIB / 2));
    let offer = async || {
        let request = server.request(Method::POST, &path).bearer_auth(&team.key);
        send(request.header("content-type", "application/json").body(padded.clone())).await
    };
    let all_come = async {
        while server.app.bodies.left() > MIB {
            tokio::task::yield_now().await;
        }
    };
    timeout(A_WHILE, all_come).await.expect("it takes no room");
    let refused = offer().await;
    assert_eq!((refused.status, refused.header("x-error-code")), (503, "busy"), "{refused}");
    assert_eq!(refused.header("retry-after"), "1");
    assert_eq!(server.post(&team.key, &path, &events).await.status, 202, "a small one fits");

    large.0.write_all(b"[]").await.unwrap();
    let done = large.until("}").await;
    assert!(done.contains("202 Accepted"), "{done}");
    assert_eq!(offer().await.status, 202, "the room was given back");
}

#[tokio::test]
async fn an_answer_reaches_a_client_that_is_still_sending() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    let path = format!("/v1/analytics/{}/events", team.project.id);
    let mut client = Slow::send(&server, &post(&team, &path, 10_000_000_000)).await;
    let chunk = vec![b' '; 1 << 20];
    for _ in 0..20 {
        if client.0.write_all(&chunk).await.is_err() {
            break; // it has been told, and was given time to hear it
        }
    }
    let answer = client.rest().await;
    assert!(answer.contains("413 Payload Too Large") && answer.contains("at most 8 MiB"), "{answer}");
}

#[tokio::test]
async fn large_answers_find_room_or_are_told_to_come_again() {
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

/// Nobody reads the body of a request without a key. It may come later than its head does.
#[tokio::test]
async fn what_nobody_reads_is_read_if_it_is_little_or_the_answer_says_that_it_is_the_last() {
    let server = TestServer::start().await;
    let refused = |headers: &str| format!("POST /v2/agent/x/job HTTP/1.1\r\nhost: x\r\n{headers}\r\n\r\n");
    let mut little = Slow::send(&server, &refused("content-length: 5")).await;
    for _ in 0..3 {
        server.get("", "/healthz").await; // the server has had its turn
    }
    little.0.write_all(b"later").await.unwrap();
    assert!(!little.until("\"}").await.contains("connection: close"));
    little.still_served().await;

    for last in ["content-length: 65537", "expect: 100-continue\r\ncontent-length: 5"] {
        let answer = Slow::send(&server, &refused(last)).await.rest().await;
        assert!(answer.starts_with("HTTP/1.1 401") && answer.contains("connection: close"), "{answer}");
    }
    let chunk = format!("8000\r\n{}\r\n", "x".repeat(0x8000)).repeat(3);
    let endless = refused("transfer-encoding: chunked") + &chunk;
    let answer = Slow::send(&server, &endless).await.rest().await;
    assert!(answer.contains("connection: close"), "{answer}");

    let team = server.team("acme", &[]).await;
    let path = format!("/v2/agent/{}/job", team.project.id);
    let chunked = post(&team, &path, 0).replace("content-length: 0", "transfer-encoding: chunked");
    for broken in ["zz\r\n{}\r\n0\r\n\r\n", "2\r\n{}XX0\r\n\r\n"] {
        let answer = Slow::send(&server, &format!("{chunked}{broken}")).await.rest().await;
        assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("connection: close"), "{answer}");
    }
}
