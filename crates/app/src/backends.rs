//! Opens the databases: the store, and the page views. Only this file names a concrete backend; all others use a trait.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use base::Clock;
use base::sqlite::{OpenError, Schema};
use store::{DataDir, MasterKey, PostgresStore, SHARED_VIEWS, SecretError, SqliteStore, Store, StoreError};
use traffic::{Inspection, RemoteLimits, RemoteSettings, RemoteViews, Reports, SqliteViews, Views, ViewsUrl};

use crate::directory;
use crate::settings::Settings;
use crate::views_owner::{DirectoryIds, ViewsOwner};

/// How often a command waits for another command that creates or migrates the database.
const MAX_RETRIES: u32 = 60;
const RETRY_DELAY: Duration = Duration::from_millis(50);

/// The page views, and which server stores them.
pub(crate) struct PageViews {
    pub(crate) views: Arc<dyn Views>,
    pub(crate) reports: Arc<dyn Reports>,
    pub(crate) owner: ViewsOwner,
    /// Their file, if they are in the data directory.
    pub(crate) file: Option<PathBuf>,
}

impl PageViews {
    fn new(views: impl Views + Reports + 'static, owner: ViewsOwner, file: Option<PathBuf>) -> Self {
        let views = Arc::new(views);
        Self { views: views.clone(), reports: views, owner, file }
    }

    /// Opens the page views of a server with the data directory of this id.
    pub(crate) async fn open(
        settings: &Settings,
        (dir, id): (&DataDir, &str),
        store: &Arc<dyn Store>,
        clock: Arc<dyn Clock>,
    ) -> anyhow::Result<Self> {
        settings.check().map_err(anyhow::Error::msg)?;
        match &settings.views_url {
            Some(url) => Self::open_shared(settings, url, (dir, id), store, clock).await,
            None => Self::open_in_directory(settings, (dir, id), store, clock).await,
        }
    }

    async fn open_in_directory(
        settings: &Settings,
        (dir, id): (&DataDir, &str),
        store: &Arc<dyn Store>,
        clock: Arc<dyn Clock>,
    ) -> anyhow::Result<Self> {
        let choice = settings.page_views;
        directory::refuse_shared_views(choice, &**store, id).await?;
        directory::refuse_missing_views(choice, dir, &**store, id).await?;
        let (guard, ranges) = (store.clock_guard(), directory::load_address_ranges(dir));
        let views = SqliteViews::open_guarded(&dir.views(), clock, settings.views, guard, ranges).await?;
        let newest = views.newest().await?;
        store.watch_clocks(id, newest).await?;
        directory::refuse_outdated_views(choice, (dir, &views, newest.is_none()), &**store, id).await?;
        let ids = DirectoryIds { own: id, home: id };
        let owner = ViewsOwner::claim(store.clone(), ids, choice, Arc::new(views.clone())).await?;
        Ok(Self::new(views, owner, Some(dir.views())))
    }

    /// Connects to nothing: page views are taken while ClickHouse is away.
    async fn open_shared(
        settings: &Settings,
        url: &ViewsUrl,
        (dir, id): (&DataDir, &str),
        store: &Arc<dyn Store>,
        clock: Arc<dyn Clock>,
    ) -> anyhow::Result<Self> {
        directory::refuse_views_in_directory(settings.page_views, &**store).await?;
        store.watch_clocks(id, None).await?;
        let views = connect(settings, url, (dir, &**store), clock, RemoteLimits::default())?;
        let ids = DirectoryIds { own: id, home: SHARED_VIEWS };
        let owner =
            ViewsOwner::claim(store.clone(), ids, settings.page_views, Arc::new(views.clone())).await?;
        Ok(Self::new(views, owner, None))
    }
}

fn connect(
    settings: &Settings,
    url: &ViewsUrl,
    (dir, store): (&DataDir, &dyn Store),
    clock: Arc<dyn Clock>,
    remote: RemoteLimits,
) -> anyhow::Result<RemoteViews> {
    Ok(RemoteViews::open(RemoteSettings {
        ledger: store.views_ledger().context("views_url needs database_url")?,
        url: url.clone(),
        cluster: settings.views_cluster.clone(),
        clock,
        guard: store.clock_guard(),
        limits: settings.views,
        remote,
        ranges: directory::load_address_ranges(dir),
        may_begin_anew: settings.page_views.may_begin_empty(),
    })?)
}

