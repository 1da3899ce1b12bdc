//! Tests accounts: invitations, signing in and out, passwords, roles, and the audit log.

use jiff::SignedDuration;
use reqwest::Method;
use store::{NewPerson, Role};

use crate::pages::Browser;
use crate::support::{Answer, Team, TestServer, send};

pub(crate) const PASSWORD: &str = "correct horse battery";

pub(crate) async fn person(server: &TestServer, team: &Team, name: &str, role: Role) {
    let password = server.app.passwords.hash(PASSWORD).await.unwrap();
    let organization = team.organization.id.clone();
    let new = NewPerson { organization, name: name.into(), role, password };
    server.app.people.create_person(&new).await.unwrap();
}

pub(crate) async fn sign_in(server: &TestServer, name: &str, password: &str) -> Answer {
    send(server.request(Method::POST, "/login").form(&[("name", name), ("password", password)])).await
}

pub(crate) async fn browser<'a>(server: &'a TestServer, name: &str) -> Browser<'a> {
    Browser::with(server, &sign_in(server, name, PASSWORD).await)
}

/// The text of a copyable field.
pub(crate) fn copied(page: &Answer, id: &str) -> String {
    let text = page.body.split(&format!("<code id=\"{id}\"")).nth(1).unwrap();
    text.split('>').nth(1).unwrap().split('<').next().unwrap().to_owned()
}

#[tokio::test]
async fn an_invited_member_can_join_once_and_sign_in_again() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    let owner = Browser::signed_in(&server, &team).await;
    let page = owner.post("/people/invite", &[("role", "member")]).await;
    let link = copied(&page, "invitation").replace(&server.url, "");
    assert!(!owner.get("/people").await.body.contains("/join?token="));
    let (path, token) = link.split_once("?token=").unwrap();
    let join = send(server.request(Method::GET, &link)).await;
    assert!(join.status == 200 && join.body.contains("Join acme") && join.body.contains("<b>member</b>"));

    let enter = |name: &str, password: &str| {
        let form =
            [("token", token.to_owned()), ("name", name.to_owned()), ("password", password.to_owned())];
        server.request(Method::POST, path).form(&form)
    };
    let refused = send(enter("bob", PASSWORD)).await;
    assert!(
        refused.status == 400
            && refused.body.contains("an address such as")
            && refused.body.contains("value=\"bob\"")
    );
    let short = send(enter("bob@acme.dev", "short")).await;
    assert!(short.status == 400 && short.body.contains("at least 12 characters"));
    let bob = Browser::with(&server, &send(enter(" Bob@Acme.dev", PASSWORD)).await);
    assert!(bob.get("/people").await.body.contains("bob@acme.dev, member"));
    assert_eq!(send(enter("eve@acme.dev", PASSWORD)).await.status, 410);
    assert_eq!(send(server.request(Method::GET, &link)).await.status, 410);
    assert_eq!(browser(&server, "BOB@acme.dev").await.get("/").await.status, 200);
}

#[tokio::test]
async fn a_wrong_password_and_an_unknown_name_get_the_same_response_and_are_limited() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    person(&server, &team, "eve@acme.dev", Role::Owner).await;
    let wrong = sign_in(&server, "eve@acme.dev", "wrong").await;
    let unknown = sign_in(&server, "bob@acme.dev", "wrong").await;
    assert_eq!((wrong.status, unknown.status), (401, 401));
    assert_eq!(wrong.body.replace("eve@", "bob@"), unknown.body);
    for _ in 0..4 {
        assert_eq!(sign_in(&server, "eve@acme.dev", "wrong").await.status, 401);
    }
    let limited = sign_in(&server, "eve@acme.dev", PASSWORD).await;
    assert_eq!((limited.status, limited.header("set-cookie")), (429, ""));
    assert!(limited.header("retry-after").parse::<u64>().unwrap() <= 60);
    assert_eq!(
        sign_in(&server, "bob@acme.dev", "wrong").await.status,
        401,
        "a locked name does not lock another"
    );
    server.clock.advance(SignedDuration::from_mins(1));
    assert_eq!(sign_in(&server, "eve@acme.dev", PASSWORD).await.status, 303);
    for _ in 0..30 {
        send(server.request(Method::POST, "/login").form(&[("name", "x"), ("password", "y")])).await;
    }
    assert_eq!(sign_in(&server, "eve@acme.dev", PASSWORD).await.status, 429, "an address is limited, too");
}

