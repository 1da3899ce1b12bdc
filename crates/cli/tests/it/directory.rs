//! Tests a data directory that is mistyped, incomplete or deleted: no command creates a new installation over an old
//! one, and the server acknowledges nothing that would be lost.

use std::path::{Path, PathBuf};

use serde_json::json;

use crate::support::{Client, Serving, docwright, home, json, refusal, repository, run};

const SERVE: [&str; 3] = ["serve", "--listen", "127.0.0.1:0"];

fn data(home: &Path) -> PathBuf {
    home.join(".local/share/docwright")
}

/// Every path below the folder.
fn tree(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    let mut all: Vec<_> = entries.flat_map(|path| [vec![path.clone()], tree(&path)].concat()).collect();
    all.sort();
    all
}

#[track_caller]
fn is_refused(home: &Path, args: &[&str], sentence: &str) {
    let before = tree(home);
    let (code, message) = refusal(home, args);
    assert!(code == 1 && message.contains(sentence), "{args:?}: {code} {message}");
    assert_eq!(message.trim().lines().count(), 1, "{message}");
    assert_eq!(tree(home), before, "{args:?} creates nothing");
}

/// Commands that can be the first one of an installation, and create it.
fn creating_commands(repository: &str) -> Vec<Vec<&str>> {
    vec![
        vec!["login"],
        vec!["org", "create", "--name", "Acme"],
        vec!["project", "create", "--name", "D", "--repository", repository],
        vec!["key", "create", "--name", "K"],
        vec!["user", "invite"],
    ]
}

#[test]
fn no_new_installation_replaces_an_incomplete_one() {
    let home = home();
    let repository = repository(home.path(), &[("a.md".into(), "one\n".into())]);
    let serving = Serving::start(home.path());
    json(home.path(), &["org", "create", "--name", "Acme", "--json"]);
    serving.stop();
    let (data, aside) = (data(home.path()), home.path().join("aside"));
    std::fs::create_dir_all(data.join("repos/cache.git")).unwrap();
    std::fs::create_dir(&aside).unwrap();
    for part in ["docwright.db", "docwright.db-wal", "docwright.db-shm"] {
        let _ = std::fs::rename(data.join(part), aside.join(part));
    }
    let sentence = "docwright.db is missing: an installation was in";
    is_refused(home.path(), &SERVE, sentence);
    is_refused(home.path(), &["org", "list"], sentence);
    for command in creating_commands(&repository) {
        is_refused(home.path(), &command, sentence);
    }
    // Each part alone shows that there was an installation.
    for part in ["views.db", "views.db-wal", "views.db-shm", "id"] {
        let _ = std::fs::rename(data.join(part), aside.join(part));
    }
    is_refused(home.path(), &SERVE, "which still has repos. Restore docwright.db from a backup");
    // An empty `repos` may be a mount point.
    std::fs::remove_dir(data.join("repos/cache.git")).unwrap();
    for part in ["views.db", "id"] {
        std::fs::copy(aside.join(part), data.join(part)).unwrap();
        is_refused(home.path(), &SERVE, &format!("which still has {part}. Restore"));
        std::fs::remove_file(data.join(part)).unwrap();
    }
    for part in tree(&aside) {
        std::fs::rename(&part, data.join(part.file_name().unwrap())).unwrap();
    }
    Serving::start(home.path()).stop();
    assert_eq!(json(home.path(), &["org", "list", "--json"])[0]["name"], "Acme");
}

#[test]
fn a_missing_master_key_is_reported_and_not_created() {
    let home = home();
    json(home.path(), &["org", "create", "--name", "Acme", "--json"]);
    let key = data(home.path()).join("master.key");
    let digits = std::fs::read(&key).unwrap();
    std::fs::remove_file(&key).unwrap();
    let sentence = format!("the master key file {} is missing: restore it from its backup", key.display());
    for command in
        [&SERVE[..], &["org", "list"], &["org", "create", "--name", "B"], &["key", "list", "--json"]]
    {
        is_refused(home.path(), command, &sentence);
    }
    let elsewhere = home.path().join("typo.key");
    let mut command = docwright(home.path());
    let output = command.env("DOCWRIGHT_MASTER_KEY_FILE", &elsewhere).args(SERVE).output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && message.contains("typo.key is missing"), "{message}");
    assert!(!elsewhere.exists());
    std::fs::write(&key, digits).unwrap();
    Serving::start(home.path()).stop();
}

