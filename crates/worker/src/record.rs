//! Writes the notes of an editor to the store, in order and in batches.
//!
//! A write waits for the disk, so notes in quick succession share one write. The delay is short enough that
//! people see steps as they happen.

use std::time::Duration;

use failpoints::with_failpoints;
use store::{Lease, NewEvent, Note, StoreError};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout_at};

use super::outcome::Stop;
use crate::shared::Shared;

/// How long the first note of a batch waits for others. People don't notice it.
const BATCH_DELAY: Duration = Duration::from_millis(40);

/// A note, and where to send the result if the editor waits for the write.
struct QueuedNote {
    note: Note,
    reply: Option<Reply>,
}

/// The result of the write: the tokens that the project used this month, or 0 if the batch has no [`Note::Entry`].
type Reply = oneshot::Sender<Result<u64, StoreError>>;

/// The editor's end. The channel is unbounded: a caller of [`NoteSender::send`] must limit the number of its
/// notes.
#[derive(Clone)]
pub(super) struct NoteSender(mpsc::UnboundedSender<QueuedNote>);

/// The store's end.
pub(super) struct NoteReceiver(mpsc::UnboundedReceiver<QueuedNote>);

pub(super) fn channel() -> (NoteSender, NoteReceiver) {
    let (sender, receiver) = mpsc::unbounded_channel();
    (NoteSender(sender), NoteReceiver(receiver))
}

impl NoteSender {
    pub(super) fn send_event(&self, event: NewEvent) {
        self.send(Note::Event(event));
    }

    /// Doesn't wait for the write.
    pub(super) fn send(&self, note: Note) {
        // Without a receiver the run was stopped, which the editor learns from its cancellation token.
        let _ = self.0.send(QueuedNote { note, reply: None });
    }

    /// Waits until this note and all earlier ones are written. `None` when the receiver is gone.
    pub(super) async fn send_and_wait(&self, note: Note) -> Option<Result<u64, StoreError>> {
        let (reply, result) = oneshot::channel();
        self.0.send(QueuedNote { note, reply: Some(reply) }).ok()?;
        result.await.ok()
    }
}

impl NoteReceiver {
    /// Writes notes until the sender is dropped.
    pub(super) async fn write_all(mut self, app: &Shared, lease: &Lease) -> Result<(), Stop> {
        while let Some(first) = self.0.recv().await {
            let (notes, reply) = self.collect_batch(first).await;
            let result = with_failpoints("steps", app.queue.note(lease, notes)).await;
            match reply {
                // The editor may have stopped waiting.
                Some(reply) => drop(reply.send(result)),
                None => drop(result?),
            }
        }
        Ok(())
    }

    /// A batch ends with the first note that the editor waits for.
    async fn collect_batch(&mut self, first: QueuedNote) -> (Vec<Note>, Option<Reply>) {
        let due = Instant::now() + BATCH_DELAY;
        let (mut notes, mut next) = (Vec::new(), Some(first));
        while let Some(QueuedNote { note, reply }) = next {
            notes.push(note);
            if reply.is_some() {
                return (notes, reply);
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

    async fn next_batch(receiver: &mut NoteReceiver) -> (Vec<Note>, bool) {
        let first = receiver.0.recv().await.unwrap();
        let (notes, reply) = receiver.collect_batch(first).await;
        (notes, reply.is_some())
    }

    #[tokio::test(start_paused = true)]
    async fn notes_in_quick_succession_share_one_write() {
        let (sender, mut receiver) = channel();
        sender.send(event("one"));
        sender.send(event("two"));
        let waiting = tokio::spawn(async move {
            let _ = sender.send_and_wait(event("three")).await;
            sender
        });
        assert_eq!(next_batch(&mut receiver).await, (vec![event("one"), event("two"), event("three")], true));
        let sender = waiting.await.unwrap();

        // A single note waits only for the batch delay.
        sender.send(event("four"));
        let began = Instant::now();
        assert_eq!(next_batch(&mut receiver).await, (vec![event("four")], false));
        assert_eq!(began.elapsed(), BATCH_DELAY);

        // Without a sender, no note waits.
        sender.send(event("five"));
        drop(sender);
        let began = Instant::now();
        assert_eq!(next_batch(&mut receiver).await, (vec![event("five")], false));
        assert_eq!(began.elapsed(), Duration::ZERO);
    }
}
