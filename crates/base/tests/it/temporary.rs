//! Tests that SQLite's temporary data stays in memory, so that a killed process leaves no temporary files.

use base::sqlite::{Database, Schema, WriteError};
use futures_util::{FutureExt, TryStreamExt};

const SCHEMA: &[&str] = &["CREATE TABLE n (v INTEGER PRIMARY KEY, text TEXT)"];
const ROWS: u32 = 20_000;

/// The temporary files that this process has open. SQLite unlinks them immediately and keeps writing to them.
fn temporary_files() -> Vec<String> {
    let open = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let targets = open.filter_map(|file| std::fs::read_link(file.path()).ok());
    targets.map(|target| target.display().to_string()).filter(|name| name.contains("etilqs_")).collect()
}

#[tokio::test]
async fn large_rollbacks_and_large_sorts_create_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(&dir.path().join("x.db"), SCHEMA, Schema::Migrate).await.unwrap();
    let filled: Result<(), WriteError> = db
        .write(|c| {
            async move {
                let insert = "WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < ?)
                    INSERT INTO n SELECT n, hex(randomblob(100)) FROM c";
                sqlx::query(insert).bind(ROWS).execute(c).await?;
                Ok(())
            }
            .boxed()
        })
        .await;
    filled.unwrap();

    // The savepoint journals the previous content of every page, to roll back this write only.
    let (sender, files) = std::sync::mpsc::channel();
    let rolled_back: Result<(), WriteError> = db
        .write(move |c| {
            async move {
                sqlx::query("UPDATE n SET text = hex(randomblob(100))").execute(&mut *c).await?;
                sender.send(temporary_files()).unwrap();
                Err(sqlx::Error::RowNotFound.into())
            }
            .boxed()
        })
        .await;
    rolled_back.unwrap_err();
    assert_eq!(files.recv().unwrap(), [""; 0], "the savepoint's journal is in a file");

    let sort = "SELECT a.text FROM n AS a, (VALUES (1), (2), (3), (4)) ORDER BY a.text || random()";
    let mut connection = db.reads().acquire().await.unwrap();
    let mut sorted = sqlx::query_scalar::<_, String>(sort).fetch(&mut *connection);
    sorted.try_next().await.unwrap().unwrap();
    assert_eq!(temporary_files(), [""; 0], "the sort is in a file");
}
