//! What holds for every request: it is answered in time, and a large answer takes room in memory
//! only as long as there is some, for its client may be slow to read it.

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
use app::bodies::Taken;

/// 30 seconds for the body to come, which reading it sees to, and as much again to act on it.
const PATIENCE: Duration = Duration::from_secs(60);
/// An answer up to this size is sent, whatever others there are; a larger one in pieces of it.
const PIECE: usize = 16 * 1024;

pub(super) async fn around(app: &App, answering: impl Future<Output = Response>) -> Response {
    let response = in_time(answering).await;
    match response.body().size_hint().exact().map(usize::try_from) {
        Some(Ok(length)) if length > PIECE => match app.answers.take(length) {
            Some(room) => held(response, length, room).await.unwrap_or_else(IntoResponse::into_response),
            None => ApiError::Busy.into_response(),
        },
        _ => response,
    }
}

async fn in_time(answering: impl Future<Output = Response>) -> Response {
    timeout(PATIENCE, answering).await.unwrap_or_else(|_| {
        tracing::warn!("a request was given up after {} seconds", PATIENCE.as_secs());
        ApiError::Busy.into_response()
    })
}

/// The answer in pieces, with its room until the last of them is taken.
async fn held(response: Response, length: usize, room: Taken) -> Result<Response, ApiError> {
    let (mut parts, body) = response.into_parts();
    let bytes = to_bytes(body, length).await.map_err(anyhow::Error::from)?;
    parts.headers.insert(CONTENT_LENGTH, length.into());
    let pieces = stream::unfold((bytes, room), |(mut rest, room): (Bytes, Taken)| async move {
        let piece = rest.split_to(rest.len().min(PIECE));
        (!piece.is_empty()).then_some((Ok::<_, Infallible>(piece), (rest, room)))
    });
    Ok(Response::from_parts(parts, Body::from_stream(pieces)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_handler_that_hangs_is_given_up() {
        let response = in_time(std::future::pending()).await;
        assert_eq!(
            (response.status().as_u16(), &response.headers()["retry-after"]),
            (503, &"1".parse().unwrap())
        );
    }
}
