//! Members and what they reach by: keys that go with them, names, passwords, sessions of login links, host
//! tokens; and the audit log that says who did what.

use fakehost::{Access, Kind};
use jiff::SignedDuration;
use reqwest::Method;
use serde_json::json;
use store::{MemberKeys, NewInvite, Role, Token};

use crate::bounds::RawClient;
use crate::hosts::{HostFixture, NAME, PAGES, TOKEN};
use crate::pages::Browser;
use crate::people::{PASSWORD, browser, person, sign_in};
use crate::support::{Answer, Team, TestServer, send};

/// Ada, an owner, and Bob, a member with a key that writes.
async fn with_key(server: &TestServer) -> (Team, String) {
    let team = server.team("acme", &[("a.md", "one\n")]).await;
    person(server, &team, "ada@acme.dev", Role::Owner).await;
    person(server, &team, "bob@acme.dev", Role::Member).await;
    let key = server.key(&team.organization, |new| {
        (new.name, new.creator) = ("Bob's CI".into(), Some("bob@acme.dev".into()));
    });
    let key = key.await;
    (team, key)
}

async fn removal(server: &TestServer) -> String {
    let bob = server.app.people.person_named("bob@acme.dev").await.unwrap().unwrap().0;
    format!("/people/{}/remove", bob.id)
}

#[tokio::test]
async fn the_keys_of_a_removed_member_are_listed_and_revoked() {
    let server = TestServer::start().await;
    let (team, key) = with_key(&server).await;
    let ada = browser(&server, "ada@acme.dev").await;
    let prefix = &key[..7];
    let page = ada.get("/people").await.body;
    assert!(
        page.contains(&format!("Bob&#39;s CI ({prefix}…)")) && page.contains("1 API key that is still valid"),
        "{page}"
    );
    assert!(!browser(&server, "bob@acme.dev").await.get("/people").await.body.contains(prefix));
    let jobs = format!("/v2/agent/{}/jobs", team.project.id);
    assert_eq!(server.get(&key, &jobs).await.status, 200);
    assert_eq!(ada.post(&removal(&server).await, &[]).await.status, 303);
    assert_eq!(server.get(&key, &jobs).await.status, 401, "who was removed has no access by key");
    assert_eq!(server.get(&team.key, &jobs).await.status, 200, "a key that no member made stays");
    let log = ada.get("/audit").await.body;
    let line = format!("revoked the key Bob&#39;s CI ({prefix}…) of bob@acme.dev");
    assert!(log.contains(&line) && log.contains("removed bob@acme.dev"), "{log}");
}

#[tokio::test]
async fn an_owner_takes_over_the_keys_of_a_removed_member() {
    let server = TestServer::start().await;
    let (team, key) = with_key(&server).await;
    let ada = browser(&server, "ada@acme.dev").await;
    assert_eq!(ada.post(&removal(&server).await, &[("keys", "take_over")]).await.status, 303);
    let jobs = format!("/v2/agent/{}/jobs", team.project.id);
    assert_eq!(server.get(&key, &jobs).await.status, 200);
    assert!(ada.get(&format!("/p/{}/keys", team.project.id)).await.body.contains("by ada@acme.dev"));
    let line = format!("took over the key Bob&#39;s CI ({}…) of bob@acme.dev", &key[..7]);
    assert!(ada.get("/audit").await.body.contains(&line));
}

