//! Tests that copies of databases are exact, form one consistent snapshot, and are checked.

use std::path::{Path, PathBuf};
use std::time::Duration;

use base::sqlite::{CopyError, Database, DatabaseCopy, Schema, check_copy, copy_databases, read_copy};
use sqlx::sqlite::{SqliteConnectOptions, SqliteSynchronous};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Row, SqliteConnection};

use super::SCHEMA_V1;

/// Every kind of schema object.
const ALL_KINDS: &[&str] = &["
    CREATE TABLE plain (a TEXT, b BLOB);
    CREATE TABLE numbered (id INTEGER PRIMARY KEY AUTOINCREMENT, a TEXT NOT NULL UNIQUE) STRICT;
    CREATE TABLE keyed (a TEXT, b INTEGER, c BLOB, PRIMARY KEY (a, b)) STRICT, WITHOUT ROWID;
    CREATE TABLE \"odd \"\"name\" (x INTEGER REFERENCES numbered ON DELETE CASCADE, \"group\" TEXT DEFAULT 'it''s');
    CREATE TABLE made (a INTEGER, twice INTEGER AS (a * 2) STORED, thrice INTEGER AS (a * 3));
    CREATE INDEX plain_a ON plain (a) WHERE a IS NOT NULL;
    CREATE UNIQUE INDEX keyed_c ON keyed (coalesce(c, x''), b DESC);
    CREATE VIEW seen AS SELECT a FROM plain;
    CREATE TABLE log (what TEXT);
    CREATE TRIGGER logged AFTER INSERT ON numbered BEGIN INSERT INTO log VALUES (new.a); END;
    ALTER TABLE plain ADD COLUMN later INTEGER NOT NULL DEFAULT 7;
    INSERT INTO plain VALUES (NULL, x'00ff', 1), ('a' || char(0) || 'b', zeroblob(9000), -9e18);
    INSERT INTO numbered (a) VALUES ('x'), ('y'), ('z');
    DELETE FROM numbered WHERE a = 'z';
    INSERT INTO keyed VALUES ('k', 1, NULL), ('k', 2, x'01');
    INSERT INTO \"odd \"\"name\" (x) VALUES (1), (NULL);
    INSERT INTO made VALUES (21);
    PRAGMA application_id = 4711;
"];

async fn lines(db: &mut SqliteConnection, sql: &str) -> Vec<String> {
    let rows = sqlx::query(AssertSqlSafe(sql.to_owned())).fetch_all(db).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}

/// The whole content of a database, as text.
async fn content(path: &Path) -> Vec<String> {
    let mut db = read_copy(path).await.unwrap();
    let mut all = lines(
        &mut db,
        "SELECT type || ' ' || name || ' ' || tbl_name || ' ' || coalesce(sql, '') FROM sqlite_schema ORDER BY 1",
    )
    .await;
    for pragma in ["user_version", "application_id", "page_size"] {
        all.extend(lines(&mut db, &format!("SELECT '{pragma} ' || {pragma} FROM pragma_{pragma}")).await);
    }
    let tables = lines(&mut db, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1").await;
    for table in tables {
        let columns = format!(
            "SELECT group_concat('quote(\"' || name || '\")', '||') FROM pragma_table_xinfo('{table}')"
        );
        let columns = lines(&mut db, &columns).await.remove(0);
        let table = table.replace('"', "\"\"");
        all.extend(
            lines(&mut db, &format!("SELECT '{table} ' || {columns} FROM \"{table}\" ORDER BY 1")).await,
        );
    }
    db.close().await.unwrap();
    all
}

#[tokio::test]
async fn a_copy_has_the_same_content_as_its_database() {
    let dir = tempfile::tempdir().unwrap();
    let [from, to] = ["it's %20 #1?.db", "copy.db"].map(|name| dir.path().join(name));
    let db = Database::open(&from, ALL_KINDS, Schema::Migrate).await.unwrap();
    let copies = [DatabaseCopy { from: from.clone(), to: to.clone() }];
    assert_eq!(copy_databases(&copies).await.unwrap(), [1]);
    assert!(from.with_file_name("it's %20 #1?.db-wal").exists(), "the server still has its write-ahead log");
    db.close().await;

    let content = (content(&from).await, content(&to).await);
    assert_eq!(content.0, content.1);
    assert!(content.0.iter().any(|line| line == "sqlite_sequence 'numbered'3"), "{:?}", content.0);
    assert_eq!(check_copy(&to).await.unwrap(), 1);
    let mut left: Vec<_> =
        std::fs::read_dir(dir.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["copy.db", "it's %20 #1?.db"], "one file each");
}

/// Inserts a row into the first database and then one into the second, each in its own commit.
const PAIR: &str = "INSERT INTO n DEFAULT VALUES; INSERT INTO second.n DEFAULT VALUES;";
/// Gives a copy time to begin.
const PAUSE: &str = "
    WITH RECURSIVE pause(x) AS (VALUES (1) UNION ALL SELECT x + 1 FROM pause LIMIT 1000) SELECT count(*) FROM pause;";

async fn insert_pairs(first: PathBuf, second: PathBuf) {
    let options = SqliteConnectOptions::new().filename(first).synchronous(SqliteSynchronous::Off);
    let mut db = options.busy_timeout(Duration::from_secs(30)).connect().await.unwrap();
    sqlx::query("ATTACH ? AS second").bind(second.to_str().unwrap()).execute(&mut db).await.unwrap();
    let script = [PAIR.repeat(10), PAUSE.to_owned()].concat();
    while sqlx::raw_sql(AssertSqlSafe(script.clone())).execute(&mut db).await.is_ok() {}
}

#[tokio::test(flavor = "multi_thread")]
async fn two_databases_are_copied_as_one_snapshot() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let _first = Database::open(&at("a.db"), SCHEMA_V1, Schema::Migrate).await.unwrap();
    let _second = Database::open(&at("b.db"), SCHEMA_V1, Schema::Migrate).await.unwrap();
    let writing = tokio::spawn(insert_pairs(at("a.db"), at("b.db")));
    let count = async |path: &Path| {
        let mut db = read_copy(path).await.unwrap();
        sqlx::query_scalar::<_, i64>("SELECT count(*) FROM n").fetch_one(&mut db).await.unwrap()
    };
    let (mut last, mut rounds) = (0, 0);
    while rounds < 100 || last < 1000 {
        let [to_a, to_b] = ["a", "b"].map(|name| at(&format!("{name}{rounds}.copy")));
        let copies = [("a.db", &to_a), ("b.db", &to_b)];
        copy_databases(&copies.map(|(from, to)| DatabaseCopy { from: at(from), to: to.clone() }))
            .await
            .unwrap();
        let (a, b) = (count(&to_a).await, count(&to_b).await);
        assert!(a == b || a == b + 1, "round {rounds}: {a} and {b} are not one snapshot");
        assert!(a >= last);
        (last, rounds) = (a, rounds + 1);
    }
    writing.abort();
}

#[tokio::test]
async fn damage_and_missing_files_are_reported() {
    let dir = tempfile::tempdir().unwrap();
    let [from, to, bad] = ["x.db", "copy.db", "bad.db"].map(|name| dir.path().join(name));
    let db = Database::open(&from, ALL_KINDS, Schema::Migrate).await.unwrap();
    db.close().await;
    copy_databases(&[DatabaseCopy { from, to: to.clone() }]).await.unwrap();
    let mut bytes = std::fs::read(&to).unwrap();
    bytes[4096..6000].fill(0xaa);
    std::fs::write(&bad, bytes).unwrap();
    assert!(check_copy(&bad).await.is_err());
    let again = DatabaseCopy { from: bad, to: dir.path().join("again.db") };
    assert!(matches!(
        copy_databases(&[again]).await,
        Err(CopyError::Unreadable { .. } | CopyError::Damaged { .. })
    ));
    std::fs::write(&to, "no database").unwrap();
    assert!(matches!(check_copy(&to).await, Err(CopyError::Unreadable { .. })));
    let missing = DatabaseCopy { from: dir.path().join("missing.db"), to: dir.path().join("m.db") };
    assert!(copy_databases(&[missing]).await.is_err());
    assert!(!dir.path().join("missing.db").exists(), "no file is created");
}
