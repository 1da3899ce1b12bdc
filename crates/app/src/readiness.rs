//! Checks that the server is ready, by a write to each of its stores.
//!
//! Concurrent requests share one check, and there is at most one in [`INTERVAL`]. So a disk that hangs blocks
//! one caller, however many requests there are.

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

/// How long a result is valid.
const INTERVAL: Duration = Duration::from_secs(5);
/// How long a request waits for the check. Monitors usually give up after a few seconds.
const TIMEOUT: Duration = Duration::from_secs(4);
const TIMED_OUT: &str =
    "a write to the disk or to the database took more than 4 seconds; look for what blocks it";

const DIRECTORY_LOST: &str = "the data directory or a file in it is gone or was replaced since the server opened it; put it back, or restart the server";

/// The error is a sentence for the operator.
pub type CheckResult = Result<(), String>;

#[derive(Default)]
pub struct Readiness(Mutex<State>);

#[derive(Default)]
struct State {
    /// The last result and its time.
    last: Option<(i64, CheckResult)>,
    running: Option<RunningCheck>,
}

#[derive(Clone)]
struct RunningCheck {
    since: Instant,
    result: watch::Receiver<Option<CheckResult>>,
}

impl Readiness {
    pub async fn check(self: &Arc<Self>, app: &App) -> CheckResult {
        let mut running = match self.cached_or_running(app) {
            Ok(result) => return result,
            Err(running) => running,
        };
        match timeout(TIMEOUT, running.result.wait_for(Option::is_some)).await {
            Ok(Ok(result)) => result.clone().unwrap_or_else(|| Err(TIMED_OUT.to_owned())),
            _ => Err(TIMED_OUT.to_owned()),
        }
    }

    /// The last result if it's fresh, or the running check. Starts one if there is none.
    fn cached_or_running(self: &Arc<Self>, app: &App) -> Result<CheckResult, RunningCheck> {
        let now = app.clock.now_ms();
        let mut state = self.state();
        match (&state.running, &state.last) {
            (Some(running), _) if running.since.elapsed() >= TIMEOUT => Ok(Err(TIMED_OUT.to_owned())),
            (Some(running), _) => Err(running.clone()),
            (None, Some((at, result))) if is_fresh(*at, now) => Ok(result.clone()),
            (None, _) => {
                let running = self.start(app.clone());
                state.running = Some(running.clone());
                Err(running)
            }
        }
    }

    fn start(self: &Arc<Self>, app: App) -> RunningCheck {
        let (sender, receiver) = watch::channel(None);
        let readiness = self.clone();
        tokio::spawn(async move {
            let checked = AssertUnwindSafe(check_writes(&app)).catch_unwind().await;
            let failed =
                "the check failed because of a bug in Docwright; look for the cause in the server's log";
            let result = checked.unwrap_or_else(|_| Err(failed.to_owned()));
            if let Err(sentence) = &result {
                tracing::warn!("the server is not ready: {sentence}");
            }
            *readiness.state() = State { last: Some((app.clock.now_ms(), result.clone())), running: None };
            let _ = sender.send(Some(result));
        });
        RunningCheck { since: Instant::now(), result: receiver }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A result from the future isn't fresh, so that a clock that was set back doesn't preserve it.
fn is_fresh(at: i64, now: i64) -> bool {
    (0..INTERVAL.as_millis() as i64).contains(&(now - at))
}

async fn check_writes(app: &App) -> CheckResult {
    let (data, directory) = (app.data.clone(), app.directory.clone());
    let checking = tokio::task::spawn_blocking(move || {
        // Deleted and replaced files still accept writes, which are then lost. The log names the file.
        directory.check().map_err(|_| DIRECTORY_LOST.to_owned())?;
        check_directory(&data)
    });
    checking.await.map_err(|error| error.to_string())??;
    app.upkeep.probe_write().await.map_err(|error| match error {
        StoreError::Machine(trouble) => trouble.to_string(),
        StoreError::Database(error) => format!("the database cannot be written: {error}"),
        other => other.to_string(),
    })?;
    if app.stores_views() {
        app.views.probe_write().await.map_err(|failure| match failure.trouble() {
            Some(trouble) => trouble.to_string(),
            None => format!("the page views cannot be written: {}", net::root_cause(&failure)),
        })?;
    }
    Ok(())
}

/// Writes a new file, because a database may have free pages in its files while the disk is full.
fn check_directory(data: &Path) -> CheckResult {
    machine::probe_write(data).map_err(|error| match Trouble::find(&error) {
        Some(trouble) => trouble.at(base::sqlite::DATA_DIRECTORY).to_string(),
        None => format!("the data directory cannot be written ({}); check its permissions", error.kind()),
    })
}
