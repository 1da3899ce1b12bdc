//! Tests `docwright doctor` with a healthy installation, and with each problem.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sqlx::Connection;

use crate::support::{Client, Serving, commit_file, docwright, home, json, repository, run};

/// Runs the doctor. Returns the exit code, whether all is ok, and the status and text of each check by name.
fn doctor(home: &Path, url: Option<&str>) -> (i32, Value, impl Fn(&str) -> (String, String)) {
    let mut command = docwright(home);
    url.map(|url| command.env("DOCWRIGHT_URL", url));
    let output = command.args(["doctor", "--json"]).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"));
    let checks = report["checks"].as_array().unwrap().clone();
    let find = move |name: &str| {
        let check = checks.iter().find(|check| check["name"] == name);
        let check = check.unwrap_or_else(|| panic!("no check {name}: {checks:?}"));
        let text = |field: &str| check[field].as_str().unwrap_or_default().to_owned();
        (text("status"), format!("{} -> {}", text("message"), text("advice")))
    };
    (output.status.code().unwrap(), report["ok"].clone(), find)
}

fn mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn before_the_first_start_nothing_fails_and_nothing_is_created() {
    let home = home();
    let (code, ok, check) = doctor(home.path(), None);
    assert_eq!((code, ok), (0, Value::Bool(true)));
    let (status, words) = check("data directory");
    assert!(status == "warn" && words.contains("docwright serve"), "{words}");
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0);
}

#[test]
fn a_healthy_installation_is_all_ok() {
    let home = home();
    let serving = Serving::start(home.path());
    let _project = Client::of(home.path(), &serving);
    let (code, _, check) = doctor(home.path(), Some(&serving.url));
    assert_eq!(code, 0);
    for name in [
        "git",
        "clock",
        "data directory",
        "master key",
        "database",
        "integrity",
        "page views",
        "repository",
        "server",
        "DOCWRIGHT_URL",
    ] {
        assert_eq!(check(name).0, "ok", "{name}: {}", check(name).1);
    }
    assert!(check("server").1.contains(&serving.url));
    let report = String::from_utf8(run(home.path(), &["doctor"]).stdout).unwrap();
    assert!(report.contains("ok    git") && !report.contains("fail"), "{report}");
}

#[test]
fn each_problem_is_reported_with_advice() {
    let home = home();
    let serving = Serving::start(home.path());
    let client = Client::of(home.path(), &serving);
    drop(serving);
    let data = home.path().join(".local/share/docwright");
    mode(&data, 0o755);
    mode(&data.join("master.key"), 0o644);
    std::fs::rename(home.path().join("docs.git"), home.path().join("gone.git")).unwrap();
    let (code, ok, check) = doctor(home.path(), Some("http://127.0.0.1:1"));
    assert_eq!((code, ok), (1, Value::Bool(false)));
    assert_check(check("data directory"), "warn", "chmod 700");
    assert_check(check("master key"), "fail", "chmod 600");
    assert_check(check("repository"), "fail", &format!("docwright project update {}", client.project));
    assert_check(check("server"), "warn", "docwright serve");
    assert_check(check("DOCWRIGHT_URL"), "fail", "set DOCWRIGHT_URL");

    std::fs::write(data.join("master.key"), "00".repeat(32)).unwrap();
    assert_check(doctor(home.path(), None).2("database"), "fail", "DOCWRIGHT_MASTER_KEY_FILE");
    std::fs::write(data.join("master.key"), "no key").unwrap();
    assert_check(doctor(home.path(), None).2("master key"), "fail", "64 hexadecimal digits");
    let report = String::from_utf8(run(home.path(), &["doctor"]).stdout).unwrap();
    assert!(report.contains("DOCWRIGHT_MASTER_KEY_FILE") && !report.contains("restore a backup"), "{report}");
    std::fs::remove_file(data.join("master.key")).unwrap();
    assert_check(doctor(home.path(), None).2("master key"), "fail", "master.key is missing -> restore it");
    assert!(!data.join("master.key").exists(), "the doctor creates nothing");
    for part in ["docwright.db-wal", "docwright.db-shm"] {
        let _ = std::fs::remove_file(data.join(part));
    }
    std::fs::write(data.join("docwright.db"), "no database").unwrap();
    std::fs::write(data.join("master.key"), "00".repeat(32)).unwrap();
    assert_check(doctor(home.path(), None).2("database"), "fail", "restore a backup");
}

