//! What every request asks for, read once for all who ask at the same time. Nothing is remembered: a read begins
//! after it was asked for, so a key that was revoked is refused on its next request.

use std::hash::Hash;
use std::sync::Arc;

use base::Coalescer;
use futures_util::FutureExt;

use crate::{Result, StoreError};

/// An answer that can be given to many.
pub(crate) type Told<V> = Result<V, Arc<StoreError>>;

#[derive(Clone)]
pub(crate) struct Shared<K, V>(Coalescer<K, (), Told<V>>);

impl<K, V> Shared<K, V>
where
    K: Clone + Eq + Hash + Send + Sync + 'static,
    V: Clone + Send + 'static,
{
    pub(crate) fn new<F>(read: impl Fn(K) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<V>> + Send + 'static,
    {
        Self(Coalescer::new(move |of, asked| {
            let read = read(of);
            async move { vec![read.await.map_err(Arc::new); asked.len()] }.boxed()
        }))
    }

    pub(crate) async fn read(&self, of: K) -> Result<V> {
        told(self.0.submit(of, ()).await)
    }
}

/// What was shared, as one of those who asked for it sees it.
pub(crate) fn told<V>(answer: Option<Told<V>>) -> Result<V> {
    let broken = || StoreError::Database("the work broke off; the server's log has the cause".to_owned());
    answer.unwrap_or_else(|| Err(Arc::new(broken()))).map_err(|error| copied(&error))
}

/// As far as anybody acts on it.
fn copied(error: &StoreError) -> StoreError {
    match error {
        StoreError::Machine(trouble) => StoreError::Machine(trouble.clone()),
        StoreError::Database(words) => StoreError::Database(words.clone()),
        other => StoreError::Database(other.to_string()),
    }
}
