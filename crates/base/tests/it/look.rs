//! A look at a database file changes nothing, whatever state its server left it in.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base::sqlite::{Database, Inspection, OpenError, Schema, inspect};
use sqlx::{Connection, SqliteConnection};

use crate::{ONE, TWO, count, insert};

const LIMIT: Duration = Duration::from_secs(60);

/// Every file of the folder, with what is in it.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.map(|path| (path.clone(), std::fs::read(&path).unwrap())).collect()
}

fn names(folder: &Path) -> Vec<String> {
    files(folder).keys().map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect()
}

/// The files as a killed server leaves them: the rows are in the log alone.
async fn killed() -> (tempfile::TempDir, tempfile::TempDir, Database) {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let db = Database::open(&from.path().join("odd ?#%.db"), ONE, Schema::Migrate).await.unwrap();
    for v in 0..3 {
        insert(&db, v).await.unwrap();
    }
    for path in files(from.path()).keys() {
        std::fs::copy(path, to.path().join(path.file_name().unwrap())).unwrap();
    }
    (from, to, db)
}

fn sound(schema: usize) -> Inspection {
    Inspection { schema, problems: vec![], is_complete: true }
}

#[tokio::test]
async fn a_database_is_looked_at_beside_its_server_and_after_a_kill() {
    let (live, dead, _server) = killed().await;
    let index = live.path().join("odd ?#%.db-shm");
    for folder in [&live, &dead] {
        let (path, before) = (folder.path().join("odd ?#%.db"), files(folder.path()));
        assert_eq!(names(folder.path()).len(), 3, "{:?}", names(folder.path()));
        assert_eq!(inspect(&path, LIMIT).await.unwrap(), sound(1));
        let looked = Database::look(&path, ONE).await.unwrap();
        assert_eq!(count(&looked).await, 3);
        assert!(insert(&looked, 9).await.is_err(), "it is not written");
        assert!(matches!(Database::look(&path, TWO).await, Err(OpenError::Older { found: 1, known: 2, .. })));
        drop(looked);
        let mut after = files(folder.path());
        if folder.path() == live.path() {
            // Of one process, all connections share the index of the log.
            after.insert(index.clone(), before[&index].clone());
        }
        assert!(before == after, "{:?}", names(folder.path()));
    }
}

#[tokio::test]
async fn a_database_at_rest_stays_one_file() {
    let (_live, dead, _server) = killed().await;
    let path = dead.path().join("odd ?#%.db");
    at_rest(&path).await;
    let before = files(dead.path());
    assert_eq!(names(dead.path()), ["odd ?#%.db"]);
    assert_eq!(inspect(&path, LIMIT).await.unwrap(), sound(1));
    assert_eq!(count(&Database::look(&path, ONE).await.unwrap()).await, 3);
    assert!(before == files(dead.path()), "{:?}", names(dead.path()));
}

/// The last one who closes it writes the log back.
async fn at_rest(path: &Path) {
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path);
    let mut db = SqliteConnection::connect_with(&options).await.unwrap();
    sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut db).await.unwrap();
    db.close().await.unwrap();
}

#[tokio::test]
async fn a_log_without_its_index_is_not_guessed_at() {
    let (_live, dead, _server) = killed().await;
    let path = dead.path().join("odd ?#%.db");
    std::fs::remove_file(dead.path().join("odd ?#%.db-shm")).unwrap();
    let before = files(dead.path());
    assert!(matches!(inspect(&path, LIMIT).await, Err(OpenError::Unrecovered { .. })));
    assert!(matches!(Database::look(&path, ONE).await, Err(OpenError::Unrecovered { .. })));
    assert!(before == files(dead.path()));
}

#[tokio::test]
async fn damage_is_found_and_a_look_that_takes_too_long_says_so() {
    let (_live, dead, _server) = killed().await;
    let path = dead.path().join("odd ?#%.db");
    {
        let db = Database::open(&path, ONE, Schema::Migrate).await.unwrap();
        futures_util::future::join_all((10..3_000).map(|v| insert(&db, v))).await;
    }
    at_rest(&path).await;
    assert_eq!(inspect(&path, LIMIT).await.unwrap(), sound(1));
    let cut = inspect(&path, Duration::ZERO).await.unwrap();
    assert_eq!((cut.is_complete, cut.schema), (false, 1), "{cut:?}");

    let mut bytes = std::fs::read(&path).unwrap();
    // The head of the second page, which is the root of the table.
    bytes[4096..4112].fill(0xff);
    std::fs::write(&path, bytes).unwrap();
    let damaged = inspect(&path, LIMIT).await.unwrap();
    assert!(!damaged.problems.is_empty(), "{damaged:?}");
    std::fs::write(&path, "no database").unwrap();
    assert!(matches!(inspect(&path, LIMIT).await, Err(OpenError::Unusable { .. })));
}

#[tokio::test]
async fn none_is_made_where_one_must_be() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    std::fs::write(&path, "").unwrap();
    let refused = Database::open(&path, ONE, Schema::Existing).await.err();
    assert!(matches!(refused, Some(OpenError::Empty { .. })), "{refused:?}");
    drop(Database::open(&path, ONE, Schema::Migrate).await.unwrap());
    assert!(Database::open(&path, TWO, Schema::Existing).await.is_ok(), "an older one is brought up to date");
}
