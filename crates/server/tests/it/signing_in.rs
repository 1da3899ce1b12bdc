//! Signing in leads to where one wanted to go, and nowhere else; and wrong passwords leave a trace.

use jiff::SignedDuration;
use reqwest::Method;
use store::Role;

use crate::pages::{Browser, hidden};
use crate::people::{PASSWORD, person, sign_in};
use crate::support::{Answer, Team, TestServer, send};

/// A page, as a browser without a session asks for it.
async fn look(server: &TestServer, path: &str) -> Answer {
    send(server.request(Method::GET, path).header("accept", "text/html,*/*;q=0.8")).await
}

/// By password, with a field that a page of ours would have.
async fn enter(server: &TestServer, password: &str, next: &str) -> Answer {
    let form = [("name", "ada@acme.dev"), ("password", password), ("next", next)];
    send(server.request(Method::POST, "/login").form(&form)).await
}

#[tokio::test]
async fn a_password_leads_to_the_page_that_was_asked_for() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    person(&server, &team, "ada@acme.dev", Role::Member).await;
    let asked = format!("/p/{}/readers/pages?range=7d&path=%2Fa%26b", team.project.id);
    let page = look(&server, &asked).await;
    let next = hidden(&page.body, "next").replace("&#38;", "&");
    assert_eq!((page.status, &*next), (401, &*asked));
    let wrong = enter(&server, "wrong", &next).await;
    assert_eq!(wrong.status, 401);
    assert_eq!(hidden(&wrong.body, "next").replace("&#38;", "&"), asked, "one wrong try does not lose it");
    let entered = enter(&server, PASSWORD, &next).await;
    assert_eq!((entered.status, entered.header("location")), (303, &*asked));
    assert_eq!(Browser::with_cookie(&server, &entered).get(&asked).await.status, 200);
}

#[tokio::test]
async fn a_link_leads_to_the_page_that_was_asked_for() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    let asked = format!("/p/{}/jobs?state=review;q=a,b", team.project.id);
    let page = look(&server, &asked).await;
    let kept = page.header("set-cookie").to_owned();
    assert!(
        kept.contains("HttpOnly") && kept.contains("Path=/login") && kept.contains("Max-Age=900"),
        "{kept}"
    );
    let kept = kept.split(';').next().unwrap().to_owned();
    let entered = by_link(&server, &team, &kept).await;
    assert_eq!((entered.status, entered.header("location")), (303, &*asked));
    let cookies: Vec<_> = entered.headers.get_all("set-cookie").iter().collect();
    assert!(cookies.len() == 2 && cookies[1].to_str().unwrap().contains("Max-Age=0"), "{cookies:?}");

    for forged in [
        "//evil.example",
        "%2F%2Fevil.example",
        "%2F%5Cevil",
        "https%3A%2F%2Fevil.example",
        "%ff",
        "/%0d%0aX: y",
    ] {
        let name = kept.split('=').next().unwrap();
        let entered = by_link(&server, &team, &format!("{name}={forged}")).await;
        assert_eq!((entered.status, entered.header("location")), (303, "/"), "{forged}");
    }
}

async fn by_link(server: &TestServer, team: &Team, cookie: &str) -> Answer {
    let link = server.app.sessions.create_login(&team.organization.id).await.unwrap();
    let enter = server.request(Method::POST, "/login").header("cookie", cookie);
    send(enter.form(&[("token", link.reveal())])).await
}

#[tokio::test]
async fn what_is_no_page_of_ours_is_not_led_to() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    person(&server, &team, "ada@acme.dev", Role::Member).await;
    let long = format!("/{}", "a".repeat(5_000));
    for next in [
        "",
        "//evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "/a\\..\\evil",
        "https://evil.example/",
        "https:evil.example",
        "javascript:alert(1)",
        "evil.example",
        "/\t/evil.example",
        "/a\r\nSet-Cookie: x=y",
        "/\u{0}",
        " //evil.example",
        "/é",
        "/login",
        "/login?token=x",
        "/logout",
        "/join?token=x",
        &long[..3_000],
    ] {
        server.clock.advance(SignedDuration::from_mins(1));
        let entered = enter(&server, PASSWORD, next).await;
        assert_eq!((entered.status, entered.header("location")), (303, "/"), "{next:?}");
    }
    let fetched = send(server.request(Method::GET, "/people").header("accept", "*/*")).await;
    assert_eq!((fetched.status, fetched.header("set-cookie")), (401, ""), "a script's request is no page");
    let form = server.request(Method::POST, "/people/invite").header("accept", "text/html");
    let sent = send(form.form(&[("role", "member")])).await;
    assert_eq!((sent.status, sent.header("set-cookie"), &*hidden(&sent.body, "next")), (401, "", ""));
}

/// It is written behind the answer, so that a name is not told by how long that takes.
async fn log_of(browser: &Browser<'_>, until: &str) -> String {
    for _ in 0..2_000 {
        let log = browser.get("/audit").await.body;
        if log.contains(until) {
            return log;
        }
    }
    panic!("the log does not tell: {until}");
}

#[tokio::test]
async fn wrong_passwords_are_in_the_audit_log_once_an_hour() {
    let server = TestServer::start().await;
    let (team, theirs) = (server.team("acme", &[]).await, server.team("globex", &[]).await);
    person(&server, &team, "ada@acme.dev", Role::Owner).await;
    let owner = Browser::signed_in(&server, &team).await;
    let line = "gave a wrong password for ada@acme.dev, from 127.0.0.0/24";
    for _ in 0..3 {
        assert_eq!(sign_in(&server, "Ada@acme.dev", "wrong").await.status, 401);
    }
    assert_eq!(sign_in(&server, "nobody@acme.dev", "wrong").await.status, 401);
    let log = log_of(&owner, line).await;
    assert!(log.contains("<b>somebody</b>") && log.contains("told once an hour"), "{log}");

    server.clock.advance(SignedDuration::from_mins(59));
    assert_eq!(sign_in(&server, "ada@acme.dev", "wrong").await.status, 401);
    server.clock.advance(SignedDuration::from_mins(62));
    assert_eq!(sign_in(&server, "ada@acme.dev", "wrong").await.status, 401);
    let told = async || owner.get("/audit").await.body.matches(line).count();
    for _ in 0..2_000 {
        if told().await > 1 {
            break;
        }
    }
    assert_eq!(told().await, 2);
    assert!(!owner.get("/audit").await.body.contains("nobody@acme.dev"), "whose log would that be");
    let other = Browser::signed_in(&server, &theirs).await;
    assert!(!other.get("/audit").await.body.contains("ada@acme.dev"));
}
