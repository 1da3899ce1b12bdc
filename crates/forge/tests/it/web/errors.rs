//! What a person is told, host by host.

use std::time::Duration;

use fakehost::{Access, Effect, Kind};
use forge::{Credential, Error, Host as _, Web, WebLimits};
use net::{NetworkPolicy, Secret};

use super::{DOCS, KINDS, Site, TOKEN, answer};

/// The host answers the look at the repository so; what is told, with the host's port left out.
async fn told(kind: Kind, effect: Effect) -> String {
    let site = Site::start(kind).await;
    let web = site.web().await;
    site.fake.faults().always("GET", "docs", effect);
    let told = web.check(None).await.unwrap_err().to_string();
    assert!(!told.contains(TOKEN), "{told}");
    told.replace(site.fake.url().trim_start_matches("http://"), "HOST")
}

#[tokio::test]
async fn refusals() {
    async fn check(kind: Kind, status: u16, body: &str, headers: &[(&str, &str)], expected: &str) {
        assert_eq!(told(kind, answer(status, body, headers)).await, expected);
    }
    use Kind::{Forgejo, GitHub, GitLab, Gitea};
    let accept = "HOST does not accept the token: it is wrong, expired or revoked; make a new one and give it to the project";
    let hidden =
        "HOST has no repository acme/docs, or hides it: check the address, and that the token may see it";
    let make = "make one with read and write access to contents and pull requests, or with the scope `repo`";
    let archived = "acme/docs is archived and takes no changes: unarchive it, or give the project another";

    check(GitHub, 401, r#"{"message":"Bad credentials"}"#, &[], accept).await;
    check(GitHub, 404, r#"{"message":"Not Found"}"#, &[], hidden).await;
    let scopes = [("x-accepted-oauth-scopes", "repo"), ("x-oauth-scopes", "read:user, gist")];
    let lacks = format!("the token for acme/docs lacks the scope `repo`: {make}");
    check(GitHub, 404, r#"{"message":"Not Found"}"#, &scopes, &lacks).await;
    let permissions = [("x-accepted-github-permissions", "pull_requests=write")];
    let lacks = format!("the token for acme/docs lacks the permission `pull_requests=write`: {make}");
    let body = r#"{"message":"Resource not accessible by personal access token"}"#;
    check(GitHub, 403, body, &permissions, &lacks).await;
    let read_only = r#"{"message":"Repository was archived so is read-only."}"#;
    check(GitHub, 403, read_only, &[], archived).await;
    let sso = [("x-github-sso", "required; url=https://evil.test/orgs/acme/sso")];
    let body = r#"{"message":"Resource protected by organization SAML enforcement."}"#;
    let elsewhere =
        "the organization of acme/docs wants single sign-on: authorize the token at its page of tokens";
    check(GitHub, 403, body, &sso, elsewhere).await;
    let blocked = "HOST has blocked acme/docs for legal reasons: Repository access blocked";
    check(GitHub, 451, r#"{"message":"Repository access blocked"}"#, &[], blocked).await;
    let gone = "HOST has turned this off for acme/docs, or it is gone";
    check(GitHub, 410, "", &[], gone).await;
    let odd = "HOST refused it (418): a b [key]";
    check(GitHub, 418, &format!("{{\"message\":\"a\\r\\nb\\u202e {TOKEN}\"}}"), &[], odd).await;

    check(GitLab, 401, r#"{"message":"401 Unauthorized"}"#, &[], accept).await;
    let revoked = r#"{"error":"invalid_token","error_description":"Token was revoked. You have to re-authorize from the user."}"#;
    let expected = "the token for HOST was revoked: make a new one and give it to the project";
    check(GitLab, 401, revoked, &[], expected).await;
    let expired = r#"{"error":"invalid_token","error_description":"Token is expired."}"#;
    let expected = "the token for HOST has expired: make a new one and give it to the project";
    check(GitLab, 401, expired, &[], expected).await;
    let body = r#"{"error":"insufficient_scope","error_description":"…","scope":"api read_api"}"#;
    let expected = "the token for acme/docs lacks the scope `api read_api`: make one with the scope `api` and the role Developer or higher";
    check(GitLab, 403, body, &[], expected).await;
    check(GitLab, 404, r#"{"message":"404 Project Not Found"}"#, &[], hidden).await;

    for kind in [Gitea, Forgejo] {
        check(kind, 401, r#"{"message":"invalid username, password or token"}"#, &[], accept).await;
        let body = r#"{"message":"token does not have at least one of required scope(s), required=[read:repository], token scope=read:user"}"#;
        let expected = "the token for acme/docs lacks the scope `read:repository`: make one with the scope `write:repository`";
        check(kind, 403, body, &[], expected).await;
        check(kind, 404, r#"{"message":"The target couldn't be found."}"#, &[], hidden).await;
        check(kind, 423, r#"{"message":"This repository is archived"}"#, &[], archived).await;
    }
}

#[tokio::test]
async fn a_token_that_is_not_enough_is_noticed_when_a_project_is_made() {
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
            let told = site.web().await.check(None).await.unwrap_err();
            assert!(matches!(&told, Error::Denied(why) if why.contains(words)), "{kind:?} {told}");
        }
        let site = Site::start(kind).await;
        site.fake.set(DOCS, |settings| settings.private = false);
        let mut settings = site.settings();
        settings.credential = Credential::None;
        let told = Web::open(settings).await.unwrap().check(None).await.unwrap_err().to_string();
        assert!(told.contains("wants a token for acme/docs"), "{kind:?} {told}");
    }
    // The role is the person's; what the token may do is less.
    let site = Site::start(Kind::GitLab).await;
    site.fake.token(TOKEN, Access::NoPulls);
    let told = site.web().await.check(None).await.unwrap_err().to_string();
    assert!(told.contains("lacks the scope `api`"), "{told}");
    let site = Site::start(Kind::GitHub).await;
    site.fake.token(TOKEN, Access::NoPulls);
    let told = site.web().await.check(None).await.unwrap_err().to_string();
    assert!(told.contains("lacks the permission `pull_requests=write`"), "{told}");
    // One that may do everything, and does not say so.
    site.fake.token(TOKEN, Access::Full);
    let body = r#"{"default_branch":"main","permissions":{"push":true}}"#;
    site.fake.faults().next(1, "GET", "docs", answer(200, body, &[]));
    assert_eq!(site.web().await.check(None).await.unwrap(), "main");
    let asked = site.fake.requests();
    assert!(asked.iter().any(|seen| seen.method == "POST" && seen.status == Some(422)), "it was asked");
    assert!(site.fake.pulls(DOCS).is_empty(), "what is only asked is not done");
    let site = Site::start(Kind::GitHub).await;
    let body = r#"{"default_branch":"main","private":true,"permissions":{"push":true}}"#;
    site.fake.faults().next(1, "GET", "docs", answer(200, body, &[("x-oauth-scopes", "public_repo")]));
    let told = site.web().await.check(None).await.unwrap_err().to_string();
    assert!(told.contains("lacks the scope `repo`"), "{told}");
}

/// As of any other question that changes nothing.
#[tokio::test]
async fn a_stumble_at_git_s_door_is_none_of_the_token() {
    let site = Site::start(Kind::Gitea).await;
    let web = site.web().await;
    site.fake.token(TOKEN, Access::ReadOnlyOfWriter);
    let faults = site.fake.faults();
    faults.next(1, "GET", "info/refs", Effect::status(502));
    faults.next(1, "GET", "info/refs", Effect::DropBefore);
    let told = web.check(None).await.unwrap_err().to_string();
    assert!(told.contains("may not push"), "{told}");
    site.fake.token(TOKEN, Access::Full);
    faults.next(2, "GET", "info/refs", Effect::status(500));
    assert_eq!(web.check(None).await.unwrap(), "main");
    faults.next(1, "GET", "info/refs", Effect::too_many(9));
    let told = web.check(None).await.unwrap_err().to_string();
    assert!(told.ends_with("answered 429; it can be asked again in 9 s"), "{told}");
}

#[tokio::test]
async fn an_empty_repository() {
    let github = r#"{"default_branch":"main","size":0,"permissions":{"push":true}}"#;
    let gitlab =
        r#"{"path_with_namespace":"acme/docs","web_url":"","default_branch":null,"empty_repo":true}"#;
    let gitea = r#"{"default_branch":"main","empty":true,"permissions":{"push":true}}"#;
    for (kind, body) in [(Kind::GitHub, github), (Kind::GitLab, gitlab), (Kind::Gitea, gitea)] {
        let site = Site::start(kind).await;
        site.fake.faults().next(1, "GET", "/branches?", answer(200, "[]", &[]));
        site.fake.faults().next(1, "GET", "docs", answer(200, body, &[]));
        let told = site.web().await.check(None).await.unwrap_err().to_string();
        assert_eq!(told, "acme/docs is empty: push a first commit to it");
    }
}

#[tokio::test]
async fn limits_are_kept() {
    let reset = |name: &'static str| [("x-ratelimit-remaining", "0"), (name, "1800000090")];
    for (kind, effect, after) in [
        (Kind::GitHub, Effect::secondary_limit(7), 7),
        (
            Kind::GitHub,
            answer(403, r#"{"message":"API rate limit exceeded"}"#, &reset("x-ratelimit-reset")),
            90,
        ),
        (Kind::GitHub, answer(429, "", &reset("x-ratelimit-reset")), 90),
        (Kind::GitHub, answer(403, r#"{"message":"You have exceeded a secondary rate limit."}"#, &[]), 60),
        (Kind::GitLab, Effect::too_many(30), 30),
        (
            Kind::GitLab,
            answer(429, "", &[("ratelimit-remaining", "0"), ("ratelimit-reset", "1800000090")]),
            90,
        ),
        (Kind::Gitea, answer(429, "Too many", &[]), 60),
        (Kind::Gitea, answer(503, "", &[("retry-after", "5")]), 5),
    ] {
        let site = Site::start(kind).await;
        let mut settings = site.settings();
        settings.now = std::sync::Arc::new(|| 1_800_000_000);
        let web = Web::open(settings).await.unwrap();
        site.fake.faults().always("GET", "docs", effect.clone());
        let later = web.check(None).await.unwrap_err();
        let Error::Later { after: Some(wait), .. } = later else { panic!("{kind:?} {effect:?}: {later:?}") };
        assert_eq!(wait, Duration::from_secs(after), "{effect:?}");
        assert_eq!(site.fake.request_count(), 1, "it is left alone");
        // The same to whoever wants to open something.
        site.fake.faults().clear();
        site.fake.faults().always("POST", site.pulls_path(), effect);
        assert!(matches!(web.open(&site.new_pull("job-1")).await, Err(Error::Later { after: Some(_), .. })));
        assert_eq!(site.count("POST", site.pulls_path()), 1);
    }
}

#[tokio::test]
async fn trouble_that_passes_is_not_noticed() {
    for kind in KINDS {
        for effect in [Effect::status(500), Effect::status(502), Effect::DropBefore, Effect::Garbage] {
            let site = Site::start(kind).await;
            let web = site.web().await;
            site.fake.faults().next(2, "GET", "docs", effect.clone());
            assert_eq!(web.check(None).await.unwrap(), "main");
            site.fake.faults().next(3, "GET", "docs", effect.clone());
            let told = web.check(None).await.unwrap_err();
            assert!(matches!(told, Error::Later { after: None, .. }), "{effect:?} {told:?}");
        }
    }
}

#[tokio::test]
async fn answers_are_bounded() {
    let site = Site::start(Kind::GitHub).await;
    let mut settings = site.settings();
    settings.limits = WebLimits { wait: Duration::from_millis(50), answer: 1 << 20, ..settings.limits };
    let web = Web::open(settings).await.unwrap();
    site.fake.faults().next(3, "GET", "docs", Effect::Endless);
    let told = web.check(None).await.unwrap_err();
    assert!(matches!(told, Error::Later { .. }), "{told:?}");
    site.fake.faults().next(3, "GET", "docs", Effect::Delay(60_000));
    let told = web.check(None).await.unwrap_err().to_string();
    assert!(told.contains("did not answer within"), "{told}");
}

#[tokio::test]
async fn a_token_goes_nowhere_else() {
    let other = Site::start(Kind::GitHub).await;
    for kind in KINDS {
        let site = Site::start(kind).await;
        let web = site.web().await;
        site.fake.faults().always("GET", "docs", Effect::Redirect(other.fake.url().to_owned()));
        let told = web.check(None).await.unwrap_err().to_string();
        assert!(told.contains("points to another place, which is not gone to"), "{told}");
    }
    assert_eq!(other.fake.request_count(), 0);
}

#[tokio::test]
async fn a_repository_that_moved_says_where_to() {
    let site = Site::start(Kind::GitHub).await;
    site.fake.repository("acme/handbook", &[("a.md", "x")]).await;
    let location = format!("{}/api/v3/repos/acme/handbook", site.fake.url());
    let moved = answer(301, r#"{"message":"Moved Permanently"}"#, &[("location", &location)]);
    site.fake.faults().always("GET", "acme/docs", moved.clone());
    site.fake.faults().always("POST", "acme/docs", moved);
    let web = site.web().await;
    let expected =
        format!("the repository moved to {}/acme/handbook: give the project that address", site.fake.url());
    assert_eq!(web.check(None).await.unwrap_err().to_string(), expected);
    assert_eq!(web.open(&site.new_pull("job-1")).await.unwrap_err().to_string(), expected);

    // GitLab's API goes along silently.
    let site = Site::start(Kind::GitLab).await;
    let project = r#"{"path_with_namespace":"acme/handbook","web_url":"https://x.test/acme/handbook"}"#;
    site.fake.faults().next(1, "GET", "docs", answer(200, project, &[]));
    let told = site.web().await.check(None).await.unwrap_err().to_string();
    assert_eq!(told, "the repository moved to https://x.test/acme/handbook: give the project that address");
}

#[tokio::test]
async fn what_is_near_is_not_called_unless_it_is_meant() {
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
    // A name is looked up when it is called.
    let named = open(url.replace("http://127.0.0.1", "https://localhost")).await.unwrap();
    let told = named.check(None).await.unwrap_err();
    assert!(matches!(&told, Error::Denied(why) if why.contains("is not called")), "{told:?}");
    assert_eq!(site.fake.request_count(), 0);
}
