//! Tests the reports of page views over HTTP.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Answer, Team, TestServer, send};

const CHROME: &str =
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36";
const CHATGPT: &str = "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; ChatGPT-User/1.0; +https://openai.com/bot";
const GPTBOT: &str = "GPTBot/1.2";

struct DocsProject {
    server: TestServer,
    team: Team,
}

impl DocsProject {
    /// With views on two days, and requests for pages that don't exist.
    async fn start() -> Self {
        let server = TestServer::start().await;
        let team = server.team("acme", &[]).await;
        let docs = Self { server, team };
        docs.send(json!([
            view("/guide", "2026-03-01T08:00:00Z", CHROME, "https://chatgpt.com/c/1?q=x"),
            view("/guide", "2026-03-01T09:30:00Z", CHROME, "https://duck.example/"),
            view("/guide/a", "2026-03-02T09:00:00Z", CHATGPT, ""),
            view("/", "2026-03-02T10:00:00Z", CHROME, "https://chatgpt.com/"),
            view("/", "2026-03-02T10:00:00Z", GPTBOT, ""),
            { "path": "/setup", "timestamp": "2026-03-02T11:00:00Z", "userAgent": CHROME, "status": 404,
              "referrer": "https://chatgpt.com/c/1" },
            { "path": "/setup", "timestamp": "2026-03-02T12:00:00Z", "userAgent": CHATGPT, "status": 410 },
            { "path": "/=1+1", "timestamp": "2026-03-02T12:00:00Z", "userAgent": GPTBOT, "status": 404 },
            { "path": "/start", "timestamp": "2026-03-02T11:00:00Z", "userAgent": CHROME, "status": 301 },
            { "path": "/start", "timestamp": "2026-03-02T12:00:00Z", "userAgent": CHATGPT, "status": 308 },
            { "path": "/begin", "timestamp": "2026-03-01T12:00:00Z", "userAgent": CHROME, "status": 302 },
            { "path": "/start", "timestamp": "2026-03-02T12:00:00Z", "userAgent": GPTBOT, "status": 301 },
        ]))
        .await;
        docs
    }

    async fn send(&self, events: Value) {
        let path = format!("/v1/analytics/{}/events", self.team.project.id);
        let result = self.server.post(&self.team.key, &path, &events).await;
        assert_eq!((result.status, &result.json()["rejected"]), (202, &json!([])), "{result}");
    }

    async fn get(&self, query: &str) -> Answer {
        let path = format!("/v1/analytics/{}/{query}", self.team.project.id);
        self.server.get(&self.team.key, &path).await
    }

    async fn json(&self, query: &str) -> Value {
        let answer = self.get(query).await;
        assert_eq!(answer.status, 200, "{answer}");
        answer.json()
    }

    async fn check_refused(&self, query: &str, sentence: &str) {
        let answer = self.get(query).await;
        assert_eq!((answer.status, answer.header("x-error-code")), (400, "invalid_query"), "{answer}");
        assert_eq!(answer.json()["error"], sentence);
    }
}

fn view(path: &str, at: &str, user_agent: &str, referrer: &str) -> Value {
    json!({ "path": path, "timestamp": at, "userAgent": user_agent, "referrer": referrer })
}

#[tokio::test]
async fn a_series_has_every_interval_and_adds_up() {
    let docs = DocsProject::start().await;
    let days = docs.json("series?dateFrom=2026-02-28&dateTo=2026-03-03").await;
    let point =
        |at: &str, human: u64, ai: u64| json!({ "at": at, "human": human, "ai": ai, "total": human + ai });
    let expected = json!({
        "interval": "day",
        "totals": { "human": 3, "ai": 1, "total": 4 },
        "series": [
            point("2026-02-28T00:00:00.000Z", 0, 0),
            point("2026-03-01T00:00:00.000Z", 2, 0),
            point("2026-03-02T00:00:00.000Z", 1, 1),
        ],
    });
    assert_eq!(days, expected);
    let hours = docs
        .json(
            "series?interval=hour&path=/guide&dateFrom=2026-03-01T08:00:00Z&dateTo=2026-03-01T09:30:00.001Z",
        )
        .await;
    let expected = [point("2026-03-01T08:00:00.000Z", 1, 0), point("2026-03-01T09:00:00.000Z", 1, 0)];
    assert_eq!(hours["series"], json!(expected));
    let months = docs.json("series?interval=month").await;
    assert_eq!(months["series"], json!([point("2026-03-01T00:00:00.000Z", 3, 1)]));
    let weeks = docs.json("series?interval=week").await;
    let expected = [point("2026-02-23T00:00:00.000Z", 2, 0), point("2026-03-02T00:00:00.000Z", 1, 1)];
    assert_eq!(weeks["series"], json!(expected));
    docs.check_refused("series?interval=year", "interval must be one of hour, day, week, month").await;
    docs.check_refused("series?path=guide", "path must begin with `/`; it's a prefix of page paths").await;
    docs.check_refused(
        "series?interval=hour&dateFrom=2000-01-01&dateTo=2026-01-01",
        "interval=hour gives more than 10000 points for this range. Choose a longer interval or a shorter range",
    )
    .await;
}

