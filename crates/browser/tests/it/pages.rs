//! Every page there is: what axe says of it, how heavy it is, and what it looks like.

use crate::support::{Browser, Look, Site, installed};

/// Cold: with nothing kept from before.
const HEAVIEST: u64 = 100 * 1000;

/// Pages of a project that has a job in every state, by the name of their pictures. A new page gets a row.
const OF_JOBS: &[(&str, &str)] = &[
    ("jobs", "/p/{project}/jobs"),
    ("jobs-none", "/p/{project}/jobs?state=closed&q=nothing"),
    ("job", "/p/{project}/jobs/{changed}"),
    ("job-waiting", "/p/{project}/jobs/{waiting}"),
    ("job-failed", "/p/{project}/jobs/{failed}"),
    ("job-archived", "/p/{project}/jobs/{archived}"),
    ("job-unchanged", "/p/{project}/jobs/{unchanged}"),
    ("pulls", "/p/{project}/pulls"),
    ("pulls-none", "/p/{project}/pulls?state=closed"),
    ("pull", "/p/{project}/pulls/1"),
    ("keys", "/p/{project}/keys"),
    ("settings", "/p/{project}/settings"),
];

/// The others.
const OF_ALL_ELSE: &[(&str, &str)] = &[
    ("home", "/"),
    ("readers", "/p/{project}/readers?wait=1"),
    ("readers-year", "/p/{project}/readers?range=12m&wait=1"),
    ("readers-pages", "/p/{project}/readers/pages"),
    ("readers-agents", "/p/{project}/readers/agents"),
    ("readers-not-found", "/p/{project}/readers/not-found"),
    ("readers-none", "/p/{new}/readers"),
    ("people", "/people"),
    ("audit", "/audit"),
    ("welcome", "/welcome"),
    ("welcome-repository", "/welcome/repository"),
    ("welcome-model", "/p/{new}/welcome"),
    ("docs", "/docs"),
    ("missing", "/p/nowhere/jobs"),
];

#[tokio::test]
async fn every_page_of_jobs_is_for_everybody_and_light() {
    are_for_everybody(OF_JOBS).await;
}

#[tokio::test]
async fn every_other_page_is_for_everybody_and_light() {
    are_for_everybody(OF_ALL_ELSE).await;
}

async fn are_for_everybody(pages: &[(&str, &str)]) {
    if !installed() {
        return;
    }
    let site = Site::start().await;
    let names = site.fill().await;
    let browser = Browser::signed_in(&site).await;
    let mut wrong = Vec::new();
    for (name, path) in pages {
        let path = names.iter().fold((*path).to_owned(), |path, (from, to)| path.replace(from, to));
        wrong.extend(looked_at(&browser, name, &path).await);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn a_stranger_sees_pages_that_are_for_everybody_too() {
    if !installed() {
        return;
    }
    let site = Site::start().await;
    let browser = Browser::start(&site).await;
    let mut wrong = looked_at(&browser, "login-needed", "/").await;
    wrong.extend(looked_at(&browser, "login", &site.login_link().await).await);
    wrong.extend(looked_at(&browser, "login-over", "/login?token=x").await);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is wrong with the page, however it is looked at.
async fn looked_at(browser: &Browser<'_>, name: &str, path: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for look in Look::ALL {
        browser.look(look).await;
        browser.forget_files().await;
        browser.open(path).await;
        let weight = browser.transferred().await;
        if weight > HEAVIEST {
            wrong.push(format!("{name}: {weight} bytes"));
        }
        let wide = browser.ask("return document.documentElement.scrollWidth > innerWidth").await;
        if wide.as_bool().unwrap() {
            wrong.push(format!("{name}, {}: wider than the screen", look.name));
        }
        let found = browser.violations().await;
        wrong.extend(found.iter().map(|found| format!("{name}, {}: {found}", look.name)));
        browser.screenshot(name, look).await;
    }
    wrong
}
