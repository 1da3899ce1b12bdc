//! Tests each problem that `docwright upgrade --check` reports.

use std::fs::File;
use std::path::Path;
use std::time::SystemTime;

use super::{assert_check, check, hours, old_home, set_modified, snapshot, sql, text};
use crate::backup::data;
use crate::support::{home, refusal, run};

#[test]
fn a_server_must_be_stopped_before_its_data_changes() {
    let home = old_home();
    assert!(run(home.path(), &["backup", "copy"]).status.success());
    // As a running server does.
    let lock = File::create(data(home.path()).join("lock")).unwrap();
    lock.lock().unwrap();
    let (code, report) = check(home.path(), &[]);
    assert_eq!(code, 6, "{report:#}");
    assert_check(&report, "server", "fail", "stop it first");
    drop(lock);
    assert_eq!(check(home.path(), &[]).0, 0);
}

#[test]
fn a_backup_must_be_there_complete_and_newer_than_the_newest_write() {
    let home = old_home();
    let database = data(home.path()).join("docwright.db");
    assert!(run(home.path(), &["backup", "copy.tar.zst"]).status.success());
    set_modified(&database, SystemTime::now() + hours(2));
    let (code, report) = check(home.path(), &[]);
    assert_eq!((code, &report["backup"]["includesNewestWrite"]), (6, &false.into()), "{report:#}");
    assert_check(&report, "backup", "fail", "the newest write is 2 hours newer");
    set_modified(&database, SystemTime::now() - hours(1));
    assert_eq!(check(home.path(), &[]).0, 0);

    let copy = home.path().join("copy.tar.zst");
    let whole = std::fs::read(&copy).unwrap();
    std::fs::write(&copy, &whole[..whole.len() / 2]).unwrap();
    let (code, report) = check(home.path(), &[]);
    assert_eq!(code, 6);
    assert_check(&report, "backup", "fail", "copy.tar.zst cannot be restored");
    std::fs::remove_file(&copy).unwrap();
    let (code, report) = check(home.path(), &[]);
    assert_eq!(code, 6);
    assert_check(&report, "backup", "fail", "is no longer there");

    std::fs::write(home.path().join("elsewhere.tar.zst"), whole).unwrap();
    assert_eq!(check(home.path(), &["--backup", "elsewhere.tar.zst"]).0, 0);
    std::fs::write(data(home.path()).join("id"), "0000000000000000").unwrap();
    let (code, report) = check(home.path(), &["--backup", "elsewhere.tar.zst"]);
    assert_eq!(code, 6);
    assert_check(&report, "backup", "fail", "is a backup of another data directory");
    let (code, report) = check(home.path(), &["--backup", "none.tar.zst"]);
    assert_eq!(code, 6);
    assert_check(&report, "backup", "fail", "there is no backup at none.tar.zst");
    for junk in ["", "{}", "{\"path\": 1}"] {
        std::fs::write(data(home.path()).join("last-backup.json"), junk).unwrap();
        assert_check(&check(home.path(), &[]).1, "backup", "fail", "has no record of a backup");
    }
}

#[test]
fn what_is_no_data_directory_is_an_error() {
    let home = home();
    let check = |path: &Path, words: &str| {
        let (code, message) = refusal(home.path(), &["upgrade", "--check", path.to_str().unwrap()]);
        assert!(code == 1 && message.contains(words), "{words}: {message}");
    };
    check(&home.path().join("none"), "there is no data directory");
    check(home.path(), "there is no database in");
    std::fs::write(home.path().join("docwright.db"), "x").unwrap();
    check(
        &home.path().join("docwright.db"),
        &format!(
            "docwright.db is not a directory: set --data to the data directory, {}",
            home.path().display()
        ),
    );
    std::fs::remove_file(home.path().join("docwright.db")).unwrap();
    std::fs::write(home.path().join("views.db"), "x").unwrap();
    check(home.path(), "docwright.db is missing");
}

#[test]
fn a_database_that_cannot_be_upgraded_is_reported() {
    for name in ["docwright.db", "views.db"] {
        let home = old_home();
        assert!(run(home.path(), &["backup", "copy"]).status.success());
        let path = data(home.path()).join(name);
        let intact = std::fs::read(&path).unwrap();
        let report = |content: &[u8], words: &str| {
            std::fs::write(&path, content).unwrap();
            let before = snapshot(&data(home.path()));
            let (code, report) = check(home.path(), &[]);
            assert_eq!(code, 6, "{report:#}");
            assert_check(&report, name, "fail", words);
            // The advice is to restore a backup.
            assert_check(&report, "backup", "ok", "/copy of ");
            assert_eq!(snapshot(&data(home.path())), before, "the check changes nothing");
        };
        report(b"this is not a database, but a text of more than a hundred bytes, which says so in many words indeed", "is damaged, or is not a database: ");
        report(&intact[..intact.len() / 2], "restore a backup with the version that you ran until now");
        let mut holed = intact.clone();
        holed[40 * 4096..60 * 4096].fill(0);
        report(&holed, "is damaged: ");
        // A database of another program.
        std::fs::remove_file(&path).unwrap();
        sql(
            Path::new(&format!("{}?mode=rwc", path.display())),
            "CREATE TABLE a (b); PRAGMA journal_mode = DELETE",
        );
        let foreign = std::fs::read(&path).unwrap();
        report(&foreign, "has no tables of Docwright");
        std::fs::write(path.with_extension("db-wal"), "x").unwrap();
        report(&intact, "start the version that you ran until now, stop it");
    }
}

#[test]
fn advice_repeats_the_flags() {
    let home = old_home();
    let path = data(home.path());
    let printed = text(run(home.path(), &["upgrade", "--check", path.to_str().unwrap()]));
    assert!(
        printed.contains(&format!("docwright backup FILE.tar.zst --data {}", path.display())),
        "{printed}"
    );
}
