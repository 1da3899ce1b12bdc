//! Tests the commands on the data directory.

use serde_json::json;

use crate::support::{Serving, home, json, refusal, repository, run};

fn files() -> Vec<(String, String)> {
    vec![("index.md".into(), "Hello npm.\n".into())]
}

#[test]
fn projects_and_keys_work_immediately_on_a_running_server() {
    let home = home();
    let repository = repository(home.path(), &files());
    let serving = Serving::start(home.path());
    let project =
        json(home.path(), &["project", "create", "--name", "Docs", "--repository", &repository, "--json"]);
    let id = project["id"].as_str().unwrap();
    let key = json(home.path(), &["key", "create", "--name", "CI", "--project", id, "--json"]);
    assert_eq!(key["projects"], json!([id]));
    let client = |args: &[&str]| {
        let mut command = crate::support::docwright(home.path());
        command.env("DOCWRIGHT_URL", &serving.url).env("DOCWRIGHT_API_KEY", key["key"].as_str().unwrap());
        command.args(args).output().unwrap()
    };
    let views = client(&["views", id, "--json"]);
    assert!(views.status.success(), "{}", String::from_utf8_lossy(&views.stderr));
    let job = client(&["job", "create", id, "Fix broken links", "--json"]);
    let job: serde_json::Value = serde_json::from_slice(&job.stdout).unwrap();
    let viewed = client(&["job", "view", id, job["id"].as_str().unwrap()]);
    assert!(String::from_utf8(viewed.stdout).unwrap().contains("created   The job was created"));

    let (ticket, chat) = (home.path().join("ticket.txt"), home.path().join("chat.md"));
    std::fs::write(&ticket, "It takes two minutes\n").unwrap();
    std::fs::write(&chat, "three, I think").unwrap();
    let (ticket, chat) = (ticket.to_str().unwrap(), chat.to_str().unwrap());
    let job = job["id"].as_str().unwrap();
    let message =
        client(&["job", "message", id, job, "Fix broken links", "--context", ticket, "--context", chat]);
    assert!(message.status.success(), "{}", String::from_utf8_lossy(&message.stderr));
    let transcript = String::from_utf8(client(&["job", "transcript", id, job]).stdout).unwrap();
    let context = json!([
        { "label": "ticket.txt", "text": "It takes two minutes\n" }, { "label": "chat.md", "text": "three, I think" },
    ]);
    assert!(transcript.contains(&format!("\"context\":{context}")), "{transcript}");
    let create = |files: &[&str]| {
        let flags = files.iter().flat_map(|file| ["--context", file]);
        let made =
            client(&["job", "create", id, "Fix broken links"].into_iter().chain(flags).collect::<Vec<_>>());
        (made.status.success(), String::from_utf8(made.stderr).unwrap())
    };
    assert!(create(&[ticket; 20]).0);
    let (done, why) = create(&[ticket; 21]);
    assert!(!done && why.contains("context must have at most 20 entries, got 21"), "{why}");
    let (done, why) = create(&["/nowhere/at-all"]);
    assert!(!done && why.contains("the context file /nowhere/at-all cannot be read"), "{why}");

    let listed = json(home.path(), &["project", "list", "--json"]);
    assert_eq!(listed[0]["id"], project["id"]);
    let keys = json(home.path(), &["key", "list", "--json"]);
    assert!(!keys.to_string().contains(key["key"].as_str().unwrap()));
    assert!(run(home.path(), &["key", "revoke", key["id"].as_str().unwrap()]).status.success());
    assert_eq!(client(&["views", id]).status.code(), Some(4));
}

