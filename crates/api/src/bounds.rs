//! Limits the time of a request, and the memory of its response.
//!
//! A client can read a large response slowly. Such responses share a memory budget, and the server refuses
//! those that don't fit into it.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::header::CONTENT_LENGTH;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use hyper::body::Body as _;
use tokio::time::timeout;

use super::error::ApiError;
use app::App;
use app::bodies::BytePermit;

/// 30 seconds to receive the body, which the code that reads it enforces, and 30 seconds to handle it.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
/// A response up to this size needs no memory from the budget. A larger one is sent in pieces of this size.
const PIECE_BYTES: usize = 16 * 1024;

/// Runs a request with a timeout, and reserves memory for a large response.
pub(super) async fn run_bounded(app: &App, handler: impl Future<Output = Response>) -> Response {
    let response = run_with_timeout(handler).await;
    match response.body().size_hint().exact().map(usize::try_from) {
        Some(Ok(length)) if length > PIECE_BYTES => match app.response_budget.try_acquire(length) {
            Some(memory) => {
                send_in_pieces(response, length, memory).await.unwrap_or_else(IntoResponse::into_response)
            }
            None => ApiError::Busy.into_response(),
        },
        _ => response,
    }
}

async fn run_with_timeout(handler: impl Future<Output = Response>) -> Response {
    timeout(REQUEST_TIMEOUT, handler).await.unwrap_or_else(|_| {
        tracing::warn!("a request was given up after {} seconds", REQUEST_TIMEOUT.as_secs());
        ApiError::Busy.into_response()
    })
}

/// Splits a response into pieces. Its memory is reserved until the last piece is sent.
async fn send_in_pieces(response: Response, length: usize, memory: BytePermit) -> Result<Response, ApiError> {
    let (mut parts, body) = response.into_parts();
    let bytes = to_bytes(body, length).await.map_err(anyhow::Error::from)?;
    parts.headers.insert(CONTENT_LENGTH, length.into());
    let pieces = stream::unfold((bytes, memory), |(mut rest, memory): (Bytes, BytePermit)| async move {
        let piece = rest.split_to(rest.len().min(PIECE_BYTES));
        (!piece.is_empty()).then_some((Ok::<_, Infallible>(piece), (rest, memory)))
    });
    Ok(Response::from_parts(parts, Body::from_stream(pieces)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_handler_that_hangs_is_a_503() {
        let response = run_with_timeout(std::future::pending()).await;
        assert_eq!(
            (response.status().as_u16(), &response.headers()["retry-after"]),
            (503, &"1".parse().unwrap())
        );
    }
}
