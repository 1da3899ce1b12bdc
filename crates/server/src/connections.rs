//! Connections, bounded: how many there are, how long a client may take to say what it wants,
//! and how long it is waited for when the server stops. HTTP/1.1; a proxy in front speaks the rest.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use rustix::process::{Resource, getrlimit};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tower_service::Service;

/// At most this many at once, and never so many that none of the files that the process may
/// open are left for git and the databases.
const MOST: usize = 4096;
const FILES_FOR_OTHERS: u64 = 128;
/// For the headers of a request, also of the next one on a connection that is kept.
const HEADER_PATIENCE: Duration = Duration::from_secs(30);
/// How long a stopping server waits for requests to end.
const STOP_PATIENCE: Duration = Duration::from_secs(10);
/// How long to wait when no connection can be accepted, such as for want of files.
const AGAIN: Duration = Duration::from_millis(50);

/// Serves until `stop`, then lets what is under way end, within a bound.
pub(crate) async fn serve(listener: TcpListener, router: Router, stop: CancellationToken) {
    let graceful = GracefulShutdown::new();
    let places = Arc::new(Semaphore::new(most()));
    loop {
        let next = async {
            // Who finds no place waits in the system's queue, unread.
            let place = places.clone().acquire_owned().await;
            (listener.accept().await, place)
        };
        let (accepted, place) = tokio::select! {
            next = next => next,
            () = stop.cancelled() => break,
        };
        match accepted {
            Ok((stream, peer)) => {
                let router = router.clone();
                let service = service_fn(move |request| answer(router.clone(), request, peer));
                let mut http = http1::Builder::new();
                http.timer(TokioTimer::new()).header_read_timeout(HEADER_PATIENCE);
                let connection = graceful.watch(http.serve_connection(TokioIo::new(stream), service));
                tokio::spawn(async move {
                    // A client that hangs up or talks nonsense has had its answer.
                    let _ = connection.await;
                    drop(place);
                });
            }
            Err(error) => {
                tracing::warn!("a connection could not be accepted: {error}");
                tokio::time::sleep(AGAIN).await;
            }
        }
    }
    drop(listener);
    let _ = tokio::time::timeout(STOP_PATIENCE, graceful.shutdown()).await;
}

async fn answer(
    mut router: Router,
    request: hyper::Request<Incoming>,
    peer: SocketAddr,
) -> Result<axum::response::Response, Infallible> {
    let mut request = request.map(Body::new);
    request.extensions_mut().insert(ConnectInfo(peer));
    router.call(request).await
}

fn most() -> usize {
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    // Below some number there is no dividing: a few connections must be possible all the same.
    let ours = files.saturating_sub(FILES_FOR_OTHERS).max(16);
    usize::try_from(ours).map_or(MOST, |ours| ours.min(MOST))
}