#[test]
fn the_doctor_reports_settings_that_serve_refuses() {
    fn check(toml: &str, name: &str, expected: &str) {
        let home = home();
        let config = home.path().join("docwright.toml");
        std::fs::write(&config, toml).unwrap();
        let run_command = |command: &str| {
            let output = docwright(home.path()).arg("--config").arg(&config).arg(command).output().unwrap();
            let text = [output.stdout, output.stderr].concat();
            (output.status.code().unwrap(), String::from_utf8(text).unwrap())
        };
        let (code, words) = run_command("doctor");
        assert!(code == 1 && words.contains(&format!("fail  {name}")) && words.contains(expected), "{words}");
        let (code, words) = run_command("serve");
        assert!(code == 1 && words.contains(expected), "{words}");
    }
    let model =
        "[models.fast]\nprovider = \"compatible\"\nmodel = \"m\"\nbase_url = \"http://127.0.0.1:1/v1\"\n";
    check("workers = \"many\"\n", "settings", "it must be a whole number");
    check(&format!("{model}api_key_env = \"NOT_SET\"\n"), "settings", "the variable NOT_SET is not set");
    check(
        &format!("{model}prices = {{ input = -1.0, output = 1.0 }}\n"),
        "settings",
        "prices must be numbers",
    );
    check(model, "models", "allow_private");
}

#[test]
fn missing_git_is_reported() {
    let home = home();
    let output = docwright(home.path()).env("PATH", "").arg("doctor").output().unwrap();
    let report = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.code() == Some(1) && report.contains("install git 2.38"), "{report}");
}

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// Waits until the metrics report that deletion is paused, or is not.
fn becomes_paused(serving: &Serving, paused: bool) -> bool {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let expected = format!("\ndocwright_deletion_paused {}\n", u8::from(paused));
    let until = std::time::Instant::now() + std::time::Duration::from_secs(30);
    let scrape = || reqwest::blocking::get(format!("{}/metrics", serving.url)).unwrap().text().unwrap();
    while !scrape().contains(&expected) {
        if std::time::Instant::now() > until {
            return false;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    true
}

fn serve_with_metrics(home: &Path) -> Serving {
    Serving::start_with(home, "127.0.0.1:0", |command| {
        command.arg("--metrics");
    })
}

/// The server was off for ten days, or its clock jumped: it cannot know which.
#[test]
fn an_untrusted_clock_is_reported_and_can_be_confirmed() {
    let home = home();
    let data = home.path().join(".local/share/docwright");
    drop(serve_with_metrics(home.path()));
    let (code, _, check) = doctor(home.path(), None);
    assert_eq!((code, check("deletion").0), (0, "ok".into()), "{}", check("deletion").1);

    let ten_days_ago = jiff::Timestamp::now() - jiff::SignedDuration::from_hours(240);
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let clock = std::sync::Arc::new(base::TestClock::at(ten_days_ago));
        let admin = server::Admin::open(&server::Settings::new(data), clock).await.unwrap();
        admin.clocks.confirm_clocks(None).await.unwrap();
    });
    let serving = serve_with_metrics(home.path());
    assert!(becomes_paused(&serving, true));
    let (code, ok, check) = doctor(home.path(), None);
    let (status, words) = check("deletion");
    assert_eq!((code, ok, status.as_str()), (0, Value::Bool(true), "warn"), "{words}");
    assert!(words.contains("the server's clock is more than 7 days past the last recorded time"), "{words}");
    assert!(words.contains("steady for 0 of 24 hours"), "{words}");
    assert!(words.contains("docwright doctor --confirm-clock"), "{words}");

    let report = String::from_utf8(run(home.path(), &["doctor", "--confirm-clock"]).stdout).unwrap();
    assert!(report.contains("ok    deletion        the clock is confirmed"), "{report}");
    assert!(becomes_paused(&serving, false));
    assert_eq!(doctor(home.path(), None).2("deletion").0, "ok");
    let log = serving.stop();
    assert_eq!(log.matches("deletion is paused").count(), 1, "{log}");
    assert_eq!(log.matches("deletion is resumed").count(), 1, "{log}");
}

#[test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
fn with_postgres_the_clock_of_the_database_is_checked_too() {
    let database = crate::cluster::Database::create();
    let home = home();
    let key = home.path().join("master.key");
    std::fs::write(&key, "5ea1".repeat(16)).unwrap();
    mode(&key, 0o600);
    let settings = home.path().join(".config/docwright");
    std::fs::create_dir_all(&settings).unwrap();
    let text =
        format!("database_url = {:?}\nmaster_key_file = {:?}\n", database.url(), key.to_str().unwrap());
    std::fs::write(settings.join("docwright.toml"), text).unwrap();
    drop(serve_with_metrics(home.path()));
    for (like, name) in [("database", "the database's clock"), ("server %", "the server's clock")] {
        let ago = format!("UPDATE clocks SET trusted = trusted - {} WHERE name LIKE '{like}'", 10 * DAY_MS);
        database.sql(&ago);
        let (_, _, check) = doctor(home.path(), None);
        let (status, words) = check("deletion");
        assert!(status == "warn" && words.contains(name), "{words}");
        assert!(run(home.path(), &["doctor", "--confirm-clock"]).status.success());
        assert_eq!(doctor(home.path(), None).2("deletion").0, "ok");
    }
}

