//! One log line a request, written when its answer has been sent or its client has left, and the
//! counts that `/metrics` shows. A handler that panics is an internal error like any other.

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

/// Asked for all the time and by machines: told at the level `debug` as long as all is well.
const QUIET: [&str; 4] = ["/healthz", "/readyz", "/metrics", "/assets/{name}"];
/// What browsers of the docs' readers ask for: as quiet, and without their addresses, which we
/// promise not to keep.
const READERS: [&str; 2] = ["/v1/collect/{projectId}", "/js/docwright.js"];
/// The client left before there was an answer: nginx's number for it, since HTTP has none.
const LEFT: u16 = 499;

pub(super) async fn around(
    app: &App,
    mut request: Request,
    next: impl AsyncFnOnce(Request) -> Response,
) -> Response {
    let client = request.extract_parts_with_state::<ClientAddress, App>(app).await;
    let Ok(ClientAddress(client)) = client;
    let mut access = Access::begin(app, &request, client);
    let answer = AssertUnwindSafe(next(request)).catch_unwind().await;
    let response =
        answer.unwrap_or_else(|_| ApiError::Internal(anyhow::anyhow!("a handler panicked")).into_response());
    access.answered(&response);
    response.map(|body| Body::new(Sent { body, access }))
}

/// Says whose request this is: by the key's id, never by the key.
pub(super) fn note_key(key: &ApiKey) {
    Span::current().record("key.id", key.id.0.as_str());
}

/// Anybody can make up a method; there must not be a count for each.
pub(super) fn method(method: &Method) -> &'static str {
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

/// A request under way. Its line is written when it is dropped, however that comes about.
struct Access {
    metrics: Arc<Metrics>,
    span: Span,
    began: Instant,
    method: &'static str,
    route: Option<MatchedPath>,
    client: Option<IpAddr>,
    status: u16,
    code: Option<String>,
    bytes: u64,
    /// Of the answer, where it is told.
    length: Option<u64>,
    /// All of the answer was taken off us.
    whole: bool,
}

impl Access {
    fn begin(app: &App, request: &Request, client: Option<IpAddr>) -> Self {
        Self {
            metrics: app.metrics.clone(),
            span: Span::current(),
            began: Instant::now(),
            method: method(request.method()),
            route: request.extensions().get::<MatchedPath>().cloned(),
            client,
            status: LEFT,
            code: None,
            bytes: 0,
            length: None,
            whole: false,
        }
    }

    fn answered(&mut self, response: &Response) {
        self.status = response.status().as_u16();
        let code = response.headers().get(ERROR_CODE).and_then(|code| code.to_str().ok());
        self.code = code.map(str::to_owned);
        let length = response.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok());
        self.length = length.and_then(|length| length.parse().ok());
        // Nobody takes the body of an answer to a HEAD.
        self.whole = self.method == "HEAD";
        self.count(Some(self.began.elapsed()));
    }

    fn count(&self, took: Option<Duration>) {
        self.metrics.requests.answered(self.route(), self.method, self.status, took);
    }

    /// The template, so that there are as many as we have routes.
    fn route(&self) -> &str {
        self.route.as_ref().map_or("none", MatchedPath::as_str)
    }

    fn write(&self) {
        let Self { status, code, bytes, .. } = self;
        let (route, ms) = (self.route(), self.began.elapsed().as_micros() as f64 / 1000.0);
        let from_reader = READERS.contains(&route);
        let client = self.client.filter(|_| !from_reader).map(tracing::field::display);
        let code = code.as_deref();
        // Of an answer whose length was told, nobody asks for more than that.
        let cut = (!self.whole && self.length != Some(*bytes)).then_some(true);
        macro_rules! line {
            ($level:ident) => {
                tracing::$level!(target: "access", route, status, code, ms, bytes, client, cut, "answered {status}")
            };
        }
        if *status < 400 && (from_reader || QUIET.contains(&route)) { line!(debug) } else { line!(info) }
    }
}

impl Drop for Access {
    fn drop(&mut self) {
        if self.status == LEFT {
            self.count(None);
        }
        self.span.in_scope(|| self.write());
    }
}

/// An answer's body that is counted as it goes out.
struct Sent {
    body: Body,
    access: Access,
}

impl HttpBody for Sent {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let span = self.access.span.clone();
        let frame = span.in_scope(|| Pin::new(&mut self.body).poll_frame(cx));
        match &frame {
            Poll::Ready(Some(Ok(frame))) => {
                self.access.bytes += frame.data_ref().map_or(0, |data| data.len() as u64);
            }
            Poll::Ready(None) => self.access.whole = true,
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

impl Drop for Sent {
    fn drop(&mut self) {
        self.access.whole |= self.body.is_end_stream();
    }
}

#[cfg(test)]
mod tests;
