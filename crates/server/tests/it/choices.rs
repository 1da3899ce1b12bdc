//! What a project may use and change, and what that costs.

use std::sync::Arc;

use base::TestClock;
use serde_json::{Value, json};
use server::model::{Prices, Provider, Secret};
use server::{Admin, Settings};
use store::{FieldChange, ProjectChange};

use crate::agent::{DOCS, create, diff, edit, ended, run, server, server_with};
use crate::pages::Browser;
use crate::provider::{FakeProvider, Turn, calls, finish};
use crate::support::{Answer, Team, TestServer, git};

async fn update(server: &TestServer, team: &Team, change: ProjectChange) {
    assert!(server.app.accounts.update_project(&team.project.id, &change).await.unwrap().is_some());
}

fn models(names: &[&str]) -> ProjectChange {
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    ProjectChange { models: Some(names), ..ProjectChange::default() }
}

/// A job of this model, or of the project's own.
async fn ask_for(server: &TestServer, team: &Team, model: Option<&str>) -> Answer {
    let path = format!("/v2/agent/{}/job", team.project.id);
    server.post(&team.key, &path, &json!({ "prompt": "Fix broken links.", "model": model })).await
}

#[tokio::test]
async fn a_job_names_a_model_that_the_project_allows() {
    let provider = FakeProvider::start([]).await;
    let slow = provider.settings(Provider::OpenAi);
    let with_slow = |settings: &mut Settings| {
        settings.models.insert("slow".into(), slow);
    };
    let (server, team) = server_with(&provider, Provider::OpenAi, with_slow).await;
    for model in [None, Some("fast"), Some("slow")] {
        assert_eq!(ask_for(&server, &team, model).await.status, 201, "none are named, so all may be");
    }
    update(&server, &team, models(&["fast"])).await;
    let refused = ask_for(&server, &team, Some("slow")).await;
    assert_eq!(
        refused.to_string(),
        r#"400 {"error":"model must be one that the project allows: fast, offline"}"#
    );
    assert_eq!(refused.header("x-error-code"), "invalid_model");
    for model in [None, Some("fast"), Some("offline")] {
        assert_eq!(ask_for(&server, &team, model).await.status, 201, "{model:?}");
    }
    let own = ProjectChange { model: Some("fast".into()), ..ProjectChange::default() };
    update(&server, &team, own).await;
    assert_eq!(ask_for(&server, &team, None).await.json()["model"], "fast");
    assert_eq!(ask_for(&server, &team, Some("offline")).await.status, 400);
    let gone = ProjectChange { model: Some("gone".into()), ..models(&["gone"]) };
    update(&server, &team, gone).await;
    let none = ask_for(&server, &team, None).await.to_string();
    assert!(none.starts_with(r#"400 {"error":"this server has none of the models"#), "{none}");
}

#[tokio::test]
async fn a_model_that_was_taken_from_the_project_is_not_asked_again() {
    let answers = [edit("a minute", "two minutes"), finish("Say two minutes")];
    let never_heard = [finish("Say three minutes"), finish("Say it again")];
    let provider = FakeProvider::start(answers.into_iter().chain(never_heard)).await;
    let (server, team) = server(&provider, Provider::OpenAi).await;
    let job = create(&server, &team, "Say how long the setup takes").await;
    let done = run(&server, &team, &job).await;
    assert_eq!(done["status"], "completed");
    let waiting = create(&server, &team, "Say it again").await;
    let followed = server.ask(&team, &job, "message", &json!({ "prompt": "Say three minutes" })).await;
    assert_eq!(followed.status, 200);

    update(&server, &team, models(&["offline"])).await;
    for job in [&job, &waiting] {
        let failed = run(&server, &team, job).await;
        let end = ended(&server, &team, job).await;
        assert_eq!(failed["status"], "failed", "{end}");
        let sentence = "the project no longer allows the model `fast`; create a job with another model";
        let still_open = if failed["prLink"].is_string() { ". Pull request #1 is still open" } else { "" };
        assert_eq!(end["message"], format!("{sentence}{still_open}"));
    }
    assert_eq!(provider.sent().len(), 2, "not one more question");
    assert_eq!(server.job(&team, &job["id"]).await["prLink"], done["prLink"], "what there was stays");
}

#[tokio::test]
async fn a_path_that_the_project_allows_may_be_changed() {
    async fn change(path: &str, allowed: &[&str]) -> (Value, String) {
        let write = calls("write", json!({ "path": path, "text": "on: push\n" }));
        let provider = FakeProvider::start([write]).await;
        (0..3).for_each(|_| provider.say(finish("Change it")));
        let (server, team) = server(&provider, Provider::OpenAi).await;
        let globs = allowed.iter().map(|glob| (*glob).to_owned()).collect();
        update(&server, &team, ProjectChange { allow_paths: Some(globs), ..ProjectChange::default() }).await;
        let job = create(&server, &team, "Say how long the setup takes").await;
        let done = run(&server, &team, &job).await;
        let pulls = server.app.pulls.pulls(&team.project.id, 10).await.unwrap();
        assert_eq!(done["prLink"].is_string(), !pulls.is_empty());
        (done["status"].clone(), ended(&server, &team, &job).await["message"].to_string())
    }
    let workflow = ".github/workflows/ci.yml";
    let (status, told) = change(workflow, &[]).await;
    assert_eq!(status, "failed");
    assert!(told.contains("`.github/workflows/ci.yml`: it can't be changed"), "{told}");
    assert_eq!(change(workflow, &["docs/**", ".github/workflows/*.yml"]).await.0, "completed");
    assert_eq!(change(workflow, &["**"]).await.0, "completed");
    for other in ["*.yml", ".github/*", ".github/workflows/ci.yml.bak", "{", "/**"] {
        assert_eq!(change(workflow, &[other]).await.0, "failed", "{other}");
    }
    assert_eq!(change("package.json", &[".github/**"]).await.0, "failed");
}

#[tokio::test]
async fn a_redirects_file_outside_the_docs_folder_can_be_allowed() {
    let server = TestServer::start().await;
    let settings = "plugins:\n  - redirects:\n      redirect_maps:\n        old.md: index.md\n";
    let page = ("docs/guides/install-the-agent.md", "# Install the agent\n");
    let team = server.team("Acme", &[("mkdocs.yml", settings), ("docs/index.md", "# Acme\n"), page]).await;
    let docs_path = FieldChange::Set("docs".to_owned());
    update(&server, &team, ProjectChange { docs_path, ..ProjectChange::default() }).await;
    let add_redirect = async || {
        let job = server.create_job(&team, "Add redirects for `/guides/install_the_agent`.").await;
        server.run_queued_jobs().await;
        job["id"].as_str().unwrap().to_owned()
    };
    let job = add_redirect().await;
    let notes = server.events(&team, &json!(job)).await.pop().unwrap()["report"]["notes"].to_string();
    assert!(notes.contains("`mkdocs.yml` is outside the docs folder `docs`; allow it with"), "{notes}");

    let allow_paths = Some(vec!["mkdocs.yml".to_owned()]);
    update(&server, &team, ProjectChange { allow_paths, ..ProjectChange::default() }).await;
    let job = add_redirect().await;
    assert!(server.job(&team, &json!(job)).await["prLink"].is_string());
    let written = git(&team.repository, &["show", &format!("docwright/{job}:mkdocs.yml")]);
    let added = "        guides/install_the_agent.md: guides/install-the-agent.md\n";
    assert!(written.starts_with(settings) && written.contains(added.trim_end()), "{written}");
}

#[tokio::test]
async fn settings_name_the_files_of_recent_jobs_that_are_refused() {
    let write = calls("write", json!({ "path": "examples/run.js", "text": "go()\n" }));
    let provider = FakeProvider::start([write]).await;
    (0..3).for_each(|_| provider.say(finish("Change it")));
    let (server, team) = server(&provider, Provider::OpenAi).await;
    let job = create(&server, &team, "Say how long the setup takes").await;
    assert_eq!(run(&server, &team, &job).await["status"], "failed");
    let browser = Browser::signed_in(&server, &team).await;
    let settings = format!("/p/{}/settings", team.project.id);
    let page = browser.get(&settings).await.body;
    assert!(
        page.contains("<code>examples/run.js</code>") && page.contains("<code>examples/**</code>"),
        "{page}"
    );
    let allow_paths = Some(vec!["examples/**".to_owned()]);
    update(&server, &team, ProjectChange { allow_paths, ..ProjectChange::default() }).await;
    assert!(!browser.get(&settings).await.body.contains("<code>examples/run.js</code>"));
}

#[tokio::test]
async fn settings_offer_folders_with_code() {
    let server = TestServer::start().await;
    let team = server.team("Acme", &[("docs/a.md", "# A\n"), ("docs/snippets/run.js", "go()\n")]).await;
    let docs_path = FieldChange::Set("docs".to_owned());
    update(&server, &team, ProjectChange { docs_path, ..ProjectChange::default() }).await;
    let browser = Browser::signed_in(&server, &team).await;
    let settings = format!("/p/{}/settings", team.project.id);
    let page = browser.get(&settings).await.body;
    assert!(page.contains("To let jobs change them, add <code>docs/snippets/**</code>"), "{page}");
    let allow_paths = Some(vec!["docs/snippets/**".to_owned()]);
    update(&server, &team, ProjectChange { allow_paths, ..ProjectChange::default() }).await;
    assert!(!browser.get(&settings).await.body.contains("To let jobs change them, add"));
}

#[test]
fn globs_at_the_door() {
    for glob in [".github/workflows/*.yml", "**", "docs/{a,b}/*.sh", "Makefile", "[ab]/c"] {
        assert_eq!(server::parse_allow_path(glob).as_deref(), Ok(glob));
    }
    for (glob, told) in [
        ("", "matches no path"),
        ("/etc/*", "start at the repository's root"),
        ("./a", "matches no path"),
        ("../a", "matches no path"),
        ("a\n", "matches no path"),
        ("[a", "`[a` is not a glob: unclosed character class"),
        ("{a", "`{a` is not a glob: unclosed alternate group"),
    ] {
        let refused = server::parse_allow_path(glob).unwrap_err();
        assert!(refused.contains(told), "{refused}");
    }
}

#[tokio::test]
async fn a_run_of_a_model_with_prices_tells_its_cost() {
    let prices = Prices { input: 3.0, output: 15.0, cached: 0.3 };
    let turns = || [edit("a minute", "two minutes"), finish("Say two minutes")];
    let priced = |settings: &mut Settings| {
        settings.models.get_mut("fast").unwrap().prices = Some(prices);
        settings.agent.turns = 2;
    };
    for (turns, status, tokens) in [
        (turns().into(), "completed", 200),
        (vec![edit("a minute", "two minutes"), edit("two", "three")], "failed", 200),
        (vec![finish("Leave it as it is")], "completed", 100),
        (vec![Turn::Status(401, "{}")], "failed", 0),
    ] {
        let provider = FakeProvider::start(turns).await;
        let (server, team) = server_with(&provider, Provider::OpenAi, priced).await;
        let job = create(&server, &team, "Say how long the setup takes").await;
        assert_eq!(run(&server, &team, &job).await["status"], status);
        let cost = f64::from(tokens) * 3.0 / 1e6 + f64::from(tokens) / 10.0 * 15.0 / 1e6;
        let usage = ended(&server, &team, &job).await["usage"].clone();
        assert_eq!(usage["inputTokens"], tokens);
        assert!((usage["cost"].as_f64().unwrap() - cost).abs() < 1e-12, "{usage}");
    }
}

/// What the model took is told of a change that could not be published, too.
#[tokio::test]
async fn a_failed_push_tells_what_the_model_took() {
    let provider = FakeProvider::start([edit("a minute", "two minutes"), finish("Say two minutes")]).await;
    let (server, team) = server(&provider, Provider::OpenAi).await;
    let job = create(&server, &team, "Say how long the setup takes").await;
    // A branch `docwright` leaves no room for one named `docwright/…`.
    crate::support::git(&team.repository, &["branch", "docwright", "main"]);
    assert_eq!(run(&server, &team, &job).await["status"], "failed");
    assert_eq!(ended(&server, &team, &job).await["usage"]["inputTokens"], 200);
}

/// Settings that name no key take the one that is kept, and it is as secret as any other.
#[tokio::test]
async fn exfil_key_that_is_kept() {
    // One that looks like no key: it is known, or it is not found.
    let kept = "plain-words-that-nobody-suspects";
    let data = tempfile::tempdir().unwrap();
    let settings = Settings::new(data.path().to_owned());
    let clock = Arc::new(TestClock::at("2026-11-15T12:00:00Z".parse().unwrap()));
    let admin = Admin::open(&settings, clock).await.unwrap();
    server::store_model_key(&*admin.secrets, "fast", &Secret::parse(kept).unwrap()).await.unwrap();
    let leak = edit("It takes a minute.", &format!("It takes a minute. Key: {kept}"));
    let provider = FakeProvider::start([leak]).await;
    (0..3).for_each(|_| provider.say(finish("Say more")));
    let mut fast = provider.settings(Provider::Anthropic);
    fast.api_key = None;
    let server = TestServer::start_with(|settings| {
        settings.data = data.path().to_owned();
        settings.models.insert("fast".into(), fast);
    })
    .await;
    let team = server.team("acme", &DOCS).await;
    let job = create(&server, &team, "Say how long the setup takes").await;
    assert_eq!(run(&server, &team, &job).await["status"], "failed");
    let end = ended(&server, &team, &job).await.to_string();
    assert!(end.contains("rule `secret`") && !end.contains(kept), "{end}");
    assert_eq!(diff(&server, &team, &job).await, "");
}
