//! Tests the pages of findings: from requests that weren't found to a job, a dismissal and the weekly summary.

use std::time::{Duration, Instant};

use findings::{Day, Evidence, FindingState, Kind};
use jiff::civil::date;
use reqwest::Method;
use serde_json::{Value, json};
use server::{Worker, do_chores};
use store::{Chore, Finding, FindingFilter, FindingUpdate};

use crate::pages::{Browser, hidden};
use crate::support::{Team, TestServer, send};

const DOCS: &[(&str, &str)] = &[("index.md", "# Acme\n"), ("quickstart.md", "# Quickstart\n\nRun it.\n")];
const HOSTILE: &str = "/guides/<b>bold</b>";

/// Sends 12 requests for each of these paths that weren't found, and looks for findings.
async fn with_findings(server: &TestServer, team: &Team, paths: &[&str]) -> Vec<Finding> {
    let request = |path: &str, n: u32| {
        let agent = if n.is_multiple_of(3) {
            "Claude-User/1.0"
        } else {
            "Mozilla/5.0 Chrome/141.0.0.0 Safari/537.36"
        };
        json!({ "path": path, "status": 404, "userAgent": agent, "ip": format!("192.0.2.{n}"),
            "timestamp": format!("2026-11-14T10:00:{n:02}Z"), "referrer": "https://chatgpt.com/" })
    };
    let events: Value = paths.iter().flat_map(|path| (0..12).map(|n| request(path, n))).collect();
    let sent = server.post(&team.key, &format!("/v1/analytics/{}/events", team.project.id), &events).await;
    assert_eq!(sent.status, 202, "{sent}");
    // The first round asks for a scan of the docs.
    for _ in 0..2 {
        server.app.findings.hasten_chores(&team.project.id).await.unwrap();
        do_chores(&server.app).await;
        Worker::new(server.app.clone(), 1).scan_sites().await;
    }
    let filter = FindingFilter { limit: 100, ..FindingFilter::default() };
    let found = server.app.findings.findings(&team.project.id, &filter).await.unwrap().items;
    assert_eq!(found.len(), paths.len(), "{found:?}");
    found
}

#[tokio::test]
async fn findings_become_one_job_per_form() {
    let server = TestServer::start().await;
    let team = server.team("acme", DOCS).await;
    let found = with_findings(&server, &team, &["/Quickstart", "/setup"]).await;
    let browser = Browser::signed_in(&server, &team).await;
    let root = format!("/p/{}", team.project.id);
    let list = browser.get(&format!("{root}/findings")).await.body;
    assert!(list.contains("/Quickstart") && list.contains("/setup") && list.contains("Not found"), "{list}");
    let readers = browser.get(&format!("{root}/readers")).await.body;
    assert!(readers.contains("No readers yet") || readers.contains("Findings: 2 open"), "{readers}");

    let mut form = vec![("once", "one-form")];
    form.extend(found.iter().map(|finding| ("finding", &*finding.id.0)));
    let path = format!("{root}/findings/job");
    let job = browser.post(&path, &form).await;
    assert_eq!(job.status, 303, "{job}");
    let again = browser.post(&path, &form).await;
    assert_eq!(again.header("location"), job.header("location"), "the form was sent twice");
    let page = browser.get(job.header("location")).await.body;
    assert!(page.contains("Findings to fix") && page.contains("Path: /Quickstart"), "{page}");
    form[0] = ("once", "another-form");
    let taken = browser.post(&path, &form).await;
    assert_eq!(taken.status, 409);
    assert!(taken.body.contains("A job fixes these findings already"), "{taken}");
    let list = browser.get(&format!("{root}/findings?state=proposed")).await.body;
    assert!(list.contains("job running") && !list.contains("Create a job for"), "{list}");
    let detail = browser.get(&format!("{root}/findings/{}", found[0].id)).await.body;
    assert!(detail.contains("Job created") && detail.contains(job.header("location")), "{detail}");

    for (form, status, sentence) in [
        (vec![], 400, "Choose at least one finding."),
        (vec![("finding", "nothing")], 404, "No such finding"),
    ] {
        let refused = browser.post(&path, &form).await;
        assert_eq!(refused.status, status);
        assert!(refused.body.contains(sentence), "{refused}");
    }
}

