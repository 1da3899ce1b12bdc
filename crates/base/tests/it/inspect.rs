//! Tests that inspecting a database changes nothing, in whatever state the server left it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base::sqlite::{Database, Inspection, OpenError, Schema, inspect};
use sqlx::{Connection, SqliteConnection};

use crate::{SCHEMA_V1, SCHEMA_V2, count, insert};

const LIMIT: Duration = Duration::from_secs(60);

/// Every file of the folder with its content.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| (path.clone(), std::fs::read(&path).unwrap())).collect()
}

fn names(folder: &Path) -> Vec<String> {
    files(folder).keys().map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect()
}

/// The files that a killed server leaves: the rows are in the write-ahead log only.
async fn files_of_killed_server() -> (tempfile::TempDir, tempfile::TempDir, Database) {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let db = Database::open(&from.path().join("odd ?#%.db"), SCHEMA_V1, Schema::Migrate).await.unwrap();
    for v in 0..3 {
        insert(&db, v).await.unwrap();
    }
    for path in files(from.path()).keys() {
        std::fs::copy(path, to.path().join(path.file_name().unwrap())).unwrap();
    }
    (from, to, db)
}

fn intact(schema: usize) -> Inspection {
    Inspection { schema, problems: vec![], is_complete: true }
}

#[tokio::test]
async fn inspecting_changes_nothing_while_the_server_runs_or_after_a_kill() {
    let (live, dead, _server) = files_of_killed_server().await;
    let index = live.path().join("odd ?#%.db-shm");
    for folder in [&live, &dead] {
        let (path, before) = (folder.path().join("odd ?#%.db"), files(folder.path()));
        assert_eq!(names(folder.path()).len(), 3, "{:?}", names(folder.path()));
        assert_eq!(inspect(&path, LIMIT).await.unwrap(), intact(1));
        let read_only = Database::open_read_only(&path, SCHEMA_V1).await.unwrap();
        assert_eq!(count(&read_only).await, 3);
        assert!(insert(&read_only, 9).await.is_err(), "writes are refused");
        assert!(matches!(
            Database::open_read_only(&path, SCHEMA_V2).await,
            Err(OpenError::Older { found: 1, known: 2, .. })
        ));
        drop(read_only);
        let mut after = files(folder.path());
        if folder.path() == live.path() {
            // All connections of one process share the index of the log, so it may change here.
            after.insert(index.clone(), before[&index].clone());
        }
        assert!(before == after, "{:?}", names(folder.path()));
    }
}

#[tokio::test]
async fn a_checkpointed_database_stays_one_file() {
    let (_live, dead, _server) = files_of_killed_server().await;
    let path = dead.path().join("odd ?#%.db");
    checkpoint(&path).await;
    let before = files(dead.path());
    assert_eq!(names(dead.path()), ["odd ?#%.db"]);
    assert_eq!(inspect(&path, LIMIT).await.unwrap(), intact(1));
    assert_eq!(count(&Database::open_read_only(&path, SCHEMA_V1).await.unwrap()).await, 3);
    assert!(before == files(dead.path()), "{:?}", names(dead.path()));
}

async fn checkpoint(path: &Path) {
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path);
    let mut db = SqliteConnection::connect_with(&options).await.unwrap();
    sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut db).await.unwrap();
    db.close().await.unwrap();
}

#[tokio::test]
async fn a_log_without_its_index_is_refused() {
    let (_live, dead, _server) = files_of_killed_server().await;
    let path = dead.path().join("odd ?#%.db");
    std::fs::remove_file(dead.path().join("odd ?#%.db-shm")).unwrap();
    let before = files(dead.path());
    assert!(matches!(inspect(&path, LIMIT).await, Err(OpenError::Unrecovered { .. })));
    assert!(matches!(Database::open_read_only(&path, SCHEMA_V1).await, Err(OpenError::Unrecovered { .. })));
    assert!(before == files(dead.path()));
}

#[tokio::test]
async fn damage_is_found_and_a_check_over_its_time_limit_is_incomplete() {
    let (_live, dead, _server) = files_of_killed_server().await;
    let path = dead.path().join("odd ?#%.db");
    {
        let db = Database::open(&path, SCHEMA_V1, Schema::Migrate).await.unwrap();
        futures_util::future::join_all((10..3_000).map(|v| insert(&db, v))).await;
        // A dropped database closes in the background, which can block the checkpoint below.
        db.close().await;
    }
    checkpoint(&path).await;
    assert_eq!(inspect(&path, LIMIT).await.unwrap(), intact(1));
    let cut = inspect(&path, Duration::ZERO).await.unwrap();
    assert_eq!((cut.is_complete, cut.schema), (false, 1), "{cut:?}");

    let mut bytes = std::fs::read(&path).unwrap();
    // The header of the second page, which is the root of the table.
    bytes[4096..4112].fill(0xff);
    std::fs::write(&path, bytes).unwrap();
    let damaged = inspect(&path, LIMIT).await.unwrap();
    assert!(!damaged.problems.is_empty(), "{damaged:?}");
    std::fs::write(&path, "no database").unwrap();
    assert!(matches!(inspect(&path, LIMIT).await, Err(OpenError::Unusable { .. })));
}

#[tokio::test]
async fn an_existing_database_is_required_and_migrated() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    std::fs::write(&path, "").unwrap();
    let refused = Database::open(&path, SCHEMA_V1, Schema::Existing).await.err();
    assert!(matches!(refused, Some(OpenError::Empty { .. })), "{refused:?}");
    drop(Database::open(&path, SCHEMA_V1, Schema::Migrate).await.unwrap());
    assert!(Database::open(&path, SCHEMA_V2, Schema::Existing).await.is_ok(), "an older one is migrated");
}
