//! Tests the readers pages: their numbers equal those of the API, and text of visitors is escaped and quoted.

use std::sync::Arc;

use async_trait::async_trait;
use reqwest::Method;
use serde_json::{Value, json};
use traffic::{
    Agents, AiReferrals, Failure, Interval, ListQuery, Live, NotFound, PathDays, PathDaysQuery, PathGlob,
    Range, ReclassifyProgress, Redirected, Referrers, RemovalProgress, Reports, Series, SeriesError,
};

use crate::pages::Browser;
use crate::support::{Team, TestServer, send};

const CHROME: &str =
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36";
const CHATGPT: &str = "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; ChatGPT-User/1.0; +https://openai.com/bot";
/// The test clock is at noon of 2026-11-15.
const WEEK: &str = "dateFrom=2026-11-09&dateTo=2026-11-16";

fn view(path: &str, day: u32, agent: &str) -> Value {
    json!({ "path": path, "timestamp": format!("2026-11-{day:02}T09:00:00Z"), "userAgent": agent, "ip": "192.0.2.7" })
}

fn not_found(path: &str, referrer: &str) -> Value {
    json!({ "path": path, "timestamp": "2026-11-14T09:00:00Z", "userAgent": CHATGPT, "status": 404, "referrer": referrer })
}

async fn report(server: &TestServer, team: &Team, events: Value) {
    let response =
        server.post(&team.key, &format!("/v1/analytics/{}/events", team.project.id), &events).await;
    assert_eq!(response.json()["rejected"], json!([]), "{response}");
}

/// A week with views, and a previous week with fewer.
async fn read_docs(server: &TestServer) -> Team {
    let team = server.team("acme", &[("a.md", "one\n")]).await;
    let mut events = vec![view("/guides/install", 3, CHROME), view("/", 4, CHATGPT)];
    events.extend((0..1_234).map(|n| view("/guides/install", 9 + n % 7, CHROME)));
    events.extend((0..20).map(|n| view(&format!("/api/v{n}"), 12, CHATGPT)));
    events.push(not_found("/old<b>`x`", "https://evil.example/=a"));
    report(server, &team, json!(events)).await;
    team
}

fn root(team: &Team) -> String {
    format!("/p/{}/readers", team.project.id)
}

/// The number of a tile, and its change.
fn tile(page: &str, id: &str) -> (String, String) {
    let tile = page.split(&format!("id=\"tile-{id}\"")).nth(1).unwrap().split("</div>").next().unwrap();
    let figure = tile.split("<dd>").nth(1).unwrap().split('<').next().unwrap();
    let change = tile.split("<span class=\"").nth(1).unwrap().split(['>', '<']).nth(1).unwrap();
    (figure.replace(',', ""), change.to_owned())
}

#[tokio::test]
async fn the_numbers_equal_those_of_the_api() {
    let server = TestServer::start().await;
    let team = read_docs(&server).await;
    let browser = Browser::signed_in(&server, &team).await;
    let page = browser.get(&format!("{}?range=7d&wait=1", root(&team))).await;
    assert_eq!(page.status, 200);
    let api = async |what: &str| {
        server.get(&team.key, &format!("/v1/analytics/{}/{what}", team.project.id)).await.json()
    };
    let views = api(&format!("views?{WEEK}")).await;
    let (visitors, missing) =
        (api(&format!("visitors?{WEEK}")).await, api(&format!("not-found?{WEEK}")).await);
    for (id, number, change) in [
        ("views", &views["totals"]["total"], "+62,600% vs. previous 7 days"),
        ("human", &views["totals"]["human"], "+123,300% vs. previous 7 days"),
        ("ai", &views["totals"]["ai"], "+1,900% vs. previous 7 days"),
        ("visitors", &visitors["totals"]["total"], "+300% vs. previous 7 days"),
        ("not-found", &missing["totals"]["total"], "new"),
    ] {
        assert_eq!(tile(&page.body, id), (number.to_string(), change.to_owned()), "{id}");
    }
    for point in api(&format!("series?{WEEK}&interval=day")).await["series"].as_array().unwrap() {
        let day = &point["at"].as_str().unwrap()[..10];
        let line = format!("{day}: {} human, {} AI</title>", point["human"], point["ai"]);
        let so_far = line.replace(":", ", so far:");
        assert!(page.body.contains(&line) || page.body.contains(&so_far), "{line}");
    }
    assert!(page.body.contains("2026-11-15, so far: 176 human, 0 AI"));
}

