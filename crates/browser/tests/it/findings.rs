//! Tests the way from findings to a job and to a dismissal: by mouse, by keyboard, and without JavaScript.

use thirtyfour::Key;

use crate::support::{Browser, MARKUP, Site};

const PATHS: [&str; 3] = ["/Quickstart", "/guides/deployment", "/setup"];

async fn with_findings() -> Site {
    let site = Site::start().await;
    let found = site.send_requests_for(&PATHS).await;
    assert_eq!(found.len(), PATHS.len(), "{found:?}");
    site
}

/// The checkbox of the path.
fn checkbox(path: &str) -> String {
    format!("tr:has([aria-label$=' {path}']) input[type=checkbox]")
}

async fn create_a_job_and_dismiss_by_mouse(browser: &Browser<'_>, site: &Site) {
    browser.open(&site.page("/readers")).await;
    browser.click("nav a[href$='/findings']").await;
    for path in &PATHS[..2] {
        browser.click(&checkbox(path)).await;
    }
    browser.click(".decide button").await;
    browser.read("main .chip", "running").await;
    for path in &PATHS[..2] {
        browser.read("#came-of-it", path).await;
    }
    browser.click("nav a[href$='/findings']").await;
    assert_eq!(browser.count("input[type=checkbox]").await, 1, "two have a job now");
    browser.click(".acts summary").await;
    browser.write(".acts input[name=reason]", MARKUP).await;
    browser.click(".acts .sure button").await;
    browser.read(".well", "Finding dismissed.").await;
    browser.open(&site.page("/findings?state=dismissed")).await;
    browser.read("tbody tr", MARKUP).await;
    browser.transferred().await;
}

#[tokio::test]
#[cfg_attr(not(has_browser), ignore = "Chromium, chromedriver or axe is missing: scripts/test installs them")]
async fn two_findings_become_a_job_and_one_is_dismissed() {
    let site = with_findings().await;
    let browser = Browser::signed_in(&site).await;
    create_a_job_and_dismiss_by_mouse(&browser, &site).await;
    browser.check_nothing_ran().await;
}

#[tokio::test]
#[cfg_attr(not(has_browser), ignore = "Chromium, chromedriver or axe is missing: scripts/test installs them")]
async fn findings_work_without_javascript() {
    let site = with_findings().await;
    let browser = Browser::start_with(&site, false).await;
    browser.sign_in().await;
    create_a_job_and_dismiss_by_mouse(&browser, &site).await;
}

#[tokio::test]
#[cfg_attr(not(has_browser), ignore = "Chromium, chromedriver or axe is missing: scripts/test installs them")]
async fn the_keyboard_alone_creates_a_job_for_two_findings_and_dismisses_one() {
    let site = with_findings().await;
    let browser = Browser::signed_in(&site).await;
    browser.open(&site.page("/findings")).await;
    for path in &PATHS[..2] {
        browser.tab_to(&checkbox(path)).await;
        browser.press(Key::Space).await;
    }
    browser.tab_to(".decide button").await;
    browser.press(Key::Enter).await;
    browser.read("#came-of-it", PATHS[1]).await;
    browser.open(&site.page("/findings")).await;
    browser.tab_to(".acts summary").await;
    browser.press(Key::Enter).await;
    browser.tab_to(".acts input[name=reason]").await.send_keys("Nobody links to it").await.unwrap();
    browser.press(Key::Enter).await;
    browser.read(".well", "Finding dismissed.").await;
}
