//! Runs work on whole bodies, such as decompression, on one thread.
//!
//! The C library keeps memory for each thread that decompressed something, up to twice the largest window.
//! One thread pays that once; each thread of a pool would pay it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, mpsc};
use std::thread;

use anyhow::anyhow;
use tokio::sync::{Mutex, oneshot};

type Task = Box<dyn FnOnce() + Send>;

/// The thread starts with the first task and ends when this is dropped.
#[derive(Clone, Default)]
pub(super) struct BodyThread(Arc<Mutex<Option<mpsc::Sender<Task>>>>);

impl BodyThread {
    /// Runs one task at a time. Other tasks wait outside the thread, so a task whose client disconnected
    /// never starts.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> anyhow::Result<T> {
        let mut turn = self.0.clone().lock_owned().await;
        let thread = match &*turn {
            Some(thread) => thread.clone(),
            None => turn.insert(start()?).clone(),
        };
        let (sender, result) = oneshot::channel();
        let task = move || {
            _ = sender.send(catch_unwind(AssertUnwindSafe(work)));
            drop(turn);
        };
        thread.send(Box::new(task)).map_err(|_| anyhow!("the thread for bodies has ended"))?;
        result.await?.map_err(|_| anyhow!("the work on a body panicked"))
    }
}

fn start() -> anyhow::Result<mpsc::Sender<Task>> {
    let (sender, tasks) = mpsc::channel::<Task>();
    let run = move || tasks.into_iter().for_each(|task| task());
    thread::Builder::new().name("bodies".to_owned()).spawn(run)?;
    Ok(sender)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn all_work_is_done_by_one_thread() {
        let thread = BodyThread::default();
        let id = || thread::current().id();
        let (first, second) = tokio::join!(thread.run(id), thread.run(id));
        assert_eq!(first.unwrap(), second.unwrap());
    }

    #[tokio::test]
    async fn a_panic_is_an_error_and_the_thread_continues() {
        let thread = BodyThread::default();
        let panicked: anyhow::Result<()> = thread.run(|| panic!("on purpose")).await;
        assert!(panicked.is_err());
        assert_eq!(thread.run(|| 7).await.unwrap(), 7);
    }
}
