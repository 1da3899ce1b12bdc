use std::cell::Cell;
use std::pin::Pin;

use super::*;

struct Process {
    local_work: Arc<FairSemaphore>,
    calls: Arc<FairSemaphore>,
    access: Arc<RwLock<()>>,
}

impl Process {
    fn new(workers: usize, calls: usize) -> Self {
        let [local_work, calls] = [workers, calls].map(|permits| Arc::new(FairSemaphore::new(permits)));
        Self { local_work, calls, access: Arc::default() }
    }

    /// A job as it is leased.
    async fn lease(&self) -> JobPermit {
        let permit = self.local_work.acquire_unassigned().await;
        JobPermit::new(self.local_work.clone(), self.access.clone(), permit)
    }

    async fn start(&self) -> JobPermit {
        let job = self.lease().await;
        job.begin_local_work().await;
        job
    }
}

/// Whether the future is ready. One that isn't goes on waiting.
async fn is_ready(future: &mut Pin<&mut impl Future<Output = ()>>) -> bool {
    poll!(future.as_mut()) == Poll::Ready(())
}

#[tokio::test]
async fn a_suspect_waits_for_calls_and_local_work_and_then_is_alone() {
    let process = Process::new(4, 4);
    let (working, calling, paused) = (process.start().await, process.start().await, process.start().await);
    calling.begin_call(&process.calls, || panic!("a permit is free")).await;
    paused.release();
    let suspect = process.lease().await;
    let mut alone = pin!(suspect.begin_alone());
    assert!(!is_ready(&mut alone).await);
    working.release();
    assert!(!is_ready(&mut alone).await, "a call can be the cause of a death, too");
    calling.release();
    assert!(is_ready(&mut alone).await);

    // Nobody works or calls beside it, also while it calls and between its calls.
    let (late, has_waited) = (process.lease().await, Cell::new(false));
    let [mut starts, mut resumes] = [&late, &paused].map(|job| Box::pin(job.begin_local_work()));
    let mut calls = pin!(async {
        calling.begin_call(&process.calls, || has_waited.set(true)).await;
    });
    suspect.begin_call(&process.calls, || panic!("it needs no permit")).await;
    assert!(!is_ready(&mut starts.as_mut()).await && !is_ready(&mut resumes.as_mut()).await);
    assert!(!is_ready(&mut calls).await);
    suspect.begin_local_work().await;
    suspect.end_alone();
    assert!(is_ready(&mut starts.as_mut()).await && is_ready(&mut resumes.as_mut()).await);
    assert!(is_ready(&mut calls).await);
    assert!(has_waited.get());
}

/// With one permit of each kind, a job that called and a new one are in each other's way, if anywhere.
#[tokio::test]
async fn nobody_waits_forever() {
    let process = Process::new(1, 1);
    let calling = process.start().await;
    calling.begin_call(&process.calls, || ()).await;
    let suspect = process.lease().await;
    let mut alone = pin!(suspect.begin_alone());
    assert!(!is_ready(&mut alone).await);
    let new = process.lease().await;
    let mut starts = pin!(new.begin_local_work());
    assert!(!is_ready(&mut starts).await);
    let mut returns = pin!(calling.begin_local_work());
    assert!(!is_ready(&mut returns).await);
    assert!(is_ready(&mut alone).await, "the call ended");
    suspect.begin_call(&process.calls, || ()).await;
    suspect.release();
    assert!(is_ready(&mut starts).await);
    new.release();
    assert!(is_ready(&mut returns).await);
}
