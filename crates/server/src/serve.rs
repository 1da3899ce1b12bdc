//! Start, serve, stop. Nothing that was acknowledged is lost by any of them.

use std::sync::Arc;

use anyhow::Context;
use base::Clock;
use store::{DataDir, Held};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::settings::Settings;
use crate::worker::Worker;
use crate::{connections, http};

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
        let serving = connections::serve(self.listener, http::router(app), self.connections, stop.clone());
        let working = async {
            if let Some(worker) = &worker {
                worker.work(stop).await;
            }
        };
        tokio::join!(serving, working);
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
