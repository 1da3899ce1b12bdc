//! Tests the error sentences for each web host.

use std::time::Duration;

use fakehost::{Access, Effect, Kind};
use forge::{Credential, Error, Host as _, Web, WebLimits};
use net::{NetworkPolicy, Secret};

use super::{DOCS, KINDS, Site, TOKEN, json_response};

/// The error when the host answers the check of the repository with `effect`. The host's name is replaced by
/// `HOST`.
async fn check_error(kind: Kind, effect: Effect) -> String {
    let site = Site::start(kind).await;
    let web = site.web().await;
    site.fake.faults().always("GET", "docs", effect);
    let error = web.check(None).await.unwrap_err().to_string();
    assert!(!error.contains(TOKEN), "{error}");
    error.replace(site.fake.url().trim_start_matches("http://"), "HOST")
}

#[tokio::test]
async fn refusals_say_what_to_do() {
    async fn check(kind: Kind, status: u16, body: &str, headers: &[(&str, &str)], expected: &str) {
        assert_eq!(check_error(kind, json_response(status, body, headers)).await, expected);
    }
    use Kind::{Forgejo, GitHub, GitLab, Gitea};
    let accept = "HOST does not accept the token: it is wrong, expired or revoked; create a new one and give it to the project";
    let hidden =
        "HOST has no repository acme/docs, or hides it: check the address, and that the token may see it";
    let advice =
        "create a token with read and write access to contents and pull requests, or with the scope `repo`";
    let archived = "acme/docs is archived: unarchive it, or give the project another repository";

    check(GitHub, 401, r#"{"message":"Bad credentials"}"#, &[], accept).await;
    check(GitHub, 404, r#"{"message":"Not Found"}"#, &[], hidden).await;
    let scopes = [("x-accepted-oauth-scopes", "repo"), ("x-oauth-scopes", "read:user, gist")];
    let lacks = format!("the token for acme/docs lacks the scope `repo`: {advice}");
    check(GitHub, 404, r#"{"message":"Not Found"}"#, &scopes, &lacks).await;
    let permissions = [("x-accepted-github-permissions", "pull_requests=write")];
    let lacks = format!("the token for acme/docs lacks the permission `pull_requests=write`: {advice}");
    let body = r#"{"message":"Resource not accessible by personal access token"}"#;
    check(GitHub, 403, body, &permissions, &lacks).await;
    let read_only = r#"{"message":"Repository was archived so is read-only."}"#;
    check(GitHub, 403, read_only, &[], archived).await;
    let sso = [("x-github-sso", "required; url=https://evil.test/orgs/acme/sso")];
    let body = r#"{"message":"Resource protected by organization SAML enforcement."}"#;
    let elsewhere =
        "the organization of acme/docs requires single sign-on: authorize the token at its token page";
    check(GitHub, 403, body, &sso, elsewhere).await;
    let blocked = "HOST has blocked acme/docs for legal reasons: Repository access blocked";
    check(GitHub, 451, r#"{"message":"Repository access blocked"}"#, &[], blocked).await;
    let gone = "HOST has disabled this feature for acme/docs, or has deleted the resource";
    check(GitHub, 410, "", &[], gone).await;
    let odd = "HOST refused it (418): a b [key]";
    check(GitHub, 418, &format!("{{\"message\":\"a\\r\\nb\\u202e {TOKEN}\"}}"), &[], odd).await;

    check(GitLab, 401, r#"{"message":"401 Unauthorized"}"#, &[], accept).await;
    let revoked = r#"{"error":"invalid_token","error_description":"Token was revoked. You have to re-authorize from the user."}"#;
    let expected = "the token for HOST was revoked: create a new one and give it to the project";
    check(GitLab, 401, revoked, &[], expected).await;
    let expired = r#"{"error":"invalid_token","error_description":"Token is expired."}"#;
    let expected = "the token for HOST has expired: create a new one and give it to the project";
    check(GitLab, 401, expired, &[], expected).await;
    let body = r#"{"error":"insufficient_scope","error_description":"…","scope":"api read_api"}"#;
    let expected = "the token for acme/docs lacks the scope `api read_api`: create a token with the scope `api` and the role Developer or higher";
    check(GitLab, 403, body, &[], expected).await;
    check(GitLab, 404, r#"{"message":"404 Project Not Found"}"#, &[], hidden).await;

    for kind in [Gitea, Forgejo] {
        check(kind, 401, r#"{"message":"invalid username, password or token"}"#, &[], accept).await;
        let body = r#"{"message":"token does not have at least one of required scope(s), required=[read:repository], token scope=read:user"}"#;
        let expected = "the token for acme/docs lacks the scope `read:repository`: create a token with the scope `write:repository`";
        check(kind, 403, body, &[], expected).await;
        check(kind, 404, r#"{"message":"The target couldn't be found."}"#, &[], hidden).await;
        check(kind, 423, r#"{"message":"This repository is archived"}"#, &[], archived).await;
    }
}

#[tokio::test]
async fn a_token_with_too_few_permissions_fails_the_check() {
    for kind in KINDS {
        for (access, words) in [
            (Access::ReadOnly, "for acme/docs"),
            (
                Access::ReadOnlyOfWriter,
                if kind == Kind::GitLab { "lacks the scope `api`" } else { "may not push" },
            ),
            (Access::Expired, if kind == Kind::GitLab { "has expired" } else { "does not accept the token" }),
        ] {
            let site = Site::start(kind).await;
            site.fake.token(TOKEN, access);
            let error = site.web().await.check(None).await.unwrap_err();
            let is_expected = match &error {
                Error::TokenRefused(why) => access == Access::Expired && why.contains(words),
                Error::Denied(why) => access != Access::Expired && why.contains(words),
                _ => false,
            };
            assert!(is_expected, "{kind:?} {error:?}");
        }
        let site = Site::start(kind).await;
        site.fake.set(DOCS, |settings| settings.private = false);
        let mut settings = site.settings();
        settings.credential = Credential::None;
        let error = Web::open(settings).await.unwrap().check(None).await.unwrap_err().to_string();
        assert!(error.contains("requires a token for acme/docs"), "{kind:?} {error}");
    }
    // The role belongs to the token's owner. The token has fewer permissions.
    let site = Site::start(Kind::GitLab).await;
    site.fake.token(TOKEN, Access::NoPulls);
    let error = site.web().await.check(None).await.unwrap_err().to_string();
    assert!(error.contains("lacks the scope `api`"), "{error}");
    let site = Site::start(Kind::GitHub).await;
    site.fake.token(TOKEN, Access::NoPulls);
    let error = site.web().await.check(None).await.unwrap_err().to_string();
    assert!(error.contains("lacks the permission `pull_requests=write`"), "{error}");
    // A token with all permissions, whose scopes the host does not report.
    site.fake.token(TOKEN, Access::Full);
    let body = r#"{"default_branch":"main","permissions":{"push":true}}"#;
    site.fake.faults().next(1, "GET", "docs", json_response(200, body, &[]));
    assert_eq!(site.web().await.check(None).await.unwrap(), "main");
    let requests = site.fake.requests();
    assert!(
        requests.iter().any(|seen| seen.method == "POST" && seen.status == Some(422)),
        "the permission was checked with an invalid request"
    );
    assert!(site.fake.pulls(DOCS).is_empty(), "the check opened no pull request");
    let site = Site::start(Kind::GitHub).await;
    let body = r#"{"default_branch":"main","private":true,"permissions":{"push":true}}"#;
    site.fake.faults().next(1, "GET", "docs", json_response(200, body, &[("x-oauth-scopes", "public_repo")]));
    let error = site.web().await.check(None).await.unwrap_err().to_string();
    assert!(error.contains("lacks the scope `repo`"), "{error}");
}

/// The check is retried like any other request that changes nothing.
#[tokio::test]
async fn a_temporary_git_failure_is_not_blamed_on_the_token() {
    let site = Site::start(Kind::Gitea).await;
    let web = site.web().await;
    site.fake.token(TOKEN, Access::ReadOnlyOfWriter);
    let faults = site.fake.faults();
    faults.next(1, "GET", "info/refs", Effect::status(502));
    faults.next(1, "GET", "info/refs", Effect::DropBefore);
    let error = web.check(None).await.unwrap_err().to_string();
    assert!(error.contains("may not push"), "{error}");
    site.fake.token(TOKEN, Access::Full);
    faults.next(2, "GET", "info/refs", Effect::status(500));
    assert_eq!(web.check(None).await.unwrap(), "main");
    faults.next(1, "GET", "info/refs", Effect::too_many(9));
    let error = web.check(None).await.unwrap_err().to_string();
    assert!(error.ends_with("answered 429; try again in 9 s"), "{error}");
}

#[tokio::test]
async fn an_empty_repository_is_an_error() {
    let github = r#"{"default_branch":"main","size":0,"permissions":{"push":true}}"#;
    let gitlab =
        r#"{"path_with_namespace":"acme/docs","web_url":"","default_branch":null,"empty_repo":true}"#;
    let gitea = r#"{"default_branch":"main","empty":true,"permissions":{"push":true}}"#;
    for (kind, body) in [(Kind::GitHub, github), (Kind::GitLab, gitlab), (Kind::Gitea, gitea)] {
        let site = Site::start(kind).await;
        site.fake.faults().next(1, "GET", "/branches?", json_response(200, "[]", &[]));
        site.fake.faults().next(1, "GET", "docs", json_response(200, body, &[]));
        let error = site.web().await.check(None).await.unwrap_err().to_string();
        assert_eq!(error, "acme/docs is empty: push a first commit to it");
    }
}

#[tokio::test]
async fn rate_limits_are_respected() {
    let reset = |name: &'static str| [("x-ratelimit-remaining", "0"), (name, "1800000090")];
    for (kind, effect, retry_after) in [
        (Kind::GitHub, Effect::secondary_limit(7), 7),
        (
            Kind::GitHub,
            json_response(403, r#"{"message":"API rate limit exceeded"}"#, &reset("x-ratelimit-reset")),
            90,
        ),
        (Kind::GitHub, json_response(429, "", &reset("x-ratelimit-reset")), 90),
        (
            Kind::GitHub,
            json_response(403, r#"{"message":"You have exceeded a secondary rate limit."}"#, &[]),
            60,
        ),
        (Kind::GitLab, Effect::too_many(30), 30),
        (
            Kind::GitLab,
            json_response(429, "", &[("ratelimit-remaining", "0"), ("ratelimit-reset", "1800000090")]),
            90,
        ),
        (Kind::Gitea, json_response(429, "Too many", &[]), 60),
        (Kind::Gitea, json_response(503, "", &[("retry-after", "5")]), 5),
    ] {
        let site = Site::start(kind).await;
        let mut settings = site.settings();
        settings.now = std::sync::Arc::new(|| 1_800_000_000);
        let web = Web::open(settings).await.unwrap();
        site.fake.faults().always("GET", "docs", effect.clone());
        let error = web.check(None).await.unwrap_err();
        let Error::Temporary { retry_after: Some(wait), .. } = error else {
            panic!("{kind:?} {effect:?}: {error:?}")
        };
        assert_eq!(wait, Duration::from_secs(retry_after), "{effect:?}");
        assert_eq!(site.fake.request_count(), 1, "a rate-limited request is not retried");
        // The same for a request that opens a pull request.
        site.fake.faults().clear();
        site.fake.faults().always("POST", site.pulls_path(), effect);
        assert!(matches!(
            web.open(&site.new_pull("job-1")).await,
            Err(Error::Temporary { retry_after: Some(_), .. })
        ));
        assert_eq!(site.count("POST", site.pulls_path()), 1);
    }
}

#[tokio::test]
async fn temporary_failures_are_retried() {
    for kind in KINDS {
        for effect in [Effect::status(500), Effect::status(502), Effect::DropBefore, Effect::Garbage] {
            let site = Site::start(kind).await;
            let web = site.web().await;
            site.fake.faults().next(2, "GET", "docs", effect.clone());
            assert_eq!(web.check(None).await.unwrap(), "main");
            site.fake.faults().next(3, "GET", "docs", effect.clone());
            let error = web.check(None).await.unwrap_err();
            assert!(matches!(error, Error::Temporary { retry_after: None, .. }), "{effect:?} {error:?}");
        }
    }
}

#[tokio::test]
async fn responses_are_bounded_in_size_and_time() {
    let site = Site::start(Kind::GitHub).await;
    let mut settings = site.settings();
    settings.limits =
        WebLimits { timeout: Duration::from_millis(50), max_response_bytes: 1 << 20, ..settings.limits };
    let web = Web::open(settings).await.unwrap();
    site.fake.faults().next(3, "GET", "docs", Effect::Endless);
    let error = web.check(None).await.unwrap_err();
    assert!(matches!(error, Error::Temporary { .. }), "{error:?}");
    site.fake.faults().next(3, "GET", "docs", Effect::Delay(60_000));
    let error = web.check(None).await.unwrap_err().to_string();
    assert!(error.contains("did not answer within"), "{error}");
}

#[tokio::test]
async fn a_token_is_not_sent_to_a_redirect_target() {
    let other = Site::start(Kind::GitHub).await;
    for kind in KINDS {
        let site = Site::start(kind).await;
        let web = site.web().await;
        site.fake.faults().always("GET", "docs", Effect::Redirect(other.fake.url().to_owned()));
        let error = web.check(None).await.unwrap_err().to_string();
        assert!(error.contains("redirects to another address, and redirects are not followed"), "{error}");
    }
    assert_eq!(other.fake.request_count(), 0);
}

#[tokio::test]
async fn a_moved_repository_is_reported_with_its_new_address() {
    let site = Site::start(Kind::GitHub).await;
    site.fake.repository("acme/handbook", &[("a.md", "x")]).await;
    let location = format!("{}/api/v3/repos/acme/handbook", site.fake.url());
    let moved = json_response(301, r#"{"message":"Moved Permanently"}"#, &[("location", &location)]);
    site.fake.faults().always("GET", "acme/docs", moved.clone());
    site.fake.faults().always("POST", "acme/docs", moved);
    let web = site.web().await;
    let expected =
        format!("the repository moved to {}/acme/handbook: give the project that address", site.fake.url());
    assert_eq!(web.check(None).await.unwrap_err().to_string(), expected);
    assert_eq!(web.open(&site.new_pull("job-1")).await.unwrap_err().to_string(), expected);

    // GitLab's API follows a moved project silently.
    let site = Site::start(Kind::GitLab).await;
    let project = r#"{"path_with_namespace":"acme/handbook","web_url":"https://x.test/acme/handbook"}"#;
    site.fake.faults().next(1, "GET", "docs", json_response(200, project, &[]));
    let error = site.web().await.check(None).await.unwrap_err().to_string();
    assert_eq!(error, "the repository moved to https://x.test/acme/handbook: give the project that address");
}

#[tokio::test]
async fn private_addresses_are_refused_unless_allowed() {
    let site = Site::start(Kind::Gitea).await;
    let open = |url: String| {
        let mut settings = site.settings();
        (settings.url, settings.reach) = (url, NetworkPolicy::default());
        settings.credential = Credential::Token(Secret::parse(TOKEN).unwrap());
        Web::open(settings)
    };
    let url = format!("{}/{DOCS}", site.fake.url());
    assert!(open(url.clone()).await.is_err());
    assert!(open(url.replace("http://", "https://")).await.is_err());
    // A host name is resolved with the first request.
    let named = open(url.replace("http://127.0.0.1", "https://localhost")).await.unwrap();
    let error = named.check(None).await.unwrap_err();
    assert!(matches!(&error, Error::Denied(why) if why.contains("is not called")), "{error:?}");
    assert_eq!(site.fake.request_count(), 0);
}
