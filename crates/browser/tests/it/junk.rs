//! Submits invalid values in every form: each gets a sentence, changes nothing and runs nothing.

use store::{NewInvite, Role};

use crate::support::{Browser, MARKUP, Neighbours, PASSWORD, Site};

const KEY: &str = "form[action$='/keys']";
const REPOSITORY: &str = "#repository form";
const JOBS: &str = "#jobs form";
const READERS: &str = "#readers form";
const FINDINGS: &str = "#findings form";
const PASSWORDS: &str = "form[action='/people/password']";

/// A page, a form, a field, the value that is sent, and a part of the expected sentence.
type Row = (&'static str, &'static str, &'static str, String, &'static str);

fn rows() -> Vec<Row> {
    let long = || "x".repeat(101);
    let bell = || "a\u{7}\nb".to_owned();
    let markup = || MARKUP.to_owned();
    vec![
        ("/keys", KEY, "name", String::new(), "a key needs a name"),
        ("/keys", KEY, "name", long(), "one line of at most 100"),
        ("/keys", KEY, "name", bell(), "one line of at most 100"),
        ("/keys", KEY, "scope", markup(), "scope is read or write"),
        ("/keys", KEY, "expires", markup(), "expiry is 7d"),
        ("/keys", KEY, "until", "yesterday".into(), "expiry is 7d"),
        ("/keys", KEY, "until", "2020-01-01".into(), "in the past"),
        ("/keys", KEY, "allow", markup(), "is neither an address"),
        ("/keys", KEY, "allow", "0.0.0.0/0".into(), "too much of the internet"),
        ("/settings", REPOSITORY, "name", MARKUP.repeat(2), "one line of at most 100"),
        ("/settings", REPOSITORY, "name", bell(), "one line of at most 100"),
        ("/settings", REPOSITORY, "repository", markup(), "Enter a URL such as"),
        (
            "/settings",
            REPOSITORY,
            "repository",
            format!("https://x.example/{}", "x".repeat(9_999)),
            "too long",
        ),
        ("/settings", REPOSITORY, "repository", "https://127.0.0.1:9/a/b".into(), "private network"),
        ("/settings", REPOSITORY, "branch", markup(), "must have no spaces"),
        ("/settings", REPOSITORY, "folder", "../../etc".into(), ".."),
        ("/settings", REPOSITORY, "folder", markup(), "no folder"),
        ("/settings", JOBS, "model", markup(), "no model named"),
        ("/settings", JOBS, "allow_model", markup(), "no model named"),
        ("/settings", JOBS, "allow_paths", format!("../{MARKUP}"), "matches no path"),
        ("/settings", JOBS, "allow_paths", "a\u{7}b".into(), "matches no path"),
        ("/settings", JOBS, "allow_paths", lines(101), "at most 100 lines"),
        ("/settings", READERS, "sites", markup(), "is not the URL of a site"),
        ("/settings", READERS, "sites", lines(101), "at most 100 lines"),
        ("/settings", READERS, "human_reads", markup(), "beacon, server or both"),
        ("/settings", FINDINGS, "min_requests", markup(), "must be a number"),
        ("/settings", FINDINGS, "stale_tiers", markup(), "is not a glob and a number of days"),
        ("/settings", FINDINGS, "stale_tiers", lines(101), "at most 100 lines"),
        ("/settings", "#danger form", "typed", markup(), "Nothing was deleted"),
        ("/jobs", ".ask form", "prompt", " \u{a0}".into(), "prompt"),
        ("/jobs", ".ask form", "prompt", "x".repeat(200_000), "prompt"),
        ("/people", "form[action='/people/invite']", "role", markup(), "owner or member"),
        ("/people", PASSWORDS, "new", "short".into(), "at least 12 characters"),
        ("/people", PASSWORDS, "new", "x".repeat(201), "at most 200 characters"),
        ("/people", PASSWORDS, "current", markup(), "The current password is wrong"),
    ]
}

fn lines(count: usize) -> String {
    (0..count).map(|n| format!("line{n}\n")).collect()
}

#[tokio::test]
#[cfg_attr(not(has_browser), ignore = "Chromium, chromedriver or axe is missing: scripts/test installs them")]
async fn invalid_values_in_every_field_are_refused_and_change_nothing() {
    let site = Site::start().await;
    site.person(&site.organization.id, "ada@acme.dev", Role::Owner).await;
    let browser = Browser::start(&site).await;
    browser.open("/login").await;
    browser.send("main form", &[("name", MARKUP), ("password", MARKUP)]).await;
    browser.is_refused(401, "The email address or the password is wrong").await;
    browser.send("main form", &[("name", "ada@acme.dev"), ("password", PASSWORD)]).await;
    let before = site.state().await;
    for (page, form, field, junk, sentence) in rows() {
        browser.open(&if page == "/people" { page.to_owned() } else { site.page(page) }).await;
        let valid = [("name", "Good"), ("new", PASSWORD)];
        let mut sent: Vec<_> = valid.into_iter().filter(|(name, _)| *name != field).collect();
        sent.push((field, &junk));
        browser.send(form, &sent).await;
        browser.is_refused(400, sentence).await;
        assert_eq!(site.state().await, before, "{form} {field}");
    }
    browser.transferred().await;
}

