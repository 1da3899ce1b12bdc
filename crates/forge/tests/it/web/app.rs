//! A GitHub App signs for tokens of an hour.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};

use fakehost::{Access, Kind, TEST_APP_KEY};
use forge::{AppKey, Credential, Host as _, Web};
use jiff::Timestamp;

use super::{Site, answer, go_all_the_way};

const INSTALLATION: &str = "/repos/acme/docs/installation";
const TOKENS: &str = "/access_tokens";

/// A clock that host and client share.
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
async fn a_token_is_kept_until_it_is_nearly_over() {
    let site = Site::start(Kind::GitHub).await;
    let (web, clock) = app(&site, Some(42)).await;
    // Many who need one at once ask for one.
    let (first, second, third) = tokio::join!(web.check(None), web.find("a"), web.get(1));
    assert!(first.is_ok() && second.is_ok() && third.is_ok(), "{first:?} {second:?} {third:?}");
    assert_eq!(site.count("POST", TOKENS), 1);
    clock.set(1_800_000_000 + 54 * 60);
    web.check(None).await.unwrap();
    assert_eq!(site.count("POST", TOKENS), 1);
    clock.set(1_800_000_000 + 55 * 60);
    web.check(None).await.unwrap();
    assert_eq!(site.count("POST", TOKENS), 2);
    // Git has the same token.
    go_all_the_way(&site, &web).await;
    assert_eq!(site.count("POST", TOKENS), 2);
}

#[tokio::test]
async fn a_token_that_was_taken_back_is_replaced() {
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
    site.fake.faults().next(1, "GET", INSTALLATION, answer(200, r#"{"id":42}"#, &[]));
    web.check(None).await.unwrap();
    site.fake.token("x", Access::Full);

    let (web, _clock) = app(&site, None).await;
    site.fake.faults().next(1, "GET", INSTALLATION, answer(404, r#"{"message":"Not Found"}"#, &[]));
    let told = web.check(None).await.unwrap_err().to_string();
    assert!(told.starts_with("the app is not installed on acme/docs: check the address"), "{told}");
}

#[tokio::test]
async fn what_an_app_may_not_do() {
    let site = Site::start(Kind::GitHub).await;
    let (web, clock) = app(&site, Some(42)).await;
    let refused = r#"{"message":"The permissions requested are not granted to this installation."}"#;
    site.fake.faults().next(1, "POST", TOKENS, answer(422, refused, &[]));
    let told = web.check(None).await.unwrap_err().to_string();
    assert!(told.contains("grant the app read and write access to contents and pull requests"), "{told}");

    // A clock that is an hour off.
    clock.1.fetch_sub(3600, SeqCst);
    let told = web.check(None).await.unwrap_err().to_string();
    assert!(told.contains("does not let the app in ('Expiration time'"), "{told}");
    let signed = site.fake.requests().last().unwrap().authorization.clone().unwrap();
    assert!(!told.contains(signed.strip_prefix("Bearer ").unwrap()));
}

#[test]
fn keys() {
    assert_eq!(format!("{:?}", AppKey::parse(TEST_APP_KEY).unwrap()), "AppKey");
    for bad in ["", "x", "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n"] {
        let told = AppKey::parse(bad).unwrap_err().to_string();
        assert_eq!(told, "the app's key must be an RSA private key in PEM");
    }
}

#[tokio::test]
async fn other_hosts_know_no_app() {
    let site = Site::start(Kind::GitLab).await;
    let mut settings = site.settings();
    let key = AppKey::parse(TEST_APP_KEY).unwrap();
    settings.credential = Credential::App { id: "7".into(), installation: None, key };
    let told = Web::open(settings).await.unwrap_err().to_string();
    assert!(told.ends_with("knows no GitHub App: give a token"), "{told}");
}
