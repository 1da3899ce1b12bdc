//! The parts of a running Docwright. This is the only place that names a concrete backend;
//! everything else holds a trait.

use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use base::Clock;
use base::sqlite::{OpenError, Schema};
use forge::{Local, RepositoryProblem};
use serde_json::Value;
use store::{
    Accounts, Clocks, DataDir, DataDirLock, DirectoryWatch, JobStore, Limit, MasterKey, People,
    PostgresStore, Project, ProjectChange, Pulls, Queue, Rates, SecretError, Secrets, Sessions, SqliteStore,
    Store, StoreError, Sweeps, Upkeep, ViewsDirectory,
};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use traffic::{Reports, SqliteViews, Views};

use crate::address_limit::AddressLimit;
use crate::bodies::{Bodies, Room};
use crate::directory;
use crate::home::Home;
use crate::hosts::{self, COMMAND_LINE, HostKey, Hosts, Repository, Requested, Updated, Wanted};
use crate::metrics::{Counted, Metrics};
use crate::models::Models;
use crate::passwords::Passwords;
use crate::proxy_hint::ProxyHint;
use crate::readiness::Readiness;
use crate::refused_files::{self, RefusedFile};
use crate::settings::{Limits, Proxies, Settings, USUAL_URL};
use crate::sign_in_limit::SignInLimit;
use crate::streams::Streams;

/// How often, and how long each time, a command waits for another one.
const ANOTHER_COMMAND: u32 = 60;
const A_MOMENT: Duration = Duration::from_millis(50);
const MAX_TOUCHES: usize = 64;

/// What handlers and the worker share. A request clones it at every layer that it passes, so that is one count and
/// not one for each part: those were half of what a request cost.
#[derive(Clone)]
pub struct App(Arc<Parts>);

#[derive(Clone)]
pub struct Parts {
    pub accounts: Arc<dyn Accounts>,
    pub sessions: Arc<dyn Sessions>,
    pub people: Arc<dyn People>,
    pub passwords: Passwords,
    /// Tries to sign in and to join, by address and by name.
    pub tries: Arc<SignInLimit>,
    pub secrets: Arc<dyn Secrets>,
    pub jobs: Arc<dyn JobStore>,
    pub queue: Arc<dyn Queue>,
    pub rates: Arc<dyn Rates>,
    pub limits: Limits,
    /// Of one project at once.
    pub project_jobs: u32,
    /// What browsers send without a key.
    pub beacons: Arc<AddressLimit>,
    pub pulls: Arc<dyn Pulls>,
    pub sweeps: Arc<dyn Sweeps>,
    pub upkeep: Arc<dyn Upkeep>,
    pub clocks: Arc<dyn Clocks>,
    /// Whether something was deleted whose text may still be in a write-ahead log. At a start nobody knows.
    pub needs_checkpoint: Arc<AtomicBool>,
    /// How long transcripts are kept, and branches of settled pull requests.
    pub transcripts: Option<Duration>,
    pub branches: Option<Duration>,
    /// Bytes of all caches together.
    pub caches: u64,
    pub views: Arc<dyn Views>,
    pub reports: Arc<dyn Reports>,
    pub home: Home,
    pub hosts: Hosts,
    pub readiness: Arc<Readiness>,
    /// Notes of the last use of a key that may be under way.
    pub touches: Arc<Semaphore>,
    pub clock: Arc<dyn Clock>,
    pub data: Arc<Path>,
    /// Whether the files that were opened are still those of the data directory.
    pub directory: Arc<DirectoryWatch>,
    pub public_url: Arc<str>,
    /// Of the API, once somebody has asked for it.
    pub description: Arc<OnceLock<Value>>,
    pub proxies: Arc<Proxies>,
    pub proxy_hint: Arc<ProxyHint>,
    pub bodies: Bodies,
    /// For large answers, until they are read.
    pub answers: Room,
    /// Event streams that may be open at once.
    pub streams: Streams,
    /// The server's stop, which they do not outlive.
    pub stop: CancellationToken,
    pub models: Arc<Models>,
    pub metrics: Arc<Metrics>,
    /// Whether `/metrics` shows them.
    pub serves_metrics: bool,
}

/// What the admin commands need; works beside a running server.
pub struct Admin {
    pub accounts: Arc<dyn Accounts>,
    pub sessions: Arc<dyn Sessions>,
    pub people: Arc<dyn People>,
    pub secrets: Arc<dyn Secrets>,
    pub upkeep: Arc<dyn Upkeep>,
    pub clocks: Arc<dyn Clocks>,
    /// Where the server of this data directory was last reached.
    pub url: Option<String>,
    home: Arc<dyn ViewsDirectory>,
    jobs: Arc<dyn JobStore>,
    hosts: Hosts,
}

