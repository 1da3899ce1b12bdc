//! Tests `docwright upgrade --check` with PostgreSQL.

use serde_json::Value;
use tempfile::TempDir;

use super::{assert_check, check, pending, unpack_fixture};
use crate::backup::data;
use crate::cluster::Database;
use crate::postgres::{home_on, master_key};
use crate::support::{Serving, home, run};

/// A home with the data of version 0.1.0 on this database.
fn old_home_on(database: &Database) -> TempDir {
    let folder = home();
    unpack_fixture("postgres", folder.path());
    database.run_file(&folder.path().join("dump.sql"));
    let home = home_on(&database.url(), &folder.path().join("master.key"));
    std::fs::create_dir_all(data(home.path()).parent().unwrap()).unwrap();
    std::fs::rename(folder.path().join("data"), data(home.path())).unwrap();
    let key = home.path().join("master.key");
    std::fs::rename(folder.path().join("master.key"), &key).unwrap();
    let settings = home.path().join(".config/docwright/docwright.toml");
    let text = format!("database_url = {:?}\nmaster_key_file = {key:?}\n", database.url());
    std::fs::write(settings, text).unwrap();
    home
}

fn schema(database: &Database) -> String {
    database.sql("SELECT version FROM docwright_schema")
}

#[test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
fn the_check_names_the_changes_of_the_tables() {
    let database = Database::create();
    let home = old_home_on(&database);
    let (code, report) = check(home.path(), &[]);
    assert_eq!((code, &report["ready"]), (6, &Value::Bool(false)), "{report:#}");
    assert_eq!(pending(&report, "views.db"), [5]);
    assert_check(&report, "backup", "fail", "docwright backup FILE.tar.zst");

    assert!(run(home.path(), &["backup", "copy.tar.zst"]).status.success());
    let (code, report) = check(home.path(), &[]);
    assert_eq!((code, &report["ready"]), (0, &Value::Bool(true)), "{report:#}");
    let changes = pending(&report, "PostgreSQL");
    assert_check(&report, "database dump", "warn", "pg_dump --format=custom");
    assert_check(&report, "database disk", "warn", "MiB free on its server");
    assert_eq!(schema(&database), "6", "the check changes nothing");

    Serving::start_with(home.path(), "127.0.0.1:0", |serve| {
        serve.args(["--workers", "0"]);
    })
    .stop();
    assert_eq!(changes, (7..=schema(&database).parse().unwrap()).collect::<Vec<u64>>());
    let (code, report) = check(home.path(), &[]);
    assert_eq!((code, pending(&report, "PostgreSQL")), (0, vec![]), "{report:#}");
}

#[test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
fn all_servers_must_stop_before_the_tables_change() {
    let database = Database::create();
    let keys = home();
    let key = master_key(&keys, "5ea1");
    let homes = [home_on(&database.url(), &key), home_on(&database.url(), &key)];
    let servers = [Serving::start(homes[0].path()), Serving::start(homes[1].path())];
    assert_check(&check(homes[0].path(), &[]).1, "server", "ok", "2 servers, workers, or commands");
    database.sql("UPDATE docwright_schema SET version = version - 1");
    let elsewhere = home_on(&database.url(), &key);
    for home in [&homes[0], &elsewhere] {
        let (code, report) = check(home.path(), &[]);
        assert_eq!(code, 6, "{report:#}");
        assert_check(&report, "server", "fail", "stop all of them first");
    }
    // A server of the new version does not wait for the others: it ends.
    let refused = run(elsewhere.path(), &["serve", "--listen", "127.0.0.1:0"]);
    let message = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(1) && message.contains("Stop that server first"), "{message}");
    let [first, second] = servers;
    first.stop();
    let (_, report) = check(elsewhere.path(), &[]);
    assert_check(&report, "server", "fail", "1 server, worker, or command uses the database");
    second.stop();
    assert_check(&check(elsewhere.path(), &[]).1, "server", "ok", "no server uses the data");
}

#[test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
fn a_database_that_cannot_be_upgraded_is_reported() {
    let database = Database::create();
    let keys = home();
    let key = master_key(&keys, "5ea1");
    let home = home_on(&database.url(), &key);
    let reported = |home: &TempDir, words: &str| {
        let (code, report) = check(home.path(), &[]);
        assert_eq!(code, 6, "{report:#}");
        assert_check(&report, "PostgreSQL", "fail", words);
        assert!(!report.to_string().contains("s3cret"), "{report:#}");
    };
    reported(&home, "has no tables of Docwright");
    assert_eq!(database.sql("SELECT to_regclass('docwright_schema') IS NULL"), "t");
    database
        .sql("CREATE TABLE docwright_schema (version BIGINT); INSERT INTO docwright_schema VALUES (1000)");
    reported(&home, "run the newer version, or restore a backup from before the upgrade");
    database.close();
    reported(&home, "start the database, or check the address");
    reported(&home_on("postgres://dw:s3cret@127.0.0.1:1/docs", &key), "Connection refused");
    assert!(!data(home.path()).exists(), "the check creates nothing");
}
