//! `docwright` on PostgreSQL: several servers on one database, and what it says when it cannot.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::cluster::Database;
use crate::support::{Client, Serving, docwright, home, run};

/// A home whose settings name the database and the master key.
fn home_on(database_url: &str, key: &Path) -> TempDir {
    let home = home();
    let settings = home.path().join(".config/docwright");
    std::fs::create_dir_all(&settings).unwrap();
    let text = format!("database_url = {database_url:?}\nmaster_key_file = {:?}\n", key.to_str().unwrap());
    std::fs::write(settings.join("docwright.toml"), text).unwrap();
    home
}

fn master_key(dir: &TempDir, digits: &str) -> PathBuf {
    let path = dir.path().join(format!("{digits}.key"));
    std::fs::write(&path, digits.repeat(16)).unwrap();
    path
}

#[test]
fn a_job_of_one_server_is_seen_through_by_any() {
    let Some(database) = Database::create() else { return };
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
    let told = String::from_utf8(watched.stderr).unwrap();
    for step in ["created", "started", "ended"] {
        assert!(told.lines().any(|line| line.split_whitespace().nth(1) == Some(step)), "{step}: {told}");
    }
    // The one that took the job in goes; the other one goes on with it.
    let log = here.stop();
    assert!(!log.contains("\"level\":\"ERROR\""), "{log}");
    let more = other(&["message", id, "Replace \"two\" with \"zwei\".", "--watch", "--json"]);
    let job: Value = serde_json::from_slice(&more.stdout).unwrap();
    assert_eq!(job["status"], "completed", "{more:?}");
    assert!(String::from_utf8(other(&["diff", id]).stdout).unwrap().contains("+eins zwei"));
    assert_eq!(database.sql("SELECT count(*) FROM pulls"), "1");
}

#[test]
fn a_server_without_workers_leaves_its_jobs_to_a_worker() {
    let Some(database) = Database::create() else { return };
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
    // It asks for nothing but jobs: page views stay where they are.
    assert_eq!(database.sql("SELECT count(*) FROM views_home"), "1");
    worker.stop();
}

/// A worker; killed when the test lets go of it.
struct Working(Child);

impl Working {
    fn start(home: &Path) -> Self {
        Self(docwright(home).arg("worker").stderr(Stdio::null()).spawn().unwrap())
    }

    fn stop(mut self) {
        let told = Command::new("kill").arg(self.0.id().to_string()).status().unwrap();
        assert!(told.success() && self.0.wait().unwrap().success());
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn each_way_to_be_wrong_is_a_sentence() {
    let Some(database) = Database::create() else { return };
    let keys = home();
    let (right, wrong) = (master_key(&keys, "5ea1"), master_key(&keys, "bad1"));
    #[track_caller]
    fn check(output: &Output, sentence: &str) {
        let told = String::from_utf8(output.stderr.clone()).unwrap();
        assert!(output.status.code() == Some(1) && told.contains(sentence), "{sentence}: {told}");
        assert!(!told.contains("s3cret"), "{told}");
    }
    let serve = ["serve", "--listen", "127.0.0.1:0"];
    let with = |url: &str, key: &Path| run(home_on(url, key).path(), &serve);
    check(&run(home().path(), &["worker"]), "a worker shares a PostgreSQL database");
    check(&with("mysql://dw:s3cret@db/docs", &right), "a database URL looks like postgres://");
    check(&with("postgres://dw:s3cret@127.0.0.1:1/docs", &right), "Connection refused");
    database.sql("DO $$ BEGIN CREATE ROLE guarded LOGIN PASSWORD 'right'; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$");
    check(&with(&database.url_of("guarded:s3cret"), &right), "password authentication failed");
    check(&with(&database.url(), &keys.path().join("none")), "master key file");

    let good = home_on(&database.url(), &right);
    let made = run(good.path(), &["org", "create", "--name", "Acme"]);
    assert!(made.status.success(), "{made:?}");
    check(&with(&database.url(), &wrong), "the master key does not fit this database");
    let mut command = docwright(home().path());
    let unnamed = command.current_dir("/").env("DOCWRIGHT_DATABASE_URL", database.url()).args(serve).output();
    check(&unnamed.unwrap(), "name its file with DOCWRIGHT_MASTER_KEY_FILE");
    let flag = ["org", "list", "--database-url", "postgres://dw:s3cret@db/docs"];
    check(&run(good.path(), &flag), "a password does not belong on a command line");
    database.sql("UPDATE docwright_schema SET version = 1000");
    check(&run(good.path(), &serve), "was written by a newer version of Docwright");
    check(&run(good.path(), &["org", "list"]), "was written by a newer version of Docwright");
}

#[test]
fn the_doctor_looks_at_the_database() {
    let Some(database) = Database::create() else { return };
    let keys = home();
    let home = home_on(&database.url(), &master_key(&keys, "5ea1"));
    assert!(run(home.path(), &["org", "create", "--name", "Acme"]).status.success());
    std::fs::set_permissions(
        keys.path().join("5ea1.key"),
        std::os::unix::fs::PermissionsExt::from_mode(0o600),
    )
    .unwrap();
    let healthy = run(home.path(), &["doctor"]);
    let told = String::from_utf8([healthy.stdout, healthy.stderr].concat()).unwrap();
    assert!(told.contains("can be read, and is of this version"), "{told}");
    database.close();
    let sick = run(home.path(), &["doctor"]);
    assert_eq!(sick.status.code(), Some(1));
    let told = String::from_utf8([sick.stdout, sick.stderr].concat()).unwrap();
    assert!(told.contains("cannot be opened"), "{told}");
}
