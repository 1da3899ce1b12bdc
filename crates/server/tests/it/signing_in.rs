//! Tests that a sign-in returns to the requested page and to no other site, and that wrong passwords are audited.

use jiff::SignedDuration;
use reqwest::Method;
use store::Role;

use crate::pages::{Browser, hidden};
use crate::people::{PASSWORD, person, sign_in};
use crate::support::{Answer, Team, TestServer, send};

/// Requests a page as a browser without a session does.
async fn browse(server: &TestServer, path: &str) -> Answer {
    send(server.request(Method::GET, path).header("accept", "text/html,*/*;q=0.8")).await
}

/// Signs in with a password and the return path of the form.
async fn sign_in_and_return(server: &TestServer, password: &str, next: &str) -> Answer {
    let form = [("name", "ada@acme.dev"), ("password", password), ("next", next)];
    send(server.request(Method::POST, "/login").form(&form)).await
}

#[tokio::test]
async fn a_password_returns_to_the_requested_page() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    person(&server, &team, "ada@acme.dev", Role::Member).await;
    let requested = format!("/p/{}/readers/pages?range=7d&path=%2Fa%26b", team.project.id);
    let page = browse(&server, &requested).await;
    let next = hidden(&page.body, "next").replace("&#38;", "&");
    assert_eq!((page.status, &*next), (401, &*requested));
    let wrong = sign_in_and_return(&server, "wrong", &next).await;
    assert_eq!(wrong.status, 401);
    assert_eq!(
        hidden(&wrong.body, "next").replace("&#38;", "&"),
        requested,
        "a wrong password keeps the return path"
    );
    let entered = sign_in_and_return(&server, PASSWORD, &next).await;
    assert_eq!((entered.status, entered.header("location")), (303, &*requested));
    assert_eq!(Browser::with_cookie(&server, &entered).get(&requested).await.status, 200);
}

#[tokio::test]
async fn a_login_link_returns_to_the_requested_page() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    let requested = format!("/p/{}/jobs?state=review;q=a,b", team.project.id);
    let page = browse(&server, &requested).await;
    let cookie = page.header("set-cookie").to_owned();
    assert!(
        cookie.contains("HttpOnly") && cookie.contains("Path=/login") && cookie.contains("Max-Age=900"),
        "{cookie}"
    );
    let cookie = cookie.split(';').next().unwrap().to_owned();
    let entered = by_link(&server, &team, &cookie).await;
    assert_eq!((entered.status, entered.header("location")), (303, &*requested));
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
        let name = cookie.split('=').next().unwrap();
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
async fn a_sign_in_returns_only_to_pages_of_this_server() {
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
        let entered = sign_in_and_return(&server, PASSWORD, next).await;
        assert_eq!((entered.status, entered.header("location")), (303, "/"), "{next:?}");
    }
    let fetched = send(server.request(Method::GET, "/people").header("accept", "*/*")).await;
    assert_eq!(
        (fetched.status, fetched.header("set-cookie")),
        (401, ""),
        "a request of a script sets no cookie"
    );
    let form = server.request(Method::POST, "/people/invite").header("accept", "text/html");
    let sent = send(form.form(&[("role", "member")])).await;
    assert_eq!((sent.status, sent.header("set-cookie"), &*hidden(&sent.body, "next")), (401, "", ""));
}

/// Polls the audit log, because wrong passwords are written after the response.
async fn wait_for_entry(browser: &Browser<'_>, until: &str) -> String {
    for _ in 0..2_000 {
        let log = browser.get("/audit").await.body;
        if log.contains(until) {
            return log;
        }
    }
    panic!("the audit log has no entry: {until}");
}

#[tokio::test]
async fn wrong_passwords_are_in_the_audit_log_once_per_hour() {
    let server = TestServer::start().await;
    let (team, theirs) = (server.team("acme", &[]).await, server.team("globex", &[]).await);
    person(&server, &team, "ada@acme.dev", Role::Owner).await;
    let owner = Browser::signed_in(&server, &team).await;
    let line = "gave a wrong password for ada@acme.dev, from 127.0.0.0/24";
    for _ in 0..3 {
        assert_eq!(sign_in(&server, "Ada@acme.dev", "wrong").await.status, 401);
    }
    assert_eq!(sign_in(&server, "nobody@acme.dev", "wrong").await.status, 401);
    let log = wait_for_entry(&owner, line).await;
    assert!(log.contains("<b>somebody</b>") && log.contains("told once an hour"), "{log}");

    server.clock.advance(SignedDuration::from_mins(59));
    assert_eq!(sign_in(&server, "ada@acme.dev", "wrong").await.status, 401);
    server.clock.advance(SignedDuration::from_mins(62));
    assert_eq!(sign_in(&server, "ada@acme.dev", "wrong").await.status, 401);
    let entries = async || owner.get("/audit").await.body.matches(line).count();
    for _ in 0..2_000 {
        if entries().await > 1 {
            break;
        }
    }
    assert_eq!(entries().await, 2);
    assert!(
        !owner.get("/audit").await.body.contains("nobody@acme.dev"),
        "a name without an account is in no log"
    );
    let other = Browser::signed_in(&server, &theirs).await;
    assert!(!other.get("/audit").await.body.contains("ada@acme.dev"));
}
