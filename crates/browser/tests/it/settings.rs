//! The settings of a project, by clicks, up to its end.

use crate::support::{Browser, Site, installed};

#[tokio::test]
async fn a_repository_and_its_token_are_replaced_and_the_token_is_never_shown() {
    if !installed() {
        return;
    }
    let site = Site::start().await;
    let moved = site.repository.with_file_name("moved.git");
    fakehost::bare_repository(&moved, &[("docs/index.md", "# Moved\n")]);
    let browser = Browser::signed_in(&site).await;
    browser.click(".projects a").await;
    browser.click("nav a[href$='/settings']").await;
    browser.read("label[for=token] .chip", "none kept").await;
    browser.rewrite("#name", "Handbook").await;
    browser.rewrite("#place", moved.to_str().unwrap()).await;
    browser.write("#folder", "docs").await;
    browser.write("#token", "first-token").await;
    browser.click("#repository button[name=test]").await;
    browser.read("#repository .well", "It works: jobs start from main").await;
    assert_eq!(kept(&site).await.0, "Acme Docs", "tested only");

    for token in ["first-token", "second-token"] {
        browser.write("#token", token).await;
        browser.click("#repository button.main").await;
        browser.read("#repository .well", "Saved.").await;
        browser.read("label[for=token] .chip", "kept, encrypted").await;
        let html = browser.ask("return document.documentElement.outerHTML").await;
        assert!(!html.as_str().unwrap().contains(token));
        let expected = ("Handbook".to_owned(), moved.to_str().unwrap().to_owned(), token.to_owned());
        assert_eq!(kept(&site).await, expected);
    }
    let twice = "const send = () => document.querySelector('#repository form').dispatchEvent(
            new Event('submit', { bubbles: true, cancelable: true }));
        return [send(), send()]";
    assert_eq!(browser.ask(twice).await, serde_json::json!([true, false]), "a second click sends nothing");
    browser.transferred().await;
}

/// The project's name, its repository, and the token for that.
async fn kept(site: &Site) -> (String, String, String) {
    let project = site.app.accounts.project(&site.project.id).await.unwrap().unwrap();
    let token = site.app.secrets.secret(&project.id.0, server::HOST_KEY).await.unwrap();
    (project.name, project.repository, String::from_utf8(token.unwrap_or_default().to_vec()).unwrap())
}

#[tokio::test]
async fn models_and_paths_are_chosen_and_a_project_is_deleted_by_its_name() {
    if !installed() {
        return;
    }
    let site = Site::start().await;
    let browser = Browser::signed_in(&site).await;
    browser.open(&site.page("/settings")).await;
    browser.click("#model option[value=large]").await;
    browser.click("input[name=allow_model][value=offline]").await;
    browser.write("#paths", ".github/workflows/*.yml").await;
    browser.click("#jobs button").await;
    browser.read("#jobs .well", "Saved.").await;
    let project = site.app.accounts.project(&site.project.id).await.unwrap().unwrap();
    assert_eq!((project.model.as_str(), project.models), ("large", vec!["offline".to_owned()]));
    assert_eq!(project.allow_paths, [".github/workflows/*.yml"]);

    browser.write("#typed", "acme docs").await;
    browser.click("#danger button.danger").await;
    browser.is_refused(400, "Nothing was deleted").await;
    browser.write("#typed", "Acme Docs").await;
    browser.click("#danger button.danger").await;
    browser.read("main", "No project yet").await;
    browser.open(&site.page("/settings")).await;
    browser.is_refused(404, "No such project").await;
    browser.transferred().await;
}
