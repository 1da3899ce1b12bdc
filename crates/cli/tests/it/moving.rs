//! Tests `docwright move`: an installation on SQLite answers on PostgreSQL as before.

mod fixture;
mod installation;
mod to_clickhouse;

use std::path::Path;
use std::process::Command;
use std::str::FromStr;
use std::time::Duration;

use serde_json::Value;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _};
use tempfile::TempDir;

use crate::cluster::Database;
use crate::postgres::master_key;
use crate::support::{Serving, docwright, home, run};
use installation::{Answers, Installation};

/// `docwright move` to a database, whose URL is in the environment as it is with a password.
fn move_command(home: &Path, database: &Database) -> Command {
    let mut command = docwright(home);
    command.args(["move", "--to-postgres"]).env("DOCWRIGHT_DATABASE_URL", database.url());
    command
}

#[track_caller]
fn succeed(command: &mut Command) -> (Value, String) {
    let output = command.arg("--json").output().unwrap();
    let messages = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{messages}");
    (serde_json::from_slice(&output.stdout).unwrap(), messages)
}

#[track_caller]
fn refuse(command: &mut Command, sentence: &str) {
    let output = command.output().unwrap();
    let messages = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{messages}");
    assert!(messages.contains(sentence), "{messages}");
}

/// A server on the database that the installation was moved to.
fn serve_on((home, listen): (&Path, &str), database: &Database, key: &Path) -> Serving {
    Serving::start_with(home, listen, |serve| {
        serve.env("DOCWRIGHT_DATABASE_URL", database.url()).env("DOCWRIGHT_MASTER_KEY_FILE", key);
    })
}

fn data(home: &TempDir) -> std::path::PathBuf {
    home.path().join(".local/share/docwright")
}

#[test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
fn a_moved_installation_gives_the_same_answers() {
    let (home, database) = (home(), Database::create());
    let installation = Installation::create(home.path());
    let before = installation.stop();
    let (moved, messages) = succeed(&mut move_command(home.path(), &database));
    for part in [
        "To copy: 1 project, 2 jobs, 1 API key,",
        "Page views stay in ",
        "No server can use this installation until the move is complete.",
        "Moved ",
        "Both sides have the same rows.",
        "master.key: copy that file to every server",
        "start the server that keeps them with --data ",
    ] {
        assert!(messages.contains(part), "{part}: {messages}");
    }
    assert_eq!(moved["tables"]["jobs"], 2);
    assert_eq!(moved["masterKey"], data(&home).join("master.key").to_str().unwrap());

    let serving = serve_on((home.path(), &installation.listen), &database, &data(&home).join("master.key"));
    assert_eq!(Answers::of(&installation, &serving), before);
    // The same directory still keeps the page views, and new jobs run.
    installation.send_view(&serving);
    installation.run_job(&serving, "Replace \"two\" with \"zwei\".");
    serving.stop();
}

#[test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
fn the_old_directory_refuses_to_run_on_sqlite() {
    let (home, database) = (home(), Database::create());
    let installation = Installation::create(home.path());
    let before = installation.stop();
    succeed(&mut move_command(home.path(), &database));
    let marker = std::fs::read_to_string(data(&home).join("moved")).unwrap();
    assert!(marker.contains("\"to\"") && marker.contains("\"finishedAt\": \"20"), "{marker}");
    for command in [&["serve", "--listen", "127.0.0.1:0"][..], &["key", "list"], &["login"], &["doctor"]] {
        let output = run(home.path(), command);
        let messages = String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(1), "{command:?}: {messages}");
        assert!(messages.contains("this installation was moved to PostgreSQL ("), "{messages}");
        assert!(messages.contains("delete ") && messages.contains("/moved"), "{messages}");
    }
    let (again, messages) = succeed(&mut move_command(home.path(), &database));
    assert!(again["wasComplete"] == true && messages.contains("already moved"), "{messages}");
    // As a database that was created again.
    database.sql("DROP SCHEMA public CASCADE; CREATE SCHEMA public");
    let lost = "and that database is empty now: restore it from a backup";
    refuse(&mut move_command(home.path(), &database), lost);
    let other = Database::create();
    refuse(&mut move_command(home.path(), &other), "this installation was moved to PostgreSQL (");

    std::fs::remove_file(data(&home).join("moved")).unwrap();
    let serving = installation.serve();
    assert_eq!(Answers::of(&installation, &serving), before);
    serving.stop();
    succeed(&mut move_command(home.path(), &other));
    std::fs::remove_file(data(&home).join("moved")).unwrap();
    refuse(&mut move_command(home.path(), &other), "already has data (an earlier move)");
}

/// Kills the program at random moments. The same command continues.
#[test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
fn a_killed_move_continues() {
    let (home, database) = (home(), Database::create());
    let installation = Installation::create(home.path());
    let before = installation.stop();
    let mut kills = 0;
    for wait in (20..).step_by(15).take(12) {
        let mut moving = move_command(home.path(), &database).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(wait));
        let is_running = moving.try_wait().unwrap().is_none();
        moving.kill().unwrap();
        moving.wait().unwrap();
        kills += u32::from(is_running);
        if is_running && data(&home).join("moved").exists() {
            let marker = std::fs::read_to_string(data(&home).join("moved")).unwrap();
            if marker.contains("\"finishedAt\": null") {
                refuse(docwright(home.path()).args(["key", "list"]), "run the same `docwright move` again");
            }
        }
    }
    assert!(kills > 0);
    succeed(&mut move_command(home.path(), &database));
    let serving = serve_on((home.path(), &installation.listen), &database, &data(&home).join("master.key"));
    assert_eq!(Answers::of(&installation, &serving), before);
}

