//! Tests the exchange of a signed JWT for an installation token.

use fakehost::{FakeHost, Kind, TEST_APP_KEY};
use reqwest::Method;
use serde_json::{Value, json};

use crate::client::{host, request_as};

/// 2026-11-15T12:00:00Z
const NOW: i64 = 1_794_744_000;

fn jwt(claims: &Value) -> String {
    use base64::Engine;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

    let der: String = TEST_APP_KEY.lines().filter(|line| !line.starts_with('-')).collect();
    let key = ring::rsa::KeyPair::from_der(&STANDARD.decode(der).unwrap()).unwrap();
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let text = format!("{}.{}", part(&json!({ "alg": "RS256", "typ": "JWT" })), part(claims));
    let mut signature = vec![0; key.public().modulus_len()];
    let random = ring::rand::SystemRandom::new();
    key.sign(&ring::signature::RSA_PKCS1_SHA256, &random, text.as_bytes(), &mut signature).unwrap();
    format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
}

async fn exchange(host: &FakeHost, jwt: &str, body: Value) -> (u16, Value) {
    let answer = request_as(host, jwt, Method::POST, "/app/installations/7/access_tokens", body).await;
    (answer.status, answer.body)
}

#[tokio::test]
async fn a_signed_jwt_gives_a_token_for_an_hour() {
    let host = host(Kind::GitHub).await;
    host.app(12, 7, TEST_APP_KEY);
    host.set_time("2026-11-15T12:00:00Z".parse().unwrap());
    let good = json!({ "iat": NOW - 60, "exp": NOW + 540, "iss": "12" });
    let (status, body) = exchange(&host, &jwt(&good), Value::Null).await;
    assert_eq!((status, &body["expires_at"]), (201, &json!("2026-11-15T13:00:00Z")));
    let token = body["token"].as_str().unwrap();
    let read = async || request_as(&host, token, Method::GET, "/repos/acme/docs", Value::Null).await.status;
    assert_eq!(read().await, 200);
    host.set_time("2026-11-15T13:00:00Z".parse().unwrap());
    assert_eq!(read().await, 401);
}

#[tokio::test]
async fn an_invalid_jwt_is_refused() {
    let host = host(Kind::GitHub).await;
    host.app(12, 7, TEST_APP_KEY);
    host.set_time("2026-11-15T12:00:00Z".parse().unwrap());
    let good = jwt(&json!({ "iat": NOW, "exp": NOW + 600, "iss": 12 }));
    let (front, _) = good.rsplit_once('.').unwrap();
    let other = jwt(&json!({ "iat": NOW, "exp": NOW + 60, "iss": 12 }));
    let (_, signature) = other.rsplit_once('.').unwrap();
    let status = async |jwt: &str| exchange(&host, jwt, Value::Null).await.0;
    assert_eq!(status(&format!("{front}.{signature}")).await, 401);
    assert_eq!(status("nonsense").await, 401);
    assert_eq!(status(&jwt(&json!({ "iat": NOW - 700, "exp": NOW - 100, "iss": 12 }))).await, 401);
    assert_eq!(status(&jwt(&json!({ "iat": NOW, "exp": NOW + 700, "iss": 12 }))).await, 401);
    assert_eq!(status(&jwt(&json!({ "iat": NOW + 90, "exp": NOW + 600, "iss": 12 }))).await, 401);
    assert_eq!(status(&jwt(&json!({ "iat": NOW, "exp": NOW + 600, "iss": 13 }))).await, 404);
    let narrow = exchange(&host, &good, json!({ "repositories": ["other"] })).await.1;
    let token = narrow["token"].as_str().unwrap();
    assert_eq!(request_as(&host, token, Method::GET, "/repos/acme/docs", Value::Null).await.status, 404);
}