#[tokio::test]
async fn a_finding_shows_its_evidence_and_is_dismissed_with_a_reason() {
    let server = TestServer::start().await;
    let team = server.team("acme", DOCS).await;
    let found = with_findings(&server, &team, &["/Quickstart", HOSTILE]).await;
    let browser = Browser::signed_in(&server, &team).await;
    let root = format!("/p/{}", team.project.id);
    let of = |subject: &str| found.iter().find(|finding| finding.subject == subject).unwrap();
    let finding = format!("{root}/findings/{}", of("/Quickstart").id);
    let page = browser.get(&finding).await.body;
    for text in
        ["/Quickstart", "8 human and 4 AI requests in the last 30 days", "chatgpt.com", "First seen", "open"]
    {
        assert!(page.contains(text), "{text}: {page}");
    }
    assert!(!page.contains("<b>bold"));
    let hostile = browser.get(&format!("{root}/findings/{}", of(HOSTILE).id)).await.body;
    assert!(hostile.contains("&#60;b&#62;bold") && !hostile.contains("<b>bold"), "{hostile}");
    // One click on the finding's page creates the job with the prompt of the page.
    assert!(page.contains("Add redirects for pages that were not found."), "{page}");

    let path = format!("{finding}/dismiss");
    let long = "x".repeat(501);
    for reason in [" ", &long] {
        let refused = browser.post(&path, &[("reason", reason)]).await;
        assert_eq!(refused.status, 400);
        assert!(refused.body.contains("A reason must have 1 to 500 characters"), "{refused}");
    }
    let form = [("reason", "A typo in a <b>talk</b>"), ("list", "kind=not-found&offset=0")];
    let dismissed = browser.post(&path, &form).await;
    let list = dismissed.header("location");
    assert_eq!((dismissed.status, list), (303, &*format!("{root}/findings?kind=not-found&dismissed=1")));
    let list = browser.get(list).await.body;
    assert!(list.contains("Finding dismissed.") && !list.contains("/Quickstart"), "{list}");
    let page = browser.get(&finding).await.body;
    assert!(page.contains("A typo in a &#60;b&#62;talk&#60;/b&#62;") && !page.contains("Dismiss finding"));
    let log = browser.get("/audit").await.body;
    assert!(log.contains("dismissed the finding Docs /Quickstart"), "{log}");
}

#[tokio::test]
async fn the_page_says_why_it_is_empty() {
    let server = TestServer::start().await;
    let team = server.team("acme", DOCS).await;
    let browser = Browser::signed_in(&server, &team).await;
    let path = format!("/p/{}/findings?wait=1", team.project.id);
    let page = browser.get(&path).await.body;
    assert!(
        page.contains("No findings yet") && page.contains("This project has no page views yet"),
        "{page}"
    );
    let views = format!("/v1/analytics/{}/events", team.project.id);
    let view = json!([{ "path": "/quickstart", "userAgent": "Mozilla/5.0 Chrome/141.0.0.0 Safari/537.36" }]);
    assert_eq!(server.post(&team.key, &views, &view).await.status, 202);
    let page = browser.get(&path).await.body;
    assert!(
        page.contains("the script can’t see such requests") && page.contains("docwright import"),
        "{page}"
    );
    with_findings(&server, &team, &["/setup"]).await;
    let page = browser.get(&path).await.body;
    assert!(!page.contains("docwright import"), "{page}");
}

#[tokio::test]
async fn thresholds_are_checked_and_saved() {
    let server = TestServer::start().await;
    let team = server.team("acme", DOCS).await;
    let browser = Browser::signed_in(&server, &team).await;
    let (store, id) = (&server.app.findings, &team.project.id);
    let before = findings::Settings { max_findings: 77, ..findings::Settings::default() };
    store.set_finding_settings(id, &before).await.unwrap();
    let path = format!("/p/{id}/settings/findings");
    let form = |field: &'static str, value: &'static str| {
        let valid = [
            ("min_requests", "9"),
            ("window_days", "60"),
            ("stale_days", "200"),
            ("stale_tiers", "/api/** 90\n/blog posts/* 1000\n"),
            ("stale_min_views", "40"),
            ("shipped_delay_days", "0"),
            ("judge_days", "21"),
            ("reopen_factor", "1.5"),
        ];
        valid.map(|(name, valid)| (name, if name == field { value } else { valid }))
    };
    for (field, value, sentence) in [
        ("min_requests", "", "Requests that make a finding must be a number."),
        ("window_days", "91", "Days that are counted must be a number from 1 to 90."),
        ("judge_days", "-1", "Days until a merge is judged must be a number."),
        ("reopen_factor", "NaN", "Growth that opens a finding again must be a number from 1 to 100."),
        ("stale_tiers", "/api/**", "is not a glob and a number of days"),
        ("stale_tiers", "api/** 5", "must begin with"),
        ("stale_tiers", "/a[ 5", "is invalid"),
    ] {
        let refused = browser.post(&path, &form(field, value)).await;
        assert_eq!(refused.status, 400, "{field}={value}");
        assert!(refused.body.contains(sentence), "{sentence}: {refused}");
        assert_eq!(store.finding_settings(id).await.unwrap(), before);
    }
    assert_eq!(browser.post(&path, &form("", "")).await.status, 303);
    let saved = store.finding_settings(id).await.unwrap();
    assert_eq!((saved.min_requests, saved.judge_days, saved.reopen_factor), (9, 21, 1.5));
    assert_eq!((saved.stale_tiers[1].glob.as_str(), saved.stale_tiers[1].days), ("/blog posts/*", 1_000));
    assert_eq!(saved.max_findings, 77, "the form doesn't have it");
    let page = browser.get(&format!("/p/{id}/settings")).await.body;
    assert!(page.contains("/api/** 90\n/blog posts/* 1000") && page.contains("value=\"1.5\""), "{page}");
    assert!(browser.get("/audit").await.body.contains("changed the settings (findings) of Docs"));
}

