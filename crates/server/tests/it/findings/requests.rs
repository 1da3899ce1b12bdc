//! The API of findings: lists, jobs for one and for many, and dismissals.

use reqwest::Method;
use serde_json::{Value, json};
use store::{PullState, Scope};

use super::fixture::{Class, DocsSite, PROMPT};
use crate::support::{Answer, send};

/// Findings of every kind. `/setup` hurts humans, `/start` AI readers.
async fn every_kind() -> DocsSite {
    let docs = DocsSite::start().await;
    docs.request("/setup", 404, Class::Human, 9).await;
    docs.request("/start", 404, Class::Ai, 6).await;
    docs.request("/guide", 200, Class::Human, 60).await;
    docs.request("/new", 200, Class::Human, 70).await;
    docs.request("/old", 404, Class::Human, 1).await;
    docs.scan(json!({
        "pages": [
            { "path": "/", "file": "index.md", "changed_on": "2026-11-01" },
            { "path": "/guide", "file": "guide.md", "changed_on": "2024-01-31" },
            { "path": "/new", "file": "new.md", "changed_on": "2026-11-01" },
        ],
        "renames": [["2026-11-01", "/old", "/new"]],
        "dead_links": [["/new", "/gone"]],
    }))
    .await;
    docs.refresh().await;
    docs
}

#[track_caller]
fn check_error(answer: &Answer, expected: &str, sentence: &str) {
    assert_eq!(format!("{} {}", answer.status, answer.header("x-error-code")), expected, "{answer}");
    assert!(answer.json()["error"].as_str().unwrap().contains(sentence), "{answer}");
}

#[tokio::test]
async fn findings_are_filtered_sorted_and_listed_in_pages() {
    let docs = every_kind().await;
    assert_eq!(docs.subjects("?sort=total").await, "/gone /guide /setup /start /old");
    assert_eq!(docs.subjects("").await, "/setup /start /gone /guide /old");
    for (kind, subject) in
        [("not-found", "/setup /start"), ("moved", "/old"), ("dead-link", "/gone"), ("stale", "/guide")]
    {
        assert_eq!(docs.subjects(&format!("?kind={kind}")).await, subject, "{kind}");
    }
    assert_eq!(docs.subjects("?class=ai").await, "/start");
    assert_eq!(docs.subjects("?kind=not-found&class=human").await, "/setup");
    assert_eq!(docs.subjects("?kind=not-found&sort=ai").await, "/start /setup");
    let dismissed =
        docs.post(&format!("/{}/dismiss", docs.id("/old").await), &json!({ "reason": "No." })).await;
    assert_eq!(dismissed.status, 200, "{dismissed}");
    assert_eq!(docs.subjects("?state=dismissed").await, "/old");
    assert_eq!(docs.subjects("?state=open&kind=moved").await, "");

    let first = docs.get("?sort=total&limit=2").await;
    assert_eq!(first.json()["hasMore"], true);
    let count = |kind: &str, state: &str| json!({ "kind": kind, "state": state, "count": 1 });
    let mut counts = vec![
        count("dead-link", "open"),
        count("moved", "dismissed"),
        count("not-found", "open"),
        count("stale", "open"),
    ];
    counts[2]["count"] = json!(2);
    assert_eq!(first.json()["counts"], json!(counts), "whatever the filter is");
    let next = first.header("link").split('>').next().unwrap().trim_start_matches('<').to_owned();
    let second = docs.server.get(&docs.team.key, &next).await.json();
    let subjects: Vec<_> =
        second["findings"].as_array().unwrap().iter().map(|finding| &finding["subject"]).collect();
    assert_eq!(subjects, ["/setup", "/start"], "{next}");
    let last = docs.list("?limit=2&offset=4").await;
    assert_eq!((&last["hasMore"], last["findings"].as_array().unwrap().len()), (&json!(false), 1));
    for (query, problem) in [
        ("limit=101", "limit must be between 1 and 100, got 101"),
        ("kind=slow", "kind must be one of not-found, moved, dead-link, stale"),
        (
            "state=new",
            "state must be one of open, proposed, in-review, shipped, resolved, persists, dismissed",
        ),
        ("class=bot", "class must be one of human, ai"),
        ("sort=path", "sort must be one of score, human, ai, total, newest"),
    ] {
        check_error(&docs.get(&format!("?{query}")).await, "400 invalid_query", problem);
    }
}

