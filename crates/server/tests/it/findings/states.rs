//! Findings from open to resolved, and the effect of their merges.

use serde_json::{Value, json};
use store::PullState;

use super::fixture::{Class, DocsSite};
use crate::postgres::on_postgres;

/// Days of requests before the merge, and the days until a finding is judged.
const DAYS: i64 = 14;

/// Two weeks in which readers miss `/setup`, which some spell `/Setup`, and read the home page.
async fn miss_a_page(docs: &DocsSite) {
    for _ in 0..DAYS {
        docs.request("/setup", 404, Class::Human, 2).await;
        docs.request("/setup", 404, Class::Ai, 1).await;
        docs.request("/Setup", 404, Class::Human, 1).await;
        docs.request("/", 200, Class::Human, 20).await;
        docs.advance_days(1);
    }
}

/// Days in which `/setup` gets this answer, until the finding is judged.
async fn wait_for_the_judgment(docs: &DocsSite, status: u16) {
    for _ in 0..=DAYS {
        docs.advance_days(1);
        docs.request("/setup", status, Class::Human, 2).await;
        docs.request("/setup", status, Class::Ai, 1).await;
        docs.request("/", 200, Class::Human, 18).await;
    }
}

/// Checks that the effect's not-found requests and views equal what was sent.
#[track_caller]
fn check_recount(docs: &DocsSite, effect: &Value) {
    let subjects: Vec<_> =
        effect["paths"].as_array().unwrap().iter().map(|path| path.as_str().unwrap()).collect();
    let is_subject = |path: &str| subjects.contains(&path);
    for (name, class) in [("human", Class::Human), ("ai", Class::Ai)] {
        for (period, site) in [("before", "siteBefore"), ("after", "siteAfter")] {
            let days = (&effect[period]["first"], &effect[period]["last"]);
            let count = |is_counted: &dyn Fn(u16, &str) -> bool| json!(docs.recount(days, class, is_counted));
            let (not_found, views) = (&effect[name]["notFound"], &effect[name]["views"]);
            assert_eq!(
                not_found[period],
                count(&|status, path| status == 404 && is_subject(path)),
                "{name} {period}"
            );
            assert_eq!(not_found[site], count(&|status, _| [200, 404].contains(&status)), "{name} {site}");
            assert_eq!(
                views[period],
                count(&|status, path| status == 200 && is_subject(path)),
                "{name} {period}"
            );
            assert_eq!(views[site], count(&|status, _| status == 200), "{name} {site}");
        }
        for measure in ["notFound", "views"] {
            let sum = |key: &str| {
                let of = |class: &str| effect[class][measure][key].as_u64().unwrap();
                assert_eq!(of("human") + of("ai"), of("total"), "{measure} {key}");
            };
            ["before", "after", "siteBefore", "siteAfter"].into_iter().for_each(sum);
        }
    }
}

