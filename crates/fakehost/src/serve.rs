//! Accepts connections: logs each request, applies a pending fault, and calls the handler.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_TYPE, LOCATION};
use axum::http::{Request, Response, StatusCode};
use futures_util::{StreamExt, stream};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tower_service::Service;

use crate::control::CONTROL;
use crate::extractors::Lag;
use crate::faults::Effect;
use crate::state::Host;

const HTML_PAGE: &str =
    "<!doctype html><html><head><title>Sign in</title></head><body><p>Sign in</p></body></html>";
const ENDLESS_CHUNK: &[u8] = &[b' '; 16 * 1024];

/// An error that makes hyper close the connection without a response.
#[derive(Debug)]
struct ConnectionDropped;

impl std::fmt::Display for ConnectionDropped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the connection was dropped on purpose")
    }
}

impl std::error::Error for ConnectionDropped {}

/// Accepts connections until it is dropped. Dropping it closes all connections.
pub(crate) async fn serve(listener: TcpListener, host: Arc<Host>, router: Router) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(serve_connection(stream, host.clone(), router.clone()));
        while connections.try_join_next().is_some() {}
    }
}

async fn serve_connection(stream: TcpStream, host: Arc<Host>, router: Router) {
    // With Nagle's algorithm, small writes would wait for the client's acknowledgement.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| handle_request(host.clone(), router.clone(), request));
    // An error means that the client disconnected, or that a fault dropped the connection.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn handle_request(
    host: Arc<Host>,
    mut router: Router,
    request: Request<Incoming>,
) -> Result<Response<Body>, ConnectionDropped> {
    if request.uri().path().starts_with(CONTROL) {
        return router.call(request).await.map_err(|never| match never {});
    }
    let started = Instant::now();
    let entry = host.log.begin(&request);
    let path = request.uri().path_and_query().map_or("", |path| path.as_str()).to_owned();
    let effect = host.faults.take(request.method().as_str(), &path);
    let log_entry = entry.clone();
    let request = request.map(|body| log_entry.count_body(body));
    let answer = apply_fault(effect, &path, request, &mut router).await?;
    entry.set_status(answer.status().as_u16());
    host.log.add_busy_time(started);
    Ok(answer.map(|body| count_sent(host, body)))
}

/// Wraps a response's body and counts its bytes.
fn count_sent(host: Arc<Host>, body: Body) -> Body {
    Body::from_stream(body.into_data_stream().inspect(move |chunk| {
        host.log.add_sent_bytes(chunk.as_ref().map_or(0, |chunk| chunk.len()));
    }))
}

async fn apply_fault(
    effect: Option<Effect>,
    path: &str,
    mut request: Request<Body>,
    router: &mut Router,
) -> Result<Response<Body>, ConnectionDropped> {
    match effect {
        None => {}
        Some(Effect::Lag(requests)) => drop(request.extensions_mut().insert(Lag(requests))),
        Some(Effect::Delay(milliseconds)) => tokio::time::sleep(Duration::from_millis(milliseconds)).await,
        Some(Effect::DropBefore) => return Err(ConnectionDropped),
        Some(effect @ (Effect::DropAfter | Effect::Hang)) => {
            let answer = router.call(request).await.map_err(|never| match never {})?;
            // Read the whole response: a push completes with its response.
            answer.into_body().into_data_stream().for_each(|_| std::future::ready(())).await;
            if effect == Effect::Hang {
                std::future::pending::<()>().await;
            }
            return Err(ConnectionDropped);
        }
        Some(Effect::Cut(bytes)) => {
            let answer = router.call(request).await.map_err(|never| match never {})?;
            return Ok(answer.map(|body| cut(body, bytes)));
        }
        Some(Effect::Status { status, body, headers }) => return scripted_response(status, body, &headers),
        Some(Effect::Redirect(origin)) => {
            let headers = [(LOCATION.to_string(), format!("{}{path}", origin.trim_end_matches('/')))];
            return scripted_response(307, String::new(), &headers.into());
        }
        Some(Effect::Garbage) => {
            return scripted_response(
                200,
                HTML_PAGE,
                &[(CONTENT_TYPE.to_string(), "text/html".to_owned())].into(),
            );
        }
        Some(Effect::Endless) => {
            let chunks = stream::repeat(Bytes::from_static(ENDLESS_CHUNK)).map(Ok::<_, std::io::Error>);
            let headers = [(CONTENT_TYPE.to_string(), "application/json".to_owned())];
            return scripted_response(200, Body::from_stream(chunks), &headers.into());
        }
    }
    router.call(request).await.map_err(|never| match never {})
}

/// The first bytes of a body, then an error, which closes the connection.
fn cut(body: Body, bytes: usize) -> Body {
    let mut left = bytes;
    Body::from_stream(body.into_data_stream().map(move |chunk| {
        let chunk = chunk.map_err(std::io::Error::other)?;
        if left == 0 {
            return Err(std::io::Error::other(ConnectionDropped));
        }
        let sent = chunk.slice(..chunk.len().min(left));
        left -= sent.len();
        Ok(sent)
    }))
}

fn scripted_response(
    status: u16,
    body: impl Into<Body>,
    headers: &std::collections::BTreeMap<String, String>,
) -> Result<Response<Body>, ConnectionDropped> {
    let mut answer = Response::builder().status(status);
    for (name, value) in headers {
        answer = answer.header(name, value);
    }
    // An invalid response is a mistake in the test, so report it.
    Ok(answer.body(body.into()).unwrap_or_else(|error| {
        let mut answer = Response::new(Body::from(format!("the fault is not valid HTTP: {error}")));
        *answer.status_mut() = StatusCode::NOT_IMPLEMENTED;
        answer
    }))
}
