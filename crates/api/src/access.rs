//! Writes one log line per request and counts the request for `/metrics`.
//!
//! The line is written when the response was sent or the client disconnected. A handler that panics becomes
//! an internal error.

use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::RequestExt;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{MatchedPath, Request};
use axum::http::Method;
use axum::http::header::CONTENT_LENGTH;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use hyper::body::{Frame, SizeHint};
use store::ApiKey;
use tracing::Span;

use super::error::{ApiError, ERROR_CODE};
use app::App;
use app::address::ClientAddress;
use app::metrics::Metrics;

/// Routes that programs poll. Successful requests are logged at the level `debug`.
const POLLED_ROUTES: [&str; 4] = ["/healthz", "/readyz", "/metrics", "/assets/{name}"];
/// Routes that the browsers of readers call. They are logged like polled routes, and without the address,
/// because the documentation promises not to store it.
const READER_ROUTES: [&str; 2] = ["/v1/collect/{projectId}", "/js/docwright.js"];
/// The client disconnected before there was a response. HTTP has no status for it; this is the one of nginx.
const CLIENT_CLOSED_REQUEST: u16 = 499;

/// Runs the request, then logs and counts it.
pub(super) async fn log_request(
    app: &App,
    mut request: Request,
    next: impl AsyncFnOnce(Request) -> Response,
) -> Response {
    let client = request.extract_parts_with_state::<ClientAddress, App>(app).await;
    let Ok(ClientAddress(client)) = client;
    let mut entry = AccessLogEntry::begin(app, &request, client);
    let result = AssertUnwindSafe(next(request)).catch_unwind().await;
    let response =
        result.unwrap_or_else(|_| ApiError::Internal(anyhow::anyhow!("a handler panicked")).into_response());
    entry.record_response(&response);
    response.map(|body| Body::new(LoggedBody { body, entry }))
}

/// Adds the id of the API key, never the key itself, to the log lines of the request.
pub(super) fn record_key_id(key: &ApiKey) {
    Span::current().record("key.id", key.id.0.as_str());
}

/// The name of a method. Clients can invent methods, so all unknown ones share one name and one metric.
pub(super) fn method_name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        _ => "other",
    }
}

/// A request in progress. Its log line is written on drop, so every way for a request to end is covered.
struct AccessLogEntry {
    metrics: Arc<Metrics>,
    span: Span,
    began: Instant,
    method: &'static str,
    route: Option<MatchedPath>,
    client: Option<IpAddr>,
    status: u16,
    code: Option<String>,
    bytes: u64,
    /// The response's `Content-Length`.
    content_length: Option<u64>,
    /// The whole response was sent.
    is_complete: bool,
}

impl AccessLogEntry {
    fn begin(app: &App, request: &Request, client: Option<IpAddr>) -> Self {
        Self {
            metrics: app.metrics.clone(),
            span: Span::current(),
            began: Instant::now(),
            method: method_name(request.method()),
            route: request.extensions().get::<MatchedPath>().cloned(),
            client,
            status: CLIENT_CLOSED_REQUEST,
            code: None,
            bytes: 0,
            content_length: None,
            is_complete: false,
        }
    }

    fn record_response(&mut self, response: &Response) {
        self.status = response.status().as_u16();
        let code = response.headers().get(ERROR_CODE).and_then(|code| code.to_str().ok());
        self.code = code.map(str::to_owned);
        let length = response.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok());
        self.content_length = length.and_then(|length| length.parse().ok());
        // hyper never polls the body of a response to HEAD.
        self.is_complete = self.method == "HEAD";
        self.count(Some(self.began.elapsed()));
    }

    fn count(&self, duration: Option<Duration>) {
        self.metrics.requests.record(self.route(), self.method, self.status, duration);
    }

    /// The route's template. It bounds the number of metrics by the number of routes.
    fn route(&self) -> &str {
        self.route.as_ref().map_or("none", MatchedPath::as_str)
    }

    fn write(&self) {
        let Self { status, code, bytes, .. } = self;
        let (route, ms) = (self.route(), self.began.elapsed().as_micros() as f64 / 1000.0);
        let from_reader = READER_ROUTES.contains(&route);
        let client = self.client.filter(|_| !from_reader).map(tracing::field::display);
        let code = code.as_deref();
        // hyper stops polling at `Content-Length` bytes, so it never sees the end of such a body.
        let cut = (!self.is_complete && self.content_length != Some(*bytes)).then_some(true);
        macro_rules! line {
            ($level:ident) => {
                tracing::$level!(target: "access", route, status, code, ms, bytes, client, cut, "answered {status}")
            };
        }
        if *status < 400 && (from_reader || POLLED_ROUTES.contains(&route)) {
            line!(debug)
        } else {
            line!(info)
        }
    }
}

impl Drop for AccessLogEntry {
    fn drop(&mut self) {
        if self.status == CLIENT_CLOSED_REQUEST {
            self.count(None);
        }
        self.span.in_scope(|| self.write());
    }
}

/// The body of a response. Counts the bytes that are sent, and logs the request when it is dropped.
struct LoggedBody {
    body: Body,
    entry: AccessLogEntry,
}

impl HttpBody for LoggedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let span = self.entry.span.clone();
        let frame = span.in_scope(|| Pin::new(&mut self.body).poll_frame(cx));
        match &frame {
            Poll::Ready(Some(Ok(frame))) => {
                self.entry.bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
            }
            Poll::Ready(None) => self.entry.is_complete = true,
            _ => {}
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for LoggedBody {
    fn drop(&mut self) {
        self.entry.is_complete |= self.body.is_end_stream();
    }
}

#[cfg(test)]
mod tests;
