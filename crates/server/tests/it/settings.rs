//! Tests the settings of projects, and deletion.

use serde_json::json;

use crate::pages::Browser;
use crate::support::{Team, TestServer};

fn settings(team: &Team, form: &str) -> String {
    format!("/p/{}/settings{form}", team.project.id)
}

#[tokio::test]
async fn a_repository_is_tested_before_it_is_saved() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[("docs/a.md", "one\n")]).await;
    let browser = Browser::signed_in(&server, &team).await;
    let path = settings(&team, "/repository");
    let path_of_repository = team.repository.to_str().unwrap();
    let form = |folder| {
        [("name", "Hand <b>book"), ("repository", path_of_repository), ("branch", ""), ("folder", folder)]
    };
    let saved_project = async || server.app.accounts.project(&team.project.id).await.unwrap().unwrap();

    let refused = browser.post(&path, &form("nope")).await;
    assert_eq!(refused.status, 400);
    assert!(refused.body.contains("no folder `nope`") && refused.body.contains("Hand &#60;b&#62;book"));
    for (field, value, sentence) in [
        ("name", "", "a project needs a name"),
        ("repository", " ", "Enter the URL of the repository"),
        ("repository", "/nowhere/at/all", "/nowhere/at/all"),
        ("repository", "https://127.0.0.1:1/acme/docs", "127.0.0.1"),
        ("branch", "gone", "gone"),
        ("folder", "../x", ".."),
        ("token", "a b\u{7}", "token"),
    ] {
        let mut form = form("docs").to_vec();
        form.retain(|(name, _)| *name != field);
        form.push((field, value));
        if field == "token" {
            form.retain(|(name, _)| *name != "repository");
            form.push(("repository", "https://git.example/acme/docs"));
        }
        let page = browser.post(&path, &form).await;
        assert_eq!(page.status, 400, "{field}={value}");
        assert!(page.body.contains(sentence), "{field}={value}");
    }
    let tested = browser.post(&path, &[&form("docs")[..], &[("test", "true")]].concat()).await;
    assert!(tested.status == 200 && tested.body.contains("Jobs start from main"));
    assert_eq!(saved_project().await.name, "Docs");

    let saved = browser.post(&path, &form("docs")).await;
    assert_eq!(
        (saved.status, saved.header("location")),
        (303, &*settings(&team, "?saved=repository#repository"))
    );
    assert_eq!(
        (saved_project().await.name.as_str(), saved_project().await.docs_path.as_deref()),
        ("Hand <b>book", Some("docs"))
    );
    assert!(browser.get(&settings(&team, "?saved=repository")).await.body.contains("Settings saved."));
}

#[tokio::test]
async fn a_token_is_saved_and_never_shown() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[("a.md", "one\n")]).await;
    let browser = Browser::signed_in(&server, &team).await;
    assert!(browser.get(&settings(&team, "")).await.body.contains("no token saved"));
    let form =
        [("name", "Docs"), ("repository", team.repository.to_str().unwrap()), ("token", "s3cr3t-token")];
    assert_eq!(browser.post(&settings(&team, "/repository"), &form).await.status, 303);
    let page = browser.get(&settings(&team, "")).await;
    assert!(page.body.contains("saved, encrypted") && !page.body.contains("s3cr3t"));
    let refused = browser.post(&settings(&team, "/repository"), &[("name", ""), ("token", "s3cr3t-2")]).await;
    assert!(refused.status == 400 && !refused.body.contains("s3cr3t"));
}