impl Deref for App {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

/// For its holder alone: clones of before stay as they were.
impl DerefMut for App {
    fn deref_mut(&mut self) -> &mut Parts {
        Arc::make_mut(&mut self.0)
    }
}

impl App {
    /// Opens the store, and everything under the data directory. The lock says that the caller is
    /// the only server of that directory, so whatever leases are in it belong to the dead.
    pub async fn open(
        settings: &Settings,
        dir: &DataDir,
        held: &DataDirLock,
        public_url: &str,
        clock: Arc<dyn Clock>,
    ) -> anyhow::Result<Self> {
        MasterKey::protect(&key_file(settings, dir))?;
        let store = open_store(settings, dir, Schema::Migrate, clock.clone()).await?;
        let models = Models::open(&settings.models, settings.agent, &*store).await?;
        if settings.database_url.is_none() {
            store.void_leases().await?;
        }
        if let Err(error) = forge::remove_stale_files(&dir.repositories()) {
            tracing::warn!("the repository caches keep what a killed server left in them: {error}");
        }
        directory::warn_of_missing_views(settings, dir);
        let id = dir.id(held)?;
        directory::refuse_missing_views(settings.page_views, dir, &*store, &id).await?;
        let guard = store.clock_guard();
        let views = SqliteViews::open_guarded(&dir.views(), clock.clone(), settings.views, guard).await?;
        store.watch_clocks(&id, views.newest().await?).await?;
        let home = Home::settle(store.clone(), &id, settings.page_views).await?;
        let database = settings.database_url.is_none().then(|| dir.database());
        let databases: Vec<_> = database.into_iter().chain([dir.views()]).collect();
        let directory = Arc::new(dir.watch(held, &databases)?);
        let metrics = Arc::new(Metrics::new(clock.now()));
        let hosts = Hosts::new(dir, store.clone(), store.clone(), public_url, settings, clock.clone());
        hosts.recover(&store.projects(None).await?).await;
        Ok(Self(Arc::new(Parts {
            readiness: Arc::default(),
            touches: Arc::new(Semaphore::new(MAX_TOUCHES)),
            hosts,
            accounts: store.clone(),
            sessions: store.clone(),
            people: store.clone(),
            passwords: Passwords::new(),
            tries: Arc::new(SignInLimit::new(clock.clone())),
            secrets: store.clone(),
            jobs: store.clone(),
            queue: store.clone(),
            rates: store.clone(),
            limits: settings.limits,
            project_jobs: settings.project_jobs,
            beacons: Arc::new(AddressLimit::new(settings.limits.beacons, clock.clone())),
            sweeps: store.clone(),
            upkeep: store.clone(),
            clocks: store.clone(),
            needs_checkpoint: Arc::new(AtomicBool::new(true)),
            transcripts: settings.transcripts,
            branches: settings.branches,
            caches: settings.caches,
            pulls: store,
            home,
            reports: Arc::new(views.clone()),
            views: Arc::new(Counted { views, metrics: metrics.clone() }),
            clock,
            data: std::path::absolute(&settings.data)?.into(),
            directory,
            public_url: public_url.into(),
            description: Arc::default(),
            proxies: Arc::new(settings.proxies.clone()),
            proxy_hint: Arc::default(),
            bodies: Bodies::new(settings.bounds.bodies),
            answers: Room::new(settings.bounds.answers),
            streams: Streams::new(settings.bounds.connections.div_ceil(4)),
            stop: CancellationToken::new(),
            models: Arc::new(models),
            metrics,
            serves_metrics: settings.metrics,
        })))
    }

    /// Whether page views are kept by this server, and not by another one on the same database.
    pub fn keeps_views(&self) -> bool {
        self.home.is_here()
    }

    /// Jobs and follow-ups of a project, together.
    pub fn job_limit(&self, project: &str) -> Limit {
        Limit { bucket: format!("jobs {project}"), max: self.limits.jobs }
    }

    /// Closes both databases, so that on disk each is one file that holds everything.
    pub async fn close(&self) {
        tokio::join!(self.views.close(), self.upkeep.close());
    }
}

impl Admin {
    /// Makes a new installation where there is none.
    pub async fn open(settings: &Settings, clock: Arc<dyn Clock>) -> anyhow::Result<Self> {
        let dir = directory::open(settings)?;
        let store = open_beside(settings, &dir, Schema::Migrate, clock.clone()).await?;
        Ok(Self::over(store, &dir, settings, clock))
    }

    /// The same, but makes no directory, no database and no key: a mistyped name is an error.
    pub async fn open_existing(settings: &Settings, clock: Arc<dyn Clock>) -> anyhow::Result<Self> {
        let dir = match settings.database_url {
            Some(_) => DataDir::at(&settings.data),
            None => DataDir::find_installation(&settings.data)?,
        };
        let store = open_beside(settings, &dir, Schema::Existing, clock.clone()).await?;
        Ok(Self::over(store, &dir, settings, clock))
    }

    /// The same, but also leaves every file as it is: for a database of this version.
    pub async fn look(settings: &Settings, dir: &DataDir, clock: Arc<dyn Clock>) -> Result<Self, StoreError> {
        let store: Arc<dyn Store> = match settings.database_url {
            Some(_) => open_store(settings, dir, Schema::MustMatch, clock.clone()).await?,
            None => {
                let master = MasterKey::load(&key_file(settings, dir))?;
                Arc::new(SqliteStore::look(&dir.database(), master, clock.clone()).await?)
            }
        };
        Ok(Self::over(store, dir, settings, clock))
    }

