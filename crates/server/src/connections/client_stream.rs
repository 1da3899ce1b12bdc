//! Adds timeouts to the stream of a client.
//!
//! A client that reads nothing for a while is disconnected, which frees the memory of its response. If a
//! client still sends when it has its response, the stream lingers for a while before it closes, unless the
//! server stops: closing a socket with unread bytes resets the connection, and the client loses the response.

use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, Timeout, sleep};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// For a client that reads nothing.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// For a client that continues to send.
const LINGER_TIME: Duration = Duration::from_secs(2);

pub(crate) struct ClientStream<S> {
    stream: S,
    /// The timeout of a write that is blocked.
    write_timeout: Option<Pin<Box<Sleep>>>,
    /// Whether the client may still be sending when the stream closes.
    has_unread: Arc<AtomicBool>,
    stop: CancellationToken,
    lingering: Option<Pin<Box<Timeout<WaitForCancellationFutureOwned>>>>,
}

impl<S> ClientStream<S> {
    pub(crate) fn new(stream: S, has_unread: Arc<AtomicBool>, stop: CancellationToken) -> Self {
        Self { stream, write_timeout: None, has_unread, stop, lingering: None }
    }

    fn apply_write_timeout<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.write_timeout = None;
            return written;
        }
        let timeout = self.write_timeout.get_or_insert_with(|| Box::pin(sleep(WRITE_TIMEOUT)));
        ready!(timeout.as_mut().poll(context));
        Poll::Ready(Err(ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> ClientStream<S> {
    /// Discards received bytes until the client closes the stream or [`LINGER_TIME`] is over. A client that
    /// has sent everything looks the same, so a stopping server doesn't linger: it discards only what has
    /// already arrived.
    fn poll_linger(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let stop = &self.stop;
        let timeout = || Box::pin(tokio::time::timeout(LINGER_TIME, stop.clone().cancelled_owned()));
        let is_over = self.lingering.get_or_insert_with(timeout).as_mut().poll(context).is_ready();
        let mut discarded = [0; 4096];
        loop {
            let mut buffer = ReadBuf::new(&mut discarded);
            match Pin::new(&mut self.stream).poll_read(context, &mut buffer)? {
                Poll::Ready(()) if !buffer.filled().is_empty() => {}
                Poll::Pending if !is_over => return Poll::Pending,
                _ => return Poll::Ready(Ok(())),
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ClientStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for ClientStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.apply_write_timeout(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.apply_write_timeout(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_shutdown(context))?;
        match self.has_unread.load(Relaxed) {
            true => self.poll_linger(context),
            false => Poll::Ready(Ok(())),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
    use tokio::time::Instant;

    use super::*;

    fn client_stream(stream: DuplexStream, has_unread: bool) -> ClientStream<DuplexStream> {
        ClientStream::new(stream, Arc::new(AtomicBool::new(has_unread)), CancellationToken::new())
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_nothing_is_disconnected() {
        let (_client, server) = duplex(16);
        let began = Instant::now();
        let error = client_stream(server, false).write_all(&[0; 17]).await.unwrap_err();
        assert_eq!((error.kind(), began.elapsed().as_secs()), (ErrorKind::TimedOut, 30));
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_slowly_is_not_disconnected() {
        let (mut client, server) = duplex(16);
        let reading = async {
            let mut read = [0; 16];
            for _ in 0..4 {
                sleep(WRITE_TIMEOUT - Duration::from_secs(1)).await;
                client.read_exact(&mut read).await.unwrap();
            }
        };
        let mut server = client_stream(server, false);
        let (written, ()) = tokio::join!(server.write_all(&[0; 64]), reading);
        written.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_still_sends_gets_its_response() {
        let (mut client, server) = duplex(16);
        let mut server = client_stream(server, true);
        let sending = async {
            client.write_all(&[0; 100]).await.unwrap();
            let mut answer = Vec::new();
            client.read_to_end(&mut answer).await.unwrap();
            (client, answer)
        };
        server.write_all(b"too large").await.unwrap();
        let (closed, (_client, answer)) = tokio::join!(server.shutdown(), sending);
        closed.unwrap();
        assert_eq!(answer, b"too large");

        let (_client, server) = duplex(16);
        let began = Instant::now();
        client_stream(server, true).shutdown().await.unwrap();
        assert_eq!(began.elapsed(), LINGER_TIME);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stopping_server_does_not_linger() {
        let (mut client, server) = duplex(16);
        let mut server = client_stream(server, true);
        let (stop, began) = (server.stop.clone(), Instant::now());
        let (closed, ()) = tokio::join!(server.shutdown(), async { stop.cancel() });
        closed.unwrap();

        client.write_all(&[0; 16]).await.unwrap();
        server.shutdown().await.unwrap();
        client.write_all(&[0; 16]).await.unwrap(); // bytes that had arrived were read
        assert_eq!(began.elapsed(), Duration::ZERO);
    }
}