/// A suggested command works unchanged, wherever the data directory is.
#[test]
fn a_suggested_command_can_be_copied() {
    let home = home();
    let repository = repository(home.path(), &files());
    let data = home.path().join("it's \"my\" $data");
    let flags = ["--data", data.to_str().unwrap()];
    let message = |args: &[&str]| {
        let output = run(home.path(), &[args, &flags].concat());
        String::from_utf8(output.stderr).unwrap()
    };
    let first = message(&["org", "create", "--name", "Acme"]);
    assert!(first.contains("Created a new data directory"), "{first}");
    assert!(message(&["project", "list"]).contains("No projects yet"));
    let made = message(&["project", "create", "--name", "Docs", "--repository", &repository]);
    assert!(!made.contains("Created a new data directory"), "{made}");
    let mut next = made.split_once("To create an API key for it: docwright ").unwrap().1.trim().to_owned();
    for after in ["To revoke it: docwright ", ""] {
        let mut shell = std::process::Command::new("sh");
        shell.envs([("HOME", home.path().as_os_str()), ("BIN", env!("CARGO_BIN_EXE_docwright").as_ref())]);
        let output = shell.args(["-c", &format!("\"$BIN\" {next}")]).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{next}: {message}");
        next = message.split_once(after).unwrap().1.lines().next().unwrap_or_default().to_owned();
    }
}

/// Jobs may not change the code beside the pages. `project create` says how to allow it.
#[test]
fn project_create_suggests_globs_for_folders_with_code() {
    let home = home();
    let mut files = files();
    files.push(("examples/run.js".into(), "go()\n".into()));
    let repository = repository(home.path(), &files);
    let message = |more: &[&str]| {
        let create = ["project", "create", "--name", "Docs", "--repository", &repository];
        let output = crate::support::docwright(home.path()).args(create).args(more).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let offered = message(&[]);
    assert!(offered.contains("--allow-path 'examples/**'") && !offered.contains("samples"), "{offered}");
    assert!(!message(&["--allow-path", "examples/**"]).contains("--allow-path"));
}

#[test]
fn a_site_is_normalized_as_browsers_do() {
    let home = home();
    let repository = repository(home.path(), &files());
    let create = ["project", "create", "--name", "Docs", "--repository", &repository, "--json"];
    let sites = ["--site", "HTTPS://Docs.Acme.dev:443/", "--site", "http://localhost:3000"];
    let project = json(home.path(), &[&create[..], &sites].concat());
    assert_eq!(project["sites"], json!(["https://docs.acme.dev", "http://localhost:3000"]));
}

fn settings_file(home: &std::path::Path, text: &str) {
    let folder = home.join(".config/docwright");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("docwright.toml"), text).unwrap();
}

#[test]
fn concurrent_first_commands_create_one_installation() {
    let home = home();
    let commands: Vec<_> = (0..6)
        .map(|n| {
            let mut command = crate::support::docwright(home.path());
            command.args(["key", "create", "--json", "--name", &n.to_string()]);
            command.stdout(std::process::Stdio::null()).spawn().unwrap()
        })
        .collect();
    for mut command in commands {
        assert!(command.wait().unwrap().success());
    }
    let keys = json(home.path(), &["key", "list", "--json"]);
    let owners: std::collections::BTreeSet<_> =
        keys.as_array().unwrap().iter().map(|key| key["organization"].to_string()).collect();
    assert_eq!((keys.as_array().unwrap().len(), owners.len()), (6, 1));
}

#[test]
fn a_key_that_cannot_be_printed_is_revoked() {
    let home = home();
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = crate::support::docwright(home.path());
    let made = command.args(["key", "create", "--name", "lost"]).stdout(full).output().unwrap();
    assert_eq!(made.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&made.stderr).contains("it was revoked"));
    let keys = json(home.path(), &["key", "list", "--json"]);
    assert!(keys[0]["revokedAt"].is_string());
}

#[test]
fn a_second_server_is_refused_with_a_sentence() {
    let home = home();
    let _first = Serving::start(home.path());
    let (code, message) = refusal(home.path(), &["serve", "--listen", "127.0.0.1:0"]);
    assert!(code == 1 && message.contains("another Docwright server is using"), "{message}");
}

#[test]
fn a_login_link_has_the_url_of_the_server() {
    let home = home();
    let serving = Serving::start(home.path());
    let link = json(home.path(), &["login", "--json"]);
    assert!(link["loginUrl"].as_str().unwrap().starts_with(&format!("{}/login?token=", serving.url)));
    let link = json(home.path(), &["login", "--json", "--public-url", "https://docs.example/"]);
    assert!(link["loginUrl"].as_str().unwrap().starts_with("https://docs.example/login?token="));
}

