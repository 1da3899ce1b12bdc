//! Who has a place, and who gives it up when there is none left: the connection that has waited
//! for its client longest. One that the server works for is never cut off, and one that has only
//! just begun to wait is not, either: a busy server may not have got round to hearing its client.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Duration, Instant, timeout};
use tokio_util::sync::CancellationToken;

/// How long a client may keep the server waiting whatever happens.
const GRACE: Duration = Duration::from_millis(500);
/// How long a newcomer waits for a place.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) struct Places {
    free: Arc<Semaphore>,
    line: Arc<Mutex<Line>>,
}

/// Connections that wait for their clients, by ticket: the lowest has waited longest.
#[derive(Default)]
struct Line {
    last: u64,
    waiting: BTreeMap<u64, (Instant, CancellationToken)>,
}

/// One connection's place, until it is dropped.
pub(super) struct Place {
    line: Arc<Mutex<Line>>,
    /// Its last ticket. Read and written under the line's lock.
    ticket: AtomicU64,
    cut: CancellationToken,
    _free: OwnedSemaphorePermit,
}

impl Places {
    pub(super) fn new(most: usize) -> Self {
        Self { free: Arc::new(Semaphore::new(most)), line: Arc::default() }
    }

    /// `None` when there is none to be had, since the server works for all that have one.
    pub(super) async fn enter(&self) -> Option<Place> {
        let free = timeout(PATIENCE, self.free()).await.ok()??;
        let (line, cut) = (self.line.clone(), CancellationToken::new());
        let place = Place { line, ticket: AtomicU64::new(0), cut, _free: free };
        place.wait();
        Some(place)
    }

    async fn free(&self) -> Option<OwnedSemaphorePermit> {
        loop {
            let pause = if self.free.available_permits() == 0 { self.cut_oldest() } else { GRACE };
            if let Ok(free) = timeout(pause, self.free.clone().acquire_owned()).await {
                return free.ok();
            }
        }
    }

    /// Cuts off the first in line, if it has had its time; says when to look again.
    fn cut_oldest(&self) -> Duration {
        let mut line = lock(&self.line);
        let Some(first) = line.waiting.first_entry() else { return GRACE };
        match GRACE.checked_sub(first.get().0.elapsed()) {
            Some(left) if !left.is_zero() => left,
            _ => {
                first.remove().1.cancel();
                GRACE
            }
        }
    }
}

impl Place {
    /// It is the client's turn: to send something, or to read.
    pub(super) fn wait(&self) {
        let mut line = lock(&self.line);
        line.last += 1;
        let ticket = line.last;
        let before = self.ticket.swap(ticket, Relaxed);
        line.waiting.remove(&before);
        line.waiting.insert(ticket, (Instant::now(), self.cut.clone()));
    }

    /// It is the server's turn.
    pub(super) fn work(&self) {
        lock(&self.line).waiting.remove(&self.ticket.load(Relaxed));
    }

    /// Ends when the place is needed for another connection.
    pub(super) fn cut(&self) -> CancellationToken {
        self.cut.clone()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.work();
    }
}

fn lock(line: &Mutex<Line>) -> MutexGuard<'_, Line> {
    line.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// Lets one more in, and ends the connection that is cut off for it, as its task does.
    async fn newcomer(places: &Places, held: &mut Vec<Option<Place>>) -> Option<usize> {
        let mut out = None;
        let end_the_cut = async {
            while out.is_none() {
                tokio::time::sleep(GRACE / 10).await;
                let is_cut = |place: &Option<Place>| place.as_ref().is_some_and(|p| p.cut.is_cancelled());
                out = held.iter().position(is_cut);
            }
            held[out.unwrap()] = None;
            std::future::pending().await
        };
        let entered = tokio::select! {
            entered = places.enter() => entered,
            () = end_the_cut => None,
        };
        held.push(Some(entered?));
        out
    }

    #[tokio::test(start_paused = true)]
    async fn who_waited_longest_gives_way() {
        let (places, mut held) = (Places::new(3), Vec::new());
        for _ in 0..3 {
            assert_eq!(newcomer(&places, &mut held).await, None);
        }
        held[0].as_ref().unwrap().wait(); // its request has come
        assert_eq!(newcomer(&places, &mut held).await, Some(1));
        held[2].as_ref().unwrap().work();
        assert_eq!(newcomer(&places, &mut held).await, Some(0));
        assert_eq!(newcomer(&places, &mut held).await, Some(3), "the one at work stays");
        held[2].as_ref().unwrap().wait();
        assert_eq!(newcomer(&places, &mut held).await, Some(4), "it is last in line again");
        assert_eq!(newcomer(&places, &mut held).await, Some(5));
        assert_eq!(newcomer(&places, &mut held).await, Some(2));
    }

    #[tokio::test(start_paused = true)]
    async fn everybody_has_a_moment() {
        let places = Places::new(1);
        let only = places.enter().await.unwrap();
        let (began, cut) = (Instant::now(), only.cut());
        let ending = async {
            cut.cancelled().await;
            drop(only);
        };
        let (entered, ()) = tokio::join!(places.enter(), ending);
        assert!(entered.is_some());
        assert_eq!(began.elapsed().as_millis(), GRACE.as_millis());
    }

    #[tokio::test(start_paused = true)]
    async fn when_all_are_at_work_nobody_enters() {
        let places = Places::new(1);
        let only = places.enter().await.unwrap();
        only.work();
        let began = Instant::now();
        assert!(places.enter().await.is_none());
        assert_eq!(began.elapsed(), PATIENCE);
        assert!(!only.cut().is_cancelled());
        drop(only);
        assert!(places.enter().await.is_some());
    }
}
