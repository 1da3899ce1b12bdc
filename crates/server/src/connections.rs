//! Connections, bounded: how many there are, how long a client may take to say what it wants and
//! to take its answer, and how long it is waited for when the server stops. HTTP/1.1; a proxy in
//! front speaks the rest.

mod patient;
mod places;
mod unread;
mod until;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
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
use hyper_util::server::graceful::GracefulShutdown;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tower_service::Service;

use api::is_event_stream;
use patient::Patient;
use places::{Place, Places};
use unread::Leftover;
use until::Until;

/// Of the files that the process may open, those left for git and the databases.
const FILES_FOR_OTHERS: u64 = 128;
/// For the headers of a request, also of the next one on a connection that is kept.
const HEADER_PATIENCE: Duration = Duration::from_secs(30);
/// What is kept of a connection each way; also the most that headers may be.
const BUFFER: usize = 16 * 1024;
/// How long a stopping server waits for requests to end.
const STOP_PATIENCE: Duration = Duration::from_secs(10);
/// How long to wait when no connection can be accepted, such as for want of files.
const AGAIN: Duration = Duration::from_millis(50);

/// To a client that comes while the server works for everybody that it has a place for.
const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nx-error-code: busy\r\n\
    content-type: application/json\r\nconnection: close\r\n\r\n\
    {\"error\":\"the server cannot keep up; send this again a little later\"}";

/// Serves until `stop`, then lets what is under way end, within a bound.
pub(crate) async fn serve(listener: TcpListener, router: Router, most: usize, stop: CancellationToken) {
    let graceful = GracefulShutdown::new();
    let places = Places::new(most);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => break,
        };
        match accepted {
            Ok((stream, peer)) => match places.enter().await {
                Some(place) => attend(stream, peer, place, &router, &graceful, &stop),
                None => refuse(&stream),
            },
            Err(error) => {
                tracing::warn!("a connection could not be accepted: {error}");
                tokio::time::sleep(AGAIN).await;
            }
        }
    }
    drop(listener);
    let _ = tokio::time::timeout(STOP_PATIENCE, graceful.shutdown()).await;
}

fn attend(
    stream: TcpStream,
    peer: SocketAddr,
    place: Place,
    router: &Router,
    graceful: &GracefulShutdown,
    stop: &CancellationToken,
) {
    // An answer of several writes must not wait for the client to confirm the first.
    let _ = stream.set_nodelay(true);
    let (router, place) = (router.clone(), Arc::new(place));
    let (cut, client) = (place.cut(), Client { peer, place: place.clone(), unread: Leftover::default() });
    let io = TokioIo::new(Patient::new(stream, client.unread.there(), stop.clone()));
    let service = service_fn(move |request| answer(router.clone(), request, client.clone()));
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEADER_PATIENCE).max_buf_size(BUFFER);
    let connection = graceful.watch(http.serve_connection(io, service));
    tokio::spawn(async move {
        // A client that hangs up or talks nonsense has had its answer.
        tokio::select! { _ = connection => {}, () = cut.cancelled() => {} }
        drop(place);
    });
}

#[derive(Clone)]
struct Client {
    peer: SocketAddr,
    place: Arc<Place>,
    /// What it was still sending when it got its answer.
    unread: Leftover,
}

async fn answer(
    mut router: Router,
    request: hyper::Request<Incoming>,
    client: Client,
) -> Result<Response, Infallible> {
    let Client { peer, place, unread } = client;
    match request.body().is_end_stream() {
        true => place.work(),
        false => place.wait(),
    }
    // Whoever has read the body lets go of it; from then on it is the server's turn.
    let (reading, left) = (place.clone(), unread.clone());
    let let_go = move |rest| {
        left.put(rest);
        reading.work();
    };
    let waits_to_send = unread::waits_to_send(request.headers());
    let mut request = request.map(|body| Body::new(Until::new(body, let_go)));
    request.extensions_mut().insert(ConnectInfo(peer));
    let mut response = router.call(request).await?;
    if !unread.clear(waits_to_send).await {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    if is_event_stream(response.headers()) {
        place.work();
        return Ok(response.map(|body| Body::new(Until::new(body, move |_| place.wait()))));
    }
    place.wait();
    Ok(response)
}

/// As far as it goes: nobody waits for a client that is turned away.
fn refuse(stream: &TcpStream) {
    let _ = stream.try_write(FULL);
}

/// How many there may be: `wanted`, and never so many that none of the files that the process
/// may open are left for others. Many systems give a process few and let it ask for more.
pub(crate) fn most(wanted: usize) -> usize {
    let files = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: files.maximum, maximum: files.maximum };
    let soft = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => files.maximum,
        Err(_) => files.current,
    };
    // Below some number there is no dividing: a few connections must be possible all the same.
    let ours = soft.unwrap_or(u64::MAX).saturating_sub(FILES_FOR_OTHERS).max(16);
    usize::try_from(ours).map_or(wanted, |ours| ours.min(wanted))
}
