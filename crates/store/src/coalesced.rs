//! Coalesces reads: concurrent requests for the same row share one query. Nothing is cached: a read begins after it was
//! requested, so a revoked key is refused on its next request.

use std::hash::Hash;
use std::sync::Arc;

use base::Coalescer;
use futures_util::FutureExt;

use crate::{Result, StoreError};

/// A result that several callers share.
pub(crate) type SharedResult<V> = Result<V, Arc<StoreError>>;

#[derive(Clone)]
pub(crate) struct CoalescedRead<K, V>(Coalescer<K, (), SharedResult<V>>);

impl<K, V> CoalescedRead<K, V>
where
    K: Clone + Eq + Hash + Send + Sync + 'static,
    V: Clone + Send + 'static,
{
    pub(crate) fn new<F>(read: impl Fn(K) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<V>> + Send + 'static,
    {
        Self(Coalescer::new(move |key, callers| {
            let read = read(key);
            async move { vec![read.await.map_err(Arc::new); callers.len()] }.boxed()
        }))
    }

    pub(crate) async fn read(&self, key: K) -> Result<V> {
        unshare(self.0.submit(key, ()).await)
    }
}

/// The results of several callers. An error is the same for all of them.
pub(crate) fn share_all<V: Clone>(results: Result<Vec<V>>, callers: usize) -> Vec<SharedResult<V>> {
    match results {
        Ok(results) => results.into_iter().map(Ok).collect(),
        Err(error) => vec![Err(Arc::new(error)); callers],
    }
}

/// One caller's copy of a shared result.
pub(crate) fn unshare<V>(result: Option<SharedResult<V>>) -> Result<V> {
    let aborted = || StoreError::Database("the work broke off; the server's log has the cause".to_owned());
    result.unwrap_or_else(|| Err(Arc::new(aborted()))).map_err(|error| copy(&error))
}

/// Keeps the variants that callers act on.
fn copy(error: &StoreError) -> StoreError {
    match error {
        StoreError::Machine(trouble) => StoreError::Machine(trouble.clone()),
        StoreError::Database(message) => StoreError::Database(message.clone()),
        other => StoreError::Database(other.to_string()),
    }
}