#[test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
fn a_move_that_cannot_work_is_refused_before_it_copies() {
    let (home, database) = (home(), Database::create());
    let installation = Installation::create(home.path());
    let move_now = || move_command(home.path(), &database);
    refuse(&mut move_now(), "another Docwright server is using");
    installation.stop();

    let with_password = database.url_of("postgres:s3cret");
    let refuse_flags =
        |flags: &[&str], sentence: &str| refuse(docwright(home.path()).arg("move").args(flags), sentence);
    refuse_flags(&["--to-postgres", &with_password], "every user of this machine can read a password");
    refuse_flags(&["--to-postgres"], "--to-postgres needs a URL");
    let views = ["--to-postgres", &database.url(), "--views-url"];
    refuse_flags(&views, "--views-url needs a URL");
    let views = [&views[..], &["http://dw:s3cret@127.0.0.1:1/views"]].concat();
    refuse_flags(&views, "every user of this machine can read a password");
    let views = [&views[..3], &["http://127.0.0.1:1/views"]].concat();
    refuse_flags(&views, "ClickHouse (views on http://127.0.0.1:1 as default)");
    refuse(
        docwright(home.path()).args(["move", "--to-postgres", &database.url(), "--data", "elsewhere"]),
        "there is no data directory",
    );

    let keys = TempDir::new().unwrap();
    let other = master_key(&keys, "bad1");
    refuse(move_now().env("DOCWRIGHT_MASTER_KEY_FILE", &other), "the master key does not fit this database");
    let (used, elsewhere) = (Database::create(), TempDir::new().unwrap());
    let serving = serve_on((elsewhere.path(), "127.0.0.1:0"), &used, &data(&home).join("master.key"));
    refuse(&mut move_command(home.path(), &used), "a server or a command uses it: stop it first");
    serving.stop();
    used.sql("INSERT INTO organizations (id, name, created_at) VALUES ('org_x', 'Globex', 1)");
    refuse(&mut move_command(home.path(), &used), "already has data (organizations)");
    assert!(!data(&home).join("moved").exists(), "nothing was moved");
}

#[test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
fn no_server_opens_a_database_that_was_moved_to_in_part() {
    let (home, database) = (home(), Database::create());
    Installation::create(home.path()).stop();
    succeed(&mut move_command(home.path(), &database));
    database.sql("UPDATE docwright_move SET finished_at = NULL");
    let mut serve = docwright(home.path());
    serve.args(["serve", "--listen", "127.0.0.1:0"]).env("DOCWRIGHT_DATABASE_URL", database.url());
    refuse(
        serve.env("DOCWRIGHT_MASTER_KEY_FILE", data(&home).join("master.key")),
        "an installation was moved to the database",
    );
}

/// Another choice about page views, or another spelling of the URL, would begin another move.
#[test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
fn an_interrupted_move_names_its_command() {
    let (home, database) = (home(), Database::create());
    Installation::create(home.path()).stop();
    succeed(&mut move_command(home.path(), &database));
    let path = data(&home).join("moved");
    let marker = std::fs::read_to_string(&path).unwrap();
    let mut marker: Value = serde_json::from_str(&marker).unwrap();
    marker["finishedAt"] = Value::Null;
    std::fs::write(&path, marker.to_string()).unwrap();
    let sentence = format!(
        "an interrupted move of this installation goes to PostgreSQL ({}), and its page views stay in this directory: run that command again",
        marker["to"].as_str().unwrap()
    );
    let mut with_views = move_command(home.path(), &database);
    refuse(with_views.args(["--views-url", "http://127.0.0.1:1/views"]), &sentence);
    refuse(&mut move_command(home.path(), &Database::create()), &sentence);
    refuse(&mut move_command(home.path(), &Database::create()), "To begin anew, delete ");
    succeed(&mut move_command(home.path(), &database));
}

#[test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
fn a_move_that_an_older_version_began_is_not_continued() {
    let (home, database) = (home(), Database::create());
    Installation::create(home.path()).stop();
    let source = SqliteConnectOptions::new().filename(data(&home).join("docwright.db"));
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let mut source = source.connect().await.unwrap();
        sqlx::query("PRAGMA user_version = 1").execute(&mut source).await.unwrap();
        source.close().await.unwrap();
    });
    let once = "start the server of this version on it once";
    refuse(&mut move_command(home.path(), &database), once);
    let to = store::DatabaseUrl::from_str(&database.url()).unwrap().to_string();
    let mut marker = store::MoveMarker::new(to, None, "2026-11-19T08:00:00Z".into());
    let write = |marker: &store::MoveMarker| {
        std::fs::write(data(&home).join("moved"), serde_json::to_string(marker).unwrap()).unwrap();
    };
    write(&marker);
    let began = "that version began to move it: continue with that version";
    refuse(&mut move_command(home.path(), &database), began);
    marker.finished_at = Some("2026-11-19T09:00:00Z".into());
    write(&marker);
    refuse(&mut move_command(home.path(), &database), "this installation was moved to PostgreSQL (");
}
