//! Start, serve, stop. Nothing that was acknowledged is lost by any of them.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use api::ErrorPages;
use base::Clock;
use store::{DataDir, DataDirError, DataDirLock, NewAuditEntry, ViewsChoice};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use app::directory;
use app::settings::{Settings, USUAL_URL};
use app::{App, reach_database};
use worker::Worker;

use crate::{chores, connections, retry};

/// How often, and how long each time, a lock is waited for that somebody else has.
const MOMENTS: u32 = 20;
const A_MOMENT: Duration = Duration::from_millis(50);
/// The name of the login link that a new installation prints.
const FIRST_LOGIN_NAME: &str = "first start";

const ERROR_PAGES: ErrorPages = ErrorPages {
    not_found: dashboard::no_such_page,
    method_not_allowed: dashboard::method_not_allowed_page,
    directory_lost: dashboard::directory_lost_page,
};

/// A server that has its data directory, its database and its port, and does not serve yet.
pub struct Server {
    pub app: App,
    listener: TcpListener,
    connections: usize,
    workers: usize,
    _held: DataDirLock,
}

impl Server {
    /// Takes the lock, the port and the database, in this order; each refusal is a sentence.
    pub async fn open(settings: &Settings, clock: Arc<dyn Clock>) -> anyhow::Result<Self> {
        let (dir, held) = take_directory(settings).await?;
        let (app, listener) = Self::assemble(settings, &dir, &held, clock).await?;
        Ok(Self::over(app, listener, settings, held))
    }

    /// The same, but waits for a PostgreSQL that cannot be connected to yet, as long as it takes.
    pub async fn open_when_reachable(settings: &Settings, clock: Arc<dyn Clock>) -> anyhow::Result<Self> {
        if settings.database_url.is_none() {
            return Self::open(settings, clock).await;
        }
        let (dir, held) = take_directory(settings).await?;
        let assemble = || Self::assemble(settings, &dir, &held, clock.clone());
        let (app, listener) = retry::until_reachable(assemble).await?;
        Ok(Self::over(app, listener, settings, held))
    }

    fn over(app: App, listener: TcpListener, settings: &Settings, held: DataDirLock) -> Self {
        let connections = connections::most(settings.bounds.connections);
        Self { app, listener, connections, workers: settings.workers, _held: held }
    }

    async fn assemble(
        settings: &Settings,
        dir: &DataDir,
        held: &DataDirLock,
        clock: Arc<dyn Clock>,
    ) -> anyhow::Result<(App, TcpListener)> {
        // Before the port: a client that cannot be answered yet is better refused than left waiting.
        reach_database(settings).await?;
        let listen = settings.listen;
        let listener = TcpListener::bind(listen).await.with_context(|| {
            format!("{listen} cannot be listened on: stop what uses it, or choose another with --listen")
        })?;
        let public_url = match &settings.public_url {
            Some(url) => url.clone(),
            None => format!("http://{}", listener.local_addr()?),
        };
        let mut settings = settings.clone();
        settings.bounds.connections = connections::most(settings.bounds.connections);
        let app = App::open(&settings, dir, held, &public_url, clock).await?;
        dir.remember_url(&public_url)?;
        dir.forget_untrusted_proxy();
        Ok((app, listener))
    }

    /// Serves until `stop`; then lets requests end, gives jobs back, and returns.
    pub async fn run(self, stop: CancellationToken) -> anyhow::Result<()> {
        let mut app = self.app;
        app.stop = stop.clone();
        let worker = (self.workers > 0).then(|| Worker::new(app.clone(), self.workers));
        let (chores, watch) = (chores::go_on(&app, &stop), directory::watch(&app, &stop));
        let router =
            api::router(app.clone(), dashboard::pages(), dashboard::assets(api::no_such_route), ERROR_PAGES);
        let serving = connections::serve(self.listener, router, self.connections, stop.clone());
        let working = async {
            if let Some(worker) = &worker {
                worker.work(stop.clone()).await;
            }
        };
        tokio::join!(serving, working, chores, watch);
        app.close().await;
        Ok(())
    }

    /// A link to sign in with, when nobody is signed in: a new installation's front door.
    pub async fn first_login(&self) -> anyhow::Result<Option<String>> {
        if self.app.sessions.has_live_session().await? {
            return Ok(None);
        }
        let organization = match self.app.accounts.organizations().await?.into_iter().next() {
            Some(organization) => organization,
            None => self.app.accounts.create_organization("Default").await?,
        };
        let link = self.app.sessions.create_named_login(&organization.id, FIRST_LOGIN_NAME).await?;
        let deed = NewAuditEntry {
            organization: organization.id,
            who: "server".into(),
            what: "made a login link".into(),
            about: FIRST_LOGIN_NAME.into(),
        };
        self.app.people.record_audit(&deed).await?;
        Ok(Some(format!("{}/login?token={}", self.app.public_url, link.reveal())))
    }
}

/// A process that works off jobs and serves nothing, beside servers on the same database.
pub struct Workshop {
    app: App,
    workers: usize,
    _held: DataDirLock,
}

impl Workshop {
    /// Waits for a database that cannot be connected to yet, as long as it takes.
    pub async fn open_when_reachable(settings: &Settings, clock: Arc<dyn Clock>) -> anyhow::Result<Self> {
        anyhow::ensure!(
            settings.database_url.is_some(),
            "a worker shares a PostgreSQL database with a server: set DOCWRIGHT_DATABASE_URL. On SQLite, `docwright serve` works off its jobs itself"
        );
        let (dir, held) = take_directory(settings).await?;
        let settings = Settings { page_views: ViewsChoice::Leave, ..settings.clone() };
        let public_url = settings.public_url.as_deref().unwrap_or(USUAL_URL);
        let open = || App::open(&settings, &dir, &held, public_url, clock.clone());
        let app = retry::until_reachable(open).await?;
        Ok(Self { app, workers: settings.workers, _held: held })
    }

    /// Works until `stop`; then gives jobs back, and returns.
    pub async fn run(self, stop: CancellationToken) {
        let mut app = self.app;
        app.stop = stop.clone();
        let worker = Worker::new(app.clone(), self.workers);
        let (chores, watch) = (chores::go_on(&app, &stop), directory::watch(&app, &stop));
        tokio::join!(worker.work(stop.clone()), chores, watch);
        app.close().await;
    }
}

/// Makes sure of git before anything is made.
async fn take_directory(settings: &Settings) -> anyhow::Result<(DataDir, DataDirLock)> {
    forge::check_program().await?;
    let dir = directory::open(settings)?;
    let held = hold(&dir).await?;
    Ok((dir, held))
}

/// A command may have the lock for a moment, and so may a program that a killed server was about to begin.
async fn hold(dir: &DataDir) -> Result<DataDirLock, DataDirError> {
    for _ in 0..MOMENTS {
        match dir.lock() {
            Err(DataDirError::InUse(_)) => tokio::time::sleep(A_MOMENT).await,
            done => return done,
        }
    }
    dir.lock()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_lock_that_is_let_go_of_in_a_moment_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let dir = DataDir::open(folder.path()).unwrap();
        let held = dir.lock().unwrap();
        let moment = async {
            tokio::time::sleep(A_MOMENT * 3).await;
            drop(held);
        };
        let (taken, ()) = tokio::join!(hold(&dir), moment);
        let _taken = taken.unwrap();
        assert!(matches!(hold(&dir).await, Err(DataDirError::InUse(_))));
    }
}
