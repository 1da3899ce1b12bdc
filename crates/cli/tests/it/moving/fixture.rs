//! Moves the data of version 0.1.0, with 100,000 page views, once this version has upgraded it.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection};
use tempfile::TempDir;

use super::installation::{free_address, http};
use super::{move_command, succeed};
use crate::cluster::Database;
use crate::engine::EngineDatabase;
use crate::support::Serving;

const FIXTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../server/tests/fixtures/0.1.0/sqlite");
/// Where the repository of the fixture is, as its database has it.
const RECORDED_REPOSITORY: &str = "/fixture/docs.git";

struct Fixture {
    home: TempDir,
    recorded: Value,
    listen: String,
}

impl Fixture {
    async fn unpack() -> Self {
        let home = crate::support::home();
        let packed = std::fs::read(format!("{FIXTURE}.tar.zst")).unwrap();
        let mut tar = Command::new("tar");
        tar.args(["-x", "--no-same-owner", "-f", "-", "-C"]).arg(home.path()).stdin(Stdio::piped());
        let mut tar = tar.spawn().unwrap();
        tar.stdin.take().unwrap().write_all(&zstd::decode_all(packed.as_slice()).unwrap()).unwrap();
        assert!(tar.wait().unwrap().success());
        let database = SqliteConnectOptions::new().filename(home.path().join("data/docwright.db"));
        let mut database = database.connect().await.unwrap();
        let repository = home.path().join("docs.git");
        let update = sqlx::query("UPDATE projects SET repository = ? WHERE repository = ?");
        let update = update.bind(repository.to_str().unwrap()).bind(RECORDED_REPOSITORY);
        assert_eq!(update.execute(&mut database).await.unwrap().rows_affected(), 1);
        database.close().await.unwrap();
        let recorded = serde_json::from_slice(&std::fs::read(format!("{FIXTURE}.json")).unwrap()).unwrap();
        Self { home, recorded, listen: free_address() }
    }

    fn serve(&self, configure: impl FnOnce(&mut Command)) -> Serving {
        Serving::start_with(self.home.path(), &self.listen, |serve| {
            serve.args(["--data", "data", "--workers", "0"]);
            configure(serve);
        })
    }

    fn key(&self) -> std::path::PathBuf {
        self.home.path().join("data/master.key")
    }

    /// The answers to every recorded request, except those that depend on the time.
    fn answers(&self, serving: &Serving) -> Vec<(String, u16, String)> {
        let answer = |recorded: &Value| {
            let path = recorded["path"].as_str().unwrap();
            let key = self.recorded["keys"][recorded["key"].as_str().unwrap()].as_str().unwrap();
            let answer = http().get(format!("{}{path}", serving.url)).bearer_auth(key).send().unwrap();
            (path.to_owned(), answer.status().as_u16(), answer.text().unwrap())
        };
        let recorded = self.recorded["answers"].as_array().unwrap().iter();
        recorded
            .filter(|recorded| !recorded["path"].as_str().unwrap().contains("/live"))
            .map(answer)
            .collect()
    }
}

fn move_fixture(home: &Path, database: &Database) -> Command {
    let mut command = move_command(home, database);
    command.args(["--data", "data"]);
    command
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn data_of_the_first_version_is_moved() {
    let (fixture, database) = (Fixture::unpack().await, Database::create());
    let home = fixture.home.path();
    tokio::task::block_in_place(|| {
        super::refuse(
            &mut move_fixture(home, &database),
            "has the schema of an older version: start the server",
        );
        let serving = fixture.serve(|_| {});
        let before = fixture.answers(&serving);
        serving.stop();
        assert!(before.iter().filter(|(_, status, _)| *status == 200).count() > 80);
        succeed(&mut move_fixture(home, &database));
        let serving = fixture.serve(|serve| {
            serve.env("DOCWRIGHT_DATABASE_URL", database.url());
            serve.env("DOCWRIGHT_MASTER_KEY_FILE", fixture.key());
        });
        for (before, after) in before.iter().zip(&fixture.answers(&serving)) {
            assert_eq!(after, before);
        }
    });
}

#[tokio::test(flavor = "multi_thread")]
#[cfg_attr(not(has_engines), ignore = "PostgreSQL or ClickHouse is not installed")]
async fn page_views_of_the_first_version_are_moved() {
    let (fixture, database, engine) = (Fixture::unpack().await, Database::create(), EngineDatabase::create());
    tokio::task::block_in_place(|| {
        fixture.serve(|_| {}).stop();
        let mut command = move_fixture(fixture.home.path(), &database);
        let (moved, _) = succeed(command.args(["--views-url", &engine.url()]));
        assert_eq!(moved["questions"], 200);
        assert!(moved["events"].as_u64().unwrap() > 90_000, "{moved}");
    });
}
