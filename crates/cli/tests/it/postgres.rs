//! Tests `docwright` with PostgreSQL: several servers on one database, and errors.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, ExitStatus, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::cluster::Database;
use crate::support::{Client, Serving, docwright, home, run};

const SERVE: [&str; 3] = ["serve", "--listen", "127.0.0.1:0"];

/// A home whose settings name the database and the master key.
pub(crate) fn home_on(database_url: &str, key: &Path) -> TempDir {
    let home = home();
    let settings = home.path().join(".config/docwright");
    std::fs::create_dir_all(&settings).unwrap();
    let text = format!("database_url = {database_url:?}\nmaster_key_file = {:?}\n", key.to_str().unwrap());
    std::fs::write(settings.join("docwright.toml"), text).unwrap();
    home
}

pub(crate) fn master_key(dir: &TempDir, digits: &str) -> PathBuf {
    let path = dir.path().join(format!("{digits}.key"));
    std::fs::write(&path, digits.repeat(16)).unwrap();
    path
}

#[test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
fn a_job_of_one_server_can_be_finished_by_another() {
    let database = Database::create();
    let keys = home();
    let key = master_key(&keys, "5ea1");
    let homes = [home_on(&database.url(), &key), home_on(&database.url(), &key)];
    let here = Serving::start(homes[0].path());
    let there = Serving::start(homes[1].path());
    let client = Client::of(homes[0].path(), &here);
    let other = |args: &[&str]| -> Output {
        let mut command = client.docwright();
        command.env("DOCWRIGHT_URL", &there.url).args(["job", args[0], &client.project]);
        command.args(&args[1..]).output().unwrap()
    };
    let made = client.json(&["create", "Replace \"one\" with \"eins\".", "--json"]);
    let id = made["id"].as_str().unwrap();
    let watched = other(&["view", id, "--watch", "--json"]);
    assert_eq!(watched.status.code(), Some(0), "{watched:?}");
    let message = String::from_utf8(watched.stderr).unwrap();
    for step in ["created", "started", "ended"] {
        assert!(
            message.lines().any(|line| line.split_whitespace().nth(1) == Some(step)),
            "{step}: {message}"
        );
    }
    // The server that accepted the job stops; the other one continues it.
    let log = here.stop();
    assert!(!log.contains("\"level\":\"ERROR\""), "{log}");
    let more = other(&["message", id, "Replace \"two\" with \"zwei\".", "--watch", "--json"]);
    let job: Value = serde_json::from_slice(&more.stdout).unwrap();
    assert_eq!(job["status"], "completed", "{more:?}");
    assert!(String::from_utf8(other(&["diff", id]).stdout).unwrap().contains("+eins zwei"));
    assert_eq!(database.sql("SELECT count(*) FROM pulls"), "1");
}

#[test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
fn a_server_without_workers_leaves_its_jobs_to_a_worker() {
    let database = Database::create();
    let keys = home();
    let key = master_key(&keys, "5ea1");
    let homes = [home_on(&database.url(), &key), home_on(&database.url(), &key)];
    let serving = Serving::start_with(homes[0].path(), "127.0.0.1:0", |serve| {
        serve.args(["--workers", "0"]);
    });
    let client = Client::of(homes[0].path(), &serving);
    let made = client.json(&["create", "Replace \"one\" with \"eins\".", "--json"]);
    let id = made["id"].as_str().unwrap();
    assert_eq!(client.json(&["view", id, "--json"])["status"], "active");

    let worker = Working::start(homes[1].path());
    let mut watch = client.docwright();
    let watched = watch.args(["job", "view", &client.project, id, "--watch", "--json"]).output().unwrap();
    assert_eq!(watched.status.code(), Some(0), "{watched:?}");
    assert_eq!(database.sql("SELECT count(*) FROM pulls"), "1");
    // A worker does not take over the page views.
    assert_eq!(database.sql("SELECT count(*) FROM views_home"), "1");
    worker.stop();
}

/// A running worker, which is killed on drop.
struct Working(Child);

impl Working {
    fn start(home: &Path) -> Self {
        Self(docwright(home).arg("worker").stderr(Stdio::null()).spawn().unwrap())
    }