#[test]
fn without_a_database_there_is_no_clock_to_confirm() {
    let home = home();
    let output = run(home.path(), &["doctor", "--confirm-clock"]);
    let report = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.code() == Some(1) && report.contains("the clock is not confirmed"), "{report}");
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 0, "the doctor creates nothing");
}

fn data(home: &Path) -> PathBuf {
    home.join(".local/share/docwright")
}

/// Every file of the data directory, with what is in it.
fn files(home: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let paths = std::fs::read_dir(data(home)).unwrap().map(|entry| entry.unwrap().path());
    paths.filter(|path| path.is_file()).map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
}

#[track_caller]
fn assert_check((status, words): (String, String), expected: &str, text: &str) {
    assert!(status == expected && words.contains(text), "{status} {words}");
}

/// Writes the log back into the database and removes it, as the last connection does that is closed.
fn checkpoint(home: &Path, name: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(data(home).join(name));
    runtime.block_on(async {
        let mut db = sqlx::SqliteConnection::connect_with(&options).await.unwrap();
        sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut db).await.unwrap();
        db.close().await.unwrap();
    });
}

#[test]
fn the_doctor_does_not_change_the_data_directory() {
    let home = home();
    let serving = Serving::start(home.path());
    Client::of(home.path(), &serving);
    serving.signal("-KILL");
    drop(serving);
    let model = "[models.fast]\nprovider = \"compatible\"\nmodel = \"m\"\nbase_url = \"http://127.0.0.1:1/v1\"\nallow_private = true\n";
    let config = home.path().join("docwright.toml");
    std::fs::write(&config, model).unwrap();
    let config = config.to_str().unwrap();
    let killed = files(home.path());
    assert!(killed.keys().any(|path| path.ends_with("docwright.db-wal")));
    assert!(run(home.path(), &["--config", config, "doctor"]).status.success());
    assert!(files(home.path()) == killed, "a killed server's files stay");
    ["docwright.db", "views.db"].iter().for_each(|name| checkpoint(home.path(), name));
    let rested = files(home.path());
    assert!(!rested.keys().any(|path| path.to_str().unwrap().contains(".db-")), "{:?}", rested.keys());
    let output = run(home.path(), &["--config", config, "doctor"]);
    let report = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && report.contains("docwright.db: no damage found"), "{report}");
    assert!(
        report.contains("views.db: no damage found")
            && report.contains("views.db has the schema of this version"),
        "{report}"
    );
    assert!(files(home.path()) == rested, "no file appears beside a database at rest");
}

#[test]
fn damage_and_another_schema_are_found_in_either_database() {
    let home = home();
    let serving = Serving::start(home.path());
    Client::of(home.path(), &serving);
    serving.stop();
    ["docwright.db", "views.db"].iter().for_each(|name| checkpoint(home.path(), name));
    let check = |path: &Path, change: &dyn Fn(&mut Vec<u8>), status: &str, name: &str, words: &str| {
        let whole = std::fs::read(path).unwrap();
        let mut bytes = whole.clone();
        change(&mut bytes);
        std::fs::write(path, bytes).unwrap();
        let output = run(home.path(), &["doctor"]);
        std::fs::write(path, whole).unwrap();
        let report = String::from_utf8(output.stdout).unwrap();
        let line = report
            .lines()
            .find(|line| line.starts_with(&format!("{status}  {name}")) && line.contains(words));
        assert!(line.is_some(), "{status} {name} {words}: {report}");
        assert_eq!(output.status.code(), Some(i32::from(status == "fail")), "{report}");
    };
    let (database, views) = (data(home.path()).join("docwright.db"), data(home.path()).join("views.db"));
    // The head of the second page, which is the root of a table.
    let damage = |bytes: &mut Vec<u8>| bytes[4096..4112].fill(0xff);
    check(&database, &damage, "fail", "integrity", "docwright.db is damaged");
    check(&views, &damage, "fail", "integrity", "views.db is damaged");
    // The version of the schema is a number at this place of the file.
    let schema = |to: u8| move |bytes: &mut Vec<u8>| bytes[63] = to;
    check(&views, &schema(1), "warn", "page views", "has the schema of an older version (1;");
    check(&views, &schema(99), "fail", "page views", "was written by a newer version");
    check(&views, &|_| {}, "ok  ", "page views", "views.db has the schema of this version");
}

