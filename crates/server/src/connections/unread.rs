//! What a client sent and nobody read. A little of it is read before the answer goes out, so that the connection is good
//! for the next request. Otherwise it ends with the answer, which says so: the client must not send more on it.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::HeaderMap;
use axum::http::header::EXPECT;
use hyper::body::{Body, Incoming};
use tokio::time::timeout;

use super::until::Rest;

/// What is read for nobody, and how long it may take to come.
const LITTLE: u64 = 64 * 1024;
const PATIENCE: Duration = Duration::from_secs(1);

/// A connection's, of one request after the other.
#[derive(Clone, Default)]
pub(super) struct Leftover {
    body: Arc<Mutex<Option<Incoming>>>,
    there: Arc<AtomicBool>,
}

impl Leftover {
    /// Whether the client may still be sending; as a flag that lives on.
    pub(super) fn there(&self) -> Arc<AtomicBool> {
        self.there.clone()
    }

    pub(super) fn put(&self, rest: Rest<Incoming>) {
        self.there.store(!matches!(rest, Rest::Nothing), Relaxed);
        let body = if let Rest::Unread(body) = rest { Some(body) } else { None };
        *self.body.lock().unwrap_or_else(PoisonError::into_inner) = body;
    }

    /// Reads it, if that is soon done. Answers whether nothing is left.
    pub(super) async fn clear(&self, waits_to_send: bool) -> bool {
        let left = self.body.lock().unwrap_or_else(PoisonError::into_inner).take();
        if !self.there.load(Relaxed) {
            return true;
        }
        let read = match left {
            Some(body) if !waits_to_send => timeout(PATIENCE, is_little(body)).await.unwrap_or(false),
            _ => false,
        };
        self.there.store(!read, Relaxed);
        read
    }
}

/// Whether the client sends its body only when it is told to: to read it would tell it.
pub(super) fn waits_to_send(headers: &HeaderMap) -> bool {
    headers.contains_key(EXPECT)
}

/// Reads to the end, unless that is far.
async fn is_little(mut body: Incoming) -> bool {
    let mut room = LITTLE;
    while body.size_hint().lower() <= room {
        match poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
            None => return true,
            Some(Err(_)) => return false,
            Some(Ok(frame)) => {
                let size = frame.data_ref().map_or(0, |bytes| bytes.len() as u64);
                let Some(rest) = room.checked_sub(size) else { return false };
                room = rest;
            }
        }
    }
    false
}
