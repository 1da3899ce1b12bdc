//! Work that many ask for at once. Whoever asks while a piece of it runs shares the next one, so that a crowd costs
//! a few pieces, and everybody is answered by one that began after the question.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::oneshot;

/// Who shares one piece: bounds how long the first waits for the last.
const MOST: usize = 256;

type Work<K, A, B> = dyn Fn(K, Vec<A>) -> BoxFuture<'static, Vec<B>> + Send + Sync;
type Asked<A, B> = (A, oneshot::Sender<B>);
type Line<K, A, B> = HashMap<K, Vec<Asked<A, B>>>;

/// What is asked of the same `K` is carried out together; what is asked of another does not wait for it.
pub struct Together<K, A, B> {
    work: Arc<Work<K, A, B>>,
    /// Who waits. A `K` is in it for as long as it is worked on.
    line: Arc<Mutex<Line<K, A, B>>>,
}

impl<K, A, B> Clone for Together<K, A, B> {
    fn clone(&self) -> Self {
        Self { work: self.work.clone(), line: self.line.clone() }
    }
}

impl<K, A, B> Together<K, A, B>
where
    K: Clone + Eq + Hash + Send + Sync + 'static,
    A: Send + 'static,
    B: Send + 'static,
{
    /// `work` gives an answer to each that asks, in their order.
    pub fn new(work: impl Fn(K, Vec<A>) -> BoxFuture<'static, Vec<B>> + Send + Sync + 'static) -> Self {
        Self { work: Arc::new(work), line: Arc::default() }
    }

    /// `None` when the work broke off: what came of it is not known.
    pub async fn ask(&self, of: K, what: A) -> Option<B> {
        let (tell, told) = oneshot::channel();
        self.stand_in_line(of, (what, tell));
        told.await.ok()
    }

    fn stand_in_line(&self, of: K, asked: Asked<A, B>) {
        match self.line().entry(of) {
            Entry::Occupied(mut others) => others.get_mut().push(asked),
            Entry::Vacant(place) => {
                tokio::spawn(self.clone().work_off(place.key().clone()));
                place.insert(vec![asked]);
            }
        }
    }

    async fn work_off(self, of: K) {
        while let Some(group) = self.next(&of) {
            let (asked, tell): (Vec<_>, Vec<_>) = group.into_iter().unzip();
            // A panic is for those who asked, and must not leave the next ones waiting.
            let work = AssertUnwindSafe(async { (self.work)(of.clone(), asked).await });
            let answers = work.catch_unwind().await.unwrap_or_default();
            for (tell, answer) in tell.into_iter().zip(answers) {
                // One that has left meanwhile does not need its answer.
                let _ = tell.send(answer);
            }
        }
    }

    fn next(&self, of: &K) -> Option<Vec<Asked<A, B>>> {
        let mut line = self.line();
        let waiting = line.get_mut(of).filter(|waiting| !waiting.is_empty());
        let Some(waiting) = waiting else {
            line.remove(of);
            return None;
        };
        let rest = waiting.split_off(waiting.len().min(MOST));
        Some(std::mem::replace(waiting, rest))
    }

    fn line(&self) -> MutexGuard<'_, Line<K, A, B>> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::join_all;
    use tokio::sync::Semaphore;

    use super::*;

    /// Answers how many asked together; each piece waits for a permit.
    fn crowd(gate: &Arc<Semaphore>) -> Together<&'static str, u32, usize> {
        let gate = gate.clone();
        Together::new(move |_, asked| {
            let gate = gate.clone();
            async move {
                gate.acquire().await.unwrap().forget();
                assert!(!asked.contains(&13), "a fault");
                vec![asked.len(); asked.len()]
            }
            .boxed()
        })
    }

    #[tokio::test]
    async fn a_crowd_shares_the_next_piece() {
        let gate = Arc::new(Semaphore::new(0));
        let crowd = crowd(&gate);
        let first = tokio::spawn({
            let crowd = crowd.clone();
            async move { crowd.ask("a", 0).await }
        });
        tokio::task::yield_now().await;
        tokio::task::yield_now().await;
        let others = join_all((0..300).map(|n| crowd.ask("a", n + 100)));
        let (others, ()) = tokio::join!(others, async { gate.add_permits(10) });
        assert_eq!(first.await.unwrap(), Some(1));
        assert_eq!(others[..256], [Some(256); 256]);
        assert_eq!(others[256..], [Some(44); 44]);
        assert!(crowd.line().is_empty());
    }

    #[tokio::test]
    async fn one_does_not_wait_for_another_and_a_panic_is_for_who_asked() {
        let gate = Arc::new(Semaphore::new(2));
        let crowd = crowd(&gate);
        assert_eq!(crowd.ask("a", 13).await, None);
        assert_eq!(crowd.ask("a", 1).await, Some(1));
        let stuck = tokio::spawn({
            let crowd = crowd.clone();
            async move { crowd.ask("a", 2).await }
        });
        tokio::task::yield_now().await;
        let (other, ()) = tokio::join!(crowd.ask("b", 3), async { gate.add_permits(2) });
        assert_eq!((other, stuck.await.unwrap()), (Some(1), Some(1)));
    }
}