#[test]
fn a_mistyped_data_directory_is_an_error_and_nothing_is_created() {
    let home = home();
    let (typo, file) = (home.path().join("typo"), home.path().join("file"));
    std::fs::write(&file, "x").unwrap();
    let file = file.to_str().unwrap();
    let reading: Vec<Vec<&str>> = vec![
        vec!["org", "list", "--json"],
        vec!["org", "delete", "Acme", "--yes"],
        vec!["project", "list"],
        vec!["project", "view", "prj_1"],
        vec!["project", "update", "prj_1", "--name", "D"],
        vec!["project", "delete", "prj_1", "--yes"],
        vec!["project", "hook", "prj_1"],
        vec!["key", "list"],
        vec!["key", "revoke", "key_1"],
        vec!["key", "create", "--name", "K", "--project", "prj_1"],
        vec!["login", "--organization", "Acme"],
        vec!["user", "list"],
        vec!["user", "invite", "--organization", "Acme"],
        vec!["user", "invitations"],
        vec!["user", "withdraw", "inv_1"],
        vec!["user", "remove", "ada@acme.dev"],
        vec!["audit"],
        vec!["pull", "list", "prj_1"],
        vec!["pull", "view", "prj_1", "1"],
        vec!["pull", "merge", "prj_1", "1"],
        vec!["pull", "close", "prj_1", "1"],
        vec!["model", "key", "fast", "--remove"],
    ];
    for command in &reading {
        let args = [&command[..], &["--data", typo.to_str().unwrap()]].concat();
        is_refused(home.path(), &args, "there is no data directory");
    }
    // An existing directory without an installation is not changed.
    std::fs::create_dir(&typo).unwrap();
    std::fs::set_permissions(&typo, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    for command in &reading {
        let args = [&command[..], &["--data", typo.to_str().unwrap()]].concat();
        is_refused(home.path(), &args, "there is no database in");
    }
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&typo).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o755);
    for command in [&["model", "list"][..], &["doctor"]] {
        let before = tree(home.path());
        assert!(run(home.path(), &[command, &["--data", typo.to_str().unwrap()]].concat()).status.success());
        assert_eq!(tree(home.path()), before, "{command:?}");
    }
    is_refused(home.path(), &["project", "list", "--data", file], "there is no database in");
}

#[test]
fn the_first_command_may_create_the_installation_and_says_so() {
    for number in 0..5 {
        let home = home();
        let repository = repository(home.path(), &[("a.md".into(), "one\n".into())]);
        let output = run(home.path(), &creating_commands(&repository)[number]);
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && message.contains("Created a new data directory"), "{message}");
        assert_eq!(json(home.path(), &["org", "list", "--json"]).as_array().unwrap().len(), 1);
    }
    let home = home();
    std::fs::create_dir_all(data(home.path())).unwrap();
    let message = String::from_utf8(run(home.path(), &["org", "create", "--name", "Acme"]).stderr).unwrap();
    assert!(message.contains("Created a new database in"), "{message}");
}

fn post(client: &Client<'_>, url: &str, path: &str, body: &serde_json::Value) -> (u16, String) {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let http = reqwest::blocking::Client::new();
    let answer = http.post(format!("{url}{path}")).bearer_auth(client.key()).json(body).send().unwrap();
    (answer.status().as_u16(), answer.text().unwrap())
}

#[test]
fn a_server_whose_directory_is_deleted_accepts_no_writes_and_the_doctor_reports_it() {
    let home = home();
    let serving = Serving::start(home.path());
    let client = Client::of(home.path(), &serving);
    let data = data(home.path());
    std::fs::remove_dir_all(&data).unwrap();
    let doctor = || {
        let output = run(home.path(), &["doctor"]);
        (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
    };
    let process = format!("process {} uses files of {}", serving.child.id(), data.display());
    let (code, message) = doctor();
    assert!(code == 1 && message.contains(&process), "{message}");

    let jobs = format!("/v2/agent/{}/job", client.project);
    let create = || post(&client, &serving.url, &jobs, &json!({ "prompt": "Fix links." }));
    // The server notices it soon.
    let (mut status, mut body) = create();
    while status == 201 {
        (status, body) = create();
    }
    assert!(status == 503 && body.contains("data directory was deleted or replaced"), "{status} {body}");
    // A second server can use a new directory at the same path.
    let second = Serving::start(home.path());
    assert_eq!(json(home.path(), &["org", "list", "--json"]), json!([]));
    assert_eq!(create().0, 503);
    let (code, message) = doctor();
    assert!(code == 1 && message.contains(&process), "{message}");
    second.stop();
    let log = serving.stop();
    assert!(log.contains("under this server: the server refuses writes"), "{log}");
    assert_eq!(doctor().0, 0);
}

#[test]
fn a_second_server_is_refused_although_the_lock_file_was_deleted() {
    let home = home();
    let serving = Serving::start(home.path());
    let client = Client::of(home.path(), &serving);
    std::fs::remove_file(data(home.path()).join("lock")).unwrap();
    let (code, message) = refusal(home.path(), &SERVE);
    assert!(code == 1 && message.contains("another Docwright server is using"), "{message}");
    let events = format!("/v1/analytics/{}/events", client.project);
    let mut answers = (0..1_000).map(|_| post(&client, &serving.url, &events, &json!([{ "path": "/" }])));
    let refused = answers.find(|(status, _)| *status != 202);
    assert!(matches!(&refused, Some((503, body)) if body.contains("data directory")), "{refused:?}");
    let report = String::from_utf8(run(home.path(), &["doctor"]).stdout).unwrap();
    assert!(report.contains(&format!("process {} uses files", serving.child.id())), "{report}");
    serving.stop();
    Serving::start(home.path()).stop();
}
