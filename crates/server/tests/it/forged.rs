//! Requests that lie: about the host that was asked, about who asks, about where to go next.

use reqwest::Method;

use crate::pages::Browser;
use crate::support::{TestServer, send};

const EVIL: &str = "evil.example";
const LIES: &[(&str, &str)] = &[
    ("host", EVIL),
    ("x-forwarded-host", EVIL),
    ("x-forwarded-proto", "https"),
    ("x-forwarded-for", "203.0.113.5"),
    ("forwarded", "for=203.0.113.5;host=evil.example;proto=https"),
    ("x-original-url", "https://evil.example/"),
];

#[tokio::test]
async fn host_header_changes_no_link() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[("a.md", "one\n")]).await;
    let browser = Browser::signed_in(&server, &team).await;
    let root = format!("/p/{}", team.project.id);
    let csrf = browser.csrf().await;
    let key = [("name", "CI"), ("scope", "write"), ("expires", "7d"), ("csrf", csrf.as_str())];
    let invite = [("role", "member"), ("csrf", csrf.as_str())];
    let prompt = [("prompt", "Fix broken links"), ("csrf", csrf.as_str())];
    for (name, value) in LIES {
        let ask = |method, path: &str| {
            server.request(method, path).header("cookie", browser.cookie()).header(*name, *value)
        };
        for request in [
            ask(Method::GET, "/"),
            ask(Method::GET, &format!("{root}/settings")),
            ask(Method::GET, &format!("{root}/readers")),
            ask(Method::POST, &format!("{root}/keys")).form(&key),
            ask(Method::POST, "/people/invite").form(&invite),
            ask(Method::POST, &format!("{root}/jobs")).form(&prompt),
            ask(Method::GET, "/openapi.json"),
        ] {
            let answer = send(request).await;
            assert!(answer.status < 400, "{name}: {answer}");
            let told = format!("{} {:?}", answer.body, answer.headers);
            assert!(!told.contains(EVIL) && !told.contains("Secure"), "{name}: {told}");
        }
    }
}

#[tokio::test]
async fn host_header_and_forwarded_addresses_get_no_more_tries() {
    let server = TestServer::start().await;
    let tried = async |n: usize| {
        let (name, address) = (format!("p{n}@acme.dev"), format!("203.0.113.{n}"));
        let form = [("name", name.as_str()), ("password", "wrong")];
        let request = server.request(Method::POST, "/login").header("x-forwarded-for", &address);
        send(request.header("forwarded", format!("for={address}")).form(&form)).await.status
    };
    for n in 0..20 {
        assert_eq!(tried(n).await, 401, "{n}");
    }
    assert_eq!(tried(20).await, 429, "they all come from one address");
}

#[tokio::test]
async fn open_redirect() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    for place in ["https://evil.example", "//evil.example", "/\\evil.example", "/\r\nset-cookie: a=b"] {
        for name in ["next", "to", "url", "return_to", "redirect"] {
            let link = server.app.sessions.create_login(&team.organization.id).await.unwrap();
            let query = format!("/login?{name}={}", place.replace("\r\n", "%0d%0a").replace(' ', "%20"));
            let form = [("token", link.reveal()), (name, place)];
            let answer = send(server.request(Method::POST, &query).form(&form)).await;
            assert_eq!((answer.status, answer.header("location")), (303, "/"), "{name}={place}");
        }
    }
}

#[tokio::test]
async fn header_injection_by_addresses() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[("a.md", "one\n")]).await;
    let browser = Browser::signed_in(&server, &team).await;
    let (root, evil) = (format!("/p/{}", team.project.id), "%0d%0aset-cookie:%20docwright=evil%0d%0a%0d%0a");
    for path in [
        format!("{root}{evil}"),
        format!("/p/{evil}/jobs"),
        format!("{root}/jobs/{evil}"),
        format!("{root}/jobs?q={evil}&state={evil}"),
        format!("{root}/readers/pages/csv?range=7d&path=/{evil}"),
        format!("{root}/readers/{evil}/csv"),
        format!("/login?token={evil}"),
        format!("/join?token={evil}"),
        format!("/audit?before={evil}"),
    ] {
        let answer = browser.get(&path).await;
        assert!(answer.status < 500 && !answer.headers.contains_key("set-cookie"), "{path}: {answer}");
    }
    let retried = browser.post(&format!("{root}/jobs/{evil}/retry"), &[]).await;
    assert!(retried.status == 404 && !retried.headers.contains_key("location"), "{retried}");
}
