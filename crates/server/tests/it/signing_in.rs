//! Signing in leads to where one wanted to go, and nowhere else.

use jiff::SignedDuration;
use reqwest::Method;
use store::Role;

use crate::pages::{Browser, hidden};
use crate::people::{PASSWORD, person};
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
