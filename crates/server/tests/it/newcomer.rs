//! Tests the messages for people who are new: each says why something is impossible, and what to do instead.

use agent::model::{Provider, Settings};
use reqwest::Method;
use store::Role;

use crate::context::create_link;
use crate::pages::Browser;
use crate::people::{browser, person};
use crate::support::{Answer, TestServer, send};

const CHROME: &str =
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36";

#[tokio::test]
async fn without_a_model_the_jobs_page_says_what_works_and_how_to_choose_a_model() {
    let server = TestServer::start_with(|settings| {
        let mut model = Settings::new(Provider::Compatible, "small");
        model.base_url = Some("https://models.example".into());
        settings.models.insert("fast".into(), model);
    })
    .await;
    let team = server.team("acme", &[("a.md", "[gone](b.md)\n")]).await;
    let other = server.project(&team, |new| new.model = "fast".into()).await;
    for project in [&team.project, &other] {
        let at = "2026-11-14T09:00:00Z";
        let views = serde_json::json!([
            { "path": "/old", "status": 404, "timestamp": at, "userAgent": CHROME }, { "path": "/a", "timestamp": at, "userAgent": CHROME },
        ]);
        server.post(&team.key, &format!("/v1/analytics/{}/events", project.id), &views).await;
    }
    let browser = Browser::signed_in(&server, &team).await;
    let jobs = format!("/p/{}/jobs", team.project.id);
    let plain = browser.get(&jobs).await.body;
    assert!(plain.contains("This project has no model") && !plain.contains("and can’t follow this prompt"));
    let page = browser.get(&create_link(&browser, &team.project, "not-found").await).await.body;
    assert!(page.contains("and can’t follow this prompt"), "{page}");
    let settings = format!("href=\"/p/{}/settings#jobs\">choose a model", team.project.id);
    assert!(page.contains(&settings) && page.contains("<details open>"), "{page}");

    let alternative = page.split("name=\"prompt\" value=\"").nth(1).expect("a prompt that needs no model");
    let started = browser.post(&jobs, &[("prompt", alternative.split('"').next().unwrap())]).await;
    server.run_queued_jobs().await;
    assert!(!browser.get(started.header("location")).await.body.contains("chip bad"));

    let about_a_page = browser.get(&create_link(&browser, &team.project, "pages").await).await.body;
    assert!(about_a_page.contains("and can’t follow this prompt"));
    let with_model = browser.get(&create_link(&browser, &other, "not-found").await).await.body;
    assert!(with_model.contains("Path: /old") && !with_model.contains("This project has no model"));
}

#[tokio::test]
async fn a_server_without_models_says_who_can_add_one() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    let page = Browser::signed_in(&server, &team).await.get(&format!("/p/{}/jobs", team.project.id)).await;
    assert!(page.body.contains("<code>[models.NAME]</code>"), "{}", page.body);
}

#[tokio::test]
async fn members_see_no_way_to_create_a_project() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    person(&server, &team, "ada@acme.dev", Role::Owner).await;
    person(&server, &team, "bob@acme.dev", Role::Member).await;
    let (ada, bob) = (browser(&server, "ada@acme.dev").await, browser(&server, "bob@acme.dev").await);
    assert!(ada.get("/").await.body.contains("Create project"));
    let home = bob.get("/").await.body;
    assert!(
        home.contains("Docs") && !home.contains("Create project") && !home.contains("/welcome"),
        "{home}"
    );
    for path in ["/welcome/repository", "/welcome/account"] {
        let refused = bob.post(path, &[("name", "Mine"), ("repository", "https://github.com/a/b")]).await;
        assert!(refused.status == 403 && refused.body.contains("Only owners"), "{path}");
    }
    assert_eq!(server.app.accounts.projects(None).await.unwrap().len(), 1);

    let organization = server.app.accounts.create_organization("globex").await.unwrap();
    let empty = crate::support::Team { organization, ..team };
    person(&server, &empty, "eve@globex.dev", Role::Member).await;
    let home = browser(&server, "eve@globex.dev").await.get("/").await.body;
    assert!(home.contains("No projects yet") && home.contains("Ask an owner") && !home.contains("/welcome"));
}

/// Sends a request as a browser does.
async fn browse(server: &TestServer, method: Method, path: &str) -> Answer {
    let accept = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    send(server.request(method, path).header("accept", accept)).await
}

#[tokio::test]
async fn unknown_urls_answer_browsers_with_a_page_and_programs_with_json() {
    let server = TestServer::start().await;
    for (method, path, status) in [
        (Method::GET, "/nowhere", 404),
        (Method::GET, "/p/x/nowhere/at/all", 404),
        (Method::GET, "/logout", 405),
        (Method::GET, "/p/x/keys/y/revoke", 405),
        (Method::PUT, "/people", 405),
    ] {
        let page = browse(&server, method.clone(), path).await;
        assert_eq!(
            (page.status, page.header("content-type")),
            (status, "text/html; charset=utf-8"),
            "{path}"
        );
        assert!(page.body.contains("href=\"/\">Go to projects"), "{path}");
        assert!(page.header("content-security-policy").starts_with("default-src 'none'"), "{path}");
        assert_eq!(page.header("cache-control"), "no-store", "{path}");
        let json = send(server.request(method, path)).await;
        assert_eq!((json.status, json.header("content-type")), (status, "application/json"), "{path}");
    }
    assert!(browse(&server, Method::GET, "/logout").await.header("allow").contains("POST"));
    for path in [
        "/v1/nowhere",
        "/v2/agent/x/nowhere",
        "/hooks/github",
        "/js/other.js",
        "/v3",
        "/v256/x",
        "/assets/nope",
    ] {
        let json = browse(&server, Method::GET, path).await;
        assert_eq!((json.status, json.header("x-error-code")), (404, "no_such_route"), "{path}");
    }
    for path in ["/metrics", "/healthz", "/openapi.json", "/v2/agent/x/jobs"] {
        let json = browse(&server, Method::DELETE, path).await;
        assert_eq!((json.status, json.header("x-error-code")), (405, "method_not_allowed"), "{path}");
    }
}

#[tokio::test]
async fn the_refusal_of_a_private_network_names_the_setting_that_allows_it() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    let browser = Browser::signed_in(&server, &team).await;
    for repository in ["https://10.1.2.3/acme/docs", "https://localhost:9/acme/docs"] {
        let form = [("name", "Docs"), ("repository", repository)];
        let page = browser.post("/welcome/repository", &form).await;
        assert_eq!(page.status, 400);
        assert!(page.body.contains("DOCWRIGHT_HOSTS_ALLOW_PRIVATE=true"), "{}", page.body);
    }
}

#[tokio::test]
async fn an_unknown_order_is_reported() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    let browser = Browser::signed_in(&server, &team).await;
    for path in ["readers", "readers/pages"] {
        let page = browser.get(&format!("/p/{}/{path}?sort=junk", team.project.id)).await;
        assert_eq!(page.status, 400, "{path}");
        assert!(page.body.contains("Unknown order. Showing the most viewed first."), "{path}");
        for sort in ["", "total", "human", "ai"] {
            let page = browser.get(&format!("/p/{}/{path}?sort={sort}", team.project.id)).await;
            assert_eq!(page.status, 200, "{path} {sort}");
        }
    }
}