#[tokio::test]
async fn lists_are_sorted_filtered_and_paginated() {
    let server = TestServer::start().await;
    let team = read_docs(&server).await;
    let browser = Browser::signed_in(&server, &team).await;
    let rows = async |query: &str| {
        let page = browser.get(&format!("{}/{query}", root(&team))).await;
        assert_eq!(page.status, 200, "{query}");
        let names = page.body.split("<tr>").skip(2).map(|row| row.split(['>', '<']).collect::<Vec<_>>());
        let name = |row: Vec<&str>| {
            let at = row.iter().position(|part| part.starts_with("code ") || *part == "b").unwrap();
            row[at + 1].to_owned()
        };
        (names.map(name).collect::<Vec<_>>(), page.body)
    };
    assert_eq!(rows("pages?range=7d").await.0[..2], ["/guides/install", "/api/v0"]);
    assert_eq!(rows("pages?range=7d&sort=ai").await.0[0], "/api/v0");
    let (some, page) = rows("pages?range=7d&path=/api/v1").await;
    assert_eq!(some.len(), 11);
    assert!(page.contains("Show all pages"));
    assert_eq!(rows("agents?range=7d").await.0, ["(browsers)", "ChatGPT-User"]);
    assert_eq!(rows("agents?range=7d&sort=ai").await.0, ["ChatGPT-User", "(browsers)"]);
    assert_eq!(rows("referrers?range=7d").await.0, ["(none)"]);
    assert!(rows("pages?range=7d&offset=20").await.1.contains("rel=\"prev\""));
    assert!(rows("pages?range=7d&offset=18446744073709551615").await.1.contains("No views in this period"));
    let first = browser.get(&format!("{}?range=7d&wait=1", root(&team))).await;
    assert!(first.body.contains(&format!("{}/pages?range=7d\">Show all", root(&team))));
}

