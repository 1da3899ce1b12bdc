//! Tests authentication as a GitHub App.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};

use fakehost::{Access, Kind, TEST_APP_KEY};
use forge::{AppKey, Credential, Host as _, Web};
use jiff::Timestamp;

use super::{Site, json_response, push_and_merge_a_change};

const INSTALLATION: &str = "/repos/acme/docs/installation";
const TOKENS: &str = "/access_tokens";

/// A clock that the host and the client share.
struct Clock<'a>(&'a Site, Arc<AtomicI64>);

impl Clock<'_> {
    fn set(&self, seconds: i64) {
        self.1.store(seconds, SeqCst);
        self.0.fake.set_time(Timestamp::from_second(seconds).unwrap());
    }
}

async fn app(site: &Site, installation: Option<u64>) -> (Web, Clock<'_>) {
    site.fake.app(7, 42, TEST_APP_KEY);
    let clock = Clock(site, Arc::default());
    clock.set(1_800_000_000);
    let mut settings = site.settings();
    let key = AppKey::parse(TEST_APP_KEY).unwrap();
    settings.credential = Credential::App { id: "7".into(), installation, key };
    let now = clock.1.clone();
    settings.now = Arc::new(move || now.load(SeqCst));
    (Web::open(settings).await.unwrap(), clock)
}

#[tokio::test]
async fn a_token_is_cached_until_it_nearly_expires() {
    let site = Site::start(Kind::GitHub).await;
    let (web, clock) = app(&site, Some(42)).await;
    // Concurrent callers share one token request.
    let (first, second, third) = tokio::join!(web.check(None), web.find("a"), web.get(1));
    assert!(first.is_ok() && second.is_ok() && third.is_ok(), "{first:?} {second:?} {third:?}");
    assert_eq!(site.count("POST", TOKENS), 1);
    clock.set(1_800_000_000 + 54 * 60);
    web.check(None).await.unwrap();
    assert_eq!(site.count("POST", TOKENS), 1);
    clock.set(1_800_000_000 + 55 * 60);
    web.check(None).await.unwrap();
    assert_eq!(site.count("POST", TOKENS), 2);
    // Git uses the same token.
    push_and_merge_a_change(&site, &web).await;
    assert_eq!(site.count("POST", TOKENS), 2);
}

#[tokio::test]
async fn a_revoked_token_is_replaced() {
    let site = Site::start(Kind::GitHub).await;
    let (web, _clock) = app(&site, Some(42)).await;
    web.check(None).await.unwrap();
    let used = site.fake.requests().last().unwrap().authorization.clone().unwrap();
    site.fake.revoke(used.strip_prefix("Bearer ").unwrap());
    assert_eq!(web.open(&site.new_pull("job-1")).await.unwrap().number, 1);
    assert_eq!(site.count("POST", TOKENS), 2);
}

#[tokio::test]
async fn an_installation_is_looked_up() {
    let site = Site::start(Kind::GitHub).await;
    let (web, _clock) = app(&site, None).await;
    site.fake.faults().next(1, "GET", INSTALLATION, json_response(200, r#"{"id":42}"#, &[]));
    web.check(None).await.unwrap();
    site.fake.token("x", Access::Full);

    let (web, _clock) = app(&site, None).await;
    site.fake.faults().next(1, "GET", INSTALLATION, json_response(404, r#"{"message":"Not Found"}"#, &[]));
    let error = web.check(None).await.unwrap_err().to_string();
    assert!(error.starts_with("the app is not installed on acme/docs: check the address"), "{error}");
}

#[tokio::test]
async fn missing_permissions_and_wrong_clocks_are_errors() {
    let site = Site::start(Kind::GitHub).await;
    let (web, clock) = app(&site, Some(42)).await;
    let refused = r#"{"message":"The permissions requested are not granted to this installation."}"#;
    site.fake.faults().next(1, "POST", TOKENS, json_response(422, refused, &[]));
    let error = web.check(None).await.unwrap_err().to_string();
    assert!(error.contains("grant the app read and write access to contents and pull requests"), "{error}");

    // The clock is an hour off.
    clock.1.fetch_sub(3600, SeqCst);
    let error = web.check(None).await.unwrap_err().to_string();
    assert!(error.contains("does not accept the app ('Expiration time'"), "{error}");
    let signed = site.fake.requests().last().unwrap().authorization.clone().unwrap();
    assert!(!error.contains(signed.strip_prefix("Bearer ").unwrap()));
}

#[test]
fn only_rsa_private_keys_are_accepted() {
    assert_eq!(format!("{:?}", AppKey::parse(TEST_APP_KEY).unwrap()), "AppKey");
    for bad in ["", "x", "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n"] {
        let error = AppKey::parse(bad).unwrap_err().to_string();
        assert_eq!(error, "the app's key must be an RSA private key in PEM");
    }
}

#[tokio::test]
async fn other_hosts_do_not_support_apps() {
    let site = Site::start(Kind::GitLab).await;
    let mut settings = site.settings();
    let key = AppKey::parse(TEST_APP_KEY).unwrap();
    settings.credential = Credential::App { id: "7".into(), installation: None, key };
    let error = Web::open(settings).await.unwrap_err().to_string();
    assert!(error.ends_with("does not support GitHub Apps: give a token"), "{error}");
}