    fn over(store: Arc<dyn Store>, dir: &DataDir, settings: &Settings, clock: Arc<dyn Clock>) -> Self {
        let url = dir.url();
        let base = url.as_deref().unwrap_or(USUAL_URL);
        Self {
            hosts: Hosts::new(dir, store.clone(), store.clone(), base, settings, clock),
            accounts: store.clone(),
            sessions: store.clone(),
            people: store.clone(),
            secrets: store.clone(),
            home: store.clone(),
            upkeep: store.clone(),
            jobs: store.clone(),
            clocks: store,
            url,
        }
    }

    /// The files of a project's latest jobs that would be refused now.
    pub async fn refused_files(&self, project: &Project) -> Result<Vec<RefusedFile>, StoreError> {
        refused_files::refused_files(&*self.jobs, project).await
    }

    /// Whether the page views of a shared database are at home in the directory of this id.
    pub async fn is_views_directory(&self, id: &str) -> Result<bool, StoreError> {
        self.home.is_views_directory(id).await
    }

    /// The embedded host of a project's pull requests.
    pub async fn host(&self, project: &Project) -> forge::Result<Local> {
        self.hosts.local(project).await
    }

    pub async fn check_repository(&self, wanted: Wanted<'_>) -> anyhow::Result<Repository> {
        hosts::check(&self.hosts, wanted).await
    }

    /// Changes the project, once its repository has been found to be of use.
    pub async fn update_project(
        &self,
        before: &Project,
        change: &ProjectChange,
        key: Option<&HostKey>,
    ) -> anyhow::Result<Updated> {
        let requested = Requested { before, change, key, who: COMMAND_LINE };
        hosts::update(&self.hosts, &*self.accounts, requested).await
    }

    /// Whether a project's repository is still to be used.
    pub async fn check_project(&self, project: &Project) -> anyhow::Result<Repository> {
        let change = &ProjectChange::default();
        let requested = Requested { before: project, change, key: None, who: COMMAND_LINE };
        hosts::check_change(&self.hosts, requested).await
    }

    /// What a killed program or a power cut left in a repository on this machine.
    pub async fn inspect_repository(&self, project: &Project) -> forge::Result<Vec<RepositoryProblem>> {
        self.hosts.local(project).await?.inspect().await
    }

    /// Keeps what the project's host knows us by.
    pub async fn keep_host_key(&self, project: &Project, key: Option<&HostKey>) -> anyhow::Result<()> {
        hosts::keep_key(&self.hosts, project, key, COMMAND_LINE).await
    }
}

/// Nobody may change the schema under a running server. Who holds the lock may be another
/// command, though, that is making the database just now: that one is waited for.
async fn open_beside(
    settings: &Settings,
    dir: &DataDir,
    wanted: Schema,
    clock: Arc<dyn Clock>,
) -> anyhow::Result<Arc<dyn Store>> {
    MasterKey::protect(&key_file(settings, dir)).map_err(StoreError::from)?;
    if settings.database_url.is_some() {
        // Who uses it is known to the database, which other machines may use, too.
        return Ok(open_store(settings, dir, wanted, clock).await?);
    }
    for _ in 0..ANOTHER_COMMAND {
        let held = dir.lock().ok();
        let schema = if held.is_some() { wanted } else { Schema::MustMatch };
        match open_store(settings, dir, schema, clock.clone()).await {
            Err(StoreError::Open(OpenError::Older { .. })) => tokio::time::sleep(A_MOMENT).await,
            done => return Ok(done?),
        }
    }
    Ok(open_store(settings, dir, Schema::MustMatch, clock).await?)
}

async fn open_store(
    settings: &Settings,
    dir: &DataDir,
    schema: Schema,
    clock: Arc<dyn Clock>,
) -> Result<Arc<dyn Store>, StoreError> {
    if let Some(url) = &settings.database_url {
        let master = shared_key(settings)?;
        return Ok(Arc::new(PostgresStore::open(url, schema, master, clock).await?));
    }
    let key_file = key_file(settings, dir);
    // The key is made before the database: one that has none has lost it.
    let master = match dir.has_database() {
        true => MasterKey::load(&key_file)?,
        false => MasterKey::load_or_create(&key_file)?,
    };
    Ok(Arc::new(SqliteStore::open(&dir.database(), schema, master, clock).await?))
}

/// The key of servers that share a database comes from outside.
fn shared_key(settings: &Settings) -> Result<MasterKey, SecretError> {
    MasterKey::load(settings.master_key_file.as_ref().ok_or(SecretError::NotNamed)?)
}

fn key_file(settings: &Settings, dir: &DataDir) -> PathBuf {
    settings.master_key_file.clone().unwrap_or_else(|| dir.master_key())
}

/// Fails while a database that others share cannot be connected to. A file needs no connection.
pub async fn reach_database(settings: &Settings) -> Result<(), StoreError> {
    let Some(url) = &settings.database_url else { return Ok(()) };
    // No wait makes a key appear.
    shared_key(settings)?;
    PostgresStore::reach(url).await
}
