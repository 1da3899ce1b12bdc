//! Invitations, and whose they are.

use reqwest::Method;
use store::Role;

use crate::pages::Browser;
use crate::people::{PASSWORD, browser, copied, person};
use crate::support::{Answer, TestServer, send};

/// Makes an invitation on the page; answers its token.
async fn invite(owner: &Browser<'_>, role: &str) -> String {
    let page = owner.post("/people/invite", &[("role", role)]).await;
    copied(&page, "invitation").split_once("?token=").unwrap().1.to_owned()
}

async fn join(server: &TestServer, token: &str, name: &str) -> Answer {
    let form = [("token", token), ("name", name), ("password", PASSWORD)];
    send(server.request(Method::POST, "/join").form(&form)).await
}

#[tokio::test]
async fn the_audit_log_tells_who_joined_by_whose_invitation() {
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
