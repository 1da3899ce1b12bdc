//! Tests `docwright backup` and `restore`: the content of a backup, and a server on restored data.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::models::write_settings;
use crate::support::{Client, Serving, git, home, json, refusal, run};

/// The data directory of a home.
pub(crate) fn data(home: &Path) -> PathBuf {
    home.join(".local/share/docwright")
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn manifest(backup: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(backup.join("manifest.json")).unwrap()).unwrap()
}

/// Every file and folder below, with its mode.
fn all_below(folder: &Path) -> Vec<(PathBuf, u32)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        found.push((path.clone(), std::fs::symlink_metadata(&path).unwrap().permissions().mode() & 0o777));
        if path.is_dir() {
            found.extend(all_below(&path));
        }
    }
    found
}

/// What `job list` and `views` print.
fn jobs_and_views(client: &Client) -> (Value, Value) {
    let views = client.docwright().args(["views", &client.project, "--json"]).output().unwrap();
    let views = serde_json::from_slice(&views.stdout).unwrap_or_else(|_| panic!("{views:?}"));
    let mut jobs = client.json(&["list", "--json"]);
    for job in jobs["jobs"].as_array_mut().unwrap() {
        // These begin with the address of the server that is asked.
        assert!(job["prLink"].take().as_str().unwrap().ends_with("/pulls/1"));
        job["source"]["repository"].take();
    }
    (jobs, views)
}

/// A job that ended, and a page view.
fn do_some_work(client: &Client, home: &Path) {
    let job = client.json(&["create", "Replace \"one\" with \"eins\".", "--watch", "--json"]);
    assert_eq!(job["status"], "completed", "{job}");
    let log = home.join("access.log");
    let line = r#"203.0.113.9 - - [12/Oct/2026:10:00:00 +0000] "GET /guide HTTP/1.1" 200 5 "-" "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0""#;
    std::fs::write(&log, format!("{line}\n")).unwrap();
    let sent = client.docwright().args(["import", &client.project, text(&log)]).output().unwrap();
    assert!(sent.status.success(), "{sent:?}");
}

#[test]
fn after_a_stop_the_database_files_alone_have_everything() {
    let (from, to) = (home(), home());
    let serving = Serving::start(from.path());
    let client = Client::of(from.path(), &serving);
    do_some_work(&client, from.path());
    let before = jobs_and_views(&client);
    serving.stop();
    let names = ["docwright.db", "views.db"];
    for name in names {
        for log in ["-wal", "-shm"].map(|end| data(from.path()).join(format!("{name}{end}"))) {
            assert!(!log.exists(), "{}", log.display());
        }
    }
    // A command leaves no write-ahead log either.
    json(from.path(), &["org", "create", "--name", "Acme", "--json"]);
    assert!(run(from.path(), &["doctor"]).status.success());
    assert!(!data(from.path()).join("docwright.db-wal").exists());

    std::fs::create_dir_all(data(to.path())).unwrap();
    for name in names.iter().chain(&["master.key"]) {
        std::fs::copy(data(from.path()).join(name), data(to.path()).join(name)).unwrap();
    }
    let organizations = json(to.path(), &["org", "list", "--json"]);
    assert_eq!(organizations.as_array().unwrap().len(), 2, "{organizations}");
    let serving = Serving::start(to.path());
    assert_eq!(jobs_and_views(&client.at(to.path(), &serving)), before);
}

