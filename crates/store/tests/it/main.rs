//! Tests of the store's traits. `every_backend!` runs each test on SQLite and on PostgreSQL.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod accounts;
mod clock;
mod cluster;
mod conversation;
mod data_dir;
mod deaths;
mod failed_diffs;
mod findings;
mod follow_ups;
mod idempotency;
mod job_lists;
mod jobs;
mod member_access;
mod people;
mod postgres;
mod proposals;
mod pulls;
mod queue;
mod races;
mod secrets;
mod suspects;
mod sweeps;
mod transfer;
mod upkeep;
mod views_directory;

use std::sync::Arc;

use base::TestClock;
use base::sqlite::Schema;
use store::{
    Accounts, Clocks as _, DatabaseUrl, Hosting, MasterKey, NewProject, OrganizationId, PostgresStore,
    Project, SqliteStore,
};
use tempfile::TempDir;

/// Runs tests on a store of each database, with a clock that the test moves.
macro_rules! every_backend {
    ($($test:ident),+ $(,)?) => {
        mod sqlite {
            $(#[tokio::test]
            async fn $test() {
                let kept = crate::SqliteTest::new().await;
                super::$test(&kept.store, &kept.clock).await;
            })+
        }

        mod postgres {
            $(#[tokio::test]
            #[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
            async fn $test() {
                let kept = crate::PostgresTest::new().await;
                super::$test(&kept.store, &kept.clock).await;
            })+
        }
    };
}
use every_backend;

/// The id of a server's data directory.
const SERVER: &str = "server-id";

struct SqliteTest {
    store: SqliteStore,
    clock: Arc<TestClock>,
    dir: TempDir,
}

impl SqliteTest {
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let clock = Arc::new(TestClock::at("2026-11-15T12:00:00Z".parse().unwrap()));
        let store = open(&dir, clock.clone()).await;
        store.watch_clocks(SERVER, None).await.unwrap();
        Self { store, clock, dir }
    }
}

struct PostgresTest {
    store: PostgresStore,
    clock: Arc<TestClock>,
    dir: TempDir,
    database: cluster::Database,
}

impl PostgresTest {
    async fn new() -> Self {
        let database = cluster::Database::create();
        let dir = tempfile::tempdir().unwrap();
        let clock = Arc::new(TestClock::at("2026-11-15T12:00:00Z".parse().unwrap()));
        let store = open_postgres(&database, &dir, clock.clone()).await.unwrap();
        store.watch_clocks(SERVER, None).await.unwrap();
        Self { store, clock, dir, database }
    }
}

async fn open_postgres(
    database: &cluster::Database,
    dir: &TempDir,
    clock: Arc<TestClock>,
) -> store::Result<PostgresStore> {
    let url: DatabaseUrl = database.url().parse().unwrap();
    let master = MasterKey::load_or_create(&dir.path().join("master.key")).unwrap();
    PostgresStore::open(&url, Schema::Migrate, master, clock).await
}

async fn open(dir: &TempDir, clock: Arc<TestClock>) -> SqliteStore {
    let master = MasterKey::load_or_create(&dir.path().join("master.key")).unwrap();
    SqliteStore::open(&dir.path().join("docwright.db"), Schema::Migrate, master, clock).await.unwrap()
}

async fn project(store: &dyn Accounts, organization: &str) -> Project {
    let organization = store.create_organization(organization).await.unwrap().id;
    store.create_project(&new_project(&organization)).await.unwrap()
}

fn new_project(organization: &OrganizationId) -> NewProject {
    NewProject {
        hosting: Hosting { kind: Some("gitea".into()), reviewers: vec!["ada".into()], ..Hosting::default() },
        organization: organization.clone(),
        name: "Docs".into(),
        repository: "/srv/docs".into(),
        base_ref: None,
        docs_path: None,
        sites: vec!["https://docs.acme.dev".into()],
        model: "offline".into(),
        models: vec![],
        allow_paths: vec![],
    }
}
