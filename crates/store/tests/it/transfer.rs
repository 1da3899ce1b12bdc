//! Tests moves from SQLite to PostgreSQL.

mod rows;

use std::sync::Arc;

use base::TestClock;
use base::sqlite::{OpenError, Schema};
use sqlx::ConnectOptions as _;
use sqlx::sqlite::SqliteConnectOptions;
use store::{
    Accounts, Clocks as _, DatabaseUrl, MasterKey, NewAuditEntry, OrganizationId, People, PostgresStore,
    Queue, Secrets, SqliteStore, StoreError, Transfer, TransferError, TransferPlan, TransferState, Upkeep,
    WorkerId,
};
use tempfile::TempDir;

use crate::cluster::Database;
use crate::open;

const DIRECTORY: &str = "directory-id";

struct Moving {
    source: SqliteStore,
    target: Database,
    clock: Arc<TestClock>,
    dir: TempDir,
}

impl Moving {
    /// An installation with rows in every table, and an empty database.
    async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let clock = Arc::new(TestClock::at("2026-11-15T12:00:00Z".parse().unwrap()));
        let source = open(&dir, clock.clone()).await;
        source.watch_clocks("server", None).await.unwrap();
        source.put_secret("project_1", "host key", b"s3cret").await.unwrap();
        rows::insert(&dir.path().join("docwright.db")).await;
        Self { source, target: Database::create(), clock, dir }
    }

    fn url(&self) -> DatabaseUrl {
        self.target.url().parse().unwrap()
    }

    fn key(&self) -> MasterKey {
        MasterKey::load(&self.dir.path().join("master.key")).unwrap()
    }

    async fn open_as(&self, plan: TransferPlan) -> Result<(Transfer, TransferState), TransferError> {
        Transfer::open(&self.source, &self.url(), self.key(), self.clock.clone(), plan).await
    }

    async fn open(&self) -> (Transfer, TransferState) {
        self.open_as(plan("move")).await.unwrap()
    }

    async fn open_target(&self) -> Result<PostgresStore, StoreError> {
        PostgresStore::open(&self.url(), Schema::Migrate, self.key(), self.clock.clone()).await
    }

    async fn move_all(&self) -> PostgresStore {
        let (mut transfer, _) = self.open().await;
        transfer.begin().await.unwrap();
        while transfer.copy_piece().await.unwrap().is_some() {}
        transfer.compare().await.unwrap();
        transfer.finish().await.unwrap();
        transfer.close().await;
        self.open_target().await.unwrap()
    }

    async fn refusal(&self, plan: TransferPlan) -> String {
        self.open_as(plan).await.err().unwrap().to_string()
    }
}

/// The connection that listens for notifications ends with the last clone of the store.
async fn close(store: PostgresStore) {
    store.close().await;
    drop(store);
}

fn plan(id: &str) -> TransferPlan {
    TransferPlan { id: id.into(), directory: DIRECTORY.into(), views: None }
}

/// A table that a later migration adds needs rows in `rows.rs`.
#[tokio::test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn every_table_has_the_same_rows_after_a_move() {
    let moving = Moving::new().await;
    let (mut transfer, state) = moving.open().await;
    assert_eq!(state, TransferState::New);
    let rows = transfer.source_rows().await.unwrap();
    transfer.begin().await.unwrap();
    let mut copied = Vec::new();
    while let Some(piece) = transfer.copy_piece().await.unwrap() {
        copied.push(piece.name);
    }
    copied.dedup();
    let compared = transfer.compare().await.unwrap();
    assert_eq!(compared.iter().map(|table| table.name).collect::<Vec<_>>(), copied);
    assert_eq!(compared, rows, "every table has rows in this test");
    transfer.finish().await.unwrap();
    transfer.close().await;

    let sql = |sql: &str| moving.target.sql(sql);
    assert_eq!(sql("SELECT prompt, draft, adopts, told FROM jobs WHERE id = 'job_1'"), "Fix\u{fffd}it|t|f|f");
    assert_eq!(sql("SELECT encode(hash, 'hex') FROM keys"), "00ff07");
    assert_eq!(sql("SELECT at FROM conversation ORDER BY number"), "1000\n1234", "the job's time is known");
    assert_eq!(sql("SELECT hour, used FROM rates"), "455000|7");
    assert_eq!(sql("SELECT count(*) FROM workers"), "0");
    let clocks = sql("SELECT string_agg(name, ',' ORDER BY name) FROM clocks");
    assert_eq!(clocks, "database,server directory-id");
}

