//! Writes down what an editor tells, in its order. A write waits for the disk, so what comes quickly shares one; what
//! comes slowly is there for people to see as it happens.

use std::time::Duration;

use failpoints::with_failpoints;
use store::{Lease, NewEvent, Note, StoreError};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout_at};

use super::outcome::Stop;
use crate::shared::Shared;

/// How long the first of some notes waits for others: less than anybody sees.
const SOON: Duration = Duration::from_millis(40);

/// A note, and who does not go on before it is kept.
struct Told {
    note: Note,
    waits: Option<Waits>,
}

type Waits = oneshot::Sender<Result<u64, StoreError>>;

/// The editor's end. It has no bound of its own: whoever tells without waiting bounds what it tells.
pub(super) struct Tell(mpsc::UnboundedSender<Told>);

/// The store's end.
pub(super) struct Notes(mpsc::UnboundedReceiver<Told>);

pub(super) fn channel() -> (Tell, Notes) {
    let (tell, notes) = mpsc::unbounded_channel();
    (Tell(tell), Notes(notes))
}

impl Tell {
    pub(super) fn event(&self, event: NewEvent) {
        self.soon(Note::Event(event));
    }

    /// Kept soon, with whatever comes next.
    pub(super) fn soon(&self, note: Note) {
        // A receiver that is gone has stopped the run, which the editor hears in other ways, too.
        let _ = self.0.send(Told { note, waits: None });
    }

    /// Kept now, with all that was told before it. `None` when nobody keeps anything any more.
    pub(super) async fn now(&self, note: Note) -> Option<Result<u64, StoreError>> {
        let (waits, kept) = oneshot::channel();
        self.0.send(Told { note, waits: Some(waits) }).ok()?;
        kept.await.ok()
    }
}

impl Notes {
    /// Keeps what comes until the editor has gone.
    pub(super) async fn keep(mut self, app: &Shared, lease: &Lease) -> Result<(), Stop> {
        while let Some(first) = self.0.recv().await {
            let (notes, waits) = self.with_what_comes_soon(first).await;
            let kept = with_failpoints("steps", app.queue.note(lease, notes)).await;
            match waits {
                // Whoever has gone meanwhile has no use for it.
                Some(waits) => drop(waits.send(kept)),
                None => drop(kept?),
            }
        }
        Ok(())
    }

    /// Up to the first that somebody waits for.
    async fn with_what_comes_soon(&mut self, first: Told) -> (Vec<Note>, Option<Waits>) {
        let due = Instant::now() + SOON;
        let (mut notes, mut next) = (Vec::new(), Some(first));
        while let Some(Told { note, waits }) = next {
            notes.push(note);
            if waits.is_some() {
                return (notes, waits);
            }
            next = timeout_at(due, self.0.recv()).await.ok().flatten();
        }
        (notes, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(message: &str) -> Note {
        Note::Event(NewEvent::new("step", message))
    }

    async fn next(notes: &mut Notes) -> (Vec<Note>, bool) {
        let first = notes.0.recv().await.unwrap();
        let (notes, waits) = notes.with_what_comes_soon(first).await;
        (notes, waits.is_some())
    }

    #[tokio::test(start_paused = true)]
    async fn what_comes_quickly_is_kept_together() {
        let (tell, mut notes) = channel();
        tell.soon(event("one"));
        tell.soon(event("two"));
        let waiting = tokio::spawn(async move {
            let _ = tell.now(event("three")).await;
            tell
        });
        assert_eq!(next(&mut notes).await, (vec![event("one"), event("two"), event("three")], true));
        let tell = waiting.await.unwrap();

        // What comes slowly does not wait for what comes later.
        tell.soon(event("four"));
        let began = Instant::now();
        assert_eq!(next(&mut notes).await, (vec![event("four")], false));
        assert_eq!(began.elapsed(), SOON);

        // And nothing waits once the editor has gone.
        tell.soon(event("five"));
        drop(tell);
        let began = Instant::now();
        assert_eq!(next(&mut notes).await, (vec![event("five")], false));
        assert_eq!(began.elapsed(), Duration::ZERO);
    }
}