#[test]
fn a_restored_backup_has_the_same_jobs_and_views() {
    let (from, to) = (home(), home());
    let serving = Serving::start(from.path());
    let client = Client::of(from.path(), &serving);
    do_some_work(&client, from.path());
    let before = jobs_and_views(&client);
    for name in ["copy", "copy.tar.zst"] {
        let backup = from.path().join(name);
        let made = run(from.path(), &["backup", text(&backup)]);
        let words = String::from_utf8(made.stderr).unwrap();
        assert_eq!(String::from_utf8(made.stdout).unwrap().trim(), text(&backup), "{words}");
        assert!(words.contains("Not included: the repository") && words.contains("docs.git"), "{words}");
        assert!(words.contains("The master key is not in this backup"), "{words}");

        let there = to.path().join(name);
        let restored = run(to.path(), &["restore", text(&backup), "--data", text(&there)]);
        let words = String::from_utf8(restored.stderr).unwrap();
        assert!(restored.status.success() && words.contains("put your copy of it back"), "{words}");
        std::fs::copy(data(from.path()).join("master.key"), there.join("master.key")).unwrap();
        let again = Serving::start_with(to.path(), "127.0.0.1:0", |serve| {
            serve.arg("--data").arg(&there);
        });
        assert_eq!(jobs_and_views(&client.at(to.path(), &again)), before);
        again.stop();
    }
    let left: Vec<_> =
        std::fs::read_dir(from.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains("partial")), "{left:?}");
}

#[test]
fn a_sample_repository_moves_with_its_data_directory() {
    let home = home();
    let [here, there, backup] = ["here", "there", "copy.tar.zst"].map(|name| home.path().join(name));
    let demo =
        json(home.path(), &["demo", "--once", "--json", "--listen", "127.0.0.1:0", "--data", text(&here)]);
    let project = demo["projectId"].as_str().unwrap();
    let made =
        json(home.path(), &["backup", text(&backup), "--with-master-key", "--data", text(&here), "--json"]);
    assert_eq!((&made["masterKey"], &made["notIncluded"]), (&true.into(), &Value::Array(vec![])), "{made}");
    std::fs::rename(&here, home.path().join("gone")).unwrap();

    let restored = json(home.path(), &["restore", text(&backup), "--data", text(&there), "--json"]);
    assert_eq!(
        (&restored["masterKey"], &restored["previous"]),
        (&"restored".into(), &Value::Null),
        "{restored}"
    );
    let found = json(home.path(), &["project", "view", project, "--json", "--data", text(&there)]);
    let repository = there.canonicalize().unwrap().join("sample-docs.git");
    assert_eq!(found["repository"], text(&repository));
    git(&repository, &["fsck", "--strict"]);
    let merged = run(home.path(), &["pull", "merge", project, "1", "--data", text(&there)]);
    assert!(merged.status.success(), "{merged:?}");
    assert!(git(&repository, &["log", "--format=%s", "main"]).lines().count() > 1);
}

#[test]
fn a_backup_has_no_readable_secret_and_only_its_owner_can_read_it() {
    const SECRET: &str = "sk-a-key-that-nobody-may-see";
    let home = home();
    write_settings(
        home.path(),
        "[models.fast]\nprovider = \"compatible\"\nmodel = \"m\"\nbase_url = \"http://127.0.0.1:1\"\nallow_private = true\n",
    );
    let file = home.path().join("key");
    std::fs::write(&file, SECRET).unwrap();
    assert!(run(home.path(), &["model", "key", "fast", "--key-file", text(&file)]).status.success());
    let key = std::fs::read_to_string(data(home.path()).join("master.key")).unwrap();
    let bytes: Vec<u8> = (0..32).map(|n| u8::from_str_radix(&key[2 * n..2 * n + 2], 16).unwrap()).collect();

    let backup = home.path().join("without");
    assert!(run(home.path(), &["backup", text(&backup)]).status.success());
    assert_eq!(std::fs::metadata(&backup).unwrap().permissions().mode() & 0o777, 0o700);
    for (path, mode) in all_below(&backup) {
        assert_eq!(mode, if path.is_dir() { 0o700 } else { 0o600 }, "{}", path.display());
        let content = if path.is_dir() { Vec::new() } else { std::fs::read(&path).unwrap() };
        let has = |part: &[u8]| content.windows(part.len()).any(|window| window == part);
        assert!(!has(SECRET.as_bytes()) && !has(key.trim().as_bytes()) && !has(&bytes), "{}", path.display());
    }
    assert_eq!(manifest(&backup)["masterKey"], false);

    let backup = home.path().join("with");
    let made = run(home.path(), &["backup", text(&backup), "--with-master-key"]);
    assert!(String::from_utf8(made.stderr).unwrap().contains("Warning: this backup has the master key"));
    assert_eq!(std::fs::read_to_string(backup.join("master.key")).unwrap(), key);
    assert_eq!(manifest(&backup)["masterKey"], true);
    let archive = home.path().join("a.tar.zst");
    assert!(run(home.path(), &["backup", text(&archive)]).status.success());
    assert_eq!(std::fs::metadata(&archive).unwrap().permissions().mode() & 0o777, 0o600);

    std::fs::write(data(home.path()).join("master.key"), "00".repeat(32)).unwrap();
    let (code, words) = refusal(home.path(), &["backup", "other", "--with-master-key"]);
    assert!(code == 1 && words.contains("does not fit the database"), "{words}");
}

