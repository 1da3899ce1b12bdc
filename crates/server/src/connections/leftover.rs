//! Drains the unread rest of a request body.
//!
//! A small rest is read before the response is sent, so that the connection can be used again. Otherwise the
//! connection closes after the response, which says so in its header.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::HeaderMap;
use axum::http::header::EXPECT;
use hyper::body::{Body, Incoming};
use tokio::time::timeout;

use super::tracked_body::Rest;

/// The maximum number of bytes to drain, and the maximum time.
const MAX_BYTES: u64 = 64 * 1024;
const TIMEOUT: Duration = Duration::from_secs(1);

/// The unread rest of a connection's current request.
#[derive(Clone, Default)]
pub(super) struct Leftover {
    body: Arc<Mutex<Option<Incoming>>>,
    is_unread: Arc<AtomicBool>,
}

impl Leftover {
    /// A shared flag: whether the client may still be sending.
    pub(super) fn flag(&self) -> Arc<AtomicBool> {
        self.is_unread.clone()
    }

    pub(super) fn put(&self, rest: Rest<Incoming>) {
        self.is_unread.store(!matches!(rest, Rest::Nothing), Relaxed);
        let body = if let Rest::Unread(body) = rest { Some(body) } else { None };
        *self.body.lock().unwrap_or_else(PoisonError::into_inner) = body;
    }

    /// Reads the rest if it's small. Returns whether nothing is left.
    pub(super) async fn drain(&self, expects_continue: bool) -> bool {
        let body = self.body.lock().unwrap_or_else(PoisonError::into_inner).take();
        if !self.is_unread.load(Relaxed) {
            return true;
        }
        let is_drained = match body {
            Some(body) if !expects_continue => timeout(TIMEOUT, read_to_end(body)).await.unwrap_or(false),
            _ => false,
        };
        self.is_unread.store(!is_drained, Relaxed);
        is_drained
    }
}

/// Whether the client sends its body only after `100 Continue`. Reading the body would send that.
pub(super) fn expects_continue(headers: &HeaderMap) -> bool {
    headers.contains_key(EXPECT)
}

/// Reads the body. Returns false if it has more than [`MAX_BYTES`].
async fn read_to_end(mut body: Incoming) -> bool {
    let mut remaining = MAX_BYTES;
    while body.size_hint().lower() <= remaining {
        match poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
            None => return true,
            Some(Err(_)) => return false,
            Some(Ok(frame)) => {
                let size = frame.data_ref().map_or(0, |bytes| bytes.len() as u64);
                let Some(rest) = remaining.checked_sub(size) else { return false };
                remaining = rest;
            }
        }
    }
    false
}
