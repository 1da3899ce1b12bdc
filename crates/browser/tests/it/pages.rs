//! Checks every page with axe, checks its size, and takes screenshots.

use crate::support::{Browser, Look, Site};

/// With an empty cache.
const MAX_PAGE_BYTES: u64 = 100 * 1000;

/// The names of the screenshots and the paths of the pages about jobs, with a job in every state. Add a row for a new page.
const JOB_PAGES: &[(&str, &str)] = &[
    ("jobs", "/p/{project}/jobs"),
    ("jobs-none", "/p/{project}/jobs?state=closed&q=nothing"),
    ("job", "/p/{project}/jobs/{changed}"),
    ("job-waiting", "/p/{project}/jobs/{waiting}"),
    ("job-failed", "/p/{project}/jobs/{failed}"),
    ("job-archived", "/p/{project}/jobs/{archived}"),
    ("job-unchanged", "/p/{project}/jobs/{unchanged}"),
    ("findings", "/p/{project}/findings"),
    ("findings-all", "/p/{project}/findings?state=all&kind=not-found"),
    ("findings-none", "/p/{new}/findings?wait=1"),
    ("finding", "/p/{project}/findings/{finding}"),
    ("weekly", "/p/{project}/weekly"),
    ("pulls", "/p/{project}/pulls"),
    ("pulls-none", "/p/{project}/pulls?state=closed"),
    ("pull", "/p/{project}/pulls/1"),
    ("keys", "/p/{project}/keys"),
    ("settings", "/p/{project}/settings"),
];

/// The other pages.
const OTHER_PAGES: &[(&str, &str)] = &[
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
#[cfg_attr(not(has_browser), ignore = "Chromium, chromedriver or axe is missing: scripts/test installs them")]
async fn every_page_about_jobs_is_accessible_and_small() {
    check_pages(JOB_PAGES).await;
}

#[tokio::test]
#[cfg_attr(not(has_browser), ignore = "Chromium, chromedriver or axe is missing: scripts/test installs them")]
async fn every_other_page_is_accessible_and_small() {
    check_pages(OTHER_PAGES).await;
}

async fn check_pages(pages: &[(&str, &str)]) {
    let site = Site::start().await;
    let names = site.fill().await;
    let browser = Browser::signed_in(&site).await;
    let mut problems = Vec::new();
    for (name, path) in pages {
        let path = names.iter().fold((*path).to_owned(), |path, (from, to)| path.replace(from, to));
        problems.extend(find_problems(&browser, name, &path).await);
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[tokio::test]
#[cfg_attr(not(has_browser), ignore = "Chromium, chromedriver or axe is missing: scripts/test installs them")]
async fn every_page_without_a_session_is_accessible_and_small() {
    let site = Site::start().await;
    let browser = Browser::start(&site).await;
    let mut problems = find_problems(&browser, "login-needed", "/").await;
    problems.extend(find_problems(&browser, "login", &site.login_link().await).await);
    problems.extend(find_problems(&browser, "login-over", "/login?token=x").await);
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// The problems of a page, at every screen size and in both color schemes.
async fn find_problems(browser: &Browser<'_>, name: &str, path: &str) -> Vec<String> {
    let mut problems = Vec::new();
    for look in Look::ALL {
        browser.set_look(look).await;
        browser.clear_cache().await;
        browser.open(path).await;
        let bytes = browser.transferred().await;
        if bytes > MAX_PAGE_BYTES {
            problems.push(format!("{name}: {bytes} bytes"));
        }
        let wide = browser.ask("return document.documentElement.scrollWidth > innerWidth").await;
        if wide.as_bool().unwrap() {
            problems.push(format!("{name}, {}: wider than the screen", look.name));
        }
        let found = browser.violations().await;
        problems.extend(found.iter().map(|found| format!("{name}, {}: {found}", look.name)));
        browser.screenshot(name, look).await;
    }
    problems
}
