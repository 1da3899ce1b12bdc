//! Tests expiry, revocation and allowed addresses of API keys. `tenancy.rs` tests what each kind of key can
//! do, and `bad_requests/keys.rs` tests malformed keys.

use jiff::SignedDuration;
use reqwest::Method;
use store::{Allow, Expiry};

use crate::support::{TestServer, send};

const UNAUTHORIZED: &str = r#"401 {"error":"the API key is missing, unknown, revoked, or expired; send a valid key as `Authorization: Bearer dw_…`"}"#;

#[tokio::test]
async fn a_key_expires_at_its_exact_time() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    let path = format!("/v1/analytics/{}/views", team.project.id);
    let key = server.key(&team.organization, |new| new.expiry = Expiry::Days(1)).await;
    server.clock.advance(SignedDuration::from_hours(24) - SignedDuration::from_millis(1));
    assert_eq!(server.get(&key, &path).await.status, 200);
    server.clock.advance(SignedDuration::from_millis(1));
    assert_eq!(server.get(&key, &path).await.to_string(), UNAUTHORIZED);
}

#[tokio::test]
async fn a_revoked_key_is_refused_on_the_next_request() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    let path = format!("/v1/analytics/{}/views", team.project.id);
    assert_eq!(server.get(&team.key, &path).await.status, 200);
    let id = server.app.accounts.keys(None).await.unwrap()[0].id.clone();
    server.app.accounts.revoke_key(&team.organization.id, &id).await.unwrap();
    assert_eq!(server.get(&team.key, &path).await.to_string(), UNAUTHORIZED);
}

#[tokio::test]
async fn an_address_outside_the_allowlist_is_refused_before_anything_is_told() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    let elsewhere =
        server.key(&team.organization, |new| new.allow = Allow::parse(["192.0.2.0/24"]).unwrap()).await;
    let here = server.key(&team.organization, |new| new.allow = Allow::parse(["127.0.0.0/8"]).unwrap()).await;
    for project in [team.project.id.0.as_str(), "nowhere"] {
        let path = format!("/v1/analytics/{project}/views");
        let forged =
            server.request(Method::GET, &path).bearer_auth(&elsewhere).header("x-forwarded-for", "192.0.2.1");
        assert_eq!(
            send(forged).await.to_string(),
            r#"403 {"error":"this API key can't be used from this address; use another key, or call from an address that the key allows"}"#
        );
    }
    assert_eq!(server.get(&here, &format!("/v1/analytics/{}/views", team.project.id)).await.status, 200);
}