#[test]
fn every_error_says_what_to_do() {
    let home = home();
    let repository = repository(home.path(), &files());
    let create = |more: &[&str]| {
        let mut args = vec!["project", "create", "--name", "Docs"];
        args.extend(more);
        refusal(home.path(), &args)
    };
    #[track_caller]
    fn check((code, message): (i32, String), expected: &str) {
        assert!(code == 1 && message.contains(expected), "{code} {message}");
    }
    #[track_caller]
    fn mistyped((code, message): (i32, String), expected: &str) {
        assert!(code == 2 && message.contains(expected), "{code} {message}");
    }
    check(create(&["--repository", "nowhere"]), "nowhere");
    check(create(&["--repository", "http://github.com/acme/docs"]), "must start with https://");
    check(create(&["--repository", "git@github.com:acme/docs"]), "give https://github.com/acme/docs");
    check(create(&["--repository", "https://169.254.169.254/acme/docs"]), "is never called");
    check(create(&["--repository", "https://127.0.0.1/acme/docs"]), "allow_private");
    check(create(&["--repository", &repository, "--ref", "gone"]), "no branch `gone`");
    check(create(&["--repository", &repository, "--model", "gpt"]), "docwright model list");
    mistyped(create(&["--repository", &repository, "--site", "docs"]), "https://docs.acme.dev");
    mistyped(create(&["--repository", &repository, "--docs-path", "../x"]), "..");
    check(create(&["--repository", &repository, "--docs-path", "nope"]), "no folder `nope`");
    check(
        create(&["--repository", &repository, "--organization", "acme"]),
        "docwright org create --name acme",
    );
    check(create(&["--repository", &repository, "--token-file", "none"]), "--token-file none");
    mistyped(refusal(home.path(), &["key", "create", "--name", " "]), "needs a name");
    check(
        refusal(home.path(), &["key", "create", "--name", "x", "--project", "y"]),
        "docwright project list",
    );
    mistyped(
        refusal(home.path(), &["key", "create", "--name", "x", "--allow", "0.0.0.0/0"]),
        "too much of the internet",
    );
    mistyped(
        refusal(home.path(), &["key", "create", "--name", "x", "--expires", "2020-01-01"]),
        "in the past",
    );
    check(refusal(home.path(), &["key", "revoke", "x"]), "docwright key list");
    check(refusal(home.path(), &["views", "x"]), "DOCWRIGHT_API_KEY");
    assert_eq!(refusal(home.path(), &["key", "create", "--name", "x", "--expires", "soon"]).0, 2);
    assert_eq!(refusal(home.path(), &["nonsense"]).0, 2);
    settings_file(home.path(), "colour = \"blue\"\n");
    check(refusal(home.path(), &["key", "list"]), "`colour`");
}

#[test]
fn the_organization_is_required_if_there_are_several() {
    let home = home();
    for name in ["acme", "globex"] {
        json(home.path(), &["org", "create", "--name", name, "--json"]);
    }
    let (code, message) = refusal(home.path(), &["key", "create", "--name", "x"]);
    assert!(code == 1 && message.contains("one of acme, globex"), "{message}");
    let key = json(home.path(), &["key", "create", "--name", "x", "--organization", "globex", "--json"]);
    assert!(key["key"].as_str().unwrap().starts_with("dw_"));
    let (code, message) = refusal(home.path(), &["org", "create", "--name", "acme"]);
    assert!(code == 1 && message.contains("already"), "{message}");
}

#[test]
fn settings_come_from_flag_environment_and_file_in_that_order() {
    let home = home();
    let path = |name: &str| home.path().join(name).to_str().unwrap().to_owned();
    settings_file(
        home.path(),
        &format!(
            "data = \"{}\"
",
            path("from-file")
        ),
    );
    // A settings file in the working directory is ignored.
    std::fs::write(
        home.path().join("docwright.toml"),
        format!(
            "data = \"{}\"
",
            path("unused")
        ),
    )
    .unwrap();
    let create = |args: &[&str], environment: Option<&str>| {
        let mut command = crate::support::docwright(home.path());
        command.args(["org", "create", "--name", "Acme"]).args(args);
        environment.map(|data| command.env("DOCWRIGHT_DATA", data));
        assert!(command.output().unwrap().status.success());
    };
    create(&[], None);
    create(&[], Some(&path("from-environment")));
    create(&["--data", &path("from-flag")], Some(&path("unused")));
    for (name, made) in
        [("from-file", true), ("from-environment", true), ("from-flag", true), ("unused", false)]
    {
        assert_eq!(home.path().join(name).exists(), made, "{name}");
    }
}