#[tokio::test]
async fn models_paths_and_sites_are_saved_or_refused_and_the_form_keeps_its_text() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    let browser = Browser::signed_in(&server, &team).await;
    let (jobs, readers) = (settings(&team, "/jobs"), settings(&team, "/readers"));
    for (path, form, sentence) in [
        (&jobs, [("model", "gpt-9"), ("allow_paths", "kept/*.yml")], "no model named gpt-9"),
        (&jobs, [("model", "offline"), ("allow_paths", "kept/*.yml\n../x")], "matches no path"),
        (
            &readers,
            [("sites", "https://kept.example/path"), ("human_reads", "both")],
            "is not the URL of a site",
        ),
        (&readers, [("sites", "https://kept.example"), ("human_reads", "all")], "beacon, server or both"),
    ] {
        let page = browser.post(path, &form).await;
        assert_eq!(page.status, 400, "{sentence}");
        assert!(page.body.contains(sentence) && page.body.contains("kept"), "{sentence}");
    }
    let form =
        [("model", "offline"), ("allow_model", "offline"), ("allow_paths", ".github/**\r\n\r\n.github/**")];
    assert_eq!(browser.post(&jobs, &form).await.status, 303);
    let form = [("sites", "HTTPS://Docs.acme.dev/\n"), ("human_reads", "beacon")];
    assert_eq!(browser.post(&readers, &form).await.status, 303);
    let saved = server.app.accounts.project(&team.project.id).await.unwrap().unwrap();
    assert_eq!(
        (saved.models, saved.allow_paths),
        (vec!["offline".to_owned()], vec![".github/**".to_owned()])
    );
    assert_eq!(
        (saved.sites, saved.human_reads.as_str()),
        (vec!["https://docs.acme.dev".to_owned()], "beacon")
    );
}

#[tokio::test]
async fn the_first_view_is_shown_and_a_human_counts_once() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    let browser = Browser::signed_in(&server, &team).await;
    let path = settings(&team, "/views-received");
    assert!(browser.get(&path).await.body.contains("no views yet"));
    assert!(browser.get(&settings(&team, "")).await.body.contains("no views yet"));
    let human = json!([{ "path": "/a", "userAgent": "Mozilla/5.0 (X11; Linux x86_64) Firefox/130.0" }]);
    let events = format!("/v1/analytics/{}/events", team.project.id);
    assert_eq!(server.post(&team.key, &events, &human).await.json()["accepted"], 1);
    assert!(browser.get(&path).await.body.contains("1 view in total, 1 in the last 30 minutes"));
    assert!(browser.get("/").await.body.contains("<b class=\"people\">1</b> human"));

    let form = [("sites", ""), ("human_reads", "beacon")];
    assert_eq!(browser.post(&settings(&team, "/readers"), &form).await.status, 303);
    assert_eq!(server.post(&team.key, &events, &human).await.json()["accepted"], 1);
    assert!(
        browser.get(&path).await.body.contains("1 view in total"),
        "the script counts humans, and the log does not"
    );
    let assistant = json!([{ "path": "/a", "userAgent": "ChatGPT-User/1.0" }]);
    server.post(&team.key, &events, &assistant).await;
    assert!(browser.get(&path).await.body.contains("2 views in total"));
}

#[tokio::test]
async fn deleting_a_project_requires_its_name() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    let browser = Browser::signed_in(&server, &team).await;
    let path = settings(&team, "/delete");
    for typed in ["", "docs", "Docs x"] {
        let page = browser.post(&path, &[("typed", typed)]).await;
        assert!(page.status == 400 && page.body.contains("Nothing was deleted"), "{typed}");
    }
    assert_eq!(browser.post(&path, &[("typed", "Docs")]).await.status, 303);
    assert_eq!(browser.get(&settings(&team, "")).await.status, 404);
}

#[tokio::test]
async fn settings_of_another_organization_are_not_found() {
    let server = TestServer::start().await;
    let (mine, theirs) = (server.team("acme", &[]).await, server.team("globex", &[]).await);
    let browser = Browser::signed_in(&server, &mine).await;
    for form in ["", "/views-received"] {
        assert_eq!(browser.get(&settings(&theirs, form)).await.status, 404, "{form}");
    }
    for form in ["/repository", "/jobs", "/readers", "/delete"] {
        assert_eq!(browser.post(&settings(&theirs, form), &[("typed", "Docs")]).await.status, 404, "{form}");
    }
    assert!(server.app.accounts.project(&theirs.project.id).await.unwrap().is_some());
}