#[tokio::test]
async fn a_job_says_who_asked_for_it() {
    let server = TestServer::start().await;
    let (team, key) = with_key(&server).await;
    let ada = browser(&server, "ada@acme.dev").await;
    let create = format!("/v2/agent/{}/job", team.project.id);
    let made = server.post(&key, &create, &json!({ "prompt": "Fix broken links" })).await.json();
    let by = json!({ "type": "apiKey", "name": "Bob's CI", "keyPrefix": &key[..7] });
    assert_eq!(made["createdBy"], by);
    assert_eq!(server.job(&team, &made["id"]).await["createdBy"], by);
    let root = format!("/p/{}/jobs", team.project.id);
    let page = ada.get(&format!("{root}/{}", made["id"].as_str().unwrap())).await.body;
    assert!(page.contains(&format!("created by API key Bob&#39;s CI ({}…)", &key[..7])), "{page}");
    let asked = ada.post(&root, &[("prompt", "Fix spelling")]).await;
    let id = json!(asked.header("location").rsplit('/').next().unwrap());
    let by = json!({ "type": "member", "name": "ada@acme.dev", "keyPrefix": null });
    assert_eq!(server.job(&team, &id).await["createdBy"], by);
    let link = server.app.sessions.create_named_login(&team.organization.id, "Build server").await.unwrap();
    let entered = send(server.request(Method::POST, "/login").form(&[("token", link.reveal())])).await;
    let asked = Browser::with(&server, &entered).post(&root, &[("prompt", "Fix anchors")]).await;
    let id = json!(asked.header("location").rsplit('/').next().unwrap());
    let by = json!({ "type": "loginLink", "name": "Build server", "keyPrefix": null });
    assert_eq!(server.job(&team, &id).await["createdBy"], by);
    assert!(ada.get("/audit").await.body.contains("<b>login link (Build server)</b>"));
}

#[tokio::test]
async fn the_audit_log_has_jobs_pull_requests_transcripts_and_sign_outs() {
    let server = TestServer::start().await;
    let (team, key) = with_key(&server).await;
    let ada = browser(&server, "ada@acme.dev").await;
    let root = format!("/p/{}", team.project.id);
    let made = ada.post(&format!("{root}/jobs"), &[("prompt", "Replace \"one\" with \"two\".")]).await;
    let job = made.header("location").to_owned();
    let id = job.rsplit('/').next().unwrap();
    server.run_queued_jobs().await;
    ada.post(&format!("{job}/message"), &[("prompt", "Replace \"two\" with \"three\".")]).await;
    server.run_queued_jobs().await;
    let api = format!("/v2/agent/{}/job/{id}", team.project.id);
    for _ in 0..3 {
        assert_eq!(server.get(&key, &format!("{api}/transcript")).await.status, 200);
        assert_eq!(ada.get(&format!("{job}/transcript")).await.status, 200);
    }
    assert_eq!(ada.post(&format!("{root}/pulls/1/close"), &[]).await.status, 303);
    for _ in 0..2 {
        assert_eq!(server.post(&key, &format!("{api}/archive"), &json!({})).await.status, 200);
        assert_eq!(ada.post(&format!("{job}/archive"), &[]).await.status, 303);
    }
    let other = server.create_job(&team, "Fix broken links").await;
    let other = other["id"].as_str().unwrap();
    ada.post(&format!("{root}/jobs/{other}/archive"), &[]).await;
    let elsewhere = browser(&server, "ada@acme.dev").await;
    assert_eq!(elsewhere.post("/logout", &[]).await.status, 303);
    let log = server.app.people.audit_log(&team.organization.id, None, 100).await.unwrap();
    let lines: Vec<_> =
        log.iter().rev().map(|deed| format!("{}: {} {}", deed.who, deed.what, deed.about)).collect();
    let bobs = format!("API key Bob's CI ({}…)", &key[..7]);
    let tests = format!("API key test ({}…)", &team.key[..7]);
    assert_eq!(
        lines,
        [
            "ada@acme.dev: signed in ".to_owned(),
            format!("ada@acme.dev: started the job Docs {id}"),
            format!("ada@acme.dev: followed up on the job Docs {id}"),
            format!("{bobs}: downloaded the transcript of the job Docs {id}"),
            format!("ada@acme.dev: downloaded the transcript of the job Docs {id}"),
            "ada@acme.dev: closed the pull request Docs #1".to_owned(),
            format!("{bobs}: archived the job Docs {id}"),
            format!("{tests}: started the job Docs {other}"),
            format!("ada@acme.dev: archived the job Docs {other}"),
            "ada@acme.dev: signed in ".to_owned(),
            "ada@acme.dev: signed out ".to_owned(),
        ]
    );
}

async fn invited(server: &TestServer, team: &Team) -> Token {
    let (organization, creator) = (team.organization.id.clone(), "ada@acme.dev".into());
    server.app.people.create_invite(&NewInvite { organization, role: Role::Member, creator }).await.unwrap()
}

