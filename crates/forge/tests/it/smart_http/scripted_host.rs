//! A fake host that sends scripted bytes, whatever the request is.

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Sends one scripted response per request. Dropping it stops it.
pub(super) struct ScriptedHost {
    pub(super) url: String,
    task: JoinHandle<()>,
}

impl Drop for ScriptedHost {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A response with status 200. If it is not complete, the connection closes in the middle of the body.
pub(super) struct ScriptedResponse {
    pub(super) content_type: &'static str,
    pub(super) body: Vec<u8>,
    pub(super) is_complete: bool,
}

impl ScriptedHost {
    pub(super) async fn start(responses: Vec<ScriptedResponse>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/acme/docs.git", listener.local_addr().unwrap());
        net::quote_test_host(listener.local_addr().unwrap());
        let task = tokio::spawn(async move {
            for response in responses {
                let (stream, _) = listener.accept().await.unwrap();
                // The client may disconnect at any time.
                let _ = respond(stream, &response).await;
            }
        });
        Self { url, task }
    }
}

async fn respond(stream: TcpStream, response: &ScriptedResponse) -> std::io::Result<()> {
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
        response.content_type
    );
    stream.write_all(head.as_bytes()).await?;
    for chunk in response.body.chunks(1000) {
        stream.write_all(format!("{:x}\r\n", chunk.len()).as_bytes()).await?;
        stream.write_all(chunk).await?;
        stream.write_all(b"\r\n").await?;
    }
    if response.is_complete {
        stream.write_all(b"0\r\n\r\n").await?;
    }
    stream.shutdown().await
}
