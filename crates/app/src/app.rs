//! Assembles the parts of a running server, and of the admin commands.

use std::ops::Deref;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use base::Clock;
use base::sqlite::Schema;
use forge::{FetchState, Local, RepositoryProblem};
use serde_json::Value;
use store::{
    Accounts, Clocks, DataDir, DataDirLock, DirectoryWatch, Findings, JobStore, LeaseLimits, Limit,
    MasterKey, People, Project, ProjectChange, Proposals, Pulls, Queue, Rates, Secrets, Sessions, Store,
    StoreError, Sweeps, Upkeep, ViewsDirectory, ViewsHome,
};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use traffic::{Reports, Views};

use crate::address_limit::AddressLimit;
use crate::backends::{PageViews, key_file, open_beside, open_store, open_store_read_only};
use crate::bodies::{Bodies, ByteBudget};
use crate::directory;
use crate::fair_semaphore::FairSemaphore;
use crate::hosts::{
    self, COMMAND_LINE, HostKey, Hosts, ProjectUpdate, Repository, RepositoryRequest, UpdatedProject,
};
use crate::intake::Intake;
use crate::metrics::Metrics;
use crate::models::Models;
use crate::passwords::Passwords;
use crate::proxy_hint::ProxyHint;
use crate::readiness::Readiness;
use crate::refused_files::{self, RefusedFile};
use crate::settings::{DEFAULT_URL, Limits, Proxies, Settings};
use crate::sign_in_limit::SignInLimit;
use crate::streams::Streams;
use crate::views_owner::ViewsOwner;

const MAX_KEY_TOUCHES: usize = 64;

/// What the handlers and the worker share. A request clones it in every layer that it passes, so a clone is
/// one reference count. A count for each part would be half of the cost of a request.
#[derive(Clone)]
pub struct App(Arc<AppParts>);

#[derive(Clone)]
pub struct AppParts {
    pub accounts: Arc<dyn Accounts>,
    pub sessions: Arc<dyn Sessions>,
    pub people: Arc<dyn People>,
    pub passwords: Passwords,
    pub sign_in_limit: Arc<SignInLimit>,
    pub secrets: Arc<dyn Secrets>,
    pub jobs: Arc<dyn JobStore>,
    pub queue: Arc<dyn Queue>,
    pub rates: Arc<dyn Rates>,
    pub limits: Limits,
    /// The maximum number of leased jobs of this process.
    pub max_jobs_in_flight: usize,
    /// The maximum numbers of leased jobs of one project and of one organization.
    pub lease_limits: LeaseLimits,
    /// The permits for local work of jobs. The worker sets their number.
    pub local_work: Arc<FairSemaphore>,
    /// Limits page views that browsers send without an API key.
    pub beacon_limit: Arc<AddressLimit>,
    pub pulls: Arc<dyn Pulls>,
    pub sweeps: Arc<dyn Sweeps>,
    pub proposals: Arc<dyn Proposals>,
    pub findings: Arc<dyn Findings>,
    pub upkeep: Arc<dyn Upkeep>,
    pub clocks: Arc<dyn Clocks>,
    /// Whether deleted text may still be in a write-ahead log. It's unknown at the start, so it begins as
    /// true.
    pub needs_checkpoint: Arc<AtomicBool>,
    /// `None`: forever.
    pub transcript_retention: Option<Duration>,
    /// For branches of merged and closed pull requests. `None`: forever.
    pub branch_retention: Option<Duration>,
    /// For all repository caches together.
    pub max_cache_bytes: u64,
    pub views: Arc<dyn Views>,
    pub reports: Arc<dyn Reports>,
    pub views_owner: ViewsOwner,
    pub hosts: Hosts,
    pub readiness: Arc<Readiness>,
    /// Limits concurrent writes of a key's last use.
    pub key_touches: Arc<Semaphore>,
    pub clock: Arc<dyn Clock>,
    pub data: Arc<Path>,
    /// Checks that the open files are still those of the data directory.
    pub directory: Arc<DirectoryWatch>,
    pub public_url: Arc<str>,
    /// The OpenAPI description, once it was requested.
    pub description: Arc<OnceLock<Value>>,
    pub proxies: Arc<Proxies>,
    pub proxy_hint: Arc<ProxyHint>,
    pub bodies: Bodies,
    /// For large responses that clients haven't read yet.
    pub response_budget: ByteBudget,
    pub streams: Streams,
    /// Ends when the server stops. Event streams end with it.
    pub stop: CancellationToken,
    pub models: Arc<Models>,
    pub metrics: Arc<Metrics>,
    /// Whether `/metrics` exists.
    pub serves_metrics: bool,
}