async fn join(server: &TestServer, link: &Token, name: &str, password: &str) -> Answer {
    let form = [("token", link.reveal()), ("name", name), ("password", password)];
    send(server.request(Method::POST, "/join").form(&form)).await
}

#[tokio::test]
async fn joining_tells_nothing_about_another_organization() {
    let server = TestServer::start().await;
    let (acme, globex) = (server.team("acme", &[]).await, server.team("globex", &[]).await);
    person(&server, &globex, "bob@globex.dev", Role::Owner).await;
    let (first, second) = (invited(&server, &acme).await, invited(&server, &acme).await);
    let taken = join(&server, &first, "bob@globex.dev", "a kettle of grey tea").await;
    let free = join(&server, &second, "new@globex.dev", "a kettle of grey tea").await;
    let shape = |answer: &Answer| {
        let names: Vec<_> = answer.headers.keys().map(|name| name.as_str().to_owned()).collect();
        (answer.status, answer.body.clone(), answer.header("location").to_owned(), names)
    };
    assert_eq!(shape(&taken), shape(&free));
    assert_eq!(taken.status, 303);
    let used = join(&server, &first, "eve@acme.dev", PASSWORD).await;
    assert_eq!((used.status, used.body), {
        let other = join(&server, &second, "eve@acme.dev", PASSWORD).await;
        (410, other.body)
    });
    // Each password leads to its own organization.
    let people = async |password| {
        Browser::with(&server, &sign_in(&server, "bob@globex.dev", password).await).get("/people").await.body
    };
    assert!(people("a kettle of grey tea").await.contains("new@globex.dev"));
    assert!(people(PASSWORD).await.contains("bob@globex.dev, owner"));
    assert!(!people(PASSWORD).await.contains("new@globex.dev"));
    // Within the organization a name is taken, and the invitation is not used up.
    let third = invited(&server, &acme).await;
    let refused = join(&server, &third, "new@globex.dev", PASSWORD).await;
    assert!(refused.status == 400 && refused.body.contains("has an account already"), "{}", refused.body);
    assert_eq!(join(&server, &third, "eve@acme.dev", PASSWORD).await.status, 303);
}

#[tokio::test]
async fn joining_is_throttled() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    let link = invited(&server, &team).await;
    for _ in 0..10 {
        assert_eq!(join(&server, &link, "bob@acme.dev", "short").await.status, 400);
        assert_eq!(join(&server, &Token::random(), "bob@acme.dev", PASSWORD).await.status, 410);
    }
    let refused = join(&server, &link, "bob@acme.dev", PASSWORD).await;
    assert_eq!((refused.status, refused.header("retry-after")), (429, "4"));
    assert!(refused.body.contains("Try again in 4 seconds"), "{}", refused.body);
    server.clock.advance(SignedDuration::from_secs(4));
    assert_eq!(join(&server, &link, "bob@acme.dev", PASSWORD).await.status, 303);
}

/// A server behind a proxy, so that a test can come from many addresses.
async fn behind_a_proxy() -> TestServer {
    TestServer::start_with(|settings| settings.proxies.trusted = vec!["127.0.0.0/8".parse().unwrap()]).await
}

async fn sign_in_from(server: &TestServer, address: &str, name: &str, password: &str) -> u16 {
    let form = [("name", name), ("password", password)];
    send(server.request(Method::POST, "/login").header("x-forwarded-for", address).form(&form)).await.status
}

