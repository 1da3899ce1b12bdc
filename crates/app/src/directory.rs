//! Opens the data directory, and watches whether it's deleted or replaced while the server runs.
//!
//! If it is, the worker returns its jobs to the queue and the API refuses writes: they would be lost, and a
//! second server may own the new directory. The server continues to answer reads, because its open files may
//! be the last copy of the data.

use std::time::Duration;

use store::{DataDir, DataDirError, SHARED_VIEWS, ViewsChoice, ViewsDirectory, ViewsHome};
use tokio_util::sync::CancellationToken;
use traffic::{AddressRanges, Views};

use crate::app::App;
use crate::settings::Settings;

const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// The number of checks between two log lines about a lost directory.
const REMINDER_INTERVAL: u32 = 60;
const VIEWS_SHARED: &str = "the servers of this installation store page views in ClickHouse, so this one must, too: set DOCWRIGHT_VIEWS_URL. To start it without page views, add --page-views no. To give up the page views in ClickHouse and begin with none in this data directory, add --page-views yes --force";
const VIEWS_IN_DIRECTORY: &str = "the page views of this installation are in the data directory of one server, and can't be moved to ClickHouse any more: only `docwright move` from SQLite does that, together with the installation. To keep them, unset DOCWRIGHT_VIEWS_URL. To give them up and begin with none in ClickHouse, add --page-views yes --force";

/// Creates the directory if there is none, but no new installation where one was.
pub fn open(settings: &Settings) -> Result<DataDir, DataDirError> {
    if settings.database_url.is_none() {
        let dir = DataDir::at(&settings.data);
        dir.refuse_missing_database()?;
        dir.refuse_moved()?;
    }
    DataDir::open(&settings.data)
}

/// Fails if the other servers store page views in ClickHouse, unless the choice says what to do.
pub async fn refuse_shared_views(
    choice: ViewsChoice,
    store: &dyn ViewsDirectory,
    id: &str,
) -> anyhow::Result<()> {
    let says_so = choice.may_begin_empty() || choice == ViewsChoice::Leave;
    let is_shared = matches!(store.views_home(id).await?, ViewsHome::Shared);
    anyhow::ensure!(says_so || !is_shared, VIEWS_SHARED);
    Ok(())
}

/// Fails if a data directory has the page views, and they are to be stored in ClickHouse from now on, unless the choice
/// says to give them up.
pub async fn refuse_views_in_directory(
    choice: ViewsChoice,
    store: &dyn ViewsDirectory,
) -> anyhow::Result<()> {
    let is_elsewhere = matches!(store.views_home(SHARED_VIEWS).await?, ViewsHome::Elsewhere { .. });
    anyhow::ensure!(choice.may_begin_empty() || !is_elsewhere, VIEWS_IN_DIRECTORY);
    Ok(())
}

/// Fails if this directory should have the page views and `views.db` is missing, unless the choice says what to do.
pub async fn refuse_missing_views(
    choice: ViewsChoice,
    dir: &DataDir,
    store: &dyn ViewsDirectory,
    id: &str,
) -> anyhow::Result<()> {
    let is_home = matches!(store.views_home(id).await?, ViewsHome::Here { .. });
    if dir.has_views() || !is_home {
        return Ok(());
    }
    let says_so = choice.may_begin_empty() || choice == ViewsChoice::Leave;
    anyhow::ensure!(says_so, DataDirError::ViewsMissing(dir.views()));
    tracing::warn!(
        "{} is missing: the server starts without the page views that were in it",
        dir.views().display()
    );
    Ok(())
}

/// Fails if this directory is to take the page views over and lacks some of them.
pub async fn refuse_outdated_views(
    choice: ViewsChoice,
    (dir, views, is_empty): (&DataDir, &dyn Views, bool),
    store: &dyn ViewsDirectory,
    id: &str,
) -> anyhow::Result<()> {
    let is_elsewhere = matches!(store.views_home(id).await?, ViewsHome::Elsewhere { .. });
    if choice != ViewsChoice::Take || !is_elsewhere {
        return Ok(());
    }
    anyhow::ensure!(!is_empty, DataDirError::ViewsEmpty(dir.views()));
    // A file of an earlier version has no epoch.
    let is_latest = match views.epoch().await? {
        None => true,
        epoch => epoch == store.views_epoch().await?,
    };
    anyhow::ensure!(is_latest, DataDirError::ViewsOutdated(dir.views()));
    Ok(())
}

/// On SQLite the server creates a new `views.db`, because an interrupted first start looks the same as a lost
/// file.
pub fn warn_of_missing_views(settings: &Settings, dir: &DataDir) {
    if settings.database_url.is_none() && dir.known_id().is_some() && !dir.has_views() {
        tracing::warn!(
            "{} is missing, so the server creates a new one. If you had page views, stop the server and restore that file from a backup",
            dir.views().display()
        );
    }
}

/// The address ranges of agents. A file that cannot be used is logged and left out.
pub fn load_address_ranges(dir: &DataDir) -> AddressRanges {
    let (ranges, bad) = AddressRanges::load(&dir.ranges());
    for file in bad {
        tracing::warn!("{} isn't used: {}", file.path.display(), file.problems.join(" "));
    }
    ranges
}

/// Checks the directory until `stop`, and logs changes.
pub async fn watch(app: &App, stop: &CancellationToken) {
    let mut failures = 0_u32;
    loop {
        let stopped = stop.run_until_cancelled(tokio::time::sleep(CHECK_INTERVAL)).await.is_none();
        match app.directory.check() {
            Err(lost) if failures.is_multiple_of(REMINDER_INTERVAL) => tracing::error!(
                "{lost}: the server refuses writes and runs no jobs. Without a backup, its open files are the last copy, so save them before you stop it: ls -l /proc/{}/fd. Then restore the data directory, and start the server again",
                std::process::id()
            ),
            Ok(()) if failures > 0 => {
                tracing::warn!("the data directory is back with the same files: the server continues");
            }
            _ => {}
        }
        failures = if app.directory.is_intact() { 0 } else { failures.saturating_add(1) };
        if stopped {
            return;
        }
    }
}

/// Waits until the directory has the opened files again, or until `stop`.
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
