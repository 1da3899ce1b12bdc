//! A host that answers as told, byte by byte, whatever it is asked.

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Answers one request after the other, then nothing. Ends when it is dropped.
pub(super) struct Scripted {
    pub(super) url: String,
    task: JoinHandle<()>,
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What comes after the content type; without its end, the connection is cut.
pub(super) struct Said {
    pub(super) kind: &'static str,
    pub(super) body: Vec<u8>,
    pub(super) whole: bool,
}

impl Scripted {
    pub(super) async fn start(answers: Vec<Said>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/acme/docs.git", listener.local_addr().unwrap());
        net::quote_test_host(listener.local_addr().unwrap());
        let task = tokio::spawn(async move {
            for said in answers {
                let (stream, _) = listener.accept().await.unwrap();
                // Whoever asked may leave at any time.
                let _ = answer(stream, &said).await;
            }
        });
        Self { url, task }
    }
}

async fn answer(stream: TcpStream, said: &Said) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        if let Some(value) = line.to_lowercase().strip_prefix("content-length: ") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {}\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n",
        said.kind
    );
    stream.write_all(head.as_bytes()).await?;
    for piece in said.body.chunks(1000) {
        stream.write_all(format!("{:x}\r\n", piece.len()).as_bytes()).await?;
        stream.write_all(piece).await?;
        stream.write_all(b"\r\n").await?;
    }
    if said.whole {
        stream.write_all(b"0\r\n\r\n").await?;
    }
    stream.shutdown().await
}
