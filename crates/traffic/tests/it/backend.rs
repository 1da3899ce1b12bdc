//! Both backends for tests that run on each.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use base::sqlite::Schema;
use base::{Clock, ClockGuard, ClockName, ClockRecord, TestClock};
use sqlx::{ConnectOptions, sqlite::SqliteConnectOptions};
use store::{DatabaseUrl, MasterKey, PostgresStore};
use tempfile::TempDir;
use traffic::{
    AddressRanges, Limits, RemoteLimits, RemoteSettings, RemoteViews, Reports, SqliteViews, Views,
};

use crate::cluster::Database;
use crate::engine::EngineDatabase;

/// A backend, and what tests need beside its traits.
#[async_trait]
pub(crate) trait Backend: Views + Reports {
    async fn run_maintenance(&self);
}

#[async_trait]
impl Backend for SqliteViews {
    async fn run_maintenance(&self) {
        SqliteViews::run_maintenance(self).await.unwrap();
    }
}

#[async_trait]
impl Backend for RemoteViews {
    async fn run_maintenance(&self) {
        RemoteViews::run_maintenance(self).await.unwrap();
    }
}

/// Where a backend keeps its views. It can be opened again.
#[async_trait]
pub(crate) trait Home {
    async fn open(&self, limits: Limits) -> Box<dyn Backend>;

    /// The time from which all raw events are stored.
    async fn raw_from(&self, project: &str) -> i64;

    fn clock(&self) -> &Arc<TestClock>;
}

pub(crate) struct SqliteHome {
    file: PathBuf,
    clock: Arc<TestClock>,
    _folder: TempDir,
}

impl SqliteHome {
    pub(crate) fn new(clock: Arc<TestClock>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { file: folder.path().join("views.db"), clock, _folder: folder }
    }
}

#[async_trait]
impl Home for SqliteHome {
    async fn open(&self, limits: Limits) -> Box<dyn Backend> {
        Box::new(SqliteViews::open_with(&self.file, self.clock.clone(), limits).await.unwrap())
    }

    async fn raw_from(&self, project: &str) -> i64 {
        let mut beside = SqliteConnectOptions::new().filename(&self.file).connect().await.unwrap();
        let raw_from = sqlx::query_scalar("SELECT raw_from FROM project WHERE name = ?").bind(project);
        raw_from.fetch_optional(&mut beside).await.unwrap().unwrap_or_default()
    }

    fn clock(&self) -> &Arc<TestClock> {
        &self.clock
    }
}

/// A database of PostgreSQL and one of ClickHouse.
pub(crate) struct RemoteHome {
    pub(crate) store: PostgresStore,
    pub(crate) database: Database,
    pub(crate) engine: EngineDatabase,
    clock: Arc<TestClock>,
    guard: Arc<ClockGuard>,
    _folder: TempDir,
}

impl RemoteHome {
    pub(crate) async fn new(clock: Arc<TestClock>) -> Self {
        Self::on(clock, EngineDatabase::create()).await
    }

    pub(crate) async fn on(clock: Arc<TestClock>, engine: EngineDatabase) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (database, folder) = (Database::create(), tempfile::tempdir().unwrap());
        let url: DatabaseUrl = database.url().parse().unwrap();
        let master = MasterKey::load_or_create(&folder.path().join("master.key")).unwrap();
        let store = PostgresStore::open(&url, Schema::Migrate, master, clock.clone()).await.unwrap();
        let guard = ClockGuard::new(clock.clone());
        for name in [ClockName::Server, ClockName::Database] {
            guard.watch(name, &ClockRecord::first(None, clock.now_ms()), guard.reading());
        }
        Self { store, database, engine, clock, guard, _folder: folder }
    }

    pub(crate) fn server(&self, limits: Limits, remote: RemoteLimits) -> RemoteViews {
        self.open_at(&self.engine.url(), limits, remote)
    }

    /// A server whose engine has another address.
    pub(crate) fn server_at(&self, url: &str) -> RemoteViews {
        let remote = RemoteLimits { in_background: false, ..RemoteLimits::default() };
        self.open_at(url, Limits::default(), remote)
    }

    /// A server that may replace its engine by an empty one.
    pub(crate) fn server_that_begins_anew(&self, url: &str) -> RemoteViews {
        let remote = RemoteLimits { in_background: false, ..RemoteLimits::default() };
        let settings = self.settings(url, Limits::default(), remote);
        RemoteViews::open(RemoteSettings { may_begin_anew: true, ..settings }).unwrap()
    }

    fn open_at(&self, url: &str, limits: Limits, remote: RemoteLimits) -> RemoteViews {
        RemoteViews::open(self.settings(url, limits, remote)).unwrap()
    }

    fn settings(&self, url: &str, limits: Limits, remote: RemoteLimits) -> RemoteSettings {
        RemoteSettings {
            ledger: Arc::new(self.store.views_ledger()),
            url: url.parse().unwrap(),
            cluster: None,
            clock: self.clock.clone(),
            guard: self.guard.clone(),
            limits,
            remote,
            ranges: AddressRanges::shipped(),
            may_begin_anew: false,
        }
    }

    /// Somebody says that the clocks are right.
    pub(crate) fn confirm_clocks(&self) {
        let record = ClockRecord { version: 1, ..ClockRecord::first(None, self.clock.now_ms()) };
        for name in [ClockName::Server, ClockName::Database] {
            self.guard.watch(name, &record, self.guard.reading());
        }
    }

    /// A server that reaches its engine through another port.
    pub(crate) fn server_through(&self, port: u16) -> RemoteViews {
        self.server_at(&self.engine.url_at(port))
    }

    /// A server that ships only when a test tells it to.
    pub(crate) fn quiet_server(&self) -> RemoteViews {
        self.server_at(&self.engine.url())
    }
}

#[async_trait]
impl Home for RemoteHome {
    async fn open(&self, limits: Limits) -> Box<dyn Backend> {
        let remote = RemoteLimits { in_background: false, ..RemoteLimits::default() };
        Box::new(self.server(limits, remote))
    }

    async fn raw_from(&self, project: &str) -> i64 {
        self.quiet_server().raw_from(project).await.unwrap().unwrap_or_default()
    }

    fn clock(&self) -> &Arc<TestClock> {
        &self.clock
    }
}

/// Runs each test on both backends. A test is a function of a home.
macro_rules! every_home {
    ($($test:ident),+ $(,)?) => {
        mod sqlite_home {
            $(#[tokio::test]
            async fn $test() {
                super::$test(&crate::backend::SqliteHome::new(crate::views::clock())).await;
            })+
        }

        mod remote_home {
            $(#[tokio::test]
            #[cfg_attr(not(has_engines), ignore = "PostgreSQL or ClickHouse is not installed")]
            async fn $test() {
                super::$test(&crate::backend::RemoteHome::new(crate::views::clock()).await).await;
            })+
        }
    };
}
pub(crate) use every_home;