#[tokio::test]
async fn wrong_passwords_do_not_lock_out_an_address_that_signed_in_before() {
    let mut server = behind_a_proxy().await;
    let team = server.team("acme", &[]).await;
    person(&server, &team, "ada@acme.dev", Role::Owner).await;
    let ada = "ada@acme.dev";
    assert_eq!(sign_in_from(&server, "198.51.100.7", ada, PASSWORD).await, 303);
    // Strangers try the name until it is held.
    server.clock.advance(SignedDuration::from_mins(2));
    let mut statuses = Vec::new();
    for n in 1..=8 {
        statuses.push(sign_in_from(&server, &format!("203.0.113.{n}"), ada, "wrong").await);
    }
    assert_eq!(statuses, [401, 401, 401, 401, 401, 429, 429, 429], "a name alone has a bound");
    assert_eq!(sign_in_from(&server, "192.0.2.1", ada, PASSWORD).await, 429, "from a new address");
    assert_eq!(sign_in_from(&server, "198.51.100.7", ada, PASSWORD).await, 303);
    // Six of one's own, too.
    for _ in 0..6 {
        assert_eq!(sign_in_from(&server, "198.51.100.7", ada, "wrong").await, 401);
    }
    assert_eq!(sign_in_from(&server, "198.51.100.7", ada, PASSWORD).await, 303);
    // What the network is known by survives a restart.
    let mut settings = server::Settings::new(server.data());
    settings.listen = "127.0.0.1:0".parse().unwrap();
    (settings.workers, settings.proxies.trusted) = (0, vec!["127.0.0.0/8".parse().unwrap()]);
    server.restart(&settings).await;
    for n in 1..=8 {
        sign_in_from(&server, &format!("203.0.113.{n}"), ada, "wrong").await;
    }
    assert_eq!(sign_in_from(&server, "198.51.100.7", ada, PASSWORD).await, 303);
}

#[tokio::test]
async fn guessing_from_one_address_is_slowed_down_more_and_more() {
    let server = behind_a_proxy().await;
    let (acme, evil) = (server.team("acme", &[]).await, server.team("evil", &[]).await);
    person(&server, &acme, "ada@acme.dev", Role::Owner).await;
    let hash = server.app.passwords.hash("the attacker's own words").await.unwrap();
    let new = store::NewPerson {
        organization: evil.organization.id.clone(),
        name: "ada@acme.dev".into(),
        role: Role::Owner,
        password: hash,
    };
    server.app.people.create_person(&new).await.unwrap();
    let mut tried = 0;
    for _ in 0..720 {
        server.clock.advance(SignedDuration::from_secs(5));
        if sign_in_from(&server, "203.0.113.1", "ada@acme.dev", "wrong").await == 401 {
            tried += 1;
        }
        // An account of the same name in an organization of one's own gives five more tries, once.
        sign_in_from(&server, "203.0.113.1", "ada@acme.dev", "the attacker's own words").await;
    }
    assert!((10..=25).contains(&tried), "{tried} tries in an hour");
    assert_eq!(sign_in_from(&server, "198.51.100.7", "ada@acme.dev", PASSWORD).await, 303);
}

#[tokio::test]
async fn new_passwords_are_long_and_hard_to_guess() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    person(&server, &team, "ada@acme.dev", Role::Owner).await;
    // A password of an earlier rule.
    let old = server.app.passwords.hash("tenletters").await.unwrap();
    let ada = server.app.people.person_named("ada@acme.dev").await.unwrap().unwrap().0;
    server.app.people.set_password(&ada.id, &old).await.unwrap();
    let browser = Browser::with(&server, &sign_in(&server, "ada@acme.dev", "tenletters").await);
    let link = invited(&server, &team).await;
    let by_link = Browser::signed_in(&server, &team).await;
    for (password, sentence) in [
        ("elevenchars", "at least 12 characters"),
        ("passwordpassword", "easy to guess"),
        ("qwertyuiop123", "easy to guess"),
        ("ada@acme.dev2026", "your own name"),
    ] {
        let change = [("current", "tenletters"), ("new", password)];
        for refused in [
            browser.post("/people/password", &change).await,
            join(&server, &link, "ada.two@acme.dev", password).await,
            by_link.post("/welcome/account", &[("name", "ada@acme.dev"), ("password", password)]).await,
        ] {
            assert!(refused.status == 400 && refused.body.contains(sentence), "{password}: {}", refused.body);
        }
    }
    assert_eq!(
        browser.post("/people/password", &[("current", "tenletters"), ("new", PASSWORD)]).await.status,
        303
    );
}

