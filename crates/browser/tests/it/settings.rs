//! Tests the settings of a project by clicks, and its deletion.

use crate::support::{Browser, Site};

#[tokio::test]
#[cfg_attr(not(has_browser), ignore = "Chromium, chromedriver or axe is missing: scripts/test installs them")]
async fn a_repository_and_its_token_are_replaced_and_the_token_is_never_shown() {
    let site = Site::start().await;
    let moved = site.repository.with_file_name("moved.git");
    fakehost::bare_repository(&moved, &[("docs/index.md", "# Moved\n")]);
    let browser = Browser::signed_in(&site).await;
    browser.click(".projects a").await;
    browser.click("nav a[href$='/settings']").await;
    browser.read("label[for=token] .chip", "no token saved").await;
    browser.rewrite("#name", "Handbook").await;
    browser.rewrite("#repository-url", moved.to_str().unwrap()).await;
    browser.write("#folder", "docs").await;
    browser.write("#token", "first-token").await;
    browser.click("#repository button[name=test]").await;
    browser.read("#repository .well", "Jobs start from main").await;
    assert_eq!(saved_repository(&site).await.0, "Acme Docs", "tested only");

    for token in ["first-token", "second-token"] {
        browser.write("#token", token).await;
        browser.click("#repository button.main").await;
        browser.read("#repository .well", "Settings saved.").await;
        browser.read("label[for=token] .chip", "saved, encrypted").await;
        let html = browser.ask("return document.documentElement.outerHTML").await;
        assert!(!html.as_str().unwrap().contains(token));
        let expected = ("Handbook".to_owned(), moved.to_str().unwrap().to_owned(), token.to_owned());
        assert_eq!(saved_repository(&site).await, expected);
    }
    let twice = "const send = () => document.querySelector('#repository form').dispatchEvent(
            new Event('submit', { bubbles: true, cancelable: true }));
        return [send(), send()]";
    assert_eq!(browser.ask(twice).await, serde_json::json!([true, false]), "a second click sends nothing");
    browser.transferred().await;
}

/// The project's name, its repository and its token, as saved.
async fn saved_repository(site: &Site) -> (String, String, String) {
    let project = site.app.accounts.project(&site.project.id).await.unwrap().unwrap();
    let token = site.app.secrets.secret(&project.id.0, server::HOST_KEY).await.unwrap();
    (project.name, project.repository, String::from_utf8(token.unwrap_or_default().to_vec()).unwrap())
}

#[tokio::test]
#[cfg_attr(not(has_browser), ignore = "Chromium, chromedriver or axe is missing: scripts/test installs them")]
async fn models_and_paths_are_chosen_and_a_project_is_deleted_by_its_name() {
    let site = Site::start().await;
    let browser = Browser::signed_in(&site).await;
    browser.open(&site.page("/settings")).await;
    browser.click("#model option[value=large]").await;
    browser.click("input[name=allow_model][value=offline]").await;
    browser.write("#paths", ".github/workflows/*.yml").await;
    browser.click("#jobs button").await;
    browser.read("#jobs .well", "Settings saved.").await;
    let project = site.app.accounts.project(&site.project.id).await.unwrap().unwrap();
    assert_eq!((project.model.as_str(), project.models), ("large", vec!["offline".to_owned()]));
    assert_eq!(project.allow_paths, [".github/workflows/*.yml"]);

    browser.write("#typed", "acme docs").await;
    browser.click("#danger button.danger").await;
    browser.is_refused(400, "Nothing was deleted").await;
    browser.write("#typed", "Acme Docs").await;
    browser.click("#danger button.danger").await;
    browser.read("main", "No projects yet").await;
    browser.open(&site.page("/settings")).await;
    browser.is_refused(404, "No such project").await;
    browser.transferred().await;
}