#[tokio::test]
async fn the_weekly_summary_compares_with_the_week_before() {
    let server = TestServer::start().await;
    let team = server.team("acme", DOCS).await;
    with_findings(&server, &team, &["/setup"]).await;
    let browser = Browser::signed_in(&server, &team).await;
    let path = format!("/p/{}/weekly", team.project.id);
    // The week of November 15 isn't over, so the page shows the one before.
    let last = browser.get(&path).await.body;
    assert!(last.contains("Nov 2 – Nov 8, 2026") && !last.contains("Next week"), "{last}");
    let page = browser.get(&format!("{path}?week=2026-11-14")).await.body;
    for text in ["Nov 9 – Nov 15, 2026", "8 human, 4 AI", "/setup", "week=2026-11-02"] {
        assert!(page.contains(text), "{text}: {page}");
    }
    for week in ["x", "-009999-01-03", "9999-12-31", "2026-02-30"] {
        let refused = browser.get(&format!("{path}?week={week}")).await;
        assert_eq!(refused.status, 400, "{week}");
        assert!(refused.body.contains("Enter a day of the week"), "{refused}");
    }
    for week in ["2000-01-01", "2099-12-31"] {
        assert_eq!(browser.get(&format!("{path}?week={week}")).await.status, 200, "{week}");
    }
}

#[tokio::test]
async fn findings_of_another_organization_do_not_exist() {
    let server = TestServer::start().await;
    let (mine, theirs) = (server.team("acme", &[]).await, server.team("globex", DOCS).await);
    let found = with_findings(&server, &theirs, &["/setup"]).await;
    let browser = Browser::signed_in(&server, &mine).await;
    let nowhere = browser.get("/p/nowhere/jobs").await;
    let (root, id) = (format!("/p/{}", theirs.project.id), &found[0].id);
    for path in ["/findings", &format!("/findings/{id}"), "/weekly"] {
        let answer = browser.get(&format!("{root}{path}")).await;
        assert_eq!((answer.status, &answer.body), (404, &nowhere.body), "{path}");
    }
    let form = [("finding", &*id.0), ("reason", "x"), ("prompt", "x")];
    for path in ["/findings/job", &format!("/findings/{id}/dismiss"), "/settings/findings"] {
        let answer = browser.post(&format!("{root}{path}"), &form).await;
        assert_eq!((answer.status, &answer.body), (404, &nowhere.body), "{path}");
    }
    // In the address of one's own project, the id of another project is unknown.
    let own = format!("/p/{}/findings", mine.project.id);
    let missing = browser.get(&format!("{own}/nothing")).await;
    let answer = browser.get(&format!("{own}/{id}")).await;
    assert_eq!((answer.status, &answer.body), (404, &missing.body));
    for path in ["/job", &format!("/{id}/dismiss")] {
        assert_eq!(browser.post(&format!("{own}{path}"), &form).await.status, 404, "{path}");
    }
    assert!(server.has_no_jobs(&theirs.project.id).await);
    let unchanged = server.app.findings.finding(&theirs.project.id, id).await.unwrap().unwrap();
    assert_eq!(unchanged.lifecycle, found[0].lifecycle);
}

fn update(n: u32) -> FindingUpdate {
    let (day, path) = (date(2026, 11, 14), format!("/guides/page-{n}/install"));
    let mut evidence = Evidence::default();
    evidence.add(&path, &[Day { day, human: n.into(), ai: 3 }], &[("https://chatgpt.com/".into(), 3)]);
    FindingUpdate {
        kind: Kind::ALL[n as usize % Kind::ALL.len()],
        key: path.clone(),
        subject: path,
        target: Some("/guides/install".into()),
        lifecycle: FindingState::open(day),
        score: n.into(),
        human: n.into(),
        ai: 3,
        evidence,
        version: 0,
        drops_job: false,
    }
}