#[tokio::test]
async fn a_sign_in_starts_a_new_session_and_ends_the_previous_one() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    person(&server, &team, "ada@acme.dev", Role::Owner).await;
    let before = Browser::signed_in(&server, &team).await;
    let form = [("name", "ada@acme.dev"), ("password", PASSWORD)];
    let after =
        send(server.request(Method::POST, "/login").header("cookie", before.cookie()).form(&form)).await;
    let after = Browser::with(&server, &after);
    assert_ne!(before.cookie(), after.cookie());
    assert_eq!((before.get("/").await.status, after.get("/").await.status), (401, 200));
    let elsewhere = browser(&server, "ada@acme.dev").await;
    let by_link = Browser::signed_in(&server, &team).await;
    assert_eq!(after.post("/logout/everywhere", &[]).await.status, 303);
    assert_eq!((after.get("/").await.status, elsewhere.get("/").await.status), (401, 401));
    assert_eq!(by_link.get("/").await.status, 200);
}

#[tokio::test]
async fn over_https_the_cookie_is_bound_to_the_host() {
    let mut url = String::new();
    let behind_a_proxy = |app: &mut server::AppParts| {
        url = app.public_url.to_string();
        app.public_url = "https://dw.example".into();
    };
    let server = TestServer::start_from(|_| {}, behind_a_proxy).await;
    let organization = server.app.accounts.create_organization("acme").await.unwrap();
    let link = server.app.sessions.create_login(&organization.id).await.unwrap();
    let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let answer = send(http.post(format!("{url}/login")).form(&[("token", link.reveal())])).await;
    let cookie = answer.header("set-cookie");
    assert!(
        cookie.starts_with("__Host-docwright=") && cookie.contains("; Secure") && cookie.contains("Path=/;")
    );
}

#[tokio::test]
async fn changing_a_password_requires_the_current_one_and_ends_other_sessions() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    person(&server, &team, "ada@acme.dev", Role::Member).await;
    let (ada, elsewhere) = (browser(&server, "ada@acme.dev").await, browser(&server, "ada@acme.dev").await);
    let change =
        async |current, new| ada.post("/people/password", &[("current", current), ("new", new)]).await;
    let wrong = change("wrong", "another long one").await;
    assert!(wrong.status == 400 && wrong.body.contains("The current password is wrong"));
    assert!(change(PASSWORD, "short").await.body.contains("at least 12"));
    let changed = change(PASSWORD, "another long one").await;
    assert_eq!(changed.status, 303);
    assert_eq!((ada.get("/").await.status, elsewhere.get("/").await.status), (401, 401));
    let ada = Browser::with_cookie(&server, &changed);
    assert!(ada.get("/people?saved=password").await.body.contains("Your password was changed"));
    assert_eq!(sign_in(&server, "ada@acme.dev", PASSWORD).await.status, 401);
    let by_link = Browser::signed_in(&server, &team).await;
    assert_eq!(
        by_link.post("/people/password", &[("current", PASSWORD), ("new", PASSWORD)]).await.status,
        404
    );
}

#[tokio::test]
async fn only_owners_change_members_and_settings() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    person(&server, &team, "ada@acme.dev", Role::Owner).await;
    person(&server, &team, "bob@acme.dev", Role::Member).await;
    let (ada, bob) = (browser(&server, "ada@acme.dev").await, browser(&server, "bob@acme.dev").await);
    let root = format!("/p/{}", team.project.id);
    for path in
        ["/", "/people", &format!("{root}/jobs"), &format!("{root}/settings"), &format!("{root}/keys")]
    {
        assert_eq!(bob.get(path).await.status, 200, "{path}");
    }
    assert!(!bob.get(&format!("{root}/settings")).await.body.contains("Delete project"));
    assert_eq!(bob.get("/audit").await.status, 403);
    let me = server.app.people.person_named("bob@acme.dev").await.unwrap().unwrap().0.id;
    for path in [
        "/people/invite".into(),
        format!("/people/{me}/remove"),
        format!("{root}/settings/repository"),
        format!("{root}/settings/jobs"),
        format!("{root}/settings/readers"),
        format!("{root}/settings/findings"),
        format!("{root}/settings/delete"),
    ] {
        let refused = bob.post(&path, &[("role", "owner"), ("typed", "Docs")]).await;
        assert!(refused.status == 403 && refused.body.contains("Only owners"), "{path}");
    }
    assert_eq!(
        bob.post(&format!("{root}/keys"), &[("name", "CI"), ("scope", "read"), ("expires", "7d")])
            .await
            .status,
        200
    );
    assert!(ada.get(&format!("{root}/keys")).await.body.contains("by bob@acme.dev"));
    // An owner who is not an operator cannot use a path on the server.
    let path = format!("{root}/settings/repository");
    let refused = ada.post(&path, &[("name", "Docs"), ("repository", "/etc")]).await;
    assert!(
        refused.status == 400 && refused.body.contains("a path on the server&#39;s machine"),
        "{}",
        refused.body
    );

    assert_eq!(ada.post("/people/invite", &[("role", "king")]).await.status, 400);
    assert_eq!(ada.post(&format!("/people/{me}/remove"), &[]).await.status, 303);
    assert_eq!(bob.get("/").await.status, 401);
    assert_eq!(ada.post(&format!("/people/{me}/remove"), &[]).await.status, 404);
}