#[tokio::test]
async fn the_details_name_the_page_and_the_candidates() {
    let docs = every_kind().await;
    let moved = docs.finding("/old").await;
    assert_eq!((&moved["target"], &moved["candidates"][0]["path"]), (&json!("/new"), &json!("/new")));
    let dead = docs.finding("/gone").await;
    assert_eq!((&dead["evidence"]["pages"], &dead["human"]), (&json!(["/new"]), &json!(70)));
    let stale = docs.finding("/guide").await;
    assert_eq!((&stale["candidates"], &stale["human"]), (&json!([]), &json!(60)));
    let list = docs.list("").await;
    let lean =
        |finding: &Value| ["evidence", "candidates", "effect"].iter().all(|key| finding.get(key).is_none());
    assert!(list["findings"].as_array().unwrap().iter().all(lean), "{list}");
}

#[tokio::test]
async fn one_job_fixes_several_findings() {
    let docs = every_kind().await;
    let ids = json!([docs.id("/setup").await, docs.id("/start").await]);
    let body = json!({ "findings": ids, "prompt": PROMPT });
    let create = async |body: &Value| {
        let request = docs.server.request(Method::POST, &docs.path("/job")).bearer_auth(&docs.team.key);
        send(request.header("idempotency-key", "k1").json(body)).await
    };
    let job = create(&body).await;
    assert_eq!(job.status, 201, "{job}");
    for subject in ["/setup", "/start"] {
        let finding = docs.finding(subject).await;
        assert_eq!((&finding["state"], &finding["job"]["id"]), (&json!("proposed"), &job.json()["id"]));
    }
    let again = create(&body).await;
    assert_eq!((again.status, &again.body, again.header("idempotent-replay")), (201, &job.body, "true"));
    check_error(&create(&json!({ "findings": ids })).await, "422 idempotency_key_reused", "");
    let sentence = "a job fixes these findings already";
    check_error(&docs.post("/job", &body).await, "409 conflict", sentence);
    check_error(
        &docs.post(&format!("/{}/job", ids[0].as_str().unwrap()), &json!({})).await,
        "409 conflict",
        sentence,
    );

    // The next job takes only those that wait.
    let more = json!({ "findings": [ids[0], docs.id("/old").await], "prompt": "Fix common misspellings" });
    let second = docs.post("/job", &more).await;
    assert_eq!(second.status, 201, "{second}");
    assert_eq!(docs.finding("/setup").await["job"]["id"], job.json()["id"]);
    assert_eq!(docs.finding("/old").await["job"]["id"], second.json()["id"]);
    docs.server.run_queued_jobs().await;
    docs.refresh().await;
    assert_eq!(docs.subjects("?state=in-review").await, "/setup /start");
    assert_eq!(docs.subjects("?state=open").await, "/gone /guide /old", "the second job changed nothing");
}

