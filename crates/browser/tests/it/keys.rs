//! Tests API keys by clicks: created with every option, shown once, used, revoked.

use reqwest::Client;
use store::NewProject;

use crate::support::{Browser, Site};

#[tokio::test]
#[cfg_attr(not(has_browser), ignore = "Chromium, chromedriver or axe is missing: scripts/test installs them")]
async fn a_key_is_created_with_every_option_shown_once_used_and_revoked() {
    let site = Site::start().await;
    let other = NewProject { name: "Handbook".into(), ..site.new_project() };
    let other = site.app.accounts.create_project(&other).await.unwrap();
    let browser = Browser::signed_in(&site).await;
    browser.click(".projects a").await;
    browser.click("nav a[href$='/keys']").await;
    assert_eq!(browser.copied("project-id").await, site.project.id.0);
    browser.write("#name", "CI").await;
    browser.click("#scope option[value=read]").await;
    browser.click("#expires option[value='30d']").await;
    browser.write("#allow", "127.0.0.1\n2001:db8::/32").await;
    browser.see("#only:checked").await;
    browser.click(&format!("input[name=also][value='{}']", other.id)).await;
    browser.click("form[action$='/keys'] button.main").await;

    let (secret, curl) = (browser.copied("secret").await, browser.copied("curl").await);
    assert!(secret.starts_with("dw_") && curl.contains(&secret));
    for text in ["CI", "only Acme Docs, Handbook, from 127.0.0.1/32, 2001:db8::/32", "in 30 days", "never"] {
        browser.read("tbody tr", text).await;
    }
    // Sends the request of the command on the page.
    let (url, rest) = curl.strip_prefix("curl ").unwrap().split_once(" -H \"Authorization: Bearer ").unwrap();
    let run_command = async || {
        let key = rest.trim_end_matches('"');
        Client::new().get(url).bearer_auth(key).send().await.unwrap().status().as_u16()
    };
    assert_eq!(run_command().await, 200);

    browser.open(&site.page("/keys")).await;
    browser.read("tbody tr", "CI").await;
    let html = browser.ask("return document.documentElement.outerHTML").await;
    assert!(!html.as_str().unwrap().contains(&secret), "shown once");
    browser.click("tbody details.sure summary").await;
    browser.click("tbody details.sure button.danger").await;
    browser.read("tbody tr.gone", "revoked").await;
    assert_eq!(run_command().await, 401);
    browser.transferred().await;
}
