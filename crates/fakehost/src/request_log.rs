//! Logs the requests to the host. Tests read here what Docwright sent.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::body::{Body, HttpBody};
use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, Request};
use futures_util::StreamExt;
use serde::Serialize;

/// Older entries are dropped, to bound the memory of long runs.
const MAX_ENTRIES: usize = 20_000;

/// A logged request.
#[derive(Clone, Debug, Serialize)]
pub struct LoggedRequest {
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// `Authorization`, else `PRIVATE-TOKEN`, as sent.
    pub authorization: Option<String>,
    /// `None` until the response is ready, and forever if a fault dropped the connection.
    pub status: Option<u16>,
    /// How much of the request's body was read.
    pub body_bytes: u64,
}

#[derive(Default)]
pub(crate) struct Log {
    count: AtomicU64,
    busy_microseconds: AtomicU64,
    sent_bytes: AtomicU64,
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
        if entries.len() == MAX_ENTRIES {
            entries.pop_front();
        }
        entries.push_back(entry.clone());
        entry
    }

    /// The number of all requests.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Relaxed)
    }

    /// Adds the time since `since` to the total response time.
    pub(crate) fn add_busy_time(&self, since: Instant) {
        let elapsed = u64::try_from(since.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.busy_microseconds.fetch_add(elapsed, Relaxed);
    }

    /// The total response time: how long a client without concurrency waited.
    pub(crate) fn busy_time(&self) -> Duration {
        Duration::from_micros(self.busy_microseconds.load(Relaxed))
    }

    pub(crate) fn add_sent_bytes(&self, bytes: usize) {
        self.sent_bytes.fetch_add(bytes as u64, Relaxed);
    }

    /// The size of all response bodies.
    pub(crate) fn sent_bytes(&self) -> u64 {
        self.sent_bytes.load(Relaxed)
    }

    pub(crate) fn requests(&self) -> Vec<LoggedRequest> {
        self.entries().iter().map(|entry| entry.to_request()).collect()
    }

    fn entries(&self) -> MutexGuard<'_, VecDeque<Arc<Entry>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    pub(crate) fn set_status(&self, status: u16) {
        self.status.store(status, Relaxed);
    }

    /// Wraps a body and counts its bytes while it is read.
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

    fn to_request(&self) -> LoggedRequest {
        LoggedRequest {
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