#[tokio::test]
async fn sessions_of_login_links_have_a_name_and_can_be_ended() {
    let server = TestServer::start().await;
    let (team, theirs) = (server.team("acme", &[]).await, server.team("globex", &[]).await);
    person(&server, &team, "ada@acme.dev", Role::Owner).await;
    person(&server, &team, "bob@acme.dev", Role::Member).await;
    let link = server.app.sessions.create_named_login(&team.organization.id, "Old <b>laptop").await.unwrap();
    let entered = send(server.request(Method::POST, "/login").form(&[("token", link.reveal())])).await;
    let laptop = Browser::with(&server, &entered);
    let (ada, bob) = (browser(&server, "ada@acme.dev").await, browser(&server, "bob@acme.dev").await);
    let page = ada.get("/people").await.body;
    assert!(page.contains("Old &#60;b&#62;laptop") && page.contains("in 14 days"), "{page}");
    assert!(!bob.get("/people").await.body.contains("laptop"));
    let end = page.split("action=\"").map(|form| form.split('"').next().unwrap());
    let end = end.into_iter().find(|action| action.starts_with("/people/sessions/")).unwrap().to_owned();
    assert_eq!(bob.post(&end, &[]).await.status, 403);
    assert_eq!(Browser::signed_in(&server, &theirs).await.post(&end, &[]).await.status, 404);
    assert_eq!(laptop.get("/").await.status, 200);
    assert_eq!(ada.post(&end, &[]).await.status, 303);
    assert_eq!(laptop.get("/").await.status, 401);
    assert_eq!(ada.post(&end, &[]).await.status, 404);
    assert!(ada.get("/audit").await.body.contains("ended the session Old &#60;b&#62;laptop"));
}

#[tokio::test]
async fn a_host_token_stays_with_who_gave_it() {
    let fixture = HostFixture::on(Kind::Gitea).await;
    let (server, team, host) = (&fixture.server, &fixture.team, fixture.fake());
    host.repository("acme/secret", &PAGES).await;
    host.token("tok-of-eve", Access::Full);
    for name in ["ada@acme.dev", "eve@acme.dev"] {
        person(server, team, name, Role::Owner).await;
    }
    let (ada, eve) = (browser(server, "ada@acme.dev").await, browser(server, "eve@acme.dev").await);
    let path = format!("/p/{}/settings/repository", team.project.id);
    let url = |name: &str| format!("{}/{name}", host.url());
    let (docs, secret) = (url(NAME), url("acme/secret"));
    let post = async |who: &Browser<'_>, repository: &str, more: &[(&str, &str)]| {
        let form: Vec<_> =
            [("name", "Docs"), ("repository", repository)].into_iter().chain(more.iter().copied()).collect();
        who.post(&path, &form).await
    };
    assert_eq!(post(&ada, &docs, &[("token", TOKEN)]).await.status, 303);
    assert_eq!(
        post(&eve, &format!("{docs}.git"), &[("folder", "")]).await.status,
        303,
        "the same repository"
    );
    let asked = || {
        host.requests()
            .iter()
            .filter(|seen| seen.path.contains("acme/secret") && seen.authorization.is_some())
            .count()
    };
    // Somebody else cannot point the token at what it also reaches: neither to test nor to keep.
    for more in [&[("test", "true")][..], &[]] {
        let refused = post(&eve, &secret, more).await;
        assert!(
            refused.status == 400 && refused.body.contains("provide a token with this change"),
            "{}",
            refused.body
        );
        assert_eq!(asked(), 0);
    }
    let kept = async || server.app.secrets.secret(&team.project.id.0, server::HOST_KEY).await.unwrap();
    assert!(kept().await.is_some(), "a change that is refused forgets nothing");
    // Who gave it can, and with a token of their own somebody else can.
    assert_eq!(post(&ada, &secret, &[]).await.status, 303);
    assert_eq!(&*kept().await.unwrap(), TOKEN.as_bytes());
    assert_eq!(post(&eve, &docs, &[("token", "tok-of-eve")]).await.status, 303);
    assert_eq!(&*kept().await.unwrap(), b"tok-of-eve");
    assert_eq!(post(&ada, &secret, &[]).await.status, 400);
}