#[tokio::test]
async fn the_audit_log_has_actors_and_actions_of_its_organization() {
    let server = TestServer::start().await;
    let (team, theirs) = (server.team("acme", &[("a.md", "one\n")]).await, server.team("globex", &[]).await);
    person(&server, &team, "ada@acme.dev", Role::Owner).await;
    let ada = browser(&server, "ada@acme.dev").await;
    let root = format!("/p/{}", team.project.id);
    ada.post(&format!("{root}/keys"), &[("name", "CI <b>"), ("scope", "read"), ("expires", "7d")]).await;
    ada.post(&format!("{root}/settings/readers"), &[("sites", ""), ("human_reads", "both")]).await;
    server.create_job(&team, "Replace \"one\" with \"two\".").await;
    server.run_queued_jobs().await;
    assert_eq!(ada.merge(&format!("{root}/pulls/1")).await.status, 303);
    let log = ada.get("/audit").await.body;
    for entry in [
        "signed in",
        "made the key CI &#60;b&#62;",
        "changed the settings (readers) of Docs",
        "merged the pull request Docs #1",
    ] {
        assert!(log.contains(entry), "{entry}");
    }
    assert!(log.contains("<b>ada@acme.dev</b>"));
    let other = Browser::signed_in(&server, &theirs).await;
    let log = other.get("/audit?before=junk").await.body;
    assert!(log.contains("login link") && !log.contains("ada@acme.dev"));
}

#[tokio::test]
async fn an_organization_can_create_ten_keys_per_hour_in_the_dashboard() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    let other = server.project(&team, |new| new.name = "Handbook".into()).await;
    let browser = Browser::signed_in(&server, &team).await;
    let path = format!("/p/{}/keys", team.project.id);
    let create = async |name: &str| {
        let form = [
            ("name", name),
            ("scope", "read"),
            ("expires", "7d"),
            ("until", "2027-01-31"),
            ("only_this_project", "true"),
            ("also", other.id.0.as_str()),
        ];
        browser.post(&path, &form).await
    };
    let page = create("first").await;
    assert!(page.body.contains("only Docs, Handbook") && page.body.contains("by login link"));
    let keys = server.app.accounts.keys(None).await.unwrap();
    let key = keys.iter().find(|key| key.name == "first").unwrap();
    assert_eq!(key.expires_at.unwrap().to_string(), "2027-01-31T00:00:00Z");
    assert!(key.reaches(&other.id) && key.reaches(&team.project.id));
    for _ in 0..9 {
        assert_eq!(create("more").await.status, 200);
    }
    let refused = create("one too many").await;
    assert!(refused.status == 429 && refused.body.contains("at most 10 API keys per hour"));
    assert!(refused.body.contains("value=\"one too many\""));
    server.clock.advance(SignedDuration::from_hours(1));
    assert_eq!(create("later").await.status, 200);
    let foreign = [
        ("name", "x"),
        ("scope", "read"),
        ("expires", "7d"),
        ("only_this_project", "true"),
        ("also", "prj_x"),
    ];
    assert_eq!(browser.post(&path, &foreign).await.status, 400);
    let ambiguous = [("name", "x"), ("scope", "read"), ("expires", "7d"), ("also", other.id.0.as_str())];
    let refused = browser.post(&path, &ambiguous).await;
    assert!(
        refused.status == 400 && refused.body.contains("also select Only this project"),
        "{}",
        refused.body
    );
}
