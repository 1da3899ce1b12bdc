//! Starts, runs and stops a server or a separate worker process. No acknowledged write is lost.

use std::sync::Arc;
use std::time::Duration;

use api::ErrorPages;
use base::Clock;
use store::{DataDir, DataDirError, DataDirLock, NewAuditEntry, ViewsChoice};
use tokio_util::sync::CancellationToken;

use app::directory;
use app::settings::{DEFAULT_URL, Settings};
use app::{App, check_database_connection};
use worker::Worker;

use crate::connections::{self, Endpoint};
use crate::{chores, retry};

/// How often to retry while another process has the lock.
const MAX_RETRIES: u32 = 20;
const RETRY_DELAY: Duration = Duration::from_millis(50);
/// The name of the login link that a new installation prints.
const FIRST_LOGIN_NAME: &str = "first start";

const ERROR_PAGES: ErrorPages = ErrorPages {
    not_found: dashboard::no_such_page,
    method_not_allowed: dashboard::method_not_allowed_page,
    directory_lost: dashboard::directory_lost_page,
};

/// A server that has its data directory, its database and its port, but doesn't accept requests yet.
pub struct Server {
    pub app: App,
    endpoint: Endpoint,
    connections: usize,
    workers: usize,
    _lock: DataDirLock,
}

impl Server {
    /// Takes the lock, the port and the database, in this order. Each error is a sentence.
    pub async fn open(settings: &Settings, clock: Arc<dyn Clock>) -> anyhow::Result<Self> {
        let (dir, lock) = lock_directory(settings).await?;
        let (app, endpoint) = Self::assemble(settings, &dir, &lock, clock).await?;
        Ok(Self::new(app, endpoint, settings, lock))
    }

    /// Like [`Server::open`], but waits until PostgreSQL is reachable.
    pub async fn open_when_reachable(settings: &Settings, clock: Arc<dyn Clock>) -> anyhow::Result<Self> {
        if settings.database_url.is_none() {
            return Self::open(settings, clock).await;
        }
        let (dir, lock) = lock_directory(settings).await?;
        let assemble = || Self::assemble(settings, &dir, &lock, clock.clone());
        let (app, endpoint) = retry::until_reachable(assemble).await?;
        Ok(Self::new(app, endpoint, settings, lock))
    }

    fn new(app: App, endpoint: Endpoint, settings: &Settings, lock: DataDirLock) -> Self {
        let connections = connections::max_connections(settings.bounds.connections);
        Self { app, endpoint, connections, workers: settings.workers, _lock: lock }
    }

    async fn assemble(
        settings: &Settings,
        dir: &DataDir,
        lock: &DataDirLock,
        clock: Arc<dyn Clock>,
    ) -> anyhow::Result<(App, Endpoint)> {
        // Before the port is open, so that clients are refused instead of waiting.
        check_database_connection(settings).await?;
        let endpoint = Endpoint::open(settings).await?;
        let public_url = match &settings.public_url {
            Some(url) => url.clone(),
            None => endpoint.url()?,
        };
        let mut settings = settings.clone();
        settings.bounds.connections = connections::max_connections(settings.bounds.connections);
        let app = App::open(&settings, dir, lock, &public_url, clock).await?;
        dir.remember_url(&public_url)?;
        dir.forget_untrusted_proxy();
        Ok((app, endpoint))
    }

    /// Serves until `stop`. Then waits for running requests, and returns jobs to the queue.
    pub async fn run(self, stop: CancellationToken) -> anyhow::Result<()> {
        let app = self.app.with(|parts| parts.stop = stop.clone());
        let worker = (self.workers > 0).then(|| Worker::new(app.clone(), self.workers));
        let (chores, watch) = (chores::run_until_stopped(&app, &stop), directory::watch(&app, &stop));
        let renewing = app.views_owner.renew_until_stopped(&stop);
        let router =
            api::router(app.clone(), dashboard::pages(), dashboard::assets(api::no_such_route), ERROR_PAGES);
        let tls = self.endpoint.tls.clone();
        let serving = connections::serve(self.endpoint, router, self.connections, stop.clone());
        let reloading = async {
            if let Some(tls) = &tls {
                tls.reload_until(&stop).await;
            }
        };
        let working = async {
            if let Some(worker) = &worker {
                worker.work(stop.clone()).await;
            }
        };
        tokio::join!(serving, working, reloading, chores, watch, renewing);
        app.close().await;
        Ok(())
    }

