//! HTTP by hand: every byte of a request as the test says, which no client library would send.

use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{Answer, TestServer};

/// A server that neither answers nor hangs up is a failure, not a test without end.
const PATIENCE: Duration = Duration::from_secs(20);

/// Sends these bytes on a connection of their own; what came back until the server closed it.
pub(crate) async fn exchange(server: &TestServer, bytes: &[u8]) -> Vec<Answer> {
    let talk = async {
        let mut stream = TcpStream::connect(server.url.strip_prefix("http://").unwrap()).await.unwrap();
        // A server that has heard enough answers and closes, whatever is still to come.
        let _ = stream.write_all(bytes).await;
        let mut came = Vec::new();
        let _ = stream.read_to_end(&mut came).await;
        came
    };
    let came = tokio::time::timeout(PATIENCE, talk).await;
    answers(&came.unwrap_or_else(|_| panic!("no end of {}", String::from_utf8_lossy(bytes))))
}

fn answers(mut bytes: &[u8]) -> Vec<Answer> {
    let mut all = Vec::new();
    while let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
        let head = std::str::from_utf8(&bytes[..end]).unwrap();
        let (status, headers) = parse_head(head);
        let rest = &bytes[end + 4..];
        let told = headers.get("content-length").map(|length| length.to_str().unwrap().parse().unwrap());
        let length = rest.len().min(told.unwrap_or(if status < 200 { 0 } else { rest.len() }));
        let body = String::from_utf8(rest[..length].to_vec()).unwrap();
        all.push(Answer { status, headers, body });
        bytes = &rest[length..];
    }
    assert!(bytes.is_empty(), "no whole answer: {}", String::from_utf8_lossy(bytes));
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
