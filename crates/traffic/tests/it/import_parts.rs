//! Tests that each part of a file is imported once.

use sqlx::ConnectOptions;
use sqlx::sqlite::SqliteConnectOptions;
use traffic::{FilePart, IngestError, Limits, Progress, Receipt, Views};

use crate::backend::{Home, every_home};
use crate::views::{FIREFOX, all, clock, open, view};

every_home! {
    only_the_next_part_of_a_file_is_imported,
    one_of_two_concurrent_imports_of_a_part_is_refused,
}

fn part(file: &str, from: u64, to: u64) -> FilePart {
    FilePart { file: file.into(), from, to: Progress { bytes: to, hash: format!("hash at {to}") } }
}

#[track_caller]
fn assert_refused_at(taken: Result<Receipt, IngestError>, byte: u64) {
    assert!(matches!(taken, Err(IngestError::UnexpectedPart(at)) if at == byte), "{taken:?}");
}

async fn only_the_next_part_of_a_file_is_imported(home: &dyn Home) {
    let views = home.open(Limits::default()).await;
    let take = async |project, part| views.ingest_part(project, part, vec![view("/a", FIREFOX)]).await;
    assert_eq!(views.progress("acme", "log").await.unwrap(), None);
    assert_refused_at(take("acme", part("log", 10, 20)).await, 0);
    assert_eq!(take("acme", part("log", 0, 10)).await.unwrap().accepted, 1);
    assert_refused_at(take("acme", part("log", 0, 10)).await, 10);
    assert_eq!(take("acme", part("log", 10, 20)).await.unwrap().accepted, 1);
    // Another file, and the same file of another project.
    take("acme", part("other", 0, 5)).await.unwrap();
    take("globex", part("log", 0, 7)).await.unwrap();
    // A part can have no views.
    views.ingest_part("acme", part("log", 20, 30), Vec::new()).await.unwrap();
    assert_eq!(all(&*views, "acme").await.totals.human, 3);
    drop(views);

    let views = home.open(Limits::default()).await;
    assert_eq!(views.progress("acme", "log").await.unwrap(), Some(part("log", 20, 30).to));
    assert_eq!(views.progress("globex", "log").await.unwrap(), Some(part("log", 0, 7).to));
    views.forget("acme").await.unwrap();
    assert_eq!(views.progress("acme", "log").await.unwrap(), None);
    assert_eq!(views.progress("globex", "log").await.unwrap(), Some(part("log", 0, 7).to));
}

async fn one_of_two_concurrent_imports_of_a_part_is_refused(home: &dyn Home) {
    let views = home.open(Limits::default()).await;
    let take = |from, to| views.ingest_part("acme", part("log", from, to), vec![view("/a", FIREFOX)]);
    let (one, other, next) = tokio::join!(take(0, 10), take(0, 10), take(10, 20));
    assert_eq!(one.unwrap().accepted, 1);
    assert_refused_at(other, 10);
    assert_eq!(next.unwrap().accepted, 1);
    assert_eq!(all(&*views, "acme").await.totals.human, 2);
}

#[tokio::test]
async fn a_part_and_its_views_are_written_atomically() {
    let folder = tempfile::tempdir().unwrap();
    let (file, clock) = (folder.path().join("views.db"), clock());
    let views = open(&file, &clock).await;
    views.ingest_part("acme", part("log", 0, 10), vec![view("/a", FIREFOX)]).await.unwrap();
    let mut beside = SqliteConnectOptions::new().filename(&file).connect().await.unwrap();
    let broken =
        "CREATE TRIGGER fail BEFORE INSERT ON journal BEGIN SELECT RAISE(ABORT, 'disk on fire'); END";
    sqlx::raw_sql(broken).execute(&mut beside).await.unwrap();
    let failed = views.ingest_part("acme", part("log", 10, 20), vec![view("/a", FIREFOX)]).await;
    assert!(matches!(failed, Err(IngestError::Failed(_))));
    assert_eq!(views.progress("acme", "log").await.unwrap().unwrap().bytes, 10);
}
