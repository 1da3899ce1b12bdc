//! Provides a fake server with scripted responses, which records its requests.

use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

pub(crate) struct Answer {
    head: String,
    pieces: Vec<Vec<u8>>,
    end: End,
}

enum End {
    Whole,
    /// The connection closes in the middle of the body.
    Cut,
    /// The server sends nothing more, and doesn't close the connection.
    Hang,
}

impl Answer {
    fn new(status: u16, headers: &str, body: &[u8], piece: usize) -> Self {
        let head = format!(
            "HTTP/1.1 {status} X\r\n{headers}connection: close\r\ntransfer-encoding: chunked\r\n\r\n"
        );
        Self { head, pieces: body.chunks(piece).map(<[u8]>::to_vec).collect(), end: End::Whole }
    }

    pub(crate) fn stream(events: &str) -> Self {
        Self::pieces(events, usize::MAX)
    }

    /// Like `stream`, in pieces of this size.
    pub(crate) fn pieces(events: &str, size: usize) -> Self {
        Self::new(200, "content-type: text/event-stream\r\n", events.as_bytes(), size)
    }

    pub(crate) fn status(status: u16, body: &str) -> Self {
        Self::with(status, "content-type: application/json\r\n", body)
    }

    /// With headers, each with its line ending.
    pub(crate) fn with(status: u16, headers: &str, body: &str) -> Self {
        Self::new(status, headers, body.as_bytes(), usize::MAX)
    }

    pub(crate) fn then_cut(self) -> Self {
        Self { end: End::Cut, ..self }
    }

    pub(crate) fn then_hang(self) -> Self {
        Self { end: End::Hang, ..self }
    }
}

#[derive(Clone)]
pub(crate) struct Request {
    /// The request line and the headers, in lowercase.
    pub(crate) head: String,
    pub(crate) body: Value,
}

pub(crate) struct Fake {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Fake {
    /// Serves one answer for each request, in this order, then stops.
    pub(crate) async fn answering(
        answers: impl IntoIterator<Item = Answer, IntoIter: Send + 'static>,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        net::quote_test_host(listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (recorded, answers) = (requests.clone(), answers.into_iter());
        tokio::spawn(async move {
            for answer in answers {
                let (stream, _) = listener.accept().await.unwrap();
                serve(stream, answer, &recorded).await;
            }
        });
        Self { url, requests }
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    pub(crate) fn only_request(&self) -> Request {
        let requests = self.requests.lock().unwrap();
        assert_eq!(requests.len(), 1);
        requests[0].clone()
    }
}

async fn serve(stream: TcpStream, answer: Answer, requests: &Mutex<Vec<Request>>) {
    let mut stream = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(stream.read_line(&mut head).await.unwrap() > 0, "the request was cut: {head}");
    }
    let head = head.to_lowercase();
    let length = head.split("content-length: ").nth(1).and_then(|rest| rest.split('\r').next());
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    stream.read_exact(&mut body).await.unwrap();
    requests.lock().unwrap().push(Request { head, body: serde_json::from_slice(&body).unwrap_or_default() });
    // A client that got too much data can have closed the connection.
    let _ = write(&mut stream, &answer).await;
    if matches!(answer.end, End::Hang) {
        let _ = stream.read_u8().await;
    }
}

async fn write(stream: &mut BufReader<TcpStream>, answer: &Answer) -> std::io::Result<()> {
    stream.write_all(answer.head.as_bytes()).await?;
    for piece in &answer.pieces {
        let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
        chunk.extend_from_slice(piece);
        chunk.extend_from_slice(b"\r\n");
        stream.write_all(&chunk).await?;
    }
    if matches!(answer.end, End::Whole) {
        stream.write_all(b"0\r\n\r\n").await?;
    }
    stream.flush().await
}
