//! Opens the data directory, and gives jobs back when it is deleted or replaced under the server: whatever
//! was acknowledged then would be lost, and a second server may own what is there now. `http` refuses
//! writes meanwhile. The server goes on to run and to answer reads, because its open files may be the last
//! copy of the data.

use std::time::Duration;

use store::{DataDir, DataDirError, ViewsChoice, ViewsDirectory};
use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::settings::Settings;

const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// In checks: how often the log says it again.
const REMINDER_INTERVAL: u32 = 60;

/// Makes the directory if there is none, but no new installation where one was.
pub fn open(settings: &Settings) -> Result<DataDir, DataDirError> {
    if settings.database_url.is_none() {
        DataDir::at(&settings.data).refuse_missing_database()?;
    }
    DataDir::open(&settings.data)
}

/// Page views that are at home here are in `views.db`. Whoever says `--page-views` has chosen what
/// becomes of them when it is missing.
pub async fn refuse_missing_views(
    wish: ViewsChoice,
    dir: &DataDir,
    home: &dyn ViewsDirectory,
    id: &str,
) -> anyhow::Result<()> {
    if dir.has_views() || !home.is_views_directory(id).await? {
        return Ok(());
    }
    anyhow::ensure!(wish != ViewsChoice::IfFree, DataDirError::ViewsMissing(dir.views()));
    tracing::warn!("{} is missing: the page views that were in it are given up", dir.views().display());
    Ok(())
}

/// On SQLite a new `views.db` is made: a first start that was cut off looks the same as one that was lost.
pub fn warn_of_missing_views(settings: &Settings, dir: &DataDir) {
    if settings.database_url.is_none() && dir.known_id().is_some() && !dir.has_views() {
        tracing::warn!(
            "{} is missing, and a new one is made. If you had page views, stop the server and restore that file from a backup",
            dir.views().display()
        );
    }
}

/// Until `stop`; the log says what was found.
pub async fn watch(app: &App, stop: &CancellationToken) {
    let mut failures = 0_u32;
    loop {
        let stopped = stop.run_until_cancelled(tokio::time::sleep(CHECK_INTERVAL)).await.is_none();
        match app.directory.check() {
            Err(lost) if failures.is_multiple_of(REMINDER_INTERVAL) => tracing::error!(
                "{lost}: the server takes no writes and no jobs any more. Without a backup its open files are the last copy, so save them before you stop it: ls -l /proc/{}/fd. Then restore the data directory, and start the server again",
                std::process::id()
            ),
            Ok(()) if failures > 0 => {
                tracing::warn!("the data directory is back, with the same files: the server goes on");
            }
            _ => {}
        }
        failures = if app.directory.is_intact() { 0 } else { failures.saturating_add(1) };
        if stopped {
            return;
        }
    }
}

/// Returns once the directory is as it was opened, or at `stop`.
pub async fn wait_until_intact(app: &App, stop: &CancellationToken) {
    while !stop.is_cancelled() && !app.directory.is_intact() {
        stop.run_until_cancelled(tokio::time::sleep(CHECK_INTERVAL)).await;
    }
}

/// Ends `alive` when the directory is lost.
pub async fn cancel_when_lost(app: &App, alive: &CancellationToken) {
    while app.directory.is_intact() {
        if alive.run_until_cancelled(tokio::time::sleep(CHECK_INTERVAL)).await.is_none() {
            return;
        }
    }
    alive.cancel();
}
