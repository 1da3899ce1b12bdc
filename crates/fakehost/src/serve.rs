//! The port: each request is noted, meets the fault that waits for it, and goes to its handler.

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
use crate::door::Lag;
use crate::faults::Effect;
use crate::state::Host;

const PAGE: &str =
    "<!doctype html><html><head><title>Sign in</title></head><body><p>Sign in</p></body></html>";
const CHUNK: &[u8] = &[b' '; 16 * 1024];

/// The connection is closed and the client learns no more.
#[derive(Debug)]
struct Dropped;

impl std::fmt::Display for Dropped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the connection was dropped on purpose")
    }
}

impl std::error::Error for Dropped {}

/// Until it is dropped, and all connections with it.
pub(crate) async fn serve(listener: TcpListener, host: Arc<Host>, router: Router) {
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(attend(stream, host.clone(), router.clone()));
        while connections.try_join_next().is_some() {}
    }
}

async fn attend(stream: TcpStream, host: Arc<Host>, router: Router) {
    // Small answers in several writes would wait for the client's acknowledgement otherwise.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| answer(host.clone(), router.clone(), request));
    // An error here is a client that left, or a drop that was asked for.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn answer(
    host: Arc<Host>,
    mut router: Router,
    request: Request<Incoming>,
) -> Result<Response<Body>, Dropped> {
    if request.uri().path().starts_with(CONTROL) {
        return router.call(request).await.map_err(|never| match never {});
    }
    let started = Instant::now();
    let entry = host.log.begin(&request);
    let path = request.uri().path_and_query().map_or("", |path| path.as_str()).to_owned();
    let effect = host.faults.take(request.method().as_str(), &path);
    let counted = entry.clone();
    let request = request.map(|body| counted.count_body(body));
    let answer = meet(effect, &path, request, &mut router).await?;
    entry.answered(answer.status().as_u16());
    host.log.worked(started);
    Ok(answer)
}

async fn meet(
    effect: Option<Effect>,
    path: &str,
    mut request: Request<Body>,
    router: &mut Router,
) -> Result<Response<Body>, Dropped> {
    match effect {
        None => {}
        Some(Effect::Lag(requests)) => drop(request.extensions_mut().insert(Lag(requests))),
        Some(Effect::Delay(milliseconds)) => tokio::time::sleep(Duration::from_millis(milliseconds)).await,
        Some(Effect::DropBefore) => return Err(Dropped),
        Some(effect @ (Effect::DropAfter | Effect::Hang)) => {
            let answer = router.call(request).await.map_err(|never| match never {})?;
            // To its end: a push is done when its answer is.
            answer.into_body().into_data_stream().for_each(|_| std::future::ready(())).await;
            if effect == Effect::Hang {
                std::future::pending::<()>().await;
            }
            return Err(Dropped);
        }
        Some(Effect::Status { status, body, headers }) => return scripted(status, body, &headers),
        Some(Effect::Redirect(origin)) => {
            let headers = [(LOCATION.to_string(), format!("{}{path}", origin.trim_end_matches('/')))];
            return scripted(307, String::new(), &headers.into());
        }
        Some(Effect::Garbage) => {
            return scripted(200, PAGE, &[(CONTENT_TYPE.to_string(), "text/html".to_owned())].into());
        }
        Some(Effect::Endless) => {
            let chunks = stream::repeat(Bytes::from_static(CHUNK)).map(Ok::<_, std::io::Error>);
            let headers = [(CONTENT_TYPE.to_string(), "application/json".to_owned())];
            return scripted(200, Body::from_stream(chunks), &headers.into());
        }
    }
    router.call(request).await.map_err(|never| match never {})
}

fn scripted(
    status: u16,
    body: impl Into<Body>,
    headers: &std::collections::BTreeMap<String, String>,
) -> Result<Response<Body>, Dropped> {
    let mut answer = Response::builder().status(status);
    for (name, value) in headers {
        answer = answer.header(name, value);
    }
    // A fault that is no HTTP is a mistake of the test, which should see it.
    Ok(answer.body(body.into()).unwrap_or_else(|error| {
        let mut answer = Response::new(Body::from(format!("a fault that cannot be sent: {error}")));
        *answer.status_mut() = StatusCode::NOT_IMPLEMENTED;
        answer
    }))
}
