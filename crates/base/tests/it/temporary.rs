//! SQLite's temporary data stays in memory: a kill leaves nothing in the temporary directory.

use base::sqlite::{Database, Schema, WriteError};
use futures_util::{FutureExt, TryStreamExt};

const SCHEMA: &[&str] = &["CREATE TABLE n (v INTEGER PRIMARY KEY, text TEXT)"];
const ROWS: u32 = 20_000;

/// The temporary files that this process has open. SQLite removes their names at once and writes on.
fn temporary_files() -> Vec<String> {
    let open = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let targets = open.filter_map(|file| std::fs::read_link(file.path()).ok());
    targets.map(|target| target.display().to_string()).filter(|name| name.contains("etilqs_")).collect()
}

#[tokio::test]
async fn neither_large_writes_that_are_undone_nor_large_sorts_make_a_file() {
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

    // Every page is kept as it was before, to undo this write and not those that share its commit.
    let (tell, seen) = std::sync::mpsc::channel();
    let undone: Result<(), WriteError> = db
        .write(move |c| {
            async move {
                sqlx::query("UPDATE n SET text = hex(randomblob(100))").execute(&mut *c).await?;
                tell.send(temporary_files()).unwrap();
                Err(sqlx::Error::RowNotFound.into())
            }
            .boxed()
        })
        .await;
    undone.unwrap_err();
    assert_eq!(seen.recv().unwrap(), [""; 0], "the journal of a savepoint is a file");

    let sort = "SELECT a.text FROM n AS a, (VALUES (1), (2), (3), (4)) ORDER BY a.text || random()";
    let mut sorted = sqlx::query_scalar::<_, String>(sort).fetch(db.reads());
    sorted.try_next().await.unwrap().unwrap();
    assert_eq!(temporary_files(), [""; 0], "a sort is a file");
}