#[tokio::test]
async fn findings_that_no_job_can_fix_together_are_refused() {
    let docs = every_kind().await;
    let id = async |subject: &str| docs.id(subject).await;
    let post = async |ids: Vec<String>| docs.post("/job", &json!({ "findings": ids })).await;
    let invalid = "400 invalid_findings";
    check_error(&post(vec![]).await, invalid, "choose at least one finding");
    check_error(&docs.post("/job", &json!({})).await, invalid, "choose at least one finding");
    let mixed = vec![id("/setup").await, id("/gone").await];
    check_error(
        &post(mixed).await,
        invalid,
        "one job can fix paths that are not found or moved, or dead links",
    );
    check_error(
        &post(vec![id("/guide").await]).await,
        invalid,
        "the built-in editor can't update stale pages",
    );
    let unknown = docs.post("/job", &json!({ "findings": [id("/setup").await, "fnd_nothing"] })).await;
    check_error(&unknown, "404 no_such_finding", "no such finding");
    let one = format!("/{}/job", id("/guide").await);
    check_error(&docs.post(&one, &json!({ "model": "fast" })).await, "400 invalid_model", "offline");
    check_error(&docs.post(&one, &json!({ "prompt": " " })).await, "400 invalid_prompt", "");
    assert_eq!(docs.subjects("?state=open").await.split(' ').count(), 5, "nothing changed");
    assert!(docs.server.has_no_jobs(&docs.team.project.id).await);
    // A person's own prompt makes any kind possible.
    assert_eq!(docs.post(&one, &json!({ "prompt": PROMPT })).await.status, 201);
}

/// Requests that arrive together share a transaction, which inserts its jobs last.
#[tokio::test]
async fn many_requests_for_overlapping_findings_create_one_job() {
    let docs = every_kind().await;
    let (setup, start) = (docs.id("/setup").await, docs.id("/start").await);
    let bodies = [[&setup, &start], [&start, &setup]].map(|ids| json!({ "findings": ids, "prompt": PROMPT }));
    let post = |n: usize| docs.post("/job", &bodies[n % 2]);
    let answers = tokio::join!(post(0), post(1), post(2), post(3), post(4), post(5), post(6), post(7));
    let (a, b, c, d, e, f, g, h) = answers;
    let mut statuses = [a, b, c, d, e, f, g, h].map(|answer| answer.status);
    statuses.sort_unstable();
    assert_eq!((statuses[0], statuses[1..].iter().all(|status| *status == 409)), (201, true), "{statuses:?}");
}

#[tokio::test]
async fn a_person_dismisses_a_finding() {
    let docs = every_kind().await;
    let path = format!("/{}/dismiss", docs.id("/setup").await);
    let blank = "reason must have 1 to 500 characters";
    check_error(&docs.post(&path, &json!({ "reason": " \n" })).await, "400 invalid_reason", blank);
    check_error(&docs.post(&path, &json!({ "reason": "x".repeat(501) })).await, "400 invalid_reason", blank);
    check_error(&docs.post(&path, &json!({})).await, "400 invalid_body", "reason");
    let reader = docs.server.key(&docs.team.organization, |new| new.scope = Scope::Read).await;
    let refused = docs.server.post(&reader, &docs.path(&path), &json!({ "reason": "Old" })).await;
    check_error(&refused, "403 scope_too_small", "");
    let dismissed = docs.post(&path, &json!({ "reason": " An old product " })).await;
    assert_eq!(
        (&dismissed.json()["state"], &dismissed.json()["note"]),
        (&json!("dismissed"), &json!("An old product"))
    );
    docs.post(&path, &json!({ "reason": "Another reason" })).await;
    assert_eq!(docs.state("/setup").await, ("dismissed".into(), json!("An old product")));
    let audit = docs.server.app.people.audit_log(&docs.team.organization.id, None, 100).await.unwrap();
    let entries: Vec<_> = audit.iter().filter(|entry| entry.what == "dismissed the finding").collect();
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0].about, "Docs /setup");

    // It comes back when twice as many readers miss it: 9 in a week are 39 in 30 days.
    docs.request("/setup", 404, Class::Human, 68).await;
    docs.refresh().await;
    assert_eq!(docs.state("/setup").await.0, "dismissed");
    docs.request("/setup", 404, Class::Human, 1).await;
    docs.refresh().await;
    assert_eq!(docs.state("/setup").await, ("open".into(), Value::Null));
}