    fn stop(mut self) {
        let killed = Command::new("kill").arg(self.0.id().to_string()).status().unwrap();
        assert!(killed.success() && self.0.wait().unwrap().success());
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
fn every_error_of_the_database_is_one_sentence() {
    let database = Database::create();
    let keys = home();
    let (right, wrong) = (master_key(&keys, "5ea1"), master_key(&keys, "bad1"));
    #[track_caller]
    fn check(output: &Output, sentence: &str) {
        let message = String::from_utf8(output.stderr.clone()).unwrap();
        assert!(output.status.code() == Some(1) && message.contains(sentence), "{sentence}: {message}");
        assert!(!message.contains("s3cret"), "{message}");
    }
    let with = |url: &str, key: &Path| run(home_on(url, key).path(), &SERVE);
    check(&run(home().path(), &["worker"]), "a worker shares a PostgreSQL database");
    check(&with("mysql://dw:s3cret@db/docs", &right), "a database URL looks like postgres://");
    // A command does not wait for its database. A server does.
    let list = |url: &str| run(home_on(url, &right).path(), &["org", "list"]);
    check(&list("postgres://dw:s3cret@127.0.0.1:1/docs"), "Connection refused");
    create_guarded_user(&database);
    check(&list(&database.url_of("guarded:s3cret")), "password authentication failed");
    check(&with(&database.url(), &keys.path().join("none")), "none is missing: restore it from its backup");
    check(&with("postgres://dw@127.0.0.1:1/docs", &keys.path().join("none")), "none is missing");

    let good = home_on(&database.url(), &right);
    let made = run(good.path(), &["org", "create", "--name", "Acme"]);
    assert!(made.status.success(), "{made:?}");
    check(&with(&database.url(), &wrong), "the master key does not fit this database");
    let mut command = docwright(home().path());
    let unnamed = command.current_dir("/").env("DOCWRIGHT_DATABASE_URL", database.url()).args(SERVE).output();
    check(&unnamed.unwrap(), "name its file with DOCWRIGHT_MASTER_KEY_FILE");
    let flag = ["org", "list", "--database-url", "postgres://dw:s3cret@db/docs"];
    check(&run(good.path(), &flag), "can read a password on a command line");
    database.sql("UPDATE docwright_schema SET version = 1000");
    check(&run(good.path(), &SERVE), "was written by a newer version of Docwright");
    check(&run(good.path(), &["org", "list"]), "was written by a newer version of Docwright");
}

#[test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
fn the_doctor_checks_the_database() {
    let database = Database::create();
    let keys = home();
    let home = home_on(&database.url(), &master_key(&keys, "5ea1"));
    assert!(run(home.path(), &["org", "create", "--name", "Acme"]).status.success());
    std::fs::set_permissions(
        keys.path().join("5ea1.key"),
        std::os::unix::fs::PermissionsExt::from_mode(0o600),
    )
    .unwrap();
    let healthy = run(home.path(), &["doctor"]);
    let message = String::from_utf8([healthy.stdout, healthy.stderr].concat()).unwrap();
    assert!(message.contains("can be read, and has the schema of this version"), "{message}");
    database.close();
    let sick = run(home.path(), &["doctor"]);
    assert_eq!(sick.status.code(), Some(1));
    let message = String::from_utf8([sick.stdout, sick.stderr].concat()).unwrap();
    assert!(message.contains("cannot be opened"), "{message}");
}

/// Creates a database user who needs a password.
fn create_guarded_user(database: &Database) {
    database.sql("DO $$ BEGIN CREATE ROLE guarded LOGIN PASSWORD 'right'; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$");
}

/// A server or a worker that waits for its database, and the rest of its log.
struct Waiting {
    child: Child,
    log: BufReader<ChildStderr>,
}

impl Waiting {
    /// Returns the line of the log that says that it waits.
    fn start(home: &Path, args: &[&str]) -> (Self, String) {
        let mut child = docwright(home).args(args).stderr(Stdio::piped()).spawn().unwrap();
        let mut waiting = Self { log: BufReader::new(child.stderr.take().unwrap()), child };
        let line = waiting.line_with("trying again in");
        (waiting, line)
    }

    fn line_with(&mut self, words: &str) -> String {
        loop {
            let mut line = String::new();
            assert!(self.log.read_line(&mut line).unwrap() > 0, "it ended, and did not say {words}");
            if line.contains(words) {
                return line;
            }
        }
    }

    fn stop(mut self) -> ExitStatus {
        assert!(Command::new("kill").arg(self.child.id().to_string()).status().unwrap().success());
        self.child.wait().unwrap()
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
fn a_server_and_a_worker_that_are_started_before_their_database_wait_for_it() {
    let database = Database::create();
    let keys = home();
    let key = master_key(&keys, "5ea1");
    database.close();
    let homes = [home_on(&database.url(), &key), home_on(&database.url(), &key)];
    let (mut server, line) = Waiting::start(homes[0].path(), &SERVE);
    assert!(line.contains("not currently accepting connections") && line.contains("WARN"), "{line}");
    assert!(line.contains("start the database") && line.contains("trying again in 1 s"), "{line}");
    let (mut worker, _) = Waiting::start(homes[1].path(), &["worker"]);
    server.line_with("trying again in 2 s");
    database.open_again();
    server.line_with("Docwright serves http://");
    worker.line_with("Docwright runs jobs");
    assert!(worker.stop().success() && server.stop().success());
}

#[test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
fn a_waiting_server_says_why_and_stops_on_a_signal() {
    let database = Database::create();
    create_guarded_user(&database);
    let keys = home();
    let key = master_key(&keys, "5ea1");
    for (url, cause, hint) in [
        ("postgres://dw:s3cret@127.0.0.1:1/docs".to_owned(), "Connection refused", "start the database"),
        (
            database.url_of("guarded:s3cret"),
            "password authentication failed",
            "check the user and the password",
        ),
        (database.url().replace("localhost/t", "localhost/no_t"), "does not exist", "create the database"),
    ] {
        for command in [&SERVE[..], &["worker"]] {
            let home = home_on(&url, &key);
            let (waiting, line) = Waiting::start(home.path(), command);
            assert!(line.contains(cause) && line.contains(hint) && !line.contains("s3cret"), "{line}");
            assert!(waiting.stop().success(), "{command:?}");
        }
    }
}

#[test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
fn the_doctor_looks_at_the_database_of_a_server_that_has_no_directory_yet() {
    let (database, keys) = (Database::create(), home());
    let key = master_key(&keys, "5ea1");
    let unknown = database.url().replace("localhost/t", "localhost/no_t");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    for (url, code, words) in [
        (unknown, 1, "-> create the database, or check its name in DOCWRIGHT_DATABASE_URL"),
        (database.url(), 0, "has no tables yet"),
    ] {
        let home = home_on(&url, &key);
        let output = run(home.path(), &["doctor"]);
        let report = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.code() == Some(code) && report.contains(words), "{report}");
    }
    Serving::start(home_on(&database.url(), &key).path()).stop();
    let joins = home_on(&database.url(), &key);
    let report = String::from_utf8(run(joins.path(), &["doctor"]).stdout).unwrap();
    assert!(report.contains("can be read, and has the schema of this version"), "{report}");
    assert!(!joins.path().join(".local/share/docwright").exists(), "the doctor creates nothing");
}

#[test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
fn the_doctor_refuses_clickhouse_as_the_server_does() {
    let (database, keys) = (Database::create(), home());
    let home = home_on(&database.url(), &master_key(&keys, "5ea1"));
    Serving::start(home.path()).stop();
    let mut doctor = docwright(home.path());
    let output = doctor.arg("doctor").env("DOCWRIGHT_VIEWS_URL", "http://127.0.0.1:1/x").output().unwrap();
    let report = String::from_utf8(output.stdout).unwrap();
    assert!(report.contains("can't be moved to ClickHouse any more"), "{report}");
    assert_eq!(output.status.code(), Some(1), "{report}");
}

#[test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
fn missing_page_views_are_not_replaced_by_accident() {
    let database = Database::create();
    let keys = home();
    let home = home_on(&database.url(), &master_key(&keys, "5ea1"));
    let data = home.path().join(".local/share/docwright");
    let lose_views = || {
        for part in ["views.db", "views.db-wal", "views.db-shm"] {
            let _ = std::fs::remove_file(data.join(part));
        }
    };
    Serving::start(home.path()).stop();
    lose_views();
    let refused = run(home.path(), &SERVE);
    let message = String::from_utf8(refused.stderr).unwrap();
    assert!(refused.status.code() == Some(1) && message.contains("views.db is missing"), "{message}");
    assert!(
        message.contains("Restore views.db from a backup") && message.contains("--page-views yes --force"),
        "{message}"
    );
    assert!(!data.join("views.db").exists(), "nothing is created");
    let doctor = run(home.path(), &["doctor"]);
    let message = String::from_utf8(doctor.stdout).unwrap();
    assert!(doctor.status.code() == Some(1) && message.contains("fail  page views"), "{message}");

    // A choice that is in a settings file for good gives nothing up.
    let refused = run(home.path(), &[&SERVE[..], &["--page-views", "yes"]].concat());
    assert!(String::from_utf8(refused.stderr).unwrap().contains("views.db is missing"));
    let with = |choice: &'static [&'static str]| {
        Serving::start_with(home.path(), "127.0.0.1:0", move |serve| {
            serve.arg("--page-views").args(choice);
        })
    };
    assert!(
        with(&["yes", "--force"]).stop().contains("the server starts without the page views that were in it")
    );
    Serving::start(home.path()).stop();
    lose_views();
    with(&["no"]).stop();
    assert_eq!(database.sql("SELECT count(*) FROM views_home"), "0");
    lose_views();
    // A server that does not store page views has none to lose.
    Serving::start(home.path()).stop();
}

#[test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
fn page_views_are_taken_over_with_the_old_ones_or_by_force() {
    let database = Database::create();
    let keys = home();
    let key = master_key(&keys, "5ea1");
    let (here, there) = (home_on(&database.url(), &key), home_on(&database.url(), &key));
    Serving::start(here.path()).stop();
    let take = [&SERVE[..], &["--page-views", "yes"]].concat();
    let refused = run(there.path(), &take);
    let message = String::from_utf8(refused.stderr).unwrap();
    assert!(
        refused.status.code() == Some(1)
            && message.contains("has no page views, and another server has those of this database"),
        "{message}"
    );
    let epoch = || database.sql("SELECT epoch FROM views_home");
    let before = epoch();
    Serving::start_with(there.path(), "127.0.0.1:0", |serve| {
        serve.args(["--page-views", "yes", "--force"]);
    })
    .stop();
    assert_ne!(epoch(), before);
    let refused = run(there.path(), &[&SERVE[..], &["--force"]].concat());
    let message = String::from_utf8(refused.stderr).unwrap();
    assert!(message.contains("--force needs --page-views yes"), "{message}");
}

#[test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
fn a_command_that_reads_creates_no_tables_and_no_directory() {
    let database = Database::create();
    let keys = home();
    let home = home_on(&database.url(), &master_key(&keys, "5ea1"));
    let refused = run(home.path(), &["org", "list"]);
    let message = String::from_utf8(refused.stderr).unwrap();
    assert!(
        refused.status.code() == Some(1) && message.contains("is empty. Check that it is the right one"),
        "{message}"
    );
    assert_eq!(database.sql("SELECT to_regclass('docwright_schema') IS NULL"), "t");
    assert!(!home.path().join(".local").exists());
    assert!(run(home.path(), &["org", "create", "--name", "Acme"]).status.success());
    let elsewhere = home.path().join("typo");
    let list = run(home.path(), &["org", "list", "--data", elsewhere.to_str().unwrap()]);
    assert!(list.status.success() && !elsewhere.exists(), "{list:?}");
}

#[test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
fn a_backup_covers_the_data_directory_and_says_how_to_dump_the_rest() {
    let database = Database::create();
    let keys = home();
    let home = home_on(&database.url_of("postgres:s3cret"), &master_key(&keys, "5ea1"));
    let serving = Serving::start(home.path());
    let client = Client::of(home.path(), &serving);
    let made = run(home.path(), &["backup", "copy.tar.zst"]);
    let words = String::from_utf8(made.stderr).unwrap();
    let name = database.sql("SELECT current_database()");
    assert!(
        made.status.success() && words.contains("pg_dump") && words.contains(&format!("--dbname={name}"))
    );
    assert!(words.contains("docs.git of the project D") && !words.contains("s3cret"), "{words}");
    let packed = zstd::decode_all(&*std::fs::read(home.path().join("copy.tar.zst")).unwrap()).unwrap();
    assert!(!String::from_utf8_lossy(&packed).contains("s3cret"));

    let restored = run(home.path(), &["restore", "copy.tar.zst", "--data", "new"]);
    let words = String::from_utf8(restored.stderr).unwrap();
    assert!(
        restored.status.success() && words.contains("pg_restore") && !words.contains("s3cret"),
        "{words}"
    );
    let id = |data: &Path| std::fs::read_to_string(data.join("id")).unwrap();
    let [old, new] = [home.path().join(".local/share/docwright"), home.path().join("new")];
    assert_eq!(id(&old), id(&new));
    assert!(new.join("views.db").exists() && !new.join("docwright.db").exists());
    serving.stop();
    // The restored directory stores the page views.
    let again = Serving::start_with(home.path(), "127.0.0.1:0", |serve| {
        serve.args(["--data", "new"]);
    });
    let views = client.at(home.path(), &again).docwright().args(["views", &client.project]).output().unwrap();
    assert!(views.status.success(), "{views:?}");
}