/// What the admin commands need. It can be used while a server runs.
pub struct Admin {
    pub accounts: Arc<dyn Accounts>,
    pub sessions: Arc<dyn Sessions>,
    pub people: Arc<dyn People>,
    pub secrets: Arc<dyn Secrets>,
    pub upkeep: Arc<dyn Upkeep>,
    pub clocks: Arc<dyn Clocks>,
    /// The last URL of this data directory's server.
    pub url: Option<String>,
    views_directory: Arc<dyn ViewsDirectory>,
    jobs: Arc<dyn JobStore>,
    hosts: Hosts,
}

impl Deref for App {
    type Target = AppParts;

    fn deref(&self) -> &AppParts {
        &self.0
    }
}

impl App {
    /// Opens the store, and everything in the data directory. The lock proves that no other server uses the
    /// directory, so the workers of all leases in it are dead.
    pub async fn open(
        settings: &Settings,
        dir: &DataDir,
        lock: &DataDirLock,
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
            tracing::warn!(
                "cannot remove stale files of a killed server from the repository caches: {error}"
            );
        }
        // A directory without an id is a new one, so before it gets one.
        directory::warn_of_missing_views(settings, dir);
        let id = dir.id(lock)?;
        let page_views = PageViews::open(settings, (dir, &id), &store, clock.clone()).await?;
        let database = settings.database_url.is_none().then(|| dir.database());
        let databases: Vec<_> = database.into_iter().chain(page_views.file).collect();
        let directory = Arc::new(dir.watch(lock, &databases)?);
        let metrics = Arc::new(Metrics::new(clock.now()));
        let hosts = Hosts::new(dir, store.clone(), store.clone(), public_url, settings, clock.clone());
        hosts.recover(&store.projects(None).await?).await;
        Ok(Self(Arc::new(AppParts {
            readiness: Arc::default(),
            key_touches: Arc::new(Semaphore::new(MAX_KEY_TOUCHES)),
            hosts,
            accounts: store.clone(),
            sessions: store.clone(),
            people: store.clone(),
            passwords: Passwords::new(),
            sign_in_limit: Arc::new(SignInLimit::new(clock.clone())),
            secrets: store.clone(),
            jobs: store.clone(),
            queue: store.clone(),
            rates: store.clone(),
            limits: settings.limits,
            max_jobs_in_flight: settings.jobs_in_flight as usize,
            lease_limits: settings.lease_limits(),
            local_work: Arc::new(FairSemaphore::new(0)),
            beacon_limit: Arc::new(AddressLimit::new(settings.limits.beacons, clock.clone())),
            sweeps: store.clone(),
            proposals: store.clone(),
            findings: store.clone(),
            upkeep: store.clone(),
            clocks: store.clone(),
            needs_checkpoint: Arc::new(AtomicBool::new(true)),
            transcript_retention: settings.transcripts,
            branch_retention: settings.branches,
            max_cache_bytes: settings.caches,
            pulls: store,
            reports: page_views.reports,
            views: Arc::new(Intake {
                views: page_views.views,
                owner: page_views.owner.clone(),
                metrics: metrics.clone(),
            }),
            views_owner: page_views.owner,
            clock,
            data: std::path::absolute(&settings.data)?.into(),
            directory,
            public_url: public_url.into(),
            description: Arc::default(),
            proxies: Arc::new(settings.proxies.clone()),
            proxy_hint: Arc::default(),
            bodies: Bodies::new(settings.bounds.bodies),
            response_budget: ByteBudget::new(settings.bounds.answers),
            streams: Streams::new(settings.bounds.connections.div_ceil(4)),
            stop: CancellationToken::new(),
            models: Arc::new(models),
            metrics,
            serves_metrics: settings.metrics,
        })))
    }

    /// Changes parts of this app. Earlier clones keep theirs.
    pub fn with(mut self, change: impl FnOnce(&mut AppParts)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }

    /// Whether this server stores the page views, and not another server on the same database.
    pub fn stores_views(&self) -> bool {
        self.views_owner.is_this_server()
    }

    /// The rate limit of a project, for jobs and follow-ups together.
    pub fn job_limit(&self, project: &str) -> Limit {
        Limit { bucket: format!("jobs {project}"), max: self.limits.jobs }
    }

    /// Closes both databases, so that each is one file on disk.
    pub async fn close(&self) {
        tokio::join!(self.views.close(), self.upkeep.close());
    }
}