#[tokio::test]
async fn agents_have_operators_products_and_every_class() {
    let docs = DocsProject::start().await;
    let agents = docs.json("agents").await;
    let agent = |operator: Value, product: &str, class: &str, views: u64| json!({ "operator": operator, "product": product, "class": class, "views": views, "verified": 0, "claimed": 0, "unknown": views });
    let expected = json!([
        agent(Value::Null, "(browsers)", "human", 3),
        agent(json!("OpenAI"), "ChatGPT-User", "assistant", 1),
        agent(json!("OpenAI"), "GPTBot", "ai-training", 1),
    ]);
    assert_eq!((&agents["agents"], &agents["hasMore"]), (&expected, &json!(false)));
    assert_eq!(agents["classes"].as_array().unwrap().len(), 7);
    assert_eq!(agents["classes"][3], json!({ "class": "ai-training", "views": 1 }));
    let second = docs.get("agents?limit=1&offset=1&dateTo=2026-03-02T10:00:00Z").await;
    assert_eq!(second.json()["agents"], json!([agent(json!("OpenAI"), "ChatGPT-User", "assistant", 1)]));
    assert!(second.header("link").contains("rel=\"prev\""), "{}", second.header("link"));
}

#[tokio::test]
async fn referrers_are_hosts() {
    let docs = DocsProject::start().await;
    let referrers = docs.json("referrers?limit=2").await;
    let expected = json!({
        "totals": { "human": 3, "ai": 1, "total": 4 },
        "referrers": [
            { "host": "chatgpt.com", "aiReferral": "OpenAI", "human": 2, "ai": 0, "total": 2 },
            { "host": "(none)", "aiReferral": null, "human": 0, "ai": 1, "total": 1 },
        ],
        "hasMore": true,
    });
    assert_eq!(referrers, expected);
}

#[tokio::test]
async fn agents_are_verified_by_their_address() {
    let docs = DocsProject::start().await;
    docs.send(json!([
        { "path": "/guide", "userAgent": GPTBOT, "ip": "132.196.86.9" },
        { "path": "/guide", "userAgent": GPTBOT, "ip": "9.9.9.9" },
        { "path": "/guide", "userAgent": GPTBOT, "ip": "10.0.0.1" },
    ]))
    .await;
    let agents = docs.json("agents").await;
    let gptbot =
        agents["agents"].as_array().unwrap().iter().find(|agent| agent["product"] == "GPTBot").unwrap();
    let expected = json!({
        "operator": "OpenAI", "product": "GPTBot", "class": "ai-training", "views": 4,
        "verified": 1, "claimed": 1, "unknown": 2,
    });
    assert_eq!(gptbot, &expected);
}

#[tokio::test]
async fn referrals_are_compared_with_what_agents_read() {
    let docs = DocsProject::start().await;
    docs.send(json!([
        { "path": "/guide?utm_source=chatgpt.com", "userAgent": CHROME },
        { "path": "/guide?utm_source=perplexity", "userAgent": CHROME },
        { "path": "/guide?utm_source=chatgpt.com", "userAgent": CHROME, "referrer": "https://duck.example/" },
        { "path": "/guide?utm_source=newsletter", "userAgent": CHROME },
    ]))
    .await;
    let expected = json!({ "operators": [
        { "operator": "OpenAI", "views": 2, "referrals": 3, "viewsPerReferral": 2.0 / 3.0 },
        { "operator": "Perplexity", "views": 0, "referrals": 1, "viewsPerReferral": 0.0 },
    ] });
    assert_eq!(docs.json("ai-referrals").await, expected);
    let later = docs.json("ai-referrals?dateFrom=2026-03-02&dateTo=2026-03-02T09:30:00Z").await;
    let waiting = json!({ "operator": "OpenAI", "views": 1, "referrals": 0, "viewsPerReferral": null });
    assert_eq!(later, json!({ "operators": [waiting] }));
    let file = docs.get("ai-referrals?format=csv").await.body;
    assert_eq!(file, "operator,views,referrals\r\n\"OpenAI\",2,3\r\n\"Perplexity\",0,1\r\n");
}