#[tokio::test]
async fn merges_and_weeks_are_reported() {
    let docs = DocsSite::start().await;
    docs.set(json!({ "judgeDays": 3 })).await;
    for _ in 0..7 {
        docs.request("/setup", 404, Class::Human, 4).await;
        docs.request("/guide", 200, Class::Human, 10).await;
        docs.request("/", 200, Class::Human, 30).await;
        docs.advance_days(1);
    }
    docs.refresh().await; // Sunday, 2026-11-22
    let link = docs.propose("/setup").await;
    docs.end_pull(&link, PullState::Merged).await;
    let other_link = docs.propose_change().await;
    docs.end_pull(&other_link, PullState::Merged).await;
    let analytics = format!("/v1/analytics/{}", docs.team.project.id);
    let get = async |path: &str| {
        let answer = docs.server.get(&docs.team.key, &format!("{analytics}/{path}")).await;
        assert_eq!(answer.status, 200, "{path}: {answer}");
        answer.json()
    };
    let merge_of = |merges: &Value, link: &str| {
        let merges = merges["merges"].as_array().unwrap();
        merges.iter().find(|merge| merge["prLink"] == link).unwrap().clone()
    };
    let merge = merge_of(&get("effect").await, &link);
    assert_eq!(merge["effect"], Value::Null, "no day has passed");
    assert_eq!(merge["findings"], json!([docs.id("/setup").await]));
    for _ in 0..4 {
        docs.advance_days(1);
        docs.request("/guide", 200, Class::Human, 20).await;
        docs.request("/", 200, Class::Human, 30).await;
    }
    let answer = docs.server.get(&docs.team.key, &format!("{analytics}/effect")).await;
    assert!(!answer.header("ratelimit").is_empty(), "it counts as a read");
    let merges = get("effect?dateFrom=2026-11-22&dateTo=2026-11-23").await;
    let effect = &merge_of(&merges, &link)["effect"];
    assert_eq!((&effect["days"], &merges["hasMore"]), (&json!(3), &json!(false)));
    assert_eq!(effect["paths"], json!(["/setup"]), "the paths of the findings");
    let missed = &effect["total"]["notFound"];
    assert_eq!((&missed["before"], &missed["after"]), (&json!(12), &json!(0)));
    let effect = &merge_of(&merges, &other_link)["effect"];
    assert_eq!(effect["paths"], json!(["/", "/guide"]), "the pages of the change");
    let views = &effect["total"]["views"];
    assert_eq!((&views["before"], &views["after"]), (&json!(120), &json!(150)));
    assert_eq!(get("effect?dateFrom=2026-11-23").await["merges"], json!([]));

    let week = get("weekly?week=2026-11-18").await;
    assert_eq!(week["week"], json!({ "first": "2026-11-16", "last": "2026-11-22" }));
    assert_eq!(week["views"], json!({ "human": 240, "ai": 0, "total": 240, "totalBefore": 40 }));
    assert_eq!(week["notFound"], json!({ "human": 24, "ai": 0, "total": 24, "totalBefore": 4 }));
    let subjects = |list: &Value| {
        list.as_array().unwrap().iter().map(|found| found["subject"].clone()).collect::<Vec<_>>()
    };
    assert_eq!((subjects(&week["new"]), &week["resolved"]), (vec![json!("/setup")], &json!([])));
    assert_eq!((&week["newTotal"], &week["resolvedTotal"]), (&json!(1), &json!(0)));
    assert_eq!(week["merges"].as_array().unwrap().len(), 2);
    docs.advance_days(3);
    docs.refresh().await;
    assert_eq!(docs.state("/setup").await.0, "resolved");
    let week = get(&format!("weekly?week={}", docs.today())).await;
    assert_eq!((subjects(&week["resolved"]), &week["open"]), (vec![json!("/setup")], &json!(0)));
    let refused = docs.server.get(&docs.team.key, &format!("{analytics}/weekly?week=soon")).await;
    check_error(&refused, "400 invalid_query", "week must be a day of the week, as YYYY-MM-DD");
    // The last days of the calendar are no timestamps.
    for day in ["9999-12-31", "0001-01-01"] {
        let week = get(&format!("weekly?week={day}")).await;
        assert_eq!((&week["views"]["total"], &week["new"]), (&json!(0), &json!([])), "{day}");
    }
}
