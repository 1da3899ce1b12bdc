//! Tests `docwright upgrade --check` on the data of version 0.1.0, with each problem, and that a downgrade harms nothing.

mod postgres;
mod problems;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, SystemTime};

use serde_json::Value;
use sqlx::Connection;
use tempfile::TempDir;

use crate::backup::data;
use crate::support::{Serving, docwright, home, run};

/// The changes of `docwright.db` since version 0.1.0.
const SINCE_THEN: [u64; 8] = [13, 14, 15, 16, 17, 18, 19, 20];

/// Unpacks what version 0.1.0 wrote: `data`, `docs.git`, and for PostgreSQL `dump.sql` and `master.key`.
fn unpack_fixture(backend: &str, into: &Path) {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../server/tests/fixtures/0.1.0");
    let packed = std::fs::read(fixtures.join(format!("{backend}.tar.zst"))).unwrap();
    let mut tar = Command::new("tar");
    tar.args(["-x", "--no-same-owner", "-f", "-", "-C"]).arg(into).stdin(Stdio::piped());
    let mut tar = tar.spawn().unwrap();
    tar.stdin.take().unwrap().write_all(&zstd::decode_all(&*packed).unwrap()).unwrap();
    assert!(tar.wait().unwrap().success());
}

/// A home whose data directory is the one of version 0.1.0.
fn old_home() -> TempDir {
    let home = home();
    unpack_fixture("sqlite", home.path());
    std::fs::create_dir_all(data(home.path()).parent().unwrap()).unwrap();
    std::fs::rename(home.path().join("data"), data(home.path())).unwrap();
    home
}

/// The exit code and the JSON of `docwright upgrade --check`.
#[track_caller]
fn check(home: &Path, args: &[&str]) -> (i32, Value) {
    let output = docwright(home).args(["upgrade", "--check", "--json"]).args(args).output().unwrap();
    let report = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    (output.status.code().unwrap(), report)
}

/// Asserts the status of a check, and words of its message or its advice.
#[track_caller]
fn assert_check(report: &Value, name: &str, status: &str, words: &str) {
    let checks = report["checks"].as_array().unwrap();
    let found = checks.iter().find(|check| check["name"] == name);
    let found = found.unwrap_or_else(|| panic!("no check {name}: {report:#}"));
    assert!(found["status"] == status && found.to_string().contains(words), "{words}: {found:#}");
}

/// The numbers of the pending changes of a database.
fn pending(report: &Value, name: &str) -> Vec<u64> {
    let databases = report["databases"].as_array().unwrap();
    let database = databases.iter().find(|database| database["name"] == name).unwrap();
    let changes = database["changes"].as_array().unwrap();
    assert!(changes.iter().all(|change| change["change"].as_str().unwrap().len() > 20), "{changes:?}");
    changes.iter().map(|change| change["number"].as_u64().unwrap()).collect()
}

/// Every file of a directory, with its content and the time of its last change.
fn snapshot(folder: &Path) -> BTreeMap<PathBuf, (Vec<u8>, SystemTime)> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let modified = |path: &Path| std::fs::metadata(path).unwrap().modified().unwrap();
    let files = entries.filter(|path| path.is_file());
    let mut found: BTreeMap<_, _> =
        files.map(|path| (path.clone(), (std::fs::read(&path).unwrap(), modified(&path)))).collect();
    found.insert(folder.to_owned(), (Vec::new(), modified(folder)));
    found
}

fn set_modified(file: &Path, at: SystemTime) {
    std::fs::File::options().append(true).open(file).unwrap().set_modified(at).unwrap();
}

/// Runs a statement on an SQLite file that no server uses.
fn sql(path: &Path, statement: &'static str) {
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let mut db = sqlx::SqliteConnection::connect(&format!("sqlite://{}", path.display())).await.unwrap();
        sqlx::raw_sql(statement).execute(&mut db).await.unwrap();
        db.close().await.unwrap();
    });
}

