//! Tests the first run: from the login link that a new server prints to the first job.

use reqwest::Method;
use serde_json::json;

use crate::pages::Browser;
use crate::support::{TestServer, bare_repository, send};

/// Signs in with the first login link of an empty installation.
async fn sign_in_first(server: &TestServer) -> Browser<'_> {
    let organization = server.app.accounts.create_organization("Default").await.unwrap();
    let link = server.app.sessions.create_login(&organization.id).await.unwrap();
    let entered = send(server.request(Method::POST, "/login").form(&[("token", link.reveal())])).await;
    assert_eq!((entered.status, entered.header("location")), (303, "/welcome"));
    Browser::with_cookie(server, &entered)
}

#[tokio::test]
async fn the_first_run_leads_from_a_login_link_to_a_job() {
    let server = TestServer::start().await;
    let browser = sign_in_first(&server).await;
    assert!(browser.get("/welcome").await.body.contains("continue without an account"));
    let account = |name: &'static str, password: &'static str| [("name", name), ("password", password)];
    let refused = browser.post("/welcome/account", &account("ada", "correct horse battery")).await;
    assert!(
        refused.status == 400
            && refused.body.contains("an address such as")
            && refused.body.contains("value=\"ada\"")
    );
    assert_eq!(browser.post("/welcome/account", &account("ada@acme.dev", "short")).await.status, 400);
    let created = browser.post("/welcome/account", &account("ada@acme.dev", "correct horse battery")).await;
    assert_eq!(browser.get("/").await.status, 401, "the session continues under a new token");
    let browser = Browser::with_cookie(&server, &created);
    assert_eq!(browser.get("/welcome").await.header("location"), "/welcome/repository");
    assert_eq!(
        browser.post("/welcome/account", &account("eve@acme.dev", "correct horse battery")).await.status,
        303
    );
    assert_eq!(server.app.people.people(None).await.unwrap().len(), 1);

    let repository = server.data().join("docs.git");
    bare_repository(&repository, &[("docs/a.md", "one\n")]);
    let form =
        |folder| [("name", "Acme docs"), ("repository", repository.to_str().unwrap()), ("folder", folder)];
    let refused = browser.post("/welcome/repository", &form("nope")).await;
    assert!(
        refused.status == 400
            && refused.body.contains("no folder `nope`")
            && refused.body.contains("Acme docs")
    );
    let created = browser.post("/welcome/repository", &form("docs")).await;
    let step = created.header("location").to_owned();
    assert!(step.starts_with("/p/") && step.ends_with("/welcome"), "{}", created.body);
    assert!(browser.get(&step).await.body.contains("value=\"offline\" checked"));
    assert_eq!(browser.post(&step, &[("model", "gpt-9")]).await.status, 400);
    let tested = browser.post(&step, &[("model", "offline"), ("test", "true")]).await;
    assert!(tested.status == 200 && tested.body.contains("it always works"));

    let ready = browser.post(&step, &[("model", "offline")]).await.body;
    let at = ready.find("dw_").unwrap();
    let project = server.app.accounts.projects(None).await.unwrap().remove(0);
    assert!(ready.contains(&project.id.0) && ready.contains("curl -X POST"));
    let path = format!("/v2/agent/{}/job", project.id);
    let job = server.post(&ready[at..at + 49], &path, &json!({ "prompt": "Fix broken links" })).await;
    assert_eq!(job.status, 201, "{job}");
}

#[tokio::test]
async fn a_job_can_fix_the_sample_project() {
    let server = TestServer::start().await;
    let browser = sign_in_first(&server).await;
    let created = browser.post("/welcome/repository", &[("sample", "true")]).await;
    assert_eq!(created.status, 303, "{}", created.body);
    let project = server.app.accounts.projects(None).await.unwrap().remove(0);
    browser.post(&format!("/p/{}/jobs", project.id), &[("prompt", "Fix broken links")]).await;
    server.run_queued_jobs().await;
    assert!(browser.get(&format!("/p/{}/pulls", project.id)).await.body.contains("#1"));
}

#[tokio::test]
async fn only_owners_create_projects_and_only_operators_use_local_paths() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    let password = server.app.passwords.hash("correct horse battery").await.unwrap();
    for (name, role) in [("ada@acme.dev", store::Role::Owner), ("bob@acme.dev", store::Role::Member)] {
        let organization = team.organization.id.clone();
        let new = store::NewPerson { organization, name: name.into(), role, password: password.clone() };
        server.app.people.create_person(&new).await.unwrap();
    }
    let enter = async |name: &str| {
        let form = [("name", name), ("password", "correct horse battery")];
        Browser::with(&server, &send(server.request(Method::POST, "/login").form(&form)).await)
    };
    let (ada, bob) = (enter("ada@acme.dev").await, enter("bob@acme.dev").await);
    let path = team.repository.to_str().unwrap();
    let form = [("name", "Mine"), ("repository", path), ("sample", "true")];
    assert_eq!(bob.post("/welcome/repository", &form).await.status, 403);
    let refused = ada.post("/welcome/repository", &form).await;
    assert!(refused.status == 400 && refused.body.contains("docwright login"), "she is not an operator");
    assert_eq!(
        bob.post(&format!("/p/{}/welcome", team.project.id), &[("model", "offline")]).await.status,
        403
    );
    assert_eq!(server.app.accounts.projects(None).await.unwrap().len(), 1);
}