#[tokio::test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn a_moved_installation_works() {
    let moving = Moving::new().await;
    let store = moving.move_all().await;
    let secret = store.secret("project_1", "host key").await.unwrap();
    assert_eq!(secret.unwrap().as_slice(), b"s3cret");
    let organization = OrganizationId("org_1".into());
    assert_eq!(store.projects(Some(&organization)).await.unwrap().len(), 1);
    // The numbers of the audit log continue after the highest one there ever was.
    let entry = NewAuditEntry {
        organization: organization.clone(),
        who: "ada".into(),
        what: "moved".into(),
        about: String::new(),
    };
    store.record_audit(&entry).await.unwrap();
    assert_eq!(moving.target.sql("SELECT max(number) FROM deeds"), "41");
    // The worker of the active job is dead, so another one leases the job.
    let worker = WorkerId("worker_2".into());
    store.heartbeat(&worker).await.unwrap();
    let lease = store.lease_next(&worker).await.unwrap().unwrap();
    assert_eq!(lease.job.id.0, "job_2");
    store.watch_clocks(DIRECTORY, None).await.unwrap();
    assert!(store.paused_clocks(Some(DIRECTORY)).await.unwrap().is_empty());
    store.close().await;
}

/// The process ends after each step in turn.
#[tokio::test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn an_interrupted_move_continues() {
    let moving = Moving::new().await;
    rows::insert_events(&moving.dir.path().join("docwright.db"), 2_500).await;
    let (mut transfer, state) = moving.open().await;
    assert_eq!(state, TransferState::New);
    transfer.begin().await.unwrap();
    transfer.close().await;
    let mut pieces = 0;
    loop {
        let (mut transfer, state) = moving.open().await;
        assert_eq!(state, TransferState::Interrupted);
        let piece = transfer.copy_piece().await.unwrap();
        transfer.close().await;
        if piece.is_none() {
            break;
        }
        pieces += 1;
    }
    assert!(pieces > 50, "{pieces}");
    let refused = moving.open_target().await.err();
    assert!(matches!(refused, Some(StoreError::Open(OpenError::Incomplete { .. }))), "{refused:?}");
    let (mut transfer, _) = moving.open().await;
    let compared = transfer.compare().await.unwrap();
    assert!(compared.iter().any(|table| table.name == "job_events" && table.rows == 2_502));
    transfer.finish().await.unwrap();
    transfer.close().await;
    assert_eq!(moving.open().await.1, TransferState::Complete);
    moving.open_target().await.unwrap().close().await;
}

#[tokio::test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn a_target_with_other_data_is_refused() {
    let moving = Moving::new().await;
    // A server that only started leaves nothing that matters.
    let server = moving.open_target().await.unwrap();
    let refused = moving.refusal(plan("move")).await;
    assert!(refused.contains("a server or a command uses it: stop it first"), "{refused}");
    close(server).await;
    assert_eq!(moving.open().await.1, TransferState::New);

    let server = moving.open_target().await.unwrap();
    server.create_organization("globex").await.unwrap();
    close(server).await;
    let refused = moving.refusal(plan("move")).await;
    assert!(refused.contains("already has data (organizations): create an empty database"), "{refused}");
}

/// A wrong URL must not upgrade another installation.
#[tokio::test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn a_target_with_an_older_schema_is_not_changed() {
    let moving = Moving::new().await;
    close(moving.open_target().await.unwrap()).await;
    moving.target.sql("DROP TABLE views_engine; UPDATE docwright_schema SET version = 15");
    let refused = moving.refusal(plan("move")).await;
    assert!(refused.contains("has the schema of an older version of Docwright"), "{refused}");
    assert_eq!(moving.target.sql("SELECT version FROM docwright_schema"), "15");
}