/// Stores open findings, `count` in all, of each kind in turn.
async fn save_findings(server: &TestServer, team: &Team, count: u32) {
    let id = &team.project.id;
    server.app.findings.hasten_chores(id).await.unwrap();
    let lease = server.app.findings.next_chore(Chore::RefreshFindings).await.unwrap().unwrap();
    let updates: Vec<_> = (0..count).map(update).collect();
    assert!(server.app.findings.save_findings(&lease, &updates).await.unwrap());
}

#[tokio::test]
async fn one_button_fixes_all_findings_that_are_shown() {
    let server = TestServer::start().await;
    let team = server.team("acme", DOCS).await;
    save_findings(&server, &team, 48).await;
    let browser = Browser::signed_in(&server, &team).await;
    let root = format!("/p/{}", team.project.id);
    let list = browser.get(&format!("{root}/findings?kind=not-found")).await.body;
    assert!(list.contains("Create a job for all 12 shown") && list.contains("Human requests"), "{list}");
    let (_, shown) = list.split_once("name=\"shown\" value=\"").unwrap();
    let shown = shown.split_once('"').unwrap().0.to_owned();
    let form = [("once", "all"), ("shown", shown.as_str())];
    let job = browser.post(&format!("{root}/findings/job"), &form).await;
    assert_eq!(job.status, 303, "{job}");
    // A long list and a long quotation are folded.
    let page = browser.get(job.header("location")).await.body;
    assert!(page.contains("<summary>Show all 12 findings</summary>"), "{page}");
    assert!(page.contains("Quotation: Findings") && page.contains("<details><summary>Show all "), "{page}");

    let too_many = (0..101).map(|n| format!("fnd_{n}")).collect::<Vec<_>>().join(" ");
    let form = [("once", "more"), ("shown", too_many.as_str())];
    assert_eq!(browser.post(&format!("{root}/findings/job"), &form).await.status, 404, "unknown ids");
}

#[tokio::test]
async fn stale_pages_have_no_button_without_a_model() {
    let server = TestServer::start().await;
    let team = server.team("acme", DOCS).await;
    save_findings(&server, &team, 4).await;
    let browser = Browser::signed_in(&server, &team).await;
    let path = format!("/p/{}/findings", team.project.id);
    let list = browser.get(&format!("{path}?kind=stale")).await.body;
    assert!(list.contains("Human views") && list.contains("choose a model in the settings"), "{list}");
    assert!(!list.contains("Create a job") && !list.contains("name=\"finding\""), "{list}");
    let dead = browser.get(&format!("{path}?kind=dead-link")).await.body;
    assert!(dead.contains("AI views") && dead.contains("Create a job for"), "{dead}");
    assert!(!dead.contains("choose a model"), "{dead}");
}

#[tokio::test]
async fn a_list_of_ten_thousand_findings_is_paged_and_fast() {
    let server = TestServer::start().await;
    let team = server.team("acme", DOCS).await;
    let id = &team.project.id;
    save_findings(&server, &team, 10_000).await;
    let browser = Browser::signed_in(&server, &team).await;
    let path = format!("/p/{id}/findings");
    let page = browser.get(&format!("{path}?kind=not-found&offset=2450")).await.body;
    assert_eq!(page.matches("name=\"finding\"").count(), 50, "{page}");
    assert!(page.contains("Previous") && !page.contains("Next →"));
    assert!(page.contains("/guides/page-0/install") && page.contains("open 2,500"), "{page}");
    let page = browser.get(&path).await.body;
    assert_eq!(page.matches("name=\"finding\"").count(), 30, "ten of each kind that needs no model");
    assert!(page.len() < 100_000, "{}", page.len());
    assert!(!hidden(&page, "once").is_empty());
    let mut times = Vec::new();
    for query in ["", "?kind=not-found", "?state=all&kind=stale&sort=ai&offset=1000"] {
        let start = Instant::now();
        let get = server.request(Method::GET, &format!("{path}{query}")).header("cookie", browser.cookie());
        assert_eq!(send(get).await.status, 200);
        times.push(start.elapsed());
    }
    println!("{times:?}");
    // Far above what a release build takes, so that a busy machine passes.
    assert!(times.iter().all(|time| *time < Duration::from_secs(2)), "{times:?}");
}
