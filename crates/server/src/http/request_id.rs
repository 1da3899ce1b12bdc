//! Every answer carries `X-Request-Id`, and every log line of the request does, too.

use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::Response;
use tracing::Instrument;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

pub(crate) async fn layer(request: Request, next: Next) -> Response {
    let id = uuid::Uuid::now_v7().simple().to_string();
    let span = tracing::info_span!("request", id, method = %request.method(), path = request.uri().path());
    let mut response = next.run(request).instrument(span).await;
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    response
}