    /// Creates a login link if no session exists, for a new installation.
    pub async fn first_login(&self) -> anyhow::Result<Option<String>> {
        if self.app.sessions.has_live_session().await? {
            return Ok(None);
        }
        let organization = match self.app.accounts.organizations().await?.into_iter().next() {
            Some(organization) => organization,
            None => self.app.accounts.create_organization("Default").await?,
        };
        let link = self.app.sessions.create_named_login(&organization.id, FIRST_LOGIN_NAME).await?;
        let entry = NewAuditEntry {
            organization: organization.id,
            who: "server".into(),
            what: "made a login link".into(),
            about: FIRST_LOGIN_NAME.into(),
        };
        self.app.people.record_audit(&entry).await?;
        Ok(Some(format!("{}/login?token={}", self.app.public_url, link.reveal())))
    }
}

/// A process that runs jobs and serves no requests. Servers share its database.
pub struct WorkerProcess {
    app: App,
    workers: usize,
    _lock: DataDirLock,
}

impl WorkerProcess {
    /// Waits until the database is reachable.
    pub async fn open_when_reachable(settings: &Settings, clock: Arc<dyn Clock>) -> anyhow::Result<Self> {
        anyhow::ensure!(
            settings.database_url.is_some(),
            "a worker shares a PostgreSQL database with a server: set DOCWRIGHT_DATABASE_URL. On SQLite, `docwright serve` runs the jobs itself"
        );
        let (dir, lock) = lock_directory(settings).await?;
        let settings = Settings { page_views: ViewsChoice::Leave, ..settings.clone() };
        let public_url = settings.public_url.as_deref().unwrap_or(DEFAULT_URL);
        let open = || App::open(&settings, &dir, &lock, public_url, clock.clone());
        let app = retry::until_reachable(open).await?;
        Ok(Self { app, workers: settings.workers, _lock: lock })
    }

    /// Runs jobs until `stop`. Then returns them to the queue.
    pub async fn run(self, stop: CancellationToken) {
        let app = self.app.with(|parts| parts.stop = stop.clone());
        let worker = Worker::new(app.clone(), self.workers);
        let (chores, watch) = (chores::run_until_stopped(&app, &stop), directory::watch(&app, &stop));
        tokio::join!(worker.work(stop.clone()), chores, watch);
        app.close().await;
    }
}

/// Checks the git program first, so that nothing is created without it.
async fn lock_directory(settings: &Settings) -> anyhow::Result<(DataDir, DataDirLock)> {
    forge::check_program().await?;
    let dir = directory::open(settings)?;
    let lock = wait_for_lock(&dir).await?;
    Ok((dir, lock))
}

/// An admin command may have the lock for a short time, and so may a program that a killed server was
/// starting.
async fn wait_for_lock(dir: &DataDir) -> Result<DataDirLock, DataDirError> {
    for _ in 0..MAX_RETRIES {
        match dir.lock() {
            Err(DataDirError::InUse(_)) => tokio::time::sleep(RETRY_DELAY).await,
            result => return result,
        }
    }
    dir.lock()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_server_waits_for_a_lock_that_is_released_soon() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::open(folder.path()).unwrap();
        let lock = dir.lock().unwrap();
        let release = async {
            tokio::time::sleep(RETRY_DELAY * 3).await;
            drop(lock);
        };
        let (lock, ()) = tokio::join!(wait_for_lock(&dir), release);
        let _lock = lock.unwrap();
        assert!(matches!(wait_for_lock(&dir).await, Err(DataDirError::InUse(_))));
    }
}