#[tokio::test]
async fn pages_not_found_are_listed_with_their_referrers() {
    let docs = DocsProject::start().await;
    let missing = docs.json("not-found?path=/s&sort=ai").await;
    let expected = json!({
        "totals": { "human": 1, "ai": 1, "total": 2 },
        "notFound": [{
            "path": "/setup", "human": 1, "ai": 1, "total": 2,
            "referrers": [{ "referrer": "chatgpt.com/c/1", "views": 1 }],
        }],
        "hasMore": false,
    });
    assert_eq!(missing, expected);
    assert_eq!(docs.json("not-found?path=/guide").await["notFound"], json!([]));
    docs.check_refused("not-found?sort=best", "sort must be one of total, human, ai, path").await;
}

#[tokio::test]
async fn redirected_paths_are_listed_and_are_no_views() {
    let docs = DocsProject::start().await;
    let expected = json!({
        "totals": { "human": 2, "ai": 1, "total": 3 },
        "redirected": [
            { "path": "/start", "human": 1, "ai": 1, "total": 2 },
            { "path": "/begin", "human": 1, "ai": 0, "total": 1 },
        ],
        "hasMore": false,
    });
    assert_eq!(docs.json("redirected").await, expected);
    let some = docs.json("redirected?path=/s&dateFrom=2026-03-02T11:30:00Z").await;
    assert_eq!(some["redirected"], json!([{ "path": "/start", "human": 0, "ai": 1, "total": 1 }]));
    assert_eq!(some["totals"], json!({ "human": 0, "ai": 1, "total": 1 }));
    assert_eq!(docs.json("views?path=/start").await["totals"]["total"], json!(0));
    docs.check_refused("redirected?path=start", "path must begin with `/`; it's a prefix of page paths")
        .await;
}

#[tokio::test]
async fn live_reports_the_last_30_minutes() {
    let docs = DocsProject::start().await;
    let empty = docs.json("live").await;
    assert_eq!((&empty["views"]["total"], &empty["pages"]), (&json!(0), &json!([])));
    docs.send(json!([
        { "path": "/now", "userAgent": CHROME, "ip": "192.0.2.1" },
        { "path": "/now", "userAgent": CHROME, "ip": "192.0.2.1" },
        { "path": "/now", "userAgent": CHATGPT, "ip": "192.0.2.1", "timestamp": "2026-11-15T11:31:00Z" },
        { "path": "/old", "userAgent": CHATGPT, "ip": "192.0.2.1", "timestamp": "2026-11-15T11:30:59.999Z" },
    ]))
    .await;
    let live = docs.json("live").await;
    assert_eq!(live["readers"], json!({ "human": 1, "ai": 1, "total": 2 }));
    assert_eq!(live["views"], json!({ "human": 2, "ai": 1, "total": 3 }));
    assert_eq!(live["pages"], json!([{ "path": "/now", "human": 2, "ai": 1, "total": 3 }]));
    let minutes = live["minutes"].as_array().unwrap();
    assert_eq!((&minutes[0]["at"], &minutes[0]["ai"]), (&json!("2026-11-15T11:31:00.000Z"), &json!(1)));
    assert_eq!((&minutes[29]["at"], &minutes[29]["human"]), (&json!("2026-11-15T12:00:00.000Z"), &json!(2)));
}

#[tokio::test]
async fn pages_can_be_filtered_and_sorted() {
    let docs = DocsProject::start().await;
    let paths = async |query: &str, list: &str| {
        let answer = docs.json(query).await;
        let pages = answer[list].as_array().unwrap().iter();
        let pages: Vec<_> = pages.map(|page| page["path"].as_str().unwrap().to_owned()).collect();
        (pages.join(" "), answer["totals"]["total"].as_u64().unwrap())
    };
    for list in ["views", "visitors"] {
        assert_eq!(paths(&format!("{list}?sort=path"), list).await.0, "/ /guide /guide/a");
        assert_eq!(paths(&format!("{list}?sort=ai&limit=1"), list).await.0, "/guide/a");
        assert_eq!(paths(&format!("{list}?path=/guide/"), list).await.0, "/guide/a");
    }
    assert_eq!(paths("views?sort=human", "views").await, ("/guide / /guide/a".into(), 4));
    assert_eq!(paths("views?path=/guide", "views").await, ("/guide /guide/a".into(), 3));
    assert_eq!(
        paths("visitors?path=/guide/", "visitors").await.1,
        3,
        "the total of visitors isn't the sum of the pages"
    );
    docs.check_refused("views?sort=best", "sort must be one of total, human, ai, path").await;
}

