//! The parts of a running Docwright. This is the only place that names a concrete backend;
//! everything else holds a trait.

use std::sync::Arc;

use agent::Editor;
use anyhow::Context;
use base::Clock;
use base::sqlite::Schema;
use ipnet::IpNet;
use store::{Accounts, DataDir, Held, JobStore, MasterKey, Pulls, Secrets, Sessions, SqliteStore};
use traffic::{SqliteViews, Views};

use crate::hosts::{self, Hosts, Repository};
use crate::settings::Settings;

/// What handlers and the worker share. Cheap to clone.
#[derive(Clone)]
pub struct App {
    pub accounts: Arc<dyn Accounts>,
    pub sessions: Arc<dyn Sessions>,
    pub secrets: Arc<dyn Secrets>,
    pub jobs: Arc<dyn JobStore>,
    pub pulls: Arc<dyn Pulls>,
    pub views: Arc<dyn Views>,
    pub hosts: Hosts,
    pub clock: Arc<dyn Clock>,
    pub public_url: Arc<str>,
    pub trusted_proxies: Arc<[IpNet]>,
}

/// What the admin commands need; works beside a running server.
pub struct Admin {
    pub accounts: Arc<dyn Accounts>,
    pub sessions: Arc<dyn Sessions>,
    pub secrets: Arc<dyn Secrets>,
    /// Where the server of this data directory was last reached.
    pub url: Option<String>,
    pulls: Arc<dyn Pulls>,
}

impl App {
    /// Opens everything under the data directory. The lock says that the caller is the only
    /// server, so whatever leases there are belong to the dead.
    pub async fn open(
        settings: &Settings,
        dir: &DataDir,
        _held: &Held,
        public_url: &str,
        clock: Arc<dyn Clock>,
    ) -> anyhow::Result<Self> {
        let store = open_store(settings, dir, Schema::Migrate, clock.clone()).await?;
        store.void_leases().await?;
        let views = SqliteViews::open(&dir.views(), clock.clone()).await?;
        let store = Arc::new(store);
        Ok(Self {
            hosts: Hosts::new(dir.repositories(), store.clone(), public_url),
            accounts: store.clone(),
            sessions: store.clone(),
            secrets: store.clone(),
            jobs: store.clone(),
            pulls: store,
            views: Arc::new(views),
            clock,
            public_url: public_url.into(),
            trusted_proxies: settings.trusted_proxies.clone().into(),
        })
    }

    /// The editor behind a model's name; `None` when this server has no such model.
    pub fn editor(&self, model: &str) -> Option<Arc<dyn Editor>> {
        MODELS.contains(&model).then(|| Arc::new(agent::Offline) as Arc<dyn Editor>)
    }
}

/// The models that a project can be given.
pub const MODELS: &[&str] = &["offline"];

impl Admin {
    pub async fn open(settings: &Settings, clock: Arc<dyn Clock>) -> anyhow::Result<Self> {
        let dir = DataDir::open(&settings.data)?;
        // Nobody may change the schema under a running server.
        let held = dir.hold().ok();
        let schema = if held.is_some() { Schema::Migrate } else { Schema::MustMatch };
        let store = Arc::new(open_store(settings, &dir, schema, clock).await?);
        Ok(Self {
            accounts: store.clone(),
            sessions: store.clone(),
            secrets: store.clone(),
            url: dir.url(),
            pulls: store,
        })
    }

    pub async fn check_repository(
        &self,
        repository: &str,
        base_ref: Option<&str>,
    ) -> anyhow::Result<Repository> {
        hosts::check(self.pulls.clone(), repository, base_ref).await
    }
}

async fn open_store(
    settings: &Settings,
    dir: &DataDir,
    schema: Schema,
    clock: Arc<dyn Clock>,
) -> anyhow::Result<SqliteStore> {
    let key_file = settings.master_key_file.clone().unwrap_or_else(|| dir.master_key());
    let master = MasterKey::load_or_create(&key_file)?;
    SqliteStore::open(&dir.database(), schema, master, clock).await.context("the store could not be opened")
}