#[test]
fn a_backup_replaces_nothing_and_needs_an_installation() {
    let home = home();
    let (code, words) = refusal(home.path(), &["backup", "copy", "--data", "mistyped"]);
    assert!(code == 1 && words.contains("there is no data directory mistyped"), "{words}");
    std::fs::create_dir(home.path().join("empty")).unwrap();
    let (code, words) = refusal(home.path(), &["backup", "copy", "--data", "empty"]);
    assert!(code == 1 && words.contains("there is no docwright.db"), "{words}");
    let left: Vec<_> =
        std::fs::read_dir(home.path()).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(left, ["empty"]);
    assert_eq!(std::fs::read_dir(home.path().join("empty")).unwrap().count(), 0);

    json(home.path(), &["org", "create", "--name", "Acme", "--json"]);
    // An empty folder is a valid target.
    assert!(run(home.path(), &["backup", "empty"]).status.success());
    std::fs::write(home.path().join("a.tar.zst"), "mine").unwrap();
    for (target, expected) in [
        ("empty", "already exists"),
        ("a.tar.zst", "already exists"),
        ("a.tar.gz", "a file that ends in .tar.zst"),
        ("..", "cannot be the name of a backup"),
        ("none/copy", "create it first"),
    ] {
        let (code, words) = refusal(home.path(), &["backup", target]);
        assert!(code == 1 && words.contains(expected), "{target}: {words}");
    }
    assert_eq!(std::fs::read_to_string(home.path().join("a.tar.zst")).unwrap(), "mine");
    assert_eq!(refusal(home.path(), &["backup"]).0, 2);
}

#[test]
fn a_backup_can_go_into_an_existing_empty_folder() {
    let home = home();
    json(home.path(), &["org", "create", "--name", "Acme", "--json"]);
    // Like the mount point of a new disk, which cannot be replaced by a rename.
    let disk = home.path().join("disk");
    std::fs::create_dir_all(disk.join("lost+found")).unwrap();
    let inode = |path: &Path| std::os::unix::fs::MetadataExt::ino(&std::fs::metadata(path).unwrap());
    let before = inode(&disk);
    assert!(run(home.path(), &["backup", "disk"]).status.success());
    assert_eq!(inode(&disk), before);
    let mut names: Vec<_> = std::fs::read_dir(&disk)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["docwright.db", "lost+found", "manifest.json"]);
    assert!(run(home.path(), &["restore", "disk", "--data", "new"]).status.success());
}

#[test]
fn missing_databases_are_reported() {
    let home = home();
    Serving::start(home.path()).stop();
    let data = data(home.path());
    std::fs::remove_file(data.join("views.db")).unwrap();
    let (code, words) = refusal(home.path(), &["backup", "no-views"]);
    assert!(code == 0 && words.contains("page views are not in this backup"), "{words}");
    // The command writes nothing to an empty database file, which would then look like a new database.
    std::fs::write(data.join("docwright.db"), "").unwrap();
    let (code, words) = refusal(home.path(), &["backup", "nothing"]);
    assert!(code == 1 && words.contains("docwright.db is missing"), "{words}");
    assert_eq!(std::fs::metadata(data.join("docwright.db")).unwrap().len(), 0);
    assert!(!home.path().join("nothing").exists());
}
