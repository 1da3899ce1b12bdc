//! Accepts HTTP/1.1 connections, with or without TLS. Limits their number, the time for a request and its
//! response, and the time until they end when the server stops. A proxy in front of the server can offer other
//! protocols.

mod client_stream;
mod endpoint;
mod leftover;
mod slots;
mod tracked_body;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::header::{CONNECTION, HeaderValue};
use axum::response::Response;
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;
use tower_service::Service;

use api::is_event_stream;
pub(crate) use client_stream::ClientStream;
pub(crate) use endpoint::Endpoint;
use leftover::Leftover;
use slots::{Slot, Slots};
use tracked_body::TrackedBody;

use crate::tls::Tls;

/// File descriptors that are reserved for git and the databases.
const RESERVED_FILES: u64 = 128;
/// The time for the headers of a request, including the next one on a keep-alive connection.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);
/// The size of the read buffer and of the write buffer of a connection. Headers can't be larger.
const BUFFER_BYTES: usize = 16 * 1024;
/// How long a stopping server waits for requests to end.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);
/// The delay after a connection couldn't be accepted, for example because too many files are open.
const RETRY_DELAY: Duration = Duration::from_millis(50);

/// The response to a new client while the server works on a request of every connection.
const BUSY_RESPONSE: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nx-error-code: busy\r\n\
    content-type: application/json\r\nconnection: close\r\n\r\n\
    {\"error\":\"the server is overloaded; try again in a moment\"}";

/// The response to a client that sends plain HTTP to a server with TLS.
const HTTPS_ONLY_RESPONSE: &[u8] = b"HTTP/1.1 400 Bad Request\r\nx-error-code: https_only\r\n\
    content-type: application/json\r\nconnection: close\r\n\r\n\
    {\"error\":\"this server speaks HTTPS only; use a URL that begins with https://\"}";

/// Serves until `stop`, then waits up to [`STOP_TIMEOUT`] for running requests.
pub(crate) async fn serve(
    endpoint: Endpoint,
    router: Router,
    max_connections: usize,
    stop: CancellationToken,
) {
    let Endpoint { listener, tls } = endpoint;
    let graceful = GracefulShutdown::new();
    let slots = Slots::new(max_connections);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => break,
        };
        match accepted {
            Ok((stream, peer)) => match slots.acquire().await {
                Some(slot) => {
                    let client = Client { peer, slot: Arc::new(slot), leftover: Leftover::default() };
                    let answers = Answers { router: router.clone(), client, watcher: graceful.watcher() };
                    tokio::spawn(serve_connection(stream, tls.clone(), answers, stop.clone()));
                }
                None if tls.is_none() => refuse(&stream),
                None => {}
            },
            Err(error) => {
                tracing::warn!("cannot accept a connection: {error}");
                tokio::time::sleep(RETRY_DELAY).await;
            }
        }
    }
    drop(listener);
    let _ = tokio::time::timeout(STOP_TIMEOUT, graceful.shutdown()).await;
}

/// Ends when another connection needs the slot.
async fn serve_connection(
    stream: TcpStream,
    tls: Option<Arc<Tls>>,
    answers: Answers,
    stop: CancellationToken,
) {
    // Without Nagle's algorithm, because a response of several writes must not wait for the client's ACK.
    let _ = stream.set_nodelay(true);
    let slot = answers.client.slot.clone();
    let serving = async {
        match tls {
            None => {
                let leftover = answers.client.leftover.flag();
                answers.serve(ClientStream::new(stream, leftover, stop)).await;
            }
            // In a box, so that connections without TLS don't take its memory.
            Some(tls) => Box::pin(serve_tls(&tls, stream, answers, stop)).await,
        }
    };
    let cut = slot.cut();
    tokio::select! { () = serving => {}, () = cut.cancelled() => {} }
}

async fn serve_tls(tls: &Tls, stream: TcpStream, answers: Answers, stop: CancellationToken) {
    let Some(Some(is_handshake)) = stop.run_until_cancelled(Tls::is_handshake(&stream)).await else { return };
    let leftover = answers.client.leftover.flag();
    let mut stream = ClientStream::new(stream, leftover.clone(), stop.clone());
    if !is_handshake {
        leftover.store(true, Relaxed);
        let _ = stream.write_all(HTTPS_ONLY_RESPONSE).await;
        let _ = stream.shutdown().await;
        return;
    }
    if let Some(Some(stream)) = stop.run_until_cancelled(tls.accept(stream)).await {
        answers.serve(stream).await;
    }
}

/// What answers the requests of one connection.
struct Answers {
    router: Router,
    client: Client,
    watcher: Watcher,
}

impl Answers {
    async fn serve(self, stream: impl AsyncRead + AsyncWrite + Unpin + 'static) {
        let Self { router, client, watcher } = self;
        let service = service_fn(move |request| answer(router.clone(), request, client.clone()));
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT).max_buf_size(BUFFER_BYTES);
        // Errors are ignored: the client disconnected, or got its response to an invalid request.
        let _ = watcher.watch(http.serve_connection(TokioIo::new(stream), service)).await;
    }
}

#[derive(Clone)]
struct Client {
    peer: SocketAddr,
    slot: Arc<Slot>,
    /// What the client was still sending when it got its response.
    leftover: Leftover,
}

async fn answer(
    mut router: Router,
    request: hyper::Request<Incoming>,
    client: Client,
) -> Result<Response, Infallible> {
    let Client { peer, slot, leftover } = client;
    match request.body().is_end_stream() {
        true => slot.begin_work(),
        false => slot.wait_for_client(),
    }
    // The handler drops the body when it has read it. From then on the server works.
    let (reading_slot, body_leftover) = (slot.clone(), leftover.clone());
    let on_drop = move |rest| {
        body_leftover.put(rest);
        reading_slot.begin_work();
    };
    let expects_continue = leftover::expects_continue(request.headers());
    let mut request = request.map(|body| Body::new(TrackedBody::new(body, on_drop)));
    request.extensions_mut().insert(ConnectInfo(peer));
    let mut response = router.call(request).await?;
    if !leftover.drain(expects_continue).await {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    if is_event_stream(response.headers()) {
        slot.begin_work();
        let on_drop = move |_| slot.wait_for_client();
        return Ok(response.map(|body| Body::new(TrackedBody::new(body, on_drop))));
    }
    slot.wait_for_client();
    Ok(response)
}

/// Writes what fits without waiting for the client.
fn refuse(stream: &TcpStream) {
    let _ = stream.try_write(BUSY_RESPONSE);
}

/// The maximum number of connections: `wanted`, or fewer if the process may not open so many files. Raises
/// the limit of open files first, because many systems start with a low one.
pub(crate) fn max_connections(wanted: usize) -> usize {
    let files = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: files.maximum, maximum: files.maximum };
    let soft = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => files.maximum,
        Err(_) => files.current,
    };
    // A few connections must always be possible.
    let available = soft.unwrap_or(u64::MAX).saturating_sub(RESERVED_FILES).max(16);
    usize::try_from(available).map_or(wanted, |available| available.min(wanted))
}