#[test]
fn a_project_restricts_models_and_allows_paths() {
    let home = home();
    let repository = repository(home.path(), &files());
    let table = |name| format!("[models.{name}]\nprovider = \"openai\"\nmodel = \"m\"\n");
    settings_file(home.path(), &(table("fast") + &table("slow")));
    let create = ["project", "create", "--name", "Docs", "--repository", &repository, "--json"];
    let made = json(home.path(), &create);
    assert_eq!((&made["allowedModels"], &made["allowedPaths"]), (&json!([]), &json!([])));
    let id = made["id"].as_str().unwrap();
    let update = |more: &[&str]| json(home.path(), &[&["project", "update", id, "--json"], more].concat());
    let allowed = update(&["--allow-model", "fast", "--allow-model", "fast", "--allow-path", ".github/**"]);
    assert_eq!(
        allowed["allowedModels"],
        json!(["offline", "fast"]),
        "the project's own model is one of them"
    );
    assert_eq!(update(&["--model", "slow"])["allowedModels"], json!(["slow", "fast"]));
    assert_eq!(update(&["--name", "Handbook"])["allowedPaths"], json!([".github/**"]));
    assert_eq!(json(home.path(), &["project", "list", "--json"])[0]["allowedPaths"], json!([".github/**"]));
    let output = String::from_utf8(run(home.path(), &["project", "view", id]).stdout).unwrap();
    assert!(output.contains("allowed models  slow, fast\nallowed paths   .github/**\n"), "{output}");
    let reset = update(&["--allow-model", "", "--allow-path", ""]);
    assert_eq!((&reset["allowedModels"], &reset["allowedPaths"]), (&json!([]), &json!([])));

    let (code, message) = refusal(home.path(), &["project", "update", id, "--allow-model", "gpt"]);
    assert!(code == 1 && message.contains("there is no model gpt in the settings"), "{message}");
    let (code, message) = refusal(home.path(), &["project", "update", id, "--allow-path", "[a"]);
    assert!(code == 2 && message.contains("`[a` is not a glob: unclosed character class"), "{message}");
    let more = ["--allow-model", "fast", "--allow-path", "Makefile"];
    let made = json(home.path(), &[&create[..], &more].concat());
    assert_eq!(made["allowedModels"], json!(["offline", "fast"]));
    assert_eq!(made["allowedPaths"], json!(["Makefile"]));
}

#[test]
fn a_delete_needs_confirmation_and_is_final() {
    let home = home();
    let repository = repository(home.path(), &files());
    let serving = Serving::start(home.path());
    let create = ["project", "create", "--name", "Docs", "--repository", &repository, "--json"];
    let project = json(home.path(), &create);
    let id = project["id"].as_str().unwrap();
    let (code, message) = refusal(home.path(), &["project", "delete", id]);
    assert!(code == 1 && message.contains("add --yes"), "{message}");
    assert_eq!(json(home.path(), &["project", "list", "--json"])[0]["id"], id);
    assert!(run(home.path(), &["project", "delete", id, "--yes"]).status.success());
    assert_eq!(json(home.path(), &["project", "list", "--json"]), json!([]));
    let (code, message) = refusal(home.path(), &["project", "delete", id, "--yes"]);
    assert!(code == 1 && message.contains("there is no project"), "{message}");

    let (code, message) = refusal(home.path(), &["org", "delete", "Default"]);
    assert!(code == 1 && message.contains("add --yes"), "{message}");
    assert!(run(home.path(), &["org", "delete", "Default", "--yes"]).status.success());
    assert_eq!(json(home.path(), &["org", "list", "--json"]), json!([]));
    assert!(std::path::Path::new(&repository).is_dir());
    serving.stop();
}