#[tokio::test]
async fn every_report_is_available_as_csv() {
    let docs = DocsProject::start().await;
    docs.send(json!([view("/a,\"b\"", "2026-03-01T08:00:00Z", CHROME, "https://=cmd/")])).await;
    let file = async |query: &str, name: &str| {
        let answer = docs.get(query).await;
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (200, "text/csv; charset=utf-8"),
            "{answer}"
        );
        assert_eq!(answer.header("content-disposition"), format!("attachment; filename=\"{name}.csv\""));
        assert!(!answer.header("ratelimit").is_empty());
        answer.body
    };
    let views = "path,human,ai,total\r\n\"/guide\",2,0,2\r\n\"/\",1,0,1\r\n\"/a,\"\"b\"\"\",1,0,1\r\n\"/guide/a\",0,1,1\r\n";
    assert_eq!(file("views?format=csv", "views").await, views);
    assert_eq!(
        file("views?format=csv&limit=1&offset=3", "views").await,
        "path,human,ai,total\r\n\"/guide/a\",0,1,1\r\n"
    );
    assert!(
        file("referrers?format=csv", "referrers").await.contains("\r\n\"'=cmd\",1,0,1\r\n"),
        "a cell must not be a formula"
    );
    assert_eq!(
        file("not-found?format=csv", "not-found").await,
        "path,human,ai,total,referrers\r\n\"/setup\",1,1,2,\"chatgpt.com/c/1\"\r\n"
    );
    assert_eq!(
        file("redirected?format=csv", "redirected").await,
        "path,human,ai,total\r\n\"/start\",1,1,2\r\n\"/begin\",1,0,1\r\n"
    );
    assert!(
        file("agents?format=csv", "agents")
            .await
            .contains("\r\n\"OpenAI\",\"ChatGPT-User\",\"assistant\",1\r\n")
    );
    assert!(file("series?format=csv", "series").await.contains("\r\n\"2026-03-01T00:00:00.000Z\",3,0,3\r\n"));
    assert_eq!(file("live?format=csv", "live").await.lines().count(), 31);
    assert_eq!(file("visitors?format=csv", "visitors").await.lines().count(), 5);
    docs.check_refused("views?format=xml", "format must be one of json, csv").await;
}

#[tokio::test]
async fn a_csv_file_of_many_pages_is_complete() {
    let docs = DocsProject::start().await;
    let events: Vec<_> =
        (0..2000).map(|n| view(&format!("/page/{n:04}"), "2026-03-01", CHROME, "")).collect();
    docs.send(json!(events)).await;
    let path = format!("/v1/analytics/{}/views?path=/page/", docs.team.project.id);
    let request = docs.server.request(Method::GET, &path).bearer_auth(&docs.team.key);
    let file = send(request.header("accept", "text/csv")).await;
    assert_eq!(file.body.lines().count(), 2001);
    assert!(file.body.ends_with("\"/page/1999\",1,0,1\r\n"));
    assert_eq!(file.header("content-length"), "", "the file is streamed");
}

#[tokio::test]
async fn reclassify_reports_how_many_views_changed() {
    let docs = DocsProject::start().await;
    let path = format!("/v1/analytics/{}/reclassify", docs.team.project.id);
    let done = docs.server.post(&docs.team.key, &path, &json!({})).await;
    assert_eq!((done.status, &done.json()["events"]), (200, &json!(12)), "{done}");
    assert_eq!((&done.json()["changed"], &done.json()["next"]), (&json!(0), &Value::Null), "{done}");
    let later = docs.server.post(&docs.team.key, &format!("{path}?dateFrom=2026-03-02"), &json!({})).await;
    assert_eq!(later.json()["events"], 9, "{later}");
    let never = docs.server.post(&docs.team.key, &format!("{path}?dateFrom=never"), &json!({})).await;
    assert_eq!(never.status, 400, "{never}");
    assert_eq!(docs.json("views").await["totals"]["total"], 4);
}