#[tokio::test]
async fn invalid_queries_are_reported_on_the_page_and_stay_in_the_form() {
    let server = TestServer::start().await;
    let team = read_docs(&server).await;
    let browser = Browser::signed_in(&server, &team).await;
    for (query, sentence) in [
        ("range=century", "Unknown range"),
        ("range=custom&from=2026-11-09&to=yes%22%3E%3Cb%3E", "Enter the last day as YYYY-MM-DD"),
        ("range=custom&from=2026-11-09&to=2026-11-01", "is after the last day"),
        ("path=guides", "must begin with"),
    ] {
        for page in ["", "/pages"] {
            let answer = browser.get(&format!("{}{page}?{query}", root(&team))).await;
            assert_eq!(answer.status, 400, "{query}");
            assert!(answer.body.contains(sentence), "{query}");
            assert!(!answer.body.contains("<b>\""), "{query}");
        }
        let file = browser.get(&format!("{}/pages/csv?{query}", root(&team))).await;
        assert_eq!((file.status, file.header("content-type")), (400, "text/html; charset=utf-8"), "{query}");
    }
    let invalid = browser.get(&format!("{}?range=custom&from=2026-11-09&to=junk", root(&team))).await;
    assert!(invalid.body.contains("value=\"2026-11-09\"") && invalid.body.contains("value=\"junk\""));
    for path in ["/everything", "/%ff", "/everything/csv"] {
        assert_eq!(browser.get(&format!("{}{path}", root(&team))).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn csv_files_equal_those_of_the_api() {
    let server = TestServer::start().await;
    let team = read_docs(&server).await;
    let browser = Browser::signed_in(&server, &team).await;
    for (list, operation) in
        [("pages", "views"), ("agents", "agents"), ("referrers", "referrers"), ("not-found", "not-found")]
    {
        let file = browser.get(&format!("{}/{list}/csv?range=7d", root(&team))).await;
        let path = format!("/v1/analytics/{}/{operation}?{WEEK}&format=csv", team.project.id);
        assert_eq!(file.body, server.get(&team.key, &path).await.body, "{list}");
        assert_eq!(file.header("content-type"), "text/csv; charset=utf-8");
        assert_eq!(file.header("content-disposition"), format!("attachment; filename=\"{operation}.csv\""));
    }
    let team = server.team("globex", &[]).await;
    let named =
        json!({ "path": "/a", "timestamp": "2026-11-14T09:00:00Z", "userAgent": "=cmd()/1 Chrome/1" });
    report(&server, &team, json!([named])).await;
    let browser = Browser::signed_in(&server, &team).await;
    let file = browser.get(&format!("{}/agents/csv", root(&team))).await;
    assert!(file.body.lines().skip(1).flat_map(|line| line.split(',')).all(|cell| !cell.starts_with('=')));
}

#[tokio::test]
async fn evidence_becomes_a_quotation_and_creates_no_job() {
    let server = TestServer::start().await;
    let team = read_docs(&server).await;
    let browser = Browser::signed_in(&server, &team).await;
    let page = browser.get(&format!("{}/not-found?range=7d", root(&team))).await;
    assert!(!page.body.contains("/old<b>"));
    let jobs = format!("/p/{}/jobs?evidence=not-found", team.project.id);
    let link = page.body.split("href=\"").find(|href| href.starts_with(&jobs)).unwrap();
    let link = link.split('"').next().unwrap().replace("&#38;", "&").replace("&amp;", "&");
    let jobs_page = browser.get(&link).await;
    assert_eq!(jobs_page.status, 200);
    let prompt = jobs_page.body.split("<textarea").nth(1).unwrap().split("</textarea>").next().unwrap();
    assert!(prompt.contains("Readers look for a page") && !prompt.contains("/old"), "{prompt}");
    let quoted = jobs_page.body.split("<blockquote>").nth(1).unwrap().split("</blockquote>").next().unwrap();
    assert!(quoted.starts_with("Path: /old&#60;b&#62;`x`\n"), "{quoted}");
    assert!(quoted.contains("Requests: 0 human, 1 AI"), "{quoted}");
    assert!(quoted.contains("Period: 2026-11-09 to 2026-11-15"), "{quoted}");
    assert!(quoted.contains("Referrer: evil.example/=a"), "{quoted}");
    let unsigned = browser
        .get(&format!("{jobs}&path=%3C/textarea%3E%3Cscript%3Ealert(1)%3C/script%3E%0ADo%20this"))
        .await;
    assert!(unsigned.status == 400 && !unsigned.body.contains("alert(1)"), "{}", unsigned.body);
    assert!(server.has_no_jobs(&team.project.id).await);
}

#[tokio::test]
async fn readers_of_another_organization_are_not_found() {
    let server = TestServer::start().await;
    let (theirs, mine) = (read_docs(&server).await, server.team("globex", &[]).await);
    let browser = Browser::signed_in(&server, &mine).await;
    let nowhere = browser.get("/p/nowhere/readers").await;
    for path in ["", "/live", "/pages", "/pages/csv", "/not-found", "/agents/csv"] {
        let answer = browser.get(&format!("{}{path}", root(&theirs))).await;
        assert_eq!((answer.status, &answer.body), (404, &nowhere.body), "{path}");
        let outside = send(server.request(Method::GET, &format!("{}{path}", root(&theirs)))).await;
        assert_eq!(outside.status, 401, "{path}");
    }
}

#[tokio::test]
async fn a_project_without_views_shows_how_to_send_them() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    let browser = Browser::signed_in(&server, &team).await;
    let page = browser.get(&root(&team)).await;
    assert_eq!(page.status, 200);
    let id = &team.project.id;
    assert!(page.body.contains(&format!("data-project=&#34;{id}&#34;")), "{}", page.body);
    for line in [
        format!("docwright import {id} "),
        format!("/v1/analytics/{id}/events"),
        format!("project update {id} --site"),
    ] {
        assert!(page.body.contains(&line), "{line}");
    }
    // Old views are views, too.
    report(&server, &team, json!([view("/", 1, CHROME)])).await;
    let quiet = browser.get(&format!("{}?range=7d&wait=1", root(&team))).await;
    assert_eq!(tile(&quiet.body, "views"), ("0".into(), "none in previous 7 days".into()));
    assert!(quiet.body.contains("No views in this period."));
}

#[tokio::test]
async fn the_live_line_counts_readers_of_the_last_30_minutes() {
    let server = TestServer::start().await;
    let team = server.team("acme", &[]).await;
    let browser = Browser::signed_in(&server, &team).await;
    let now = |agent: &str| json!({ "path": "/", "timestamp": "2026-11-15T11:55:00Z", "userAgent": agent, "ip": "192.0.2.7" });
    report(&server, &team, json!([now(CHROME), now(CHROME), now(CHATGPT)])).await;
    let line = browser.get(&format!("{}/live", root(&team))).await;
    assert!(line.body.starts_with("<p class=\"live\" id=\"live\""), "{line}");
    assert!(line.body.contains("<b>2</b> readers in the last 30 minutes"), "{line}");
    assert!(browser.get(&format!("{}?wait=1", root(&team))).await.body.contains(line.body.trim_end()));
}

#[tokio::test]
async fn a_merge_is_marked_on_the_chart() {
    let server = TestServer::start().await;
    let team = read_docs(&server).await;
    server.create_job(&team, "Replace \"one\" with \"two\".").await;
    server.run_queued_jobs().await;
    let browser = Browser::signed_in(&server, &team).await;
    let unmerged = browser.get(&format!("{}?range=7d", root(&team))).await;
    assert!(!unmerged.body.contains("class=\"mark\""));
    assert_eq!(browser.merge(&format!("/p/{}/pulls/1", team.project.id)).await.status, 303);
    let merged = browser.get(&format!("{}?range=7d", root(&team))).await;
    assert_eq!(merged.body.matches("class=\"mark\"").count(), 1);
    assert!(merged.body.contains("#1 Replace"), "{}", merged.body);
}

/// Reports that never finish.
struct StuckReports;

#[async_trait]
impl Reports for StuckReports {
    async fn series(&self, _: &str, _: &Range, _: Interval, _: Option<&str>) -> Result<Series, SeriesError> {
        Ok(Series::default())
    }
    async fn agents(&self, _: &str, _: &Range, _: &ListQuery) -> Result<Agents, Failure> {
        std::future::pending().await
    }
    async fn referrers(&self, _: &str, _: &Range, _: &ListQuery) -> Result<Referrers, Failure> {
        std::future::pending().await
    }
    async fn not_found(&self, _: &str, _: &Range, _: &ListQuery) -> Result<NotFound, Failure> {
        std::future::pending().await
    }
    async fn ai_referrals(&self, _: &str, _: &Range) -> Result<Vec<AiReferrals>, Failure> {
        std::future::pending().await
    }
    async fn redirected(&self, _: &str, _: &Range, _: &ListQuery) -> Result<Redirected, Failure> {
        std::future::pending().await
    }
    async fn path_days(&self, _: &str, _: &Range, _: &PathDaysQuery<'_>) -> Result<PathDays, Failure> {
        std::future::pending().await
    }
    async fn live(&self, _: &str) -> Result<Live, Failure> {
        std::future::pending().await
    }
    async fn reclassify(&self, _: &str, _: i64) -> Result<ReclassifyProgress, Failure> {
        std::future::pending().await
    }
    async fn forget_paths(&self, _: &str, _: &PathGlob, _: i64, _: bool) -> Result<RemovalProgress, Failure> {
        std::future::pending().await
    }
}

#[tokio::test]
async fn slow_counts_are_loaded_later() {
    let server = TestServer::start_from(|_| {}, |app| app.reports = Arc::new(StuckReports)).await;
    let team = read_docs(&server).await;
    let browser = Browser::signed_in(&server, &team).await;
    let page = browser.get(&format!("{}?range=7d", root(&team))).await;
    assert_eq!(page.status, 200);
    assert_eq!(tile(&page.body, "views").0, "1254");
    let later = format!("data-later=\"{}?range=7d", root(&team));
    // The live line, one tile and three panels. The visitors may be counted in time.
    assert!((5..=6).contains(&page.body.matches(&later).count()), "{}", page.body);
    assert_eq!(page.body.matches("Still counting.").count(), 3);
}
