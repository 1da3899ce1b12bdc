//! Tests invitations: created, listed, withdrawn, used. Also tests that the last owner can't be removed.

use reqwest::Method;
use store::Role;

use crate::pages::Browser;
use crate::people::{PASSWORD, browser, copied, person};
use crate::support::{Answer, TestServer, send};

/// Creates an invitation, and returns its token.
async fn invite(owner: &Browser<'_>, role: &str) -> String {
    let page = owner.post("/people/invite", &[("role", role)]).await;
    copied(&page, "invitation").split_once("?token=").unwrap().1.to_owned()
}

async fn join(server: &TestServer, token: &str, name: &str) -> Answer {
    let form = [("token", token), ("name", name), ("password", PASSWORD)];
    send(server.request(Method::POST, "/join").form(&form)).await
}

/// The URLs that withdraw the invitations of a page.
fn withdraw_urls(page: &str) -> Vec<String> {
    let forms = page.split("action=\"").skip(1).map(|form| form.split('"').next().unwrap().to_owned());
    forms.filter(|action| action.ends_with("/withdraw")).collect()
}

#[tokio::test]
async fn the_audit_log_has_who_joined_and_who_invited_them() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    person(&server, &team, "ada@acme.dev", Role::Owner).await;
    let ada = browser(&server, "ada@acme.dev").await;
    let (first, second) = (invite(&ada, "member").await, invite(&ada, "owner").await);
    assert_eq!(join(&server, &first, "bob@acme.dev").await.status, 303);
    assert_eq!(join(&server, &second, "eve@acme.dev").await.status, 303);
    let log = ada.get("/audit").await.body;
    assert!(log.contains("joined as member by the invitation of ada@acme.dev"), "{log}");
    assert!(log.contains("joined as owner by the invitation of ada@acme.dev"), "{log}");
    assert!(log.contains("<b>bob@acme.dev</b>") && log.contains("<b>eve@acme.dev</b>"));
}

#[tokio::test]
async fn invitations_are_listed_and_withdrawn() {
    let server = TestServer::start().await;
    let (team, theirs) = (server.team("acme", &[]).await, server.team("globex", &[]).await);
    person(&server, &team, "ada@acme.dev", Role::Owner).await;
    person(&server, &team, "bob@acme.dev", Role::Member).await;
    let (ada, bob) = (browser(&server, "ada@acme.dev").await, browser(&server, "bob@acme.dev").await);
    assert!(withdraw_urls(&ada.get("/people").await.body).is_empty());
    let token = invite(&ada, "owner").await;
    let page = ada.get("/people").await.body;
    assert!(page.contains("in 7 days") && page.contains("by ada@acme.dev"), "{page}");
    assert!(!page.contains(&token), "the link is shown once");
    let [withdraw] = &withdraw_urls(&page)[..] else { panic!("one invitation: {page}") };

    assert!(withdraw_urls(&bob.get("/people").await.body).is_empty());
    assert_eq!(bob.post(withdraw, &[]).await.status, 403);
    let other = Browser::signed_in(&server, &theirs).await;
    assert_eq!(other.post(withdraw, &[]).await.status, 404);
    assert_eq!(ada.post("/people/invitations/%ff/withdraw", &[]).await.status, 404);
    assert_eq!(send(server.request(Method::GET, &format!("/join?token={token}"))).await.status, 200);

    assert_eq!(ada.post(withdraw, &[]).await.status, 303);
    assert_eq!(ada.post(withdraw, &[]).await.status, 404);
    assert!(withdraw_urls(&ada.get("/people").await.body).is_empty());
    assert_eq!(join(&server, &token, "eve@acme.dev").await.status, 410);
    assert!(ada.get("/audit").await.body.contains("withdrew an invitation as owner"));
    let used = invite(&ada, "member").await;
    assert_eq!(join(&server, &used, "eve@acme.dev").await.status, 303);
    assert!(withdraw_urls(&ada.get("/people").await.body).is_empty(), "a used invitation is not listed");
}

#[tokio::test]
async fn the_last_owner_cannot_be_removed() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    person(&server, &team, "ada@acme.dev", Role::Owner).await;
    person(&server, &team, "bob@acme.dev", Role::Member).await;
    let id = async |name| server.app.people.person_named(name).await.unwrap().unwrap().0.id;
    let ada = browser(&server, "ada@acme.dev").await;
    let path = format!("/people/{}/remove", id("ada@acme.dev").await);
    for browser in [&ada, &Browser::signed_in(&server, &team).await] {
        let refused = browser.post(&path, &[]).await;
        assert_eq!(refused.status, 409);
        assert!(refused.body.contains("ada@acme.dev is the only owner"), "{}", refused.body);
    }
    assert_eq!(ada.get("/").await.status, 200);
    let page = ada.get("/people").await.body;
    assert!(
        !page.contains(&path) && page.contains("the only owner"),
        "there is no button to remove the last owner: {page}"
    );

    person(&server, &team, "eve@acme.dev", Role::Owner).await;
    assert_eq!(ada.post(&path, &[]).await.status, 303);
    assert_eq!(ada.get("/").await.status, 401);
}

#[tokio::test]
async fn two_owners_who_remove_each_other_leave_one_owner() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    for round in 0..5 {
        let names = [format!("ada{round}@acme.dev"), format!("eve{round}@acme.dev")];
        let people = server.app.people.people(None).await.unwrap();
        if people.is_empty() {
            person(&server, &team, &names[0], Role::Owner).await;
        }
        person(&server, &team, &names[1], Role::Owner).await;
        let [first, second] = &server.app.people.people(None).await.unwrap()[..] else {
            panic!("two owners")
        };
        let browsers = (browser(&server, &first.name).await, browser(&server, &second.name).await);
        let paths = [format!("/people/{}/remove", second.id), format!("/people/{}/remove", first.id)];
        let _ = tokio::join!(browsers.0.post(&paths[0], &[]), browsers.1.post(&paths[1], &[]));
        assert_eq!(server.app.people.people(None).await.unwrap().len(), 1, "round {round}");
    }
}