#[test]
fn people_are_invited_listed_given_a_password_and_removed() {
    let home = home();
    let serving = Serving::start(home.path());
    let _ = rustls::crypto::ring::default_provider().install_default();
    let link = json(home.path(), &["user", "invite", "--role", "owner", "--json"]);
    let link = link["inviteUrl"].as_str().unwrap();
    assert!(link.starts_with(&format!("{}/join?token=", serving.url)), "{link}");
    assert_eq!(json(home.path(), &["user", "list", "--json"]), json!([]));
    assert!(
        refusal(home.path(), &["user", "remove", "ada@acme.dev"])
            .1
            .contains("there is no member with the name ada@acme.dev")
    );

    let http =
        reqwest::blocking::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let post = |path: &str, form: String| {
        let request = http.post(format!("{}{path}", serving.url)).body(form);
        request.header("content-type", "application/x-www-form-urlencoded").send().unwrap().status().as_u16()
    };
    let token = link.split_once('=').unwrap().1;
    assert_eq!(post("/join", format!("token={token}&name=ada@acme.dev&password=correct+horse+battery")), 303);
    assert_eq!(json(home.path(), &["user", "list", "--json"])[0]["role"], "owner");
    std::fs::write(home.path().join("short"), "short\n").unwrap();
    std::fs::write(home.path().join("long"), "another long one\n").unwrap();
    let password = |file| ["user", "password", "ada@acme.dev", "--password-file", file];
    assert!(refusal(home.path(), &password("short")).1.contains("at least 12"));
    for (text, sentence) in [("passwordpassword", "easy to guess"), ("ada@acme.dev.ada", "your own name")] {
        std::fs::write(home.path().join("weak"), text).unwrap();
        assert!(refusal(home.path(), &password("weak")).1.contains(sentence), "{text}");
    }
    assert!(run(home.path(), &password("long")).status.success());
    let sign_in = |password: &str| post("/login", format!("name=ada@acme.dev&password={password}"));
    assert_eq!((sign_in("correct+horse+battery"), sign_in("another+long+one")), (401, 303));
    let remove = ["user", "remove", "ADA@acme.dev"];
    assert!(
        refusal(home.path(), &remove)
            .1
            .contains("ada@acme.dev is the only owner: invite another owner first")
    );
    let link = json(home.path(), &["user", "invite", "--role", "owner", "--json"]);
    let token = link["inviteUrl"].as_str().unwrap().split_once('=').unwrap().1.to_owned();
    assert_eq!(post("/join", format!("token={token}&name=eve@acme.dev&password=correct+horse+battery")), 303);
    json(home.path(), &["user", "invite", "--json"]);
    let open = json(home.path(), &["user", "invitations", "--json"]);
    assert_eq!((&open[0]["role"], &open[0]["creator"]), (&json!("member"), &json!("command line")));
    let withdraw = ["user", "withdraw", open[0]["id"].as_str().unwrap()];
    assert!(run(home.path(), &withdraw).status.success());
    assert!(refusal(home.path(), &withdraw).1.contains("see `docwright user invitations`"));
    assert_eq!(json(home.path(), &["user", "invitations", "--json"]), json!([]));
    assert!(run(home.path(), &remove).status.success());
    assert_eq!(sign_in("another+long+one"), 401);
    let log = json(home.path(), &["audit", "--json"]);
    let message = log.as_array().unwrap().iter().map(|entry| entry["what"].as_str().unwrap());
    // The server records them after the response.
    let message: Vec<_> = message.filter(|what| !what.contains("wrong password")).collect();
    let joined = "joined as owner by the invitation of";
    let first = ["signed in", "set the password of", "signed in", joined, "invited"];
    assert_eq!(
        message,
        [&["removed", "withdrew an invitation", "invited", "signed in", joined, "invited"], &first[..]]
            .concat()
    );
}