#[test]
fn missing_databases_are_reported() {
    let home = home();
    let serving = Serving::start(home.path());
    Client::of(home.path(), &serving);
    serving.stop();
    let delete = |names: &[&str]| {
        names.iter().for_each(|name| drop(std::fs::remove_file(data(home.path()).join(name))));
    };
    delete(&["views.db", "views.db-wal", "views.db-shm"]);
    assert_check(doctor(home.path(), None).2("page views"), "warn", "views.db is missing");
    delete(&["docwright.db", "docwright.db-wal", "docwright.db-shm"]);
    let (code, _, check) = doctor(home.path(), None);
    assert_check(check("database"), "fail", "docwright.db is missing: an installation was in");
    assert_eq!(code, 1);
}

/// A repository on a disk of its own that has little room.
#[test]
fn the_disk_of_a_repository_is_checked() {
    let home = home();
    let disk = tempfile::tempdir_in("/dev/shm");
    let Ok(disk) = disk else { return eprintln!("skipped: there is no /dev/shm") };
    let repository = repository(disk.path(), &[("a.md".into(), "one\n".into())]);
    json(home.path(), &["project", "create", "--name", "D", "--repository", &repository, "--json"]);
    let (_, _, check) = doctor(home.path(), None);
    let (_, words) = check("repository disk");
    assert!(words.contains(&repository) && words.contains("MiB free"), "{words}");
}

#[test]
fn stale_locks_and_empty_refs_are_reported() {
    let home = home();
    let repository = repository(home.path(), &[("a.md".into(), "one\n".into())]);
    json(home.path(), &["project", "create", "--name", "D", "--repository", &repository, "--json"]);
    let refs = Path::new(&repository).join("refs/heads");
    std::fs::write(refs.join("main.lock"), "").unwrap();
    std::fs::create_dir_all(refs.join("docwright")).unwrap();
    std::fs::write(refs.join("docwright/empty"), "").unwrap();
    std::fs::write(refs.join("docwright/lost"), "1".repeat(40)).unwrap();
    let report = String::from_utf8(run(home.path(), &["doctor"]).stdout).unwrap();
    for words in ["main.lock", "the ref refs/heads/docwright/empty is empty", "docwright/lost"] {
        let line = report.lines().find(|line| line.starts_with("warn  repository") && line.contains(words));
        assert!(line.is_some(), "{words}: {report}");
    }
}

#[test]
fn a_proxy_that_is_not_trusted_is_in_the_log_and_in_the_report() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let home = home();
    let serving = Serving::start(home.path());
    let _project = Client::of(home.path(), &serving);
    let http = reqwest::blocking::Client::new();
    for name in ["a", "b", "c", "d", "e", "f"] {
        let form = [("name", format!("{name}@acme.dev")), ("password", "wrong".into())];
        let request = http.post(format!("{}/login", serving.url)).header("x-forwarded-for", "203.0.113.5");
        assert_eq!(request.form(&form).send().unwrap().status(), 401);
    }
    assert_check(doctor(home.path(), None).2("proxy"), "warn", "--trusted-proxy 127.0.0.1");
    let log = serving.stop();
    assert_eq!(log.matches("--trusted-proxy 127.0.0.1").count(), 1, "once: {log}");

    let _trusting = Serving::start_with(home.path(), "127.0.0.1:0", |command| {
        command.args(["--trusted-proxy", "127.0.0.1"]);
    });
    let report = String::from_utf8(run(home.path(), &["doctor"]).stdout).unwrap();
    assert!(!report.contains("proxy"), "{report}");
}

#[test]
fn files_that_jobs_may_no_longer_change_are_reported() {
    let home = home();
    let serving = Serving::start(home.path());
    let client = Client::of(home.path(), &serving);
    commit_file(home.path(), "WARP.md", "# Rules\n\none\n");
    // It was allowed once.
    let allow = |glob: &str| run(home.path(), &["project", "update", &client.project, "--allow-path", glob]);
    assert!(allow("WARP.md").status.success());
    let job = client.job(&["create", "Replace \"one\" with \"two\".", "--watch"]);
    assert_eq!(job.status.code(), Some(0), "{job:?}");
    assert!(allow("").status.success());
    let (code, _, check) = doctor(home.path(), None);
    let (status, words) = check("paths");
    assert!(code == 0 && status == "warn" && words.contains("WARP.md"), "{words}");
    assert!(words.contains(&format!("project update {} --allow-path 'WARP.md'", client.project)), "{words}");
}
