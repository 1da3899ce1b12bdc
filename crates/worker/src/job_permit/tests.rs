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

#[tokio::test]
async fn others_run_while_a_suspect_shares_its_call_and_then_it_is_alone_again() {
    let process = Process::new(1, 1);
    let suspect = process.lease().await;
    suspect.begin_alone().await;
    suspect.begin_call(&process.calls, || panic!("it needs no permit")).await;
    let other = process.lease().await;
    let mut starts = Box::pin(other.begin_local_work());
    assert!(!is_ready(&mut starts.as_mut()).await);
    suspect.share_call();
    assert!(suspect.shares() && is_ready(&mut starts.as_mut()).await);
    drop(starts);

    // The others end their work and their calls first. A job that begins meanwhile waits behind the suspect.
    other.begin_call(&process.calls, || panic!("a permit is free")).await;
    let late = process.lease().await;
    let mut alone = Box::pin(suspect.begin_local_work());
    assert!(!is_ready(&mut alone.as_mut()).await);
    let mut starts = Box::pin(late.begin_local_work());
    assert!(!is_ready(&mut starts.as_mut()).await);
    other.release();
    assert!(!is_ready(&mut starts.as_mut()).await && is_ready(&mut alone.as_mut()).await);
    assert!(suspect.is_alone());
    suspect.end_alone();
    assert!(is_ready(&mut starts.as_mut()).await);
    // Without exclusive access, nothing is shared.
    late.share_call();
    assert!(!late.shares());
}

/// A neighbor with a stalled model must not hold up everyone through a suspect that wants to be alone.
#[tokio::test(start_paused = true)]
async fn a_suspect_that_cannot_be_alone_shares() {
    let process = Process::new(4, 4);
    let stalled = process.start().await;
    stalled.begin_call(&process.calls, || panic!("a permit is free")).await;
    let (suspect, other) = (process.lease().await, process.lease().await);
    let soon = Duration::from_secs(20);
    let (begun, started) = tokio::join!(timeout(soon, suspect.begin_alone()), async {
        tokio::task::yield_now().await;
        timeout(soon, other.begin_local_work()).await
    });
    assert!(begun.is_ok() && suspect.shares());
    assert!(started.is_ok(), "the other job works beside the stalled one");
    assert_eq!(suspect.activity_at_work(), Activity::Sharing);
}
