//! One thread for work on whole bodies, such as to decode one. The C library keeps memory for each
//! thread that decoded something, up to twice the largest window: on one thread that is paid once,
//! on the threads of a pool it was paid by each of them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, mpsc};
use std::thread;

use anyhow::anyhow;
use tokio::sync::{Mutex, oneshot};

type Task = Box<dyn FnOnce() + Send>;

/// Started when it is first needed; ends when this is dropped.
#[derive(Clone, Default)]
pub(super) struct OneThread(Arc<Mutex<Option<mpsc::Sender<Task>>>>);

impl OneThread {
    /// One task at a time: the others wait outside the thread, and one whose client went away is never begun.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        act: impl FnOnce() -> T + Send + 'static,
    ) -> anyhow::Result<T> {
        let mut turn = self.0.clone().lock_owned().await;
        let thread = match &*turn {
            Some(thread) => thread.clone(),
            None => turn.insert(start()?).clone(),
        };
        let (answer, answered) = oneshot::channel();
        let task = move || {
            _ = answer.send(catch_unwind(AssertUnwindSafe(act)));
            drop(turn);
        };
        thread.send(Box::new(task)).map_err(|_| anyhow!("the thread for bodies has ended"))?;
        answered.await?.map_err(|_| anyhow!("the work on a body panicked"))
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
        let bodies = OneThread::default();
        let id = || thread::current().id();
        let (one, other) = tokio::join!(bodies.run(id), bodies.run(id));
        assert_eq!(one.unwrap(), other.unwrap());
    }

    #[tokio::test]
    async fn a_panic_is_an_error_and_the_thread_goes_on() {
        let bodies = OneThread::default();
        let panicked: anyhow::Result<()> = bodies.run(|| panic!("on purpose")).await;
        assert!(panicked.is_err());
        assert_eq!(bodies.run(|| 7).await.unwrap(), 7);
    }
}