fn text(output: Output) -> String {
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

#[test]
fn the_check_names_the_changes_that_the_next_start_makes() {
    let home = old_home();
    let before = snapshot(&data(home.path()));
    let (code, report) = check(home.path(), &[]);
    assert_eq!((code, &report["ready"]), (6, &Value::Bool(false)), "{report:#}");
    assert_eq!(pending(&report, "docwright.db"), SINCE_THEN);
    assert_eq!(pending(&report, "views.db"), [5]);
    assert_check(&report, "backup", "fail", "docwright backup FILE.tar.zst");
    assert_eq!(snapshot(&data(home.path())), before, "the check changes nothing");

    assert!(run(home.path(), &["backup", "copy.tar.zst"]).status.success());
    let before = snapshot(&data(home.path()));
    let (code, report) = check(home.path(), &[]);
    assert_eq!((code, &report["ready"]), (0, &Value::Bool(true)), "{report:#}");
    assert_check(&report, "backup", "ok", "nothing was written since");
    assert!(report["backup"]["path"].as_str().unwrap().ends_with("/copy.tar.zst"), "{report:#}");
    let printed = text(run(home.path(), &["upgrade", "--check"]));
    for words in ["docwright.db has schema 12.", "   15  Adds quotations", "\nReady: the next start"] {
        assert!(printed.contains(words), "{words}: {printed}");
    }
    assert_eq!(snapshot(&data(home.path())), before, "the check changes nothing");

    let serving = Serving::start_with(home.path(), "127.0.0.1:0", |serve| {
        serve.args(["--workers", "0"]);
    });
    let (code, report) = check(home.path(), &[]);
    assert_eq!((code, pending(&report, "docwright.db")), (0, vec![]), "{report:#}");
    assert_check(&report, "server", "ok", "restart to run this version");
    serving.stop();
    let printed = text(run(home.path(), &["upgrade", "--check"]));
    assert!(printed.ends_with("\nReady: there is nothing to change.\n"), "{printed}");
}

/// The data of the older version is still usable by it: the backup has its schema.
#[test]
fn after_an_upgrade_the_backup_leads_back() {
    let home = old_home();
    assert!(run(home.path(), &["backup", "copy"]).status.success());
    assert_eq!(check(home.path(), &[]).0, 0);
    Serving::start_with(home.path(), "127.0.0.1:0", |serve| {
        serve.args(["--workers", "0"]);
    })
    .stop();
    assert!(run(home.path(), &["restore", "copy", "--force"]).status.success());
    let (_, report) = check(home.path(), &["--backup", "copy"]);
    assert_eq!(pending(&report, "docwright.db"), SINCE_THEN);
}

#[test]
fn an_older_program_refuses_newer_data_and_leaves_it_alone() {
    for name in ["docwright.db", "views.db"] {
        let home = home();
        Serving::start(home.path()).stop();
        let path = data(home.path()).join(name);
        sql(&path, "PRAGMA user_version = 1000");
        let before = snapshot(&data(home.path()));
        let (code, report) = check(home.path(), &[]);
        assert_eq!(code, 6, "{report:#}");
        assert_check(&report, name, "fail", "run the newer version, or restore a backup from before");
        assert_eq!(snapshot(&data(home.path())), before, "the check changes nothing");

        let refused = run(home.path(), &["serve", "--listen", "127.0.0.1:0"]);
        assert_eq!(refused.status.code(), Some(1));
        let message = text(refused);
        assert!(
            message.contains(&format!("{name} was written by a newer version of Docwright")),
            "{message}"
        );
        assert_eq!(std::fs::read(&path).unwrap(), before[&path].0, "{name} has the same bytes");
        // A process that ends at once can leave the log behind, without a write in it.
        let log = std::fs::metadata(path.with_extension("db-wal"));
        assert_eq!(log.map_or(0, |log| log.len()), 0, "{name} has no writes in its log");
        // With a newer views.db, the program of the right version continues with the same jobs.
        let database = data(home.path()).join("docwright.db");
        assert_eq!(std::fs::read(&database).unwrap(), before[&database].0, "docwright.db has the same bytes");
    }
}

#[test]
fn without_check_the_command_says_what_upgrades_the_data() {
    let home = home();
    let output = run(home.path(), &["upgrade", "--data", "my data"]);
    assert_eq!(output.status.code(), Some(2));
    let message = text(output);
    let data = home.path().canonicalize().unwrap().join("my data");
    assert!(message.contains(&format!("docwright upgrade --check --data '{}'", data.display())), "{message}");
    let both = run(home.path(), &["upgrade", "--check", "a", "--data", "b"]);
    assert_eq!(both.status.code(), Some(2));
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
}

fn hours(count: u64) -> Duration {
    Duration::from_secs(count * 60 * 60)
}
