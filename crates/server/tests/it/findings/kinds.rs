//! What becomes a finding, and what doesn't.

use serde_json::json;
use store::{Chore, JobId};

use super::fixture::{Class, DocsSite};

#[tokio::test]
async fn scanners_are_not_readers() {
    let docs = DocsSite::start().await;
    for path in ["/wp-login.php", "/.env", "/.git/config", "/phpmyadmin", "/backup.zip", "/a8f3kd92kfj38fhq1"]
    {
        docs.request(path, 404, Class::Human, 50).await;
    }
    docs.refresh().await;
    assert_eq!(docs.list("").await["findings"], json!([]));
    docs.request("/setup", 404, Class::Human, 4).await;
    docs.refresh().await;
    assert_eq!(docs.subjects("").await, "", "four requests are not enough");
    docs.request("/setup", 404, Class::Human, 1).await;
    docs.refresh().await;
    assert_eq!(docs.subjects("").await, "/setup");
}

/// The site is served below `/docs`, and the scan knows the paths in the repository.
#[tokio::test]
async fn paths_below_the_prefix_of_the_site_mean_its_pages() {
    let docs = DocsSite::start().await;
    let page = |path: &str, file: &str| json!({ "path": path, "file": file, "title": "Install Acme" });
    docs.scan(json!({
        "pages": [page("/", "index.md"), page("/guide/install", "guide/install.md"), page("/new", "new.md")],
        "redirects": [["/broken", "/nowhere"]],
        "renames": [["2026-11-01", "/old", "/new"]],
        "dead_links": [["/guide/install", "/gone"]],
    }))
    .await;
    docs.request("/docs/guide/install", 200, Class::Human, 30).await;
    docs.request("/docs", 200, Class::Human, 30).await;
    docs.request("/docs/guide/Install.html", 404, Class::Human, 5).await;
    docs.request("/docs/broken", 301, Class::Human, 7).await;
    docs.refresh().await;
    assert_eq!(docs.finding("/docs/guide/Install.html").await["target"], "/docs/guide/install");
    assert_eq!(docs.finding("/docs/old").await["target"], "/docs/new");
    assert_eq!(docs.finding("/docs/gone").await["evidence"]["pages"], json!(["/docs/guide/install"]));
    // The job learns where readers reach the pages.
    let path = format!("/{}/job", docs.id("/docs/old").await);
    let job = docs.post(&path, &json!({})).await.json();
    let id = JobId(job["id"].as_str().unwrap().to_owned());
    let job = docs.server.app.jobs.find(&docs.team.project.id, &id).await.unwrap().unwrap();
    let quoted = &job.context[0].text;
    assert!(quoted.starts_with("Served at: /docs/\n\nPath: /docs/old\n"), "{quoted}");
}

/// A person fixed it without a job. Without a scan, nobody knows whether the link is gone.
#[tokio::test]
async fn a_dead_link_is_resolved_once_a_scan_shows_that_it_is_gone() {
    let docs = DocsSite::start().await;
    let pages = json!([{ "path": "/new", "file": "new.md" }]);
    docs.request("/new", 200, Class::Human, 30).await;
    docs.scan(json!({ "version": 1, "pages": pages, "dead_links": [["/new", "/gone"]] })).await;
    docs.refresh().await;
    assert_eq!(docs.finding("/gone").await["state"], "open");
    docs.scan(json!({ "version": 0, "pages": pages })).await;
    docs.refresh().await;
    assert_eq!(docs.finding("/gone").await["state"], "open", "a scan of another version");
    docs.scan(json!({ "version": 1, "pages": pages })).await;
    docs.refresh().await;
    let resolved = (json!("resolved"), json!("No page of the docs links to it any more"));
    let gone = docs.finding("/gone").await;
    assert_eq!((&gone["state"], &gone["note"]), (&resolved.0, &resolved.1), "{gone}");
    docs.scan(json!({ "version": 1, "pages": pages, "dead_links": [["/new", "/gone"]] })).await;
    docs.refresh().await;
    assert_eq!(docs.finding("/gone").await["state"], "open", "the link is back");
}

/// A page that was renamed is one finding, also when readers ask for its old path.
#[tokio::test]
async fn a_moved_page_is_not_found_twice() {
    let docs = DocsSite::start().await;
    let scan = json!({
        "pages": [{ "path": "/new", "file": "new.md" }],
        "renames": [["2026-11-01", "/old-guide", "/new"]],
    });
    docs.scan(scan).await;
    docs.request("/new", 200, Class::Human, 1).await;
    docs.refresh().await;
    assert_eq!(docs.subjects("?kind=moved").await, "/old-guide");
    docs.request("/old-guide", 404, Class::Human, 9).await;
    docs.refresh().await;
    let moved = docs.finding("/old-guide").await;
    assert_eq!((&moved["kind"], &moved["human"]), (&json!("moved"), &json!(9)));
    assert_eq!(docs.subjects("").await, "/old-guide");
}

/// The same when readers asked for the old path before the docs were scanned.
#[tokio::test]
async fn a_path_that_was_not_found_is_not_moved_as_well() {
    let docs = DocsSite::start().await;
    docs.request("/old-guide", 404, Class::Human, 9).await;
    docs.refresh().await;
    docs.scan(json!({
        "pages": [{ "path": "/new", "file": "new.md" }],
        "renames": [["2026-11-01", "/old-guide", "/new"]],
    }))
    .await;
    docs.refresh().await;
    assert_eq!(docs.subjects("").await, "/old-guide");
    let found = docs.finding("/old-guide").await;
    assert_eq!((&found["kind"], &found["candidates"][0]["path"]), (&json!("not-found"), &json!("/new")));
}

/// A server that took the chore and was stopped for too long writes nothing.
#[tokio::test]
async fn a_server_that_lost_the_chore_changes_nothing() {
    let docs = DocsSite::start().await;
    let app = &docs.server.app;
    docs.request("/setup", 404, Class::Human, 9).await;
    app.findings.hasten_chores(&docs.team.project.id).await.unwrap();
    let slow = app.findings.next_chore(Chore::RefreshFindings).await.unwrap();
    docs.refresh().await;
    let before = docs.get("").await.body;
    assert!(before.contains("/setup"), "{before}");
    if let Some(slow) = slow {
        assert!(!app.findings.save_findings(&slow, &[]).await.unwrap());
        assert!(!app.findings.finish_chore(&slow, std::time::Duration::ZERO).await.unwrap());
    }
    docs.refresh().await;
    assert_eq!(docs.get("").await.body, before, "another refresh changes nothing");
}

/// Hundreds of findings are stored in several transactions. A kill between them loses and doubles nothing.
#[tokio::test]
async fn many_findings_survive_kills() {
    let docs = DocsSite::start().await.with_kills();
    for number in 0..450 {
        docs.request(&format!("/guide/page-{number}"), 404, Class::Human, 5).await;
    }
    docs.refresh().await;
    let list = docs.list("?limit=100&offset=400").await;
    assert_eq!((list["findings"].as_array().unwrap().len(), &list["hasMore"]), (50, &json!(false)));
    assert_eq!(list["counts"], json!([{ "kind": "not-found", "state": "open", "count": 450 }]));
    assert!(list["findings"].as_array().unwrap().iter().all(|finding| finding["human"] == 5));
}