async fn a_finding_is_resolved(docs: DocsSite) {
    miss_a_page(&docs).await;
    docs.refresh().await;
    let open = docs.finding("/setup").await;
    assert_eq!(
        (&open["kind"], &open["state"], &open["note"]),
        (&json!("not-found"), &json!("open"), &Value::Null)
    );
    assert_eq!((&open["human"], &open["ai"], &open["total"]), (&json!(42), &json!(14), &json!(56)));
    assert_eq!((&open["firstSeen"], &open["lastSeen"]), (&json!("2026-11-15"), &json!("2026-11-28")));
    assert_eq!(open["evidence"]["days"].as_array().unwrap().len(), 14);
    let paths =
        json!([{ "path": "/setup", "human": 28, "ai": 14 }, { "path": "/Setup", "human": 14, "ai": 0 }]);
    assert_eq!(open["evidence"]["paths"], paths, "one finding for both spellings");
    assert!(open.get("effect").is_none(), "{open}");

    let link = docs.propose("/setup").await;
    assert_eq!(docs.state("/setup").await.0, "proposed", "until the next refresh");
    docs.refresh().await;
    let in_review = docs.finding("/setup").await;
    assert_eq!((&in_review["state"], &in_review["job"]["prLink"]), (&json!("in-review"), &json!(link)));
    docs.advance_days(1);
    docs.end_pull(&link, PullState::Merged).await;
    docs.refresh().await;
    assert_eq!(docs.state("/setup").await, ("in-review".into(), Value::Null), "not seen live yet");
    docs.request("/setup", 301, Class::Human, 1).await;
    docs.refresh().await;
    let shipped = docs.finding("/setup").await;
    let day = docs.today().to_string();
    assert_eq!((&shipped["state"], &shipped["note"]), (&json!("shipped"), &Value::Null), "{shipped}");
    assert_eq!((&shipped["mergedOn"], &shipped["shippedOn"]), (&json!(day), &json!(day)));

    wait_for_the_judgment(&docs, 308).await;
    docs.refresh().await;
    let resolved = docs.finding("/setup").await;
    assert_eq!((&resolved["state"], &resolved["note"]), (&json!("resolved"), &Value::Null), "{resolved}");
    let effect = &resolved["effect"];
    assert_eq!((&effect["days"], &effect["paths"]), (&json!(14), &json!(["/Setup", "/setup"])));
    check_recount(&docs, effect);
    let total = &effect["total"]["notFound"];
    // The day between the last request and the merge is one of the 14 days before.
    assert_eq!(
        (&total["before"], &total["after"], &total["verdict"]),
        (&json!(52), &json!(0), &json!("better"))
    );
    assert_eq!(effect["summary"], json!(["Not-found requests for these 2 paths: 52 → 0. Site-wide: −19%."]));
    assert!(total["ratioHigh"].as_f64().unwrap() < 1.0, "{total}");
}

#[tokio::test]
async fn a_finding_is_resolved_when_its_merge_is_live() {
    a_finding_is_resolved(DocsSite::start().await).await;
}

#[tokio::test]
async fn a_refresh_that_is_killed_at_any_step_changes_nothing() {
    let docs = DocsSite::start().await.with_kills();
    a_finding_is_resolved(docs).await;
}

#[tokio::test]
#[cfg_attr(not(has_postgres), ignore = "PostgreSQL is not installed")]
async fn a_finding_is_resolved_on_postgres() {
    let (server, _database, _keys) = on_postgres().await;
    a_finding_is_resolved(DocsSite::on(server).await).await;
}

/// The pull request is merged, and then readers still get nothing.
#[tokio::test]
async fn a_finding_persists_when_its_requests_continue() {
    let docs = DocsSite::start().await;
    miss_a_page(&docs).await;
    docs.refresh().await;
    let link = docs.propose("/setup").await;
    docs.end_pull(&link, PullState::Merged).await;
    let merged_on = docs.today();
    docs.advance_days(2);
    docs.refresh().await;
    assert_eq!(docs.state("/setup").await.0, "in-review");
    docs.advance_days(1);
    docs.refresh().await;
    let note =
        json!(format!("Merged. No view showed the change, so it counts as live from {}", docs.today()));
    assert_eq!(docs.state("/setup").await, ("shipped".into(), note.clone()));
    wait_for_the_judgment(&docs, 404).await;
    docs.refresh().await;
    let persists = docs.finding("/setup").await;
    assert_eq!((&persists["state"], &persists["note"]), (&json!("persists"), &note));
    assert_eq!(persists["mergedOn"], json!(merged_on.to_string()));
    check_recount(&docs, &persists["effect"]);
    let total = &persists["effect"]["total"]["notFound"];
    assert_eq!((&total["before"], &total["after"]), (&json!(56), &json!(42)));
    assert_ne!(total["verdict"], "better");
    // It waits for the next job, and drops the first one then.
    let path = format!("/{}/job", persists["id"].as_str().unwrap());
    let again = docs.post(&path, &json!({ "prompt": "Fix common misspellings" })).await;
    assert_eq!(again.status, 201, "{again}");
    assert_eq!(docs.finding("/setup").await["job"]["id"], again.json()["id"]);
}