/// A request whose last byte is held back until `meanwhile` is done; the answer.
async fn held_back(
    server: &TestServer,
    head: &str,
    body: &str,
    meanwhile: impl Future<Output = ()>,
) -> String {
    let before = server.app.bodies.free_bytes();
    let (early, last) = body.split_at(body.len() - 1);
    let request = format!("{head}\r\nHost: s\r\nContent-Length: {}\r\n\r\n{early}", body.len());
    let mut slow = RawClient::send(server, &request).await;
    while server.app.bodies.free_bytes() == before {
        tokio::task::yield_now().await;
    }
    meanwhile.await;
    slow.write(last.as_bytes()).await;
    slow.until("\r\n\r\n").await
}

#[tokio::test]
async fn what_comes_after_the_end_of_a_session_or_a_key_changes_nothing() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    for name in ["ada@acme.dev", "bob@acme.dev"] {
        person(&server, &team, name, Role::Owner).await;
    }
    let bob = browser(&server, "bob@acme.dev").await;
    let id = server.app.people.person_named("bob@acme.dev").await.unwrap().unwrap().0.id;
    let head = format!(
        "POST /people/invite HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded\r\nCookie: {}",
        bob.cookie()
    );
    let form = format!("csrf={}&role=owner", bob.csrf().await);
    let removed = async {
        let organization = &team.organization.id;
        server.app.people.remove_person(organization, &id, &MemberKeys::Revoke).await.unwrap();
    };
    let answer = held_back(&server, &head, &form, removed).await;
    assert!(answer.contains(" 401 "), "{answer}");
    assert!(server.app.people.invites(None).await.unwrap().is_empty());

    let head = format!(
        "POST /v2/agent/{}/job HTTP/1.1\r\nContent-Type: application/json\r\nAuthorization: Bearer {}",
        team.project.id, team.key
    );
    let revoked = async {
        let keys = server.app.accounts.keys(Some(&team.organization.id)).await.unwrap();
        server.app.accounts.revoke_key(&team.organization.id, &keys[0].id).await.unwrap();
    };
    let answer = held_back(&server, &head, r#"{"prompt": "Fix links"}"#, revoked).await;
    assert!(answer.contains(" 401 "), "{answer}");
}

/// Eve has an account of Ada's name in an organization of her own.
#[tokio::test]
async fn an_account_of_the_same_name_elsewhere_locks_nobody_out_and_tells_nothing() {
    let server = behind_a_proxy().await;
    let (acme, evil) = (server.team("acme", &[]).await, server.team("evil", &[]).await);
    let ada = "ada@acme.dev";
    person(&server, &acme, ada, Role::Owner).await;
    assert_eq!(sign_in_from(&server, "198.51.100.7", ada, PASSWORD).await, 303);
    for name in [ada, "nobody@acme.dev"] {
        let password = server.app.passwords.hash("the attacker's own words").await.unwrap();
        let organization = evil.organization.id.clone();
        let new = store::NewPerson { organization, name: name.into(), role: Role::Owner, password };
        server.app.people.create_person(&new).await.unwrap();
        assert_eq!(sign_in_from(&server, "203.0.113.1", name, "the attacker's own words").await, 303);
    }
    server.clock.advance(SignedDuration::from_mins(2));
    let mut statuses = Vec::new();
    for name in [ada, "nobody@acme.dev"] {
        for _ in 0..8 {
            statuses.push(sign_in_from(&server, "203.0.113.1", name, "wrong").await);
        }
    }
    assert_eq!(statuses[..8], statuses[8..], "whether somebody else has the name makes no difference");
    for n in 1..=8 {
        sign_in_from(&server, &format!("192.0.2.{n}"), ada, "wrong").await;
    }
    assert_eq!(sign_in_from(&server, "198.51.100.7", ada, "mistyped").await, 401);
    assert_eq!(sign_in_from(&server, "198.51.100.7", ada, PASSWORD).await, 303);
    let theirs = server.app.people.audit_log(&evil.organization.id, None, 100).await.unwrap();
    assert!(theirs.iter().all(|deed| !deed.about.contains("198.51.100")), "{theirs:?}");
}