/// The copy and the comparison ask both sides for the columns of PostgreSQL.
#[tokio::test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn both_sides_have_the_same_columns() {
    let moving = Moving::new().await;
    let (transfer, _) = moving.open().await;
    let options = SqliteConnectOptions::new().filename(moving.dir.path().join("docwright.db"));
    let mut source = options.connect().await.unwrap();
    for table in transfer.source_rows().await.unwrap() {
        let columns = "SELECT name FROM pragma_table_info(?) ORDER BY 1";
        let columns = sqlx::query_scalar(columns).bind(table.name).fetch_all(&mut source).await;
        let mut columns: Vec<String> = columns.unwrap();
        if table.name == "rates" {
            // A reserved word of PostgreSQL.
            columns.iter_mut().filter(|name| *name == "window").for_each(|name| *name = "hour".into());
            columns.sort();
        }
        let of_target = format!(
            "SELECT attname FROM pg_attribute WHERE attrelid = '{}'::regclass AND attnum > 0 AND NOT attisdropped
             ORDER BY attname COLLATE \"C\"",
            table.name
        );
        let of_target = moving.target.sql(&of_target);
        assert_eq!(of_target.lines().collect::<Vec<_>>(), columns, "{}", table.name);
    }
}

/// Between the check and the beginning, a person may have time to read what will be moved.
#[tokio::test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn a_server_that_started_since_the_check_is_noticed() {
    let moving = Moving::new().await;
    let (mut transfer, _) = moving.open().await;
    let server = moving.open_target().await.unwrap();
    let refused = transfer.begin().await.unwrap_err().to_string();
    assert!(refused.contains("a server or a command uses it: stop it first"), "{refused}");
    server.create_organization("globex").await.unwrap();
    close(server).await;
    // The database notices a moment later that the server's connections ended.
    let refused = loop {
        match transfer.begin().await.unwrap_err() {
            TransferError::InUse(_) => tokio::time::sleep(std::time::Duration::from_millis(20)).await,
            refused => break refused.to_string(),
        }
    };
    assert!(refused.contains("already has data (organizations)"), "{refused}");
}

#[tokio::test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn another_move_to_the_same_target_is_refused() {
    let moving = Moving::new().await;
    let (mut transfer, _) = moving.open().await;
    transfer.begin().await.unwrap();
    let refused = moving.refusal(plan("move")).await;
    assert!(refused.contains("another process moves an installation"), "{refused}");
    transfer.close().await;
    let refused = moving.refusal(plan("another")).await;
    assert!(refused.contains("already has data (an earlier move)"), "{refused}");
    let with_views = TransferPlan { views: Some("views on http://ch as dw".into()), ..plan("move") };
    let refused = moving.refusal(with_views).await;
    assert!(refused.contains("began with other page views (those in the data directory)"), "{refused}");
}

#[tokio::test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn a_target_of_another_master_key_is_refused() {
    let moving = Moving::new().await;
    let other = TempDir::new().unwrap();
    let key = MasterKey::load_or_create(&other.path().join("master.key")).unwrap();
    let server =
        PostgresStore::open(&moving.url(), Schema::Migrate, key, moving.clock.clone()).await.unwrap();
    close(server).await;
    let refused = moving.refusal(plan("move")).await;
    assert!(refused.contains("servers with another master key used the database"), "{refused}");
}

#[tokio::test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn a_difference_is_found() {
    let moving = Moving::new().await;
    let (mut transfer, _) = moving.open().await;
    transfer.begin().await.unwrap();
    while transfer.copy_piece().await.unwrap().is_some() {}
    transfer.compare().await.unwrap();
    moving.target.sql("UPDATE messages SET prompt = 'Other'");
    let different = transfer.compare().await.unwrap_err().to_string();
    assert!(different.contains("the table messages has 1 row in PostgreSQL"), "{different}");
    moving.target.sql("DELETE FROM messages");
    let different = transfer.compare().await.unwrap_err().to_string();
    assert!(
        different.contains("the table messages has 0 rows in PostgreSQL and 1 row in SQLite"),
        "{different}"
    );
    transfer.close().await;
}
