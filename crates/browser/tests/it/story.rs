//! Tests the way from a prompt to a merged pull request: by mouse, by keyboard, and without JavaScript.

use thirtyfour::Key;

use crate::support::{Browser, Site, git};

const PROMPT: &str = "Replace \"e-mail\" with \"email\".";

#[tokio::test]
#[cfg_attr(not(has_browser), ignore = "Chromium, chromedriver or axe is missing: scripts/test installs them")]
async fn a_prompt_becomes_a_merged_pull_request_without_a_reload() {
    let site = Site::start().await;
    let browser = Browser::signed_in(&site).await;
    browser.click(".projects a").await;
    browser.write("#prompt", PROMPT).await;
    browser.click(".ask button.main").await;
    browser.read("#pace", "waiting for a worker").await;
    // A reload would lose this variable.
    browser.ask("window.since = 'the beginning'").await;
    browser.write("#follow-up", "typed, not sent").await;
    site.run_queued_jobs().await;
    browser.read("#steps-so-far", "Opening the pull request").await;
    browser.read("main .chip", "review needed").await;
    browser.read("#change", "quickstart.md").await;
    assert_eq!(browser.ask("return window.since").await, "the beginning");
    assert_eq!(browser.ask("return document.querySelector('#follow-up').value").await, "typed, not sent");
    browser.click("#actions a.main").await;
    browser.click(".decide button.main").await;
    browser.read("main .chip", "merged").await;
    assert!(git(&site.repository, &["show", "main:quickstart.md"]).contains("an email"));
    browser.transferred().await;
}

#[tokio::test]
#[cfg_attr(not(has_browser), ignore = "Chromium, chromedriver or axe is missing: scripts/test installs them")]
async fn the_dashboard_works_without_javascript() {
    let site = Site::start().await;
    let browser = Browser::start_with(&site, false).await;
    browser.sign_in().await;
    browser.open(&site.page("/keys")).await;
    assert!(browser.see("button[data-copy]").await.text().await.unwrap().is_empty(), "no script showed it");
    browser.open(&site.page("/jobs")).await;
    browser.write("#prompt", PROMPT).await;
    browser.click(".ask button.main").await;
    browser.read("main .chip", "running").await;
    site.run_queued_jobs().await;
    browser.click("#actions a.main").await;
    browser.click(".decide button.main").await;
    browser.read("main .chip", "merged").await;
    browser.transferred().await;
}

#[tokio::test]
#[cfg_attr(not(has_browser), ignore = "Chromium, chromedriver or axe is missing: scripts/test installs them")]
async fn the_keyboard_alone_creates_a_job() {
    let site = Site::start().await;
    let browser = Browser::signed_in(&site).await;
    browser.tab_to(".projects h2 a").await;
    browser.press(Key::Enter).await;
    browser.see("#prompt").await;
    browser.tab_to("#prompt").await.send_keys(PROMPT).await.unwrap();
    browser.tab_to(".ask button.main").await;
    browser.press(Key::Enter).await;
    browser.read("main .chip", "running").await;
    assert!(browser.path().await.starts_with(&site.page("/jobs/")));
}