#[tokio::test]
#[cfg_attr(not(has_browser), ignore = "Chromium, chromedriver or axe is missing: scripts/test installs them")]
async fn invalid_values_sign_nobody_in() {
    let site = Site::start().await;
    let organization = site.organization.id.clone();
    let new = NewInvite { organization, role: Role::Member, creator: "alice@acme.dev".into() };
    let invite = site.app.people.create_invite(&new).await.unwrap();
    let (browser, before) = (Browser::start(&site).await, site.state().await);
    for (name, password, sentence) in [
        (MARKUP, PASSWORD, "an address such as"),
        ("a\u{7}@acme.dev", PASSWORD, "an address such as"),
        (&*"x@".repeat(101), PASSWORD, "an address such as"),
        ("bob@acme.dev", "short", "at least 12 characters"),
        ("bob@acme.dev", &*"x".repeat(201), "at most 200 characters"),
    ] {
        browser.open(&format!("/join?token={}", invite.reveal())).await;
        browser.send("main form", &[("name", name), ("password", password)]).await;
        browser.is_refused(400, sentence).await;
    }
    browser.send("main form", &[("token", MARKUP)]).await;
    browser.is_refused(410, "no longer works").await;
    browser.open(&site.login_link().await).await;
    browser.send("main form", &[("token", MARKUP)]).await;
    browser.is_refused(410, "no longer works").await;
    assert_eq!(site.state().await, before);
}

#[tokio::test]
#[cfg_attr(not(has_browser), ignore = "Chromium, chromedriver or axe is missing: scripts/test installs them")]
async fn no_form_reaches_another_organization() {
    let site = Site::start().await;
    let Neighbours { project, key, person } = site.neighbours().await;
    let (mine, _) = site.key_of(&site.organization.id, None).await;
    let me = site.person(&site.organization.id, "ada@acme.dev", Role::Member).await;
    let browser = Browser::signed_in(&site).await;
    let (own_project, before) = (site.project.id.0.as_str(), site.state().await);
    for (page, form, changes, from, to, what) in [
        ("/keys", KEY, &[("name", "x")][..], own_project, project.as_str(), "project"),
        ("/keys", "form[action$='/revoke']", &[], &mine, &key, "API key"),
        ("/settings", REPOSITORY, &[], own_project, &project, "project"),
        ("/settings", JOBS, &[], own_project, &project, "project"),
        ("/settings", READERS, &[], own_project, &project, "project"),
        ("/settings", FINDINGS, &[], own_project, &project, "project"),
        ("/settings", "#danger form", &[("typed", "Theirs")], own_project, &project, "project"),
        ("/jobs", ".ask form", &[("prompt", "x")], own_project, &project, "project"),
        ("/people", "form[action$='/remove']", &[], &me, &person, "member"),
    ] {
        browser.open(&if page == "/people" { page.to_owned() } else { site.page(page) }).await;
        browser.send_to_other_url(form, changes, (from, to)).await;
        browser.is_refused(404, &format!("No such {what}")).await;
        assert_eq!(site.state().await, before, "{page} {form}");
    }
    browser.open(&site.page("/keys")).await;
    browser.send(KEY, &[("name", "x"), ("only_this_project", "true"), ("also", &project)]).await;
    browser.is_refused(400, "projects of this organization").await;
    assert_eq!(site.state().await, before);
}

#[tokio::test]
#[cfg_attr(not(has_browser), ignore = "Chromium, chromedriver or axe is missing: scripts/test installs them")]
async fn a_form_of_an_earlier_session_is_refused() {
    let site = Site::start().await;
    site.key_of(&site.organization.id, None).await;
    site.person(&site.organization.id, "ada@acme.dev", Role::Member).await;
    let browser = Browser::signed_in(&site).await;
    let token = browser.ask("return document.querySelector('input[name=csrf]').value").await;
    let stale = [("csrf", token.as_str().unwrap())];
    browser.sign_in().await;
    let before = site.state().await;
    for (page, forms) in [
        ("/keys", &[KEY, "form[action$='/revoke']"][..]),
        ("/settings", &[REPOSITORY, JOBS, READERS, FINDINGS, "#danger form"]),
        ("/jobs", &[".ask form"]),
        ("/people", &["form[action='/people/invite']", "form[action$='/remove']", "form.everywhere"]),
        ("/people", &["form.leave"]),
    ] {
        for form in forms {
            browser.open(&if page == "/people" { page.to_owned() } else { site.page(page) }).await;
            browser.send(form, &stale).await;
            browser.is_refused(403, "The form is out of date").await;
            assert_eq!(site.state().await, before, "{form}");
        }
    }
    browser.open("/").await;
    browser.see(".projects").await;
}
