//! Tests compressed requests and responses.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use reqwest::Method;
use serde_json::json;

use crate::support::{Answer, Team, TestServer, send};

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

fn zstd(plain: &[u8]) -> Vec<u8> {
    zstd::bulk::compress(plain, 3).unwrap()
}

/// With a window of `log` bits and without the content size, as a streaming encoder sends it.
fn zstd_window(plain: &[u8], log: u32) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(log).unwrap();
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

async fn post(server: &TestServer, team: &Team, path: &str, coding: &str, body: Vec<u8>) -> Answer {
    let request = server.request(Method::POST, path).bearer_auth(&team.key).body(body);
    send(request.header("content-type", "application/json").header("content-encoding", coding)).await
}

fn status_and_error(answer: &Answer) -> String {
    format!("{} {}: {}", answer.status, answer.header("x-error-code"), answer.json()["error"])
}

#[tokio::test]
async fn compressed_bodies_are_accepted_and_damaged_ones_refused() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    let path = format!("/v2/agent/{}/job", team.project.id);
    let plain = br#"{"prompt":"Fix links"}"#;
    let halves = [gzip(&plain[..9]), gzip(&plain[9..])].concat();
    for (coding, body) in [
        ("identity", plain.to_vec()),
        ("", plain.to_vec()),
        ("gzip", gzip(plain)),
        ("X-GZip", gzip(plain)),
        ("gzip", halves),
        ("zstd", zstd(plain)),
        ("zstd", zstd_window(plain, 23)),
    ] {
        let answer = post(&server, &team, &path, coding, body).await;
        assert_eq!(answer.status, 201, "{coding}: {answer}");
    }
    let unknown = "415 unsupported_media_type: \
        \"send the body uncompressed, or with one Content-Encoding: gzip or zstd\"";
    for coding in ["br", "deflate", "gzip, gzip", "gzip, identity", "zstd,gzip", "*"] {
        let answer = post(&server, &team, &path, coding, gzip(&gzip(plain))).await;
        assert_eq!(
            (status_and_error(&answer).as_str(), answer.header("accept-encoding")),
            (unknown, "gzip, zstd")
        );
    }
    let (gz, zs) = (gzip(plain), zstd(plain));
    let not_gzip = "400 invalid_body: \"the body isn't gzip, is damaged, or has data after its end\"";
    for body in [&b""[..], plain, &zs, &gz[..gz.len() - 1], &[&gz[..], b"{}"].concat()] {
        assert_eq!(status_and_error(&post(&server, &team, &path, "gzip", body.to_vec()).await), not_gzip);
    }
    let not_zstd =
        "400 invalid_body: \"the body isn't zstd, is damaged, or needs a window of more than 8 MiB\"";
    let large_window = zstd_window(plain, 24);
    for body in [plain, &gz[..], &zs[..zs.len() - 1], &[&zs[..], b"{}"].concat(), &large_window] {
        assert_eq!(status_and_error(&post(&server, &team, &path, "zstd", body.to_vec()).await), not_zstd);
    }
}

#[tokio::test]
async fn a_bomb_is_too_large() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    let events = format!("/v1/analytics/{}/events", team.project.id);
    let jobs = format!("/v2/agent/{}/job", team.project.id);
    let zeros = vec![0; 64 << 20];
    let (gz, zs) = (gzip(&zeros), zstd(&zeros));
    for (path, limit) in [(events, 8), (jobs, 2)] {
        let expected = format!("413 too_large: \"the body must be at most {limit} MiB\"");
        assert_eq!(status_and_error(&post(&server, &team, &path, "gzip", gz.clone()).await), expected);
        assert_eq!(status_and_error(&post(&server, &team, &path, "zstd", zs.clone()).await), expected);
        assert_eq!(status_and_error(&post(&server, &team, &path, "gzip", gz.repeat(10)).await), expected);
    }
}

#[tokio::test]
async fn compressed_page_views_count_once() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    let path = format!("/v1/analytics/{}/events", team.project.id);
    let events = json!([{ "path": "/a", "eventId": "1" }, { "path": "/b", "eventId": "2" }]).to_string();
    let first = post(&server, &team, &path, "gzip", gzip(events.as_bytes())).await;
    assert_eq!(first.to_string(), r#"202 {"accepted":2,"duplicates":0,"rejected":[]}"#);
    let again = post(&server, &team, &path, "zstd", zstd(events.as_bytes())).await;
    assert_eq!(again.to_string(), r#"202 {"accepted":2,"duplicates":2,"rejected":[]}"#);
}

#[tokio::test]
async fn idempotency_compares_the_decompressed_body() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    let plain = br#"{"prompt":"Fix links"}"#;
    let create = async |coding: &str, body: Vec<u8>| {
        let request = server.request(Method::POST, &format!("/v2/agent/{}/job", team.project.id));
        let request = request.bearer_auth(&team.key).header("idempotency-key", "once").body(body);
        send(request.header("content-type", "application/json").header("content-encoding", coding)).await
    };
    let first = create("gzip", gzip(plain)).await;
    let again = create("identity", plain.to_vec()).await;
    assert_eq!((first.status, first.body), (again.status, again.body.clone()), "{again}");
    assert_eq!(again.header("idempotent-replay"), "true");
    assert_eq!(create("zstd", zstd(br#"{"prompt":"Other"}"#)).await.status, 422);
}

#[tokio::test]
async fn responses_are_compressed() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    for _ in 0..5 {
        server.create_job(&team, "Fix links").await;
    }
    let ask = async |method: Method, path: &str, accept: &str| {
        let request = server.request(method, path).bearer_auth(&team.key);
        request.header("accept-encoding", accept).send().await.unwrap()
    };
    let list = format!("/v2/agent/{}/jobs", team.project.id);
    for path in [list.as_str(), "/assets/docwright.css"] {
        let plain = ask(Method::GET, path, "br").await;
        assert!(!plain.headers().contains_key("content-encoding"));
        assert_eq!(plain.headers()["vary"], "accept-encoding");
        let plain = plain.bytes().await.unwrap();
        for (accept, coding) in [("gzip, deflate", "gzip"), ("gzip, zstd", "zstd")] {
            let compressed = ask(Method::GET, path, accept).await;
            assert_eq!(compressed.headers()["content-encoding"], coding);
            assert_eq!(compressed.headers()["vary"], "accept-encoding");
            let length: usize = compressed.headers()["content-length"].to_str().unwrap().parse().unwrap();
            let head = ask(Method::HEAD, path, accept).await;
            for name in ["content-encoding", "content-length", "vary"] {
                assert_eq!(head.headers().get(name), compressed.headers().get(name), "{name}");
            }
            assert!(head.bytes().await.unwrap().is_empty());
            let compressed = compressed.bytes().await.unwrap();
            assert!(compressed.len() == length && length < plain.len());
            let mut decompressed = Vec::new();
            match coding {
                "gzip" => MultiGzDecoder::new(&compressed[..]).read_to_end(&mut decompressed).unwrap(),
                _ => zstd::Decoder::new(&compressed[..]).unwrap().read_to_end(&mut decompressed).unwrap(),
            };
            assert_eq!(decompressed, plain);
        }
    }
    for path in ["/healthz", "/login"] {
        let small = ask(Method::GET, path, "gzip, zstd").await;
        assert!(!small.headers().contains_key("content-encoding"), "{path}");
    }
}