#[test]
fn keys_of_a_removed_member_are_revoked_or_transferred_and_login_links_have_names() {
    let home = home();
    let serving = Serving::start(home.path());
    let _ = rustls::crypto::ring::default_provider().install_default();
    let http =
        reqwest::blocking::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let post = |path: &str, cookie: &str, form: String| {
        let request = http.post(format!("{}{path}", serving.url)).header("cookie", cookie).body(form);
        request.header("content-type", "application/x-www-form-urlencoded").send().unwrap()
    };
    let session = |answer: &reqwest::blocking::Response| {
        let cookie = answer.headers()["set-cookie"].to_str().unwrap();
        cookie.split(';').next().unwrap().to_owned()
    };
    let docs = repository(home.path(), &[("a.md".to_owned(), "one".to_owned())]);
    let project = json(home.path(), &["project", "create", "--name", "D", "--repository", &docs, "--json"]);
    let keys = format!("/p/{}/keys", project["id"].as_str().unwrap());
    let mut cookies = Vec::new();
    for (name, role) in [("ada", "owner"), ("bob", "member"), ("eve", "member")] {
        let link = json(home.path(), &["user", "invite", "--role", role, "--json"]);
        let token = link["inviteUrl"].as_str().unwrap().split_once('=').unwrap().1.to_owned();
        let joined =
            post("/join", "", format!("token={token}&name={name}@acme.dev&password=correct+horse+battery"));
        assert_eq!(joined.status(), 303);
        cookies.push(session(&joined));
    }
    for (name, cookie) in ["Ada", "Bob", "Eve"].iter().zip(&cookies) {
        let page = http.get(&serving.url).header("cookie", cookie).send().unwrap().text().unwrap();
        let csrf = page.split("name=\"csrf\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
        let made = post(&keys, cookie, format!("csrf={csrf}&name={name}&scope=read&expires=7d"));
        assert_eq!(made.status(), 200);
    }
    run(home.path(), &["key", "create", "--name", "Server"]);
    let refused = refusal(home.path(), &["user", "remove", "bob@acme.dev", "--keys-to", "eve@acme.dev"]);
    assert!(refused.1.contains("must name another owner of the same organization"), "{}", refused.1);
    let removed = run(home.path(), &["user", "remove", "bob@acme.dev", "--keys-to", "ada@acme.dev"]);
    let message = String::from_utf8(removed.stderr).unwrap();
    assert!(
        message.contains("Transferred the API key Bob (dw_") && message.contains("to ada@acme.dev."),
        "{message}"
    );
    let removed = run(home.path(), &["user", "remove", "eve@acme.dev", "--organization", "Default"]);
    let message = String::from_utf8(removed.stderr).unwrap();
    assert!(message.contains("Revoked the API key Eve (dw_"), "{message}");
    let all = json(home.path(), &["key", "list", "--json"]);
    let all = all.as_array().unwrap().iter().filter(|key| key["revokedAt"].is_null());
    let mut live: Vec<_> =
        all.map(|key| (key["name"].as_str().unwrap(), key["creator"].as_str().unwrap())).collect();
    live.sort_unstable();
    assert_eq!(live, [("Ada", "ada@acme.dev"), ("Bob", "ada@acme.dev"), ("Server", "command line")]);

    let link = json(home.path(), &["login", "--name", "Old laptop", "--json"]);
    let token = link["loginUrl"].as_str().unwrap().split_once('=').unwrap().1.to_owned();
    let cookie = session(&post("/login", "", format!("token={token}")));
    let status = || http.get(&serving.url).header("cookie", &cookie).send().unwrap().status().as_u16();
    assert_eq!(status(), 200);
    let sessions = json(home.path(), &["user", "sessions", "--json"]);
    assert_eq!((&sessions[0]["name"], &sessions[0]["member"]), (&json!("Old laptop"), &json!(null)));
    let end = ["user", "end-session", sessions[0]["id"].as_str().unwrap()];
    assert!(run(home.path(), &end).status.success());
    assert_eq!(status(), 401);
    assert!(refusal(home.path(), &end).1.contains("see `docwright user sessions`"));
    let log = json(home.path(), &["audit", "--json"]);
    let lines: Vec<_> = log
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| format!("{} {}", entry["what"].as_str().unwrap(), entry["about"].as_str().unwrap()))
        .collect();
    for line in ["ended the session Old laptop", "made a login link Old laptop", "removed eve@acme.dev"] {
        assert!(lines.iter().any(|found| found == line), "{line}: {lines:?}");
    }
    assert!(
        lines
            .iter()
            .any(|line| line.starts_with("revoked the key Eve (dw_") && line.ends_with("of eve@acme.dev"))
    );
    assert!(lines.iter().any(|line| line.starts_with("handed over the key Bob (dw_") && line.ends_with("to ada@acme.dev")));
    serving.stop();
}
