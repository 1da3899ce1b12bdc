//! Proves that the server can do its work, by a write to each thing that it keeps. All who ask share one proof, and
//! there is one in [`INTERVAL`] at most: a disk that hangs has one caller, however often somebody asks.

use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use machine::Trouble;
use store::StoreError;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use crate::app::App;

/// How long a proof is good for.
const INTERVAL: Duration = Duration::from_secs(5);
/// How long a proof is waited for; monitors give up after a few seconds themselves.
const PATIENCE: Duration = Duration::from_secs(4);
const STUCK: &str =
    "a write to the disk or to the database is not done after 4 seconds; look for what keeps it";

const LOST: &str = "the data directory or a file in it is gone or was replaced since the server opened it; put it back, or restart the server";

/// The error is a sentence for whoever watches over the server.
pub type Verdict = Result<(), String>;

#[derive(Default)]
pub struct Readiness(Mutex<State>);

#[derive(Default)]
struct State {
    /// The last verdict, and when it was given.
    last: Option<(i64, Verdict)>,
    running: Option<Running>,
}

#[derive(Clone)]
struct Running {
    since: Instant,
    verdict: watch::Receiver<Option<Verdict>>,
}

impl Readiness {
    pub async fn check(self: &Arc<Self>, app: &App) -> Verdict {
        let mut running = match self.known_or_running(app) {
            Ok(known) => return known,
            Err(running) => running,
        };
        match timeout(PATIENCE, running.verdict.wait_for(Option::is_some)).await {
            Ok(Ok(verdict)) => verdict.clone().unwrap_or_else(|| Err(STUCK.to_owned())),
            _ => Err(STUCK.to_owned()),
        }
    }

    /// What is known already, or the proof that is under way; it is begun if there is none.
    fn known_or_running(self: &Arc<Self>, app: &App) -> Result<Verdict, Running> {
        let now = app.clock.now_ms();
        let mut state = self.state();
        match (&state.running, &state.last) {
            (Some(running), _) if running.since.elapsed() >= PATIENCE => Ok(Err(STUCK.to_owned())),
            (Some(running), _) => Err(running.clone()),
            (None, Some((at, verdict))) if is_fresh(*at, now) => Ok(verdict.clone()),
            (None, _) => {
                let running = self.begin(app.clone());
                state.running = Some(running.clone());
                Err(running)
            }
        }
    }

    fn begin(self: &Arc<Self>, app: App) -> Running {
        let (tell, verdict) = watch::channel(None);
        let readiness = self.clone();
        tokio::spawn(async move {
            let proof = AssertUnwindSafe(prove(&app)).catch_unwind().await;
            let verdict = proof.unwrap_or_else(|_| Err("the proof of a write broke off".to_owned()));
            if let Err(sentence) = &verdict {
                tracing::warn!("the server is not ready: {sentence}");
            }
            *readiness.state() = State { last: Some((app.clock.now_ms(), verdict.clone())), running: None };
            let _ = tell.send(Some(verdict));
        });
        Running { since: Instant::now(), verdict }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A clock that went back must not keep an old verdict.
fn is_fresh(at: i64, now: i64) -> bool {
    (0..INTERVAL.as_millis() as i64).contains(&(now - at))
}

async fn prove(app: &App) -> Verdict {
    let (data, directory) = (app.data.clone(), app.directory.clone());
    let proving = tokio::task::spawn_blocking(move || {
        // Files that were deleted or replaced still take writes, and nobody finds those again. The log says which.
        directory.check().map_err(|_| LOST.to_owned())?;
        prove_directory(&data)
    });
    proving.await.map_err(|error| error.to_string())??;
    app.upkeep.probe_write().await.map_err(|error| match error {
        StoreError::Machine(trouble) => trouble.to_string(),
        StoreError::Database(words) => format!("the database cannot be written: {words}"),
        other => other.to_string(),
    })?;
    if app.keeps_views() {
        app.views.probe_write().await.map_err(|failure| match failure.trouble() {
            Some(trouble) => trouble.to_string(),
            None => format!("the page views cannot be written: {}", net::root_cause(&failure)),
        })?;
    }
    Ok(())
}

/// A database may have room left in its own files when the disk has none, so a new file is written, too.
fn prove_directory(data: &Path) -> Verdict {
    machine::probe_write(data).map_err(|error| match Trouble::find(&error) {
        Some(trouble) => trouble.at(base::sqlite::DATA_DIRECTORY).to_string(),
        None => format!("the data directory cannot be written ({}); check who may write to it", error.kind()),
    })
}
