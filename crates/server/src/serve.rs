//! Start, serve, stop. Nothing that was acknowledged is lost by any of them.

use std::sync::Arc;

use anyhow::Context;
use base::Clock;
use store::{DataDir, Held, ViewsWish};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::settings::{Settings, USUAL_URL};
use crate::worker::Worker;
use crate::{chores, connections, http};

/// A server that has its data directory, its database and its port, and does not serve yet.
pub struct Server {
    pub app: App,
    listener: TcpListener,
    connections: usize,
    workers: usize,
    _held: Held,
}

impl Server {
    /// Takes the lock, the port and the database, in this order; each refusal is a sentence.
    pub async fn open(settings: &Settings, clock: Arc<dyn Clock>) -> anyhow::Result<Self> {
        forge::check_program().await?;
        let dir = DataDir::open(&settings.data)?;
        let held = dir.hold()?;
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
        let app = App::open(&settings, &dir, &held, &public_url, clock).await?;
        dir.remember_url(&public_url)?;
        let Settings { bounds, workers, .. } = settings;
        Ok(Self { app, listener, connections: bounds.connections, workers, _held: held })
    }

    /// Serves until `stop`; then lets requests end, gives jobs back, and returns.
    pub async fn run(self, stop: CancellationToken) -> anyhow::Result<()> {
        let app = App { stop: stop.clone(), ..self.app };
        let worker = (self.workers > 0).then(|| Worker::new(app.clone(), self.workers));
        let chores = chores::go_on(&app, &stop);
        let router = http::router(app.clone());
        let serving = connections::serve(self.listener, router, self.connections, stop.clone());
        let working = async {
            if let Some(worker) = &worker {
                worker.work(stop.clone()).await;
            }
        };
        tokio::join!(serving, working, chores);
        Ok(())
    }

    /// A link to sign in with, when nobody is signed in: a new installation's front door.
    pub async fn first_login(&self) -> anyhow::Result<Option<String>> {
        if self.app.sessions.anyone_signed_in().await? {
            return Ok(None);
        }
        let organization = match self.app.accounts.organizations().await?.into_iter().next() {
            Some(organization) => organization,
            None => self.app.accounts.create_organization("Default").await?,
        };
        let link = self.app.sessions.create_login(&organization.id).await?;
        Ok(Some(format!("{}/login?token={}", self.app.public_url, link.reveal())))
    }
}

/// A process that works off jobs and serves nothing, beside servers on the same database.
pub struct Workshop {
    app: App,
    worker: Worker,
    _held: Held,
}

impl Workshop {
    pub async fn open(settings: &Settings, clock: Arc<dyn Clock>) -> anyhow::Result<Self> {
        anyhow::ensure!(
            settings.database_url.is_some(),
            "a worker shares a PostgreSQL database with a server: set DOCWRIGHT_DATABASE_URL. On SQLite, `docwright serve` works off its jobs itself"
        );
        forge::check_program().await?;
        let dir = DataDir::open(&settings.data)?;
        let held = dir.hold()?;
        let settings = Settings { page_views: ViewsWish::Leave, ..settings.clone() };
        let public_url = settings.public_url.as_deref().unwrap_or(USUAL_URL);
        let app = App::open(&settings, &dir, &held, public_url, clock).await?;
        Ok(Self { worker: Worker::new(app.clone(), settings.workers), app, _held: held })
    }

    /// Works until `stop`; then gives jobs back, and returns.
    pub async fn run(self, stop: CancellationToken) {
        tokio::join!(self.worker.work(stop.clone()), chores::go_on(&self.app, &stop));
    }
}
