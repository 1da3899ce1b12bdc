//! Coalesces concurrent requests: requests for the same key that arrive while a batch runs share the next
//! batch.
//!
//! Many concurrent callers cost few batches. A batch starts only after its requests arrived, so no caller
//! gets a result that is older than its request.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::oneshot;

/// Bounds how long the first request of a batch waits for the last.
const MAX_BATCH_SIZE: usize = 256;

type RunBatch<K, A, B> = dyn Fn(K, Vec<A>) -> BoxFuture<'static, Vec<B>> + Send + Sync;
type Request<A, B> = (A, oneshot::Sender<B>);
type Queues<K, A, B> = HashMap<K, Vec<Request<A, B>>>;

/// Requests with the same `K` share batches; requests with different keys do not wait for each other.
pub struct Coalescer<K, A, B> {
    run_batch: Arc<RunBatch<K, A, B>>,
    /// The requests that wait, by key. A key has an entry for as long as a task runs its batches.
    queues: Arc<Mutex<Queues<K, A, B>>>,
}

impl<K, A, B> Clone for Coalescer<K, A, B> {
    fn clone(&self) -> Self {
        Self { run_batch: self.run_batch.clone(), queues: self.queues.clone() }
    }
}

impl<K, A, B> Coalescer<K, A, B>
where
    K: Clone + Eq + Hash + Send + Sync + 'static,
    A: Send + 'static,
    B: Send + 'static,
{
    /// `run_batch` returns one response per request, in the same order.
    pub fn new(run_batch: impl Fn(K, Vec<A>) -> BoxFuture<'static, Vec<B>> + Send + Sync + 'static) -> Self {
        Self { run_batch: Arc::new(run_batch), queues: Arc::default() }
    }

    /// `None` when the batch panicked: it is not known how far it got.
    pub async fn submit(&self, key: K, request: A) -> Option<B> {
        let (sender, response) = oneshot::channel();
        self.enqueue(key, (request, sender));
        response.await.ok()
    }

    fn enqueue(&self, key: K, request: Request<A, B>) {
        match self.queues().entry(key) {
            Entry::Occupied(mut queue) => queue.get_mut().push(request),
            Entry::Vacant(entry) => {
                tokio::spawn(self.clone().run_batches(entry.key().clone()));
                entry.insert(vec![request]);
            }
        }
    }

    async fn run_batches(self, key: K) {
        while let Some(batch) = self.take_batch(&key) {
            let (requests, senders): (Vec<_>, Vec<_>) = batch.into_iter().unzip();
            // A panic fails this batch only: the queue behind it must still be served.
            let run = AssertUnwindSafe(async { (self.run_batch)(key.clone(), requests).await });
            let responses = run.catch_unwind().await.unwrap_or_default();
            for (sender, response) in senders.into_iter().zip(responses) {
                // Sending fails when the caller was dropped. It no longer needs the response.
                let _ = sender.send(response);
            }
        }
    }

    fn take_batch(&self, key: &K) -> Option<Vec<Request<A, B>>> {
        let mut queues = self.queues();
        let queue = queues.get_mut(key).filter(|queue| !queue.is_empty());
        let Some(queue) = queue else {
            queues.remove(key);
            return None;
        };
        let rest = queue.split_off(queue.len().min(MAX_BATCH_SIZE));
        Some(std::mem::replace(queue, rest))
    }

    fn queues(&self) -> MutexGuard<'_, Queues<K, A, B>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::join_all;
    use tokio::sync::Semaphore;

    use super::*;

    /// Each response is the size of its batch; each batch waits for a permit.
    fn batch_sizes(gate: &Arc<Semaphore>) -> Coalescer<&'static str, u32, usize> {
        let gate = gate.clone();
        Coalescer::new(move |_, requests| {
            let gate = gate.clone();
            async move {
                gate.acquire().await.unwrap().forget();
                assert!(!requests.contains(&13), "a fault");
                vec![requests.len(); requests.len()]
            }
            .boxed()
        })
    }

    #[tokio::test]
    async fn requests_that_arrive_during_a_batch_share_the_next_one() {
        let gate = Arc::new(Semaphore::new(0));
        let coalescer = batch_sizes(&gate);
        let first = tokio::spawn({
            let coalescer = coalescer.clone();
            async move { coalescer.submit("a", 0).await }
        });
        tokio::task::yield_now().await;
        tokio::task::yield_now().await;
        let others = join_all((0..300).map(|n| coalescer.submit("a", n + 100)));
        let (others, ()) = tokio::join!(others, async { gate.add_permits(10) });
        assert_eq!(first.await.unwrap(), Some(1));
        assert_eq!(others[..256], [Some(256); 256]);
        assert_eq!(others[256..], [Some(44); 44]);
        assert!(coalescer.queues().is_empty());
    }

    #[tokio::test]
    async fn keys_do_not_wait_for_each_other_and_a_panic_fails_its_own_batch_only() {
        let gate = Arc::new(Semaphore::new(2));
        let coalescer = batch_sizes(&gate);
        assert_eq!(coalescer.submit("a", 13).await, None);
        assert_eq!(coalescer.submit("a", 1).await, Some(1));
        let stuck = tokio::spawn({
            let coalescer = coalescer.clone();
            async move { coalescer.submit("a", 2).await }
        });
        tokio::task::yield_now().await;
        let (other, ()) = tokio::join!(coalescer.submit("b", 3), async { gate.add_permits(2) });
        assert_eq!((other, stuck.await.unwrap()), (Some(1), Some(1)));
    }
}
