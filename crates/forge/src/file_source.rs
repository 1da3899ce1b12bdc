//! Fetches files of a commit from its host when they are read, in batches.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex as SyncMutex, OnceLock, PoisonError};
use std::time::Duration;

use gix::ObjectId;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::Mutex;

use crate::fetch_state::{FetchMode, FetchState};
use crate::smart_http::{self, Batch};
use crate::snapshot::{mark_damage, open_repository};
use crate::{Error, HttpRemote, Oid, Result, blobs, cache};

/// The files of a batch. Their ids take 400 kB of the request, and smaller batches show progress.
const MAX_BATCH_FILES: usize = 8_192;
/// How often a blocked reader looks whether it is canceled.
const CANCEL_INTERVAL: Duration = Duration::from_millis(100);

/// Observes the fetches of a reader.
pub trait FetchObserver: Send + Sync {
    /// Called after each batch, if there are several files. `fetched` counts the files so far.
    fn fetched(&self, fetched: usize, of: usize);
    /// Whether the reader no longer needs the files.
    fn is_cancelled(&self) -> bool;
}

/// Fetches files into a cache. Clones share what they learned.
#[derive(Clone)]
pub(crate) struct FileSource(Arc<Source>);

struct Source {
    dir: PathBuf,
    commit: Oid,
    remote: HttpRemote,
    /// That of the cache: only one fetch runs at a time.
    fetch_mutex: Arc<Mutex<()>>,
    /// Files that are too large to be fetched.
    too_large: SyncMutex<HashSet<ObjectId>>,
    observer: OnceLock<Arc<dyn FetchObserver>>,
}

impl FileSource {
    pub(crate) fn new(dir: &Path, commit: &Oid, remote: HttpRemote, fetch_mutex: Arc<Mutex<()>>) -> Self {
        let (dir, commit) = (dir.to_owned(), commit.clone());
        let (too_large, observer) = (SyncMutex::default(), OnceLock::new());
        Self(Arc::new(Source { dir, commit, remote, fetch_mutex, too_large, observer }))
    }

    pub(crate) fn observe(&self, observer: Arc<dyn FetchObserver>) {
        let _ = self.0.observer.set(observer);
    }

    /// Fetches the files and blocks this thread meanwhile.
    pub(crate) fn fetch_blocking(&self, ids: Vec<ObjectId>) -> Result<()> {
        let runtime = Handle::try_current().map_err(std::io::Error::other)?;
        if runtime.runtime_flavor() == RuntimeFlavor::CurrentThread {
            // The fetch would wait for this thread.
            return Err(Error::Io(std::io::Error::other("files cannot be fetched on demand here")));
        }
        let (sender, receiver) = sync_channel(1);
        let source = self.clone();
        let task = runtime.spawn(async move {
            let _ = sender.send(source.fetch(ids).await);
        });
        let fetched = tokio::task::block_in_place(|| self.wait(&receiver));
        task.abort();
        fetched
    }

    fn wait(&self, receiver: &Receiver<Result<()>>) -> Result<()> {
        loop {
            match receiver.recv_timeout(CANCEL_INTERVAL) {
                Ok(fetched) => return fetched,
                Err(RecvTimeoutError::Timeout) if !self.is_cancelled() => {}
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    return Err(temporary("the fetch of files was canceled".to_owned()));
                }
            }
        }
    }

    fn is_cancelled(&self) -> bool {
        self.0.observer.get().is_some_and(|observer| observer.is_cancelled())
    }

    /// Fetches the files, except those that are too large. Other fetches can run between two batches.
    pub(crate) async fn fetch(&self, ids: Vec<ObjectId>) -> Result<()> {
        self.0.remote.counts.add_misses(ids.len());
        let total = ids.len();
        let mut batches: Vec<Vec<ObjectId>> = ids.chunks(MAX_BATCH_FILES).rev().map(<[_]>::to_vec).collect();
        let mut fetched = 0;
        while let Some(mut batch) = batches.pop() {
            match self.fetch_batch(&batch).await? {
                Batch::Received => {
                    fetched += batch.len();
                    self.report(fetched, total);
                }
                Batch::TooLarge if batch.len() > 1 => {
                    batches.push(batch.split_off(batch.len() / 2));
                    batches.push(batch);
                }
                Batch::TooLarge => self.too_large().extend(batch),
                Batch::Refused => return Err(self.refusal().await),
            }
        }
        Ok(())
    }

    /// Whether the file is larger than a batch may be.
    pub(crate) fn is_too_large(&self, id: &ObjectId) -> bool {
        self.too_large().contains(id)
    }

    fn too_large(&self) -> std::sync::MutexGuard<'_, HashSet<ObjectId>> {
        self.0.too_large.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn report(&self, fetched: usize, total: usize) {
        if let Some(observer) = self.0.observer.get().filter(|_| total > 1) {
            observer.fetched(fetched, total);
        }
    }

    async fn fetch_batch(&self, batch: &[ObjectId]) -> Result<Batch> {
        let Source { dir, remote, fetch_mutex, .. } = &*self.0;
        let _guard = fetch_mutex.lock().await;
        let _lock = cache::lock(dir).await?;
        // Another reader may have fetched some of them.
        let mut missing = blobs::missing(&open_repository(dir)?.to_thread_local(), batch.to_vec());
        missing.retain(|id| !self.is_too_large(id));
        match missing.is_empty() {
            true => Ok(Batch::Received),
            false => smart_http::fetch_files(dir, remote, &missing).await,
        }
    }

    /// The host either no longer has a file of the commit, or refuses ids in general. In both cases the cache cannot
    /// complete this commit, so the next fetch recreates it.
    async fn refusal(&self) -> Error {
        let Source { dir, commit, remote, .. } = &*self.0;
        let host = remote.url.authority();
        let cause = match smart_http::has_commit(remote, commit).await {
            Err(error) => return error,
            Ok(false) => format!("{host} no longer has the commit {commit:.10}"),
            Ok(true) => {
                if let Err(error) = self.remember_refusal().await {
                    return error;
                }
                format!("{host} does not send files by their ids")
            }
        };
        let failed: Result<()> = mark_damage(dir, Err(Error::Damaged(cause.clone())));
        failed.err().unwrap_or(Error::Damaged(cause))
    }

    async fn remember_refusal(&self) -> Result<()> {
        let Source { dir, remote, .. } = &*self.0;
        let _lock = cache::lock(dir).await?;
        FetchState::new(FetchMode::RefusesIds, remote.url.as_str()).write(dir)
    }
}

fn temporary(sentence: String) -> Error {
    Error::Temporary { sentence, retry_after: None }
}
