//! Sends raw bytes as a request, which no client library would send, and parses the responses.

use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{Answer, TestServer};

/// For a server that neither responds nor closes the connection.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Sends these bytes on a new connection, and returns the responses until the server closes it.
pub(crate) async fn exchange(server: &TestServer, bytes: &[u8]) -> Vec<Answer> {
    let exchange = async {
        let mut stream = TcpStream::connect(server.url.strip_prefix("http://").unwrap()).await.unwrap();
        // The write fails when the server closes the connection early. The response is what counts.
        let _ = stream.write_all(bytes).await;
        let mut received = Vec::new();
        let _ = stream.read_to_end(&mut received).await;
        received
    };
    let received = tokio::time::timeout(TIMEOUT, exchange).await;
    parse_responses(
        &received.unwrap_or_else(|_| panic!("no end of the responses to {}", String::from_utf8_lossy(bytes))),
    )
}

fn parse_responses(mut bytes: &[u8]) -> Vec<Answer> {
    let mut all = Vec::new();
    while let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
        let head = std::str::from_utf8(&bytes[..end]).unwrap();
        let (status, headers) = parse_head(head);
        let rest = &bytes[end + 4..];
        let content_length =
            headers.get("content-length").map(|length| length.to_str().unwrap().parse().unwrap());
        let length = rest.len().min(content_length.unwrap_or(if status < 200 { 0 } else { rest.len() }));
        let body = String::from_utf8(rest[..length].to_vec()).unwrap();
        all.push(Answer { status, headers, body });
        bytes = &rest[length..];
    }
    assert!(bytes.is_empty(), "an incomplete response: {}", String::from_utf8_lossy(bytes));
    all
}

fn parse_head(head: &str) -> (u16, HeaderMap) {
    let (line, lines) = head.split_once("\r\n").unwrap_or((head, ""));
    let status = line.strip_prefix("HTTP/1.").unwrap()[2..5].parse().unwrap();
    let mut headers = HeaderMap::new();
    for (name, value) in lines.split("\r\n").filter_map(|line| line.split_once(':')) {
        let name: HeaderName = name.parse().unwrap();
        headers.append(name, HeaderValue::from_str(value.trim()).unwrap());
    }
    (status, headers)
}
