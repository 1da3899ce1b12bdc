//! A stream with as much patience as a client deserves. One that reads nothing for a while is given
//! up, with whatever is kept in memory for it. One that still sends when it has its answer is heard
//! out for a moment, unless the server stops: a socket closed on unread bytes takes the answer back.

use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, Timeout, sleep, timeout};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// For a client that reads nothing.
const PATIENCE: Duration = Duration::from_secs(30);
/// For a client that goes on sending.
const LINGER: Duration = Duration::from_secs(2);

pub(super) struct Patient<S> {
    stream: S,
    /// Since a write could not go on.
    stuck: Option<Pin<Box<Sleep>>>,
    /// Whether the client may still be sending at the end.
    unread: Arc<AtomicBool>,
    stop: CancellationToken,
    lingering: Option<Pin<Box<Timeout<WaitForCancellationFutureOwned>>>>,
}

impl<S> Patient<S> {
    pub(super) fn new(stream: S, unread: Arc<AtomicBool>, stop: CancellationToken) -> Self {
        Self { stream, stuck: None, unread, stop, lingering: None }
    }

    fn within_patience<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stuck = None;
            return written;
        }
        let stuck = self.stuck.get_or_insert_with(|| Box::pin(sleep(PATIENCE)));
        ready!(stuck.as_mut().poll(context));
        Poll::Ready(Err(ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> Patient<S> {
    /// Throws away what comes, until nothing more does or the moment is over. A client that has
    /// long sent everything looks the same from here, so a stopping server has no such moment:
    /// what has come by then is all that is thrown away.
    fn poll_linger(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let stop = &self.stop;
        let moment = || Box::pin(timeout(LINGER, stop.clone().cancelled_owned()));
        let over = self.lingering.get_or_insert_with(moment).as_mut().poll(context).is_ready();
        let mut waste = [0; 4096];
        loop {
            let mut buffer = ReadBuf::new(&mut waste);
            match Pin::new(&mut self.stream).poll_read(context, &mut buffer)? {
                Poll::Ready(()) if !buffer.filled().is_empty() => {}
                Poll::Pending if !over => return Poll::Pending,
                _ => return Poll::Ready(Ok(())),
            }
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.within_patience(written, context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.within_patience(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_shutdown(context))?;
        match self.unread.load(Relaxed) {
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

    fn patient(stream: DuplexStream, unread: bool) -> Patient<DuplexStream> {
        Patient::new(stream, Arc::new(AtomicBool::new(unread)), CancellationToken::new())
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_nothing_is_given_up() {
        let (_client, server) = duplex(16);
        let began = Instant::now();
        let error = patient(server, false).write_all(&[0; 17]).await.unwrap_err();
        assert_eq!((error.kind(), began.elapsed().as_secs()), (ErrorKind::TimedOut, 30));
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_now_and_then_is_waited_for() {
        let (mut client, server) = duplex(16);
        let reading = async {
            let mut read = [0; 16];
            for _ in 0..4 {
                sleep(PATIENCE - Duration::from_secs(1)).await;
                client.read_exact(&mut read).await.unwrap();
            }
        };
        let mut server = patient(server, false);
        let (written, ()) = tokio::join!(server.write_all(&[0; 64]), reading);
        written.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_still_sends_is_heard_out_for_a_moment() {
        let (mut client, server) = duplex(16);
        let mut server = patient(server, true);
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
        patient(server, true).shutdown().await.unwrap();
        assert_eq!(began.elapsed(), LINGER);
    }
    #[tokio::test(start_paused = true)]
    async fn a_stopping_server_hears_nobody_out() {
        let (mut client, server) = duplex(16);
        let mut server = patient(server, true);
        let (stop, began) = (server.stop.clone(), Instant::now());
        let (closed, ()) = tokio::join!(server.shutdown(), async { stop.cancel() });
        closed.unwrap();

        client.write_all(&[0; 16]).await.unwrap();
        server.shutdown().await.unwrap();
        client.write_all(&[0; 16]).await.unwrap(); // what had come by then was read
        assert_eq!(began.elapsed(), Duration::ZERO);
    }
}