impl Admin {
    /// Creates a new installation if there is none.
    pub async fn open(settings: &Settings, clock: Arc<dyn Clock>) -> anyhow::Result<Self> {
        let dir = directory::open(settings)?;
        let store = open_beside(settings, &dir, Schema::Migrate, clock.clone()).await?;
        Ok(Self::new(store, &dir, settings, clock))
    }

    /// Like [`Admin::open`], but creates no directory, database or key, so that a mistyped path is an error.
    pub async fn open_existing(settings: &Settings, clock: Arc<dyn Clock>) -> anyhow::Result<Self> {
        let dir = match settings.database_url {
            Some(_) => DataDir::at(&settings.data),
            None => DataDir::find_installation(&settings.data)?,
        };
        if settings.database_url.is_none() {
            dir.refuse_moved()?;
        }
        let store = open_beside(settings, &dir, Schema::Existing, clock.clone()).await?;
        Ok(Self::new(store, &dir, settings, clock))
    }

    /// Like [`Admin::open_existing`], but changes no file. The database must have the schema of this version.
    pub async fn open_read_only(
        settings: &Settings,
        dir: &DataDir,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, StoreError> {
        let store = open_store_read_only(settings, dir, clock.clone()).await?;
        Ok(Self::new(store, dir, settings, clock))
    }

    fn new(store: Arc<dyn Store>, dir: &DataDir, settings: &Settings, clock: Arc<dyn Clock>) -> Self {
        let url = dir.url();
        let base = url.as_deref().unwrap_or(DEFAULT_URL);
        Self {
            hosts: Hosts::new(dir, store.clone(), store.clone(), base, settings, clock),
            accounts: store.clone(),
            sessions: store.clone(),
            people: store.clone(),
            secrets: store.clone(),
            views_directory: store.clone(),
            upkeep: store.clone(),
            jobs: store.clone(),
            clocks: store,
            url,
        }
    }

    /// The files of a project's latest jobs that the guard would refuse now.
    pub async fn refused_files(&self, project: &Project) -> Result<Vec<RefusedFile>, StoreError> {
        refused_files::refused_files(&*self.jobs, project).await
    }

    /// Which server has the page views of a shared database, as seen from the data directory with this id.
    pub async fn views_home(&self, id: &str) -> Result<ViewsHome, StoreError> {
        self.views_directory.views_home(id).await
    }

    /// The embedded host of a project's pull requests.
    pub async fn host(&self, project: &Project) -> forge::Result<Local> {
        self.hosts.local(project).await
    }

    pub async fn check_repository(&self, request: RepositoryRequest<'_>) -> anyhow::Result<Repository> {
        hosts::check(&self.hosts, request).await
    }

    /// Changes the project if its repository can be used.
    pub async fn update_project(
        &self,
        before: &Project,
        change: &ProjectChange,
        key: Option<&HostKey>,
    ) -> anyhow::Result<UpdatedProject> {
        let update = ProjectUpdate { before, change, key, who: COMMAND_LINE };
        hosts::update(&self.hosts, &*self.accounts, update).await
    }

    /// Checks that a project's repository can still be used.
    pub async fn check_project(&self, project: &Project) -> anyhow::Result<Repository> {
        let change = &ProjectChange::default();
        let update = ProjectUpdate { before: project, change, key: None, who: COMMAND_LINE };
        hosts::check_update(&self.hosts, update).await
    }

    /// How the cache of a project gets the files of its commits. `None` if it has all of them, or doesn't exist.
    pub fn fetch_state(&self, project: &Project) -> Option<FetchState> {
        self.hosts.fetch_state(&project.id)
    }

    /// Finds what a killed program or a power cut left in a repository on this machine.
    pub async fn inspect_repository(&self, project: &Project) -> forge::Result<Vec<RepositoryProblem>> {
        self.hosts.local(project).await?.inspect().await
    }

    /// Stores the token or the app's key for the project's host.
    pub async fn store_host_key(&self, project: &Project, key: Option<&HostKey>) -> anyhow::Result<()> {
        hosts::store_key(&self.hosts, project, key, COMMAND_LINE).await
    }
}