/// A redirect that leads to no page answers 301, and its readers still get nothing.
#[tokio::test]
async fn a_broken_redirect_counts_as_not_found() {
    let docs = DocsSite::start().await;
    miss_a_page(&docs).await;
    docs.refresh().await;
    let link = docs.propose("/setup").await;
    docs.end_pull(&link, PullState::Merged).await;
    let page = json!({ "path": "/guide", "file": "guide.md" });
    docs.scan(json!({ "pages": [page], "redirects": [["/setup", "/guide/instal"]] })).await;
    for day in 0..3 {
        docs.request("/setup", 301, Class::Human, 4).await;
        docs.refresh().await;
        assert_eq!(docs.state("/setup").await.0, "in-review", "day {day}: a redirect to nowhere is not live");
        docs.advance_days(1);
    }
    for _ in 0..=DAYS {
        docs.request("/setup", 301, Class::Human, 4).await;
        docs.advance_days(1);
    }
    docs.refresh().await;
    docs.refresh().await;
    assert_eq!(docs.state("/setup").await.0, "persists");
    let evidence = docs.finding("/setup").await["evidence"]["days"].clone();
    let day = evidence.as_array().unwrap().last().unwrap();
    assert_eq!(day["human"], json!(4), "redirects are its requests: {evidence}");
}

#[tokio::test]
async fn five_requests_are_too_few_to_tell() {
    let docs = DocsSite::start().await;
    for _ in 0..5 {
        docs.request("/setup", 404, Class::Human, 1).await;
        docs.request("/", 200, Class::Human, 20).await;
        docs.advance_days(1);
    }
    docs.refresh().await;
    let link = docs.propose("/setup").await;
    docs.end_pull(&link, PullState::Merged).await;
    docs.request("/setup", 301, Class::Human, 1).await;
    wait_for_the_judgment(&docs, 301).await;
    docs.refresh().await;
    let resolved = docs.finding("/setup").await;
    assert_eq!(resolved["state"], "resolved", "{resolved}");
    let effect = &resolved["effect"];
    check_recount(&docs, effect);
    let total = &effect["total"]["notFound"];
    assert_eq!(
        (&total["before"], &total["after"], &total["verdict"]),
        (&json!(5), &json!(0), &json!("too-few"))
    );
    assert_eq!((&total["ratio"], &effect["summary"]), (&Value::Null, &json!(["Too few readers to tell."])));
}

#[tokio::test]
async fn a_closed_pull_request_dismisses_until_the_evidence_doubles() {
    let docs = DocsSite::start().await;
    docs.request("/setup", 404, Class::Human, 6).await;
    docs.refresh().await;
    let link = docs.propose("/setup").await;
    docs.refresh().await;
    docs.end_pull(&link, PullState::Closed).await;
    docs.refresh().await;
    let closed = json!("The pull request was closed without a merge");
    assert_eq!(docs.state("/setup").await, ("dismissed".into(), closed.clone()));
    docs.advance_days(1);
    docs.request("/setup", 404, Class::Ai, 45).await;
    docs.refresh().await;
    assert_eq!(docs.state("/setup").await, ("dismissed".into(), closed), "26 expected, 51 came");
    docs.request("/setup", 404, Class::Ai, 1).await;
    docs.refresh().await;
    let open = docs.finding("/setup").await;
    assert_eq!((&open["state"], &open["note"], &open["job"]), (&json!("open"), &Value::Null, &Value::Null));
}

/// A job that changes nothing leaves its finding open.
#[tokio::test]
async fn a_job_without_a_pull_request_gives_its_finding_back() {
    let docs = DocsSite::start().await;
    docs.request("/setup", 404, Class::Human, 6).await;
    docs.refresh().await;
    let path = format!("/{}/job", docs.id("/setup").await);
    let job = docs.post(&path, &json!({ "prompt": "Replace \"nowhere\" with \"there\"." })).await;
    assert_eq!(job.status, 201, "{job}");
    docs.refresh().await;
    assert_eq!(docs.state("/setup").await.0, "proposed", "the job runs");
    docs.server.run_queued_jobs().await;
    docs.refresh().await;
    let open = docs.finding("/setup").await;
    assert_eq!((&open["state"], &open["job"]), (&json!("open"), &Value::Null));
}
