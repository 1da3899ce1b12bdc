//! What the host was asked. Tests look here for what left the product.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::body::{Body, HttpBody};
use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, Request};
use futures_util::StreamExt;
use serde::Serialize;

/// The newest are kept, so that a long run does not fill the memory.
const KEPT: usize = 20_000;

/// One request, as it was seen.
#[derive(Clone, Debug, Serialize)]
pub struct Seen {
    pub method: String,
    /// With its query.
    pub path: String,
    /// `Authorization`, else `PRIVATE-TOKEN`, as sent.
    pub authorization: Option<String>,
    /// `None` while it is worked on, and for ever when the connection was dropped instead.
    pub status: Option<u16>,
    /// Of the request's body, as far as it was read.
    pub body_bytes: u64,
}

#[derive(Default)]
pub(crate) struct Log {
    count: AtomicU64,
    busy_microseconds: AtomicU64,
    entries: Mutex<VecDeque<Arc<Entry>>>,
}

pub(crate) struct Entry {
    method: String,
    path: String,
    authorization: Option<String>,
    status: AtomicU16,
    body_bytes: AtomicU64,
}

impl Log {
    pub(crate) fn begin<B>(&self, request: &Request<B>) -> Arc<Entry> {
        let entry = Arc::new(Entry {
            method: request.method().to_string(),
            path: request.uri().path_and_query().map_or("", |path| path.as_str()).to_owned(),
            authorization: authorization(request.headers()),
            status: AtomicU16::new(0),
            body_bytes: AtomicU64::new(0),
        });
        self.count.fetch_add(1, Relaxed);
        let mut entries = self.entries();
        if entries.len() == KEPT {
            entries.pop_front();
        }
        entries.push_back(entry.clone());
        entry
    }

    /// How many requests there were, ever.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Relaxed)
    }

    /// Notes that an answer, or the rest of one, took the time since then.
    pub(crate) fn worked(&self, since: Instant) {
        let took = u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.busy_microseconds.fetch_add(took, Relaxed);
    }

    /// How long all answers took, from request to end: what a client that asks one thing at a time waited.
    pub(crate) fn busy(&self) -> Duration {
        Duration::from_micros(self.busy_microseconds.load(Relaxed))
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.entries().iter().map(|entry| entry.seen()).collect()
    }

    fn entries(&self) -> MutexGuard<'_, VecDeque<Arc<Entry>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    pub(crate) fn answered(&self, status: u16) {
        self.status.store(status, Relaxed);
    }

    /// The same body, counted while it is read.
    pub(crate) fn count_body<B>(self: Arc<Self>, body: B) -> Body
    where
        B: HttpBody<Data = hyper::body::Bytes> + Send + 'static,
        B::Error: Into<axum::BoxError>,
    {
        Body::from_stream(Body::new(body).into_data_stream().inspect(move |chunk| {
            let length = chunk.as_ref().map_or(0, |chunk| chunk.len());
            self.body_bytes.fetch_add(length as u64, Relaxed);
        }))
    }

    fn seen(&self) -> Seen {
        Seen {
            method: self.method.clone(),
            path: self.path.clone(),
            authorization: self.authorization.clone(),
            status: Some(self.status.load(Relaxed)).filter(|status| *status != 0),
            body_bytes: self.body_bytes.load(Relaxed),
        }
    }
}

fn authorization(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(AUTHORIZATION).or_else(|| headers.get("private-token"))?;
    Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
}
