//! Tests attacks of other sites and strangers in a browser. Their names are those of docs/security.md.

use serde_json::json;
use store::Role;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::support::{Browser, MARKUP, PASSWORD, Site};

/// Serves this page to every request, as another site: the server's own host is 127.0.0.1, not `localhost`.
async fn serve_other_site(page: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://localhost:{}/", listener.local_addr().unwrap().port());
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n";
    let answer = format!("{head}Content-Length: {}\r\n\r\n{page}", page.len());
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let _ = client.read(&mut [0; 4096]).await;
            let _ = client.write_all(answer.as_bytes()).await;
        }
    });
    url
}

#[tokio::test]
#[cfg_attr(not(has_browser), ignore = "Chromium, chromedriver or axe is missing: scripts/test installs them")]
async fn csrf_from_another_site() {
    let site = Site::start().await;
    let browser = Browser::signed_in(&site).await;
    let token = browser.ask("return document.querySelector('input[name=csrf]').value").await;
    let before = site.state().await;
    // The attack fails even with the right token.
    let form = format!(
        "<form method=post action='{}{}'><input name=csrf value='{}'><input name=prompt value=x></form>\
         <script>document.forms[0].submit()</script>",
        site.url,
        site.page("/jobs"),
        token.as_str().unwrap(),
    );
    browser.visit(&serve_other_site(form).await).await;
    browser.is_refused(403, "Form sent from another site").await;
    assert_eq!(site.state().await, before);
    browser.open("/").await;
    browser.see(".projects").await;
}

#[tokio::test]
#[cfg_attr(not(has_browser), ignore = "Chromium, chromedriver or axe is missing: scripts/test installs them")]
async fn clickjacking() {
    let site = Site::start().await;
    let browser = Browser::signed_in(&site).await;
    let frame = format!("<iframe src='{}{}'></iframe>", site.url, site.page("/jobs"));
    browser.visit(&serve_other_site(frame).await).await;
    assert_eq!(browser.count_in_frame("main, form").await, 0);
}

#[tokio::test]
#[cfg_attr(not(has_browser), ignore = "Chromium, chromedriver or axe is missing: scripts/test installs them")]
async fn session_fixation() {
    let site = Site::start().await;
    site.person(&site.organization.id, "ada@acme.dev", Role::Owner).await;
    let browser = Browser::start(&site).await;
    browser.open("/login").await;
    browser.ask("document.cookie = 'docwright=known-to-another; path=/'").await;
    browser.send("main form", &[("name", "ada@acme.dev"), ("password", PASSWORD)]).await;
    browser.see(".projects").await;
    let cookie = browser.cookie("docwright").await;
    assert_ne!(cookie["value"], "known-to-another");
    assert_eq!((&cookie["httpOnly"], &cookie["sameSite"]), (&json!(true), &json!("Lax")));
    assert_eq!(browser.ask("return document.cookie").await, "", "scripts cannot read it");
}

#[tokio::test]
#[cfg_attr(not(has_browser), ignore = "Chromium, chromedriver or axe is missing: scripts/test installs them")]
async fn xss_in_text_of_visitors() {
    let site = Site::start().await;
    let key = site.send_views().await;
    let hostile = "/a\"'><img/src='x'/onerror='window.ran=1'><script>window.ran=1</script>";
    let event = |status: u16| {
        json!({ "path": hostile, "status": status, "userAgent": format!("{MARKUP} Claude-User/1.0"),
            "referrer": format!("https://evil.example/{hostile}") })
    };
    site.send(&key, &json!([event(200), event(404)])).await;
    let job = site.job(&format!("Replace \"e-mail\" with \"{MARKUP}\".")).await;
    site.job("Replace \"e-mail\" with \"email\" in embed.md.").await;
    site.run_queued_jobs().await;
    let browser = Browser::signed_in(&site).await;
    browser.open(&site.page("/keys")).await;
    browser.send("form[action$='/keys']", &[("name", MARKUP)]).await;
    browser.read("tbody tr", MARKUP).await;
    browser.open(&site.page("/settings")).await;
    browser.send("#repository form", &[("name", MARKUP)]).await;
    browser.read(".project", MARKUP).await;
    for page in
        ["/readers?wait=1", "/readers/pages", "/readers/not-found", "/readers/agents", "/readers/referrers"]
    {
        browser.open(&site.page(page)).await;
        browser.check_nothing_ran().await;
    }
    browser.open(&site.page("/readers/pages")).await;
    browser.read("code", hostile).await;
    for page in ["/jobs", &format!("/jobs/{job}"), "/pulls/1", "/keys"] {
        browser.open(&site.page(page)).await;
        browser.read("main", "onerror").await;
        browser.check_nothing_ran().await;
    }
    for page in ["/", "/audit"] {
        browser.open(page).await;
        browser.read("main", "onerror").await;
        browser.check_nothing_ran().await;
    }
    browser.transferred().await;
}