/// Checks the page views in ClickHouse, and changes nothing. `None` if they are in a data directory.
pub async fn inspect_shared_views(
    settings: &Settings,
    dir: &DataDir,
    clock: Arc<dyn Clock>,
) -> anyhow::Result<Option<Inspection>> {
    let Some(url) = &settings.views_url else { return Ok(None) };
    let store = open_store_read_only(settings, dir, clock.clone()).await?;
    let inspection = inspect(settings, url, (dir, &*store), clock).await;
    store.close().await;
    Ok(Some(inspection?))
}

async fn inspect(
    settings: &Settings,
    url: &ViewsUrl,
    (dir, store): (&DataDir, &dyn Store),
    clock: Arc<dyn Clock>,
) -> anyhow::Result<Inspection> {
    directory::refuse_views_in_directory(settings.page_views, store).await?;
    let remote = RemoteLimits { in_background: false, ..RemoteLimits::default() };
    Ok(connect(settings, url, (dir, store), clock, remote)?.inspect().await?)
}

/// Opens the store while a server may run. Without the lock, the schema must not change. If another command
/// holds the lock to create or migrate the database, this waits for it.
pub(crate) async fn open_beside(
    settings: &Settings,
    dir: &DataDir,
    schema: Schema,
    clock: Arc<dyn Clock>,
) -> anyhow::Result<Arc<dyn Store>> {
    MasterKey::protect(&key_file(settings, dir)).map_err(StoreError::from)?;
    if settings.database_url.is_some() {
        // PostgreSQL itself locks the schema, because other machines may use the database too.
        return Ok(open_store(settings, dir, schema, clock).await?);
    }
    for _ in 0..MAX_RETRIES {
        let lock = dir.lock().ok();
        let schema = if lock.is_some() { schema } else { Schema::MustMatch };
        match open_store(settings, dir, schema, clock.clone()).await {
            Err(StoreError::Open(OpenError::Older { .. })) => tokio::time::sleep(RETRY_DELAY).await,
            result => return Ok(result?),
        }
    }
    Ok(open_store(settings, dir, Schema::MustMatch, clock).await?)
}

pub(crate) async fn open_store(
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
    // The key is created before the database. So a database without a key has lost it.
    let master = match dir.has_database() {
        true => MasterKey::load(&key_file)?,
        false => MasterKey::load_or_create(&key_file)?,
    };
    Ok(Arc::new(SqliteStore::open(&dir.database(), schema, master, clock).await?))
}

/// Changes no file.
pub(crate) async fn open_store_read_only(
    settings: &Settings,
    dir: &DataDir,
    clock: Arc<dyn Clock>,
) -> Result<Arc<dyn Store>, StoreError> {
    if settings.database_url.is_some() {
        return open_store(settings, dir, Schema::MustMatch, clock).await;
    }
    let master = MasterKey::load(&key_file(settings, dir))?;
    Ok(Arc::new(SqliteStore::look(&dir.database(), master, clock).await?))
}

/// Servers that share a database get their master key from the operator.
fn shared_key(settings: &Settings) -> Result<MasterKey, SecretError> {
    MasterKey::load(settings.master_key_file.as_ref().ok_or(SecretError::NotNamed)?)
}

pub(crate) fn key_file(settings: &Settings, dir: &DataDir) -> PathBuf {
    settings.master_key_file.clone().unwrap_or_else(|| dir.master_key())
}

/// Fails if the server can't connect to its shared database. SQLite needs no connection.
pub async fn check_database_connection(settings: &Settings) -> Result<(), StoreError> {
    let Some(url) = &settings.database_url else { return Ok(()) };
    // Callers retry connection errors. A missing key is no such error, so it comes first.
    shared_key(settings)?;
    PostgresStore::reach(url).await
}
