//! What the reports of page views are.

use serde_json::{Value, json};
use wire::{
    AgentViews, Agents, ClassViews, ForgetPaths, LinkingPage, Live, MissingPage, NotFound, PageView, Point,
    ReclassifyResult, Referrer, Referrers, RemovalResult, Series, Totals,
};

use super::agent::{bad_query, limit_reached};
use super::analytics::{TAG, moment};
use super::answer::Answer;
use super::operation::Operation;
use super::parameters::{pages, query};

const FROM: &str = "From this moment on; a date is its midnight in UTC.";
const TO: &str = "Before this moment; not before `dateFrom`.";
const TOTALS: Totals = Totals { human: 120, ai: 45, total: 165 };

pub(crate) fn get_series() -> Operation {
    let interval = json!({ "type": "string", "enum": traffic::Interval::NAMES, "default": "day" });
    let done = Answer::json::<Series>(200, "Totals of the range, and each step of it.", series())
        .csv("at,human,ai,total\r\n\"2026-03-01T00:00:00.000Z\",120,45,165\r\n")
        .counted();
    report("getSeries", "Ask when they read", done)
        .about("Reads by hour, day, week or month, in UTC; at most 10,000 steps. An end of the range that is left out is where the reads end.")
        .parameter(query("interval", interval, "The length of a step."))
        .parameter(of_path())
        .parameter(form())
}

pub(crate) fn get_agents() -> Operation {
    let done = Answer::json::<Agents>(200, "All classes, and the products, most reads first.", agents())
        .csv("operator,product,class,views\r\n\"OpenAI\",\"ChatGPT-User\",\"assistant\",30\r\n");
    paged(report("getAgents", "Ask what reads", done.header("Link").counted()))
        .about("Reads by product and class, crawlers and search engines included. Of raw views that are gone, it is exact to the day.")
}

pub(crate) fn get_referrers() -> Operation {
    let done =
        Answer::json::<Referrers>(200, "Totals of the range, and the hosts, most reads first.", referrers())
            .csv("host,human,ai,total\r\n\"chatgpt.com\",80,30,110\r\n");
    paged(report("getReferrers", "Ask where they come from", done.header("Link").counted()))
        .about("Reads by the host that linked there. Of raw views that are gone, it is exact to the day.")
}

pub(crate) fn get_not_found() -> Operation {
    let done = Answer::json::<NotFound>(
        200,
        "Totals of the range, and the pages, most looked for first.",
        not_found(),
    )
    .csv("path,human,ai,total,referrers\r\n\"/setup\",8,3,11,\"chatgpt.com/c/1\"\r\n");
    paged(report("getNotFound", "Ask what they do not find", done.header("Link").counted()))
        .about("Answers of 404 and 410, and the pages that sent readers there. Of raw views that are gone, it is exact to the day.")
        .parameter(of_path())
        .parameter(order())
}

pub(crate) fn get_live() -> Operation {
    let done = Answer::json::<Live>(200, "The last 30 minutes.", live())
        .csv("at,human,ai,total\r\n\"2026-11-15T12:00:00.000Z\",2,1,3\r\n")
        .counted();
    Operation::new(TAG, "getLive", "Ask who reads now")
        .about("Readers and views of the last 30 minutes, by minute, and the pages that are read most. CSV has the minutes.")
        .with_key()
        .parameter(form())
        .answers(done)
        .refuses([bad_query(250), limit_reached(1_000)])
}

pub(crate) fn reclassify() -> Operation {
    let done = Answer::json::<ReclassifyResult>(200, "A piece is done.", reclassified()).counted();
    Operation::new(TAG, "reclassify", "Apply a new table of agents")
        .about("Classifies the raw views that are kept by the table of this version, and counts their days anew: some at a time. While `next` is not null, ask again with it as `dateFrom`. It may be cut off at any time.")
        .with_key()
        .writes()
        .parameter(query("dateFrom", moment(), "From the day of this moment on."))
        .answers(done)
        .refuses([bad_query(250), limit_reached(1_000)])
}

pub(crate) fn forget_paths() -> Operation {
    let done = Answer::json::<RemovalResult>(200, "A piece is done.", forgotten()).counted();
    Operation::new(TAG, "forgetPaths", "Remove the views of junk paths")
        .about("Removes the views of all paths that match from every report, some days at a time. While `next` is not null, ask again with it as `dateFrom`. It may be cut off at any time, and asked for again. Event ids stay known, so that a view that is sent again does not come back. Of days whose raw views are gone, reads by product and by host and the visitors of the whole site stay.")
        .with_key()
        .writes()
        .parameter(query("dateFrom", moment(), "From the day of this moment on."))
        .body::<ForgetPaths>(json!({ "path": "/junk/**", "dryRun": true }))
        .answers(done)
        .refuses([bad_query(250), limit_reached(1_000)])
}

fn report(id: &'static str, summary: &'static str, done: Answer) -> Operation {
    Operation::new(TAG, id, summary)
        .with_key()
        .parameter(query("dateFrom", moment(), FROM))
        .parameter(query("dateTo", moment(), TO))
        .answers(done)
        .refuses([bad_query(250), limit_reached(1_000)])
}

fn paged(report: Operation) -> Operation {
    let [limit, offset] = pages(250, 50);
    report.parameter(limit).parameter(offset).parameter(form())
}

/// `format`
pub(super) fn form() -> Value {
    let form = json!({ "type": "string", "enum": ["json", "csv"], "default": "json" });
    query("format", form, "CSV has every row, if there is no `limit`; `Accept: text/csv` asks for it, too.")
}

/// `path`
pub(super) fn of_path() -> Value {
    query("path", json!({ "type": "string", "pattern": "^/" }), "What the paths of pages begin with.")
}

/// `sort`
pub(super) fn order() -> Value {
    let order = json!({ "type": "string", "enum": traffic::Sort::NAMES, "default": "total" });
    query("sort", order, "The number that is largest first; `path` is by path.")
}

fn point() -> Point {
    Point { at: "2026-03-01T00:00:00.000Z".into(), human: 120, ai: 45, total: 165 }
}

fn series() -> Value {
    json!(Series { interval: "day".into(), totals: TOTALS, series: vec![point()] })
}

fn agents() -> Value {
    let (operator, class) = (Some("OpenAI".into()), "assistant".to_owned());
    json!(Agents {
        classes: vec![ClassViews { class: class.clone(), views: 45 }],
        agents: vec![AgentViews { operator, product: "ChatGPT-User".into(), class, views: 30 }],
        has_more: true,
    })
}

fn referrers() -> Value {
    let referrers = vec![Referrer { host: "chatgpt.com".into(), human: 80, ai: 30, total: 110 }];
    json!(Referrers { totals: TOTALS, referrers, has_more: true })
}

fn not_found() -> Value {
    let referrers = vec![LinkingPage { referrer: "chatgpt.com/c/1".into(), views: 7 }];
    let page = MissingPage { path: "/setup".into(), human: 8, ai: 3, total: 11, referrers };
    json!(NotFound { totals: TOTALS, not_found: vec![page], has_more: true })
}

fn live() -> Value {
    let page = PageView { path: "/guide".into(), human: 80, ai: 30, total: 110 };
    let readers = Totals { human: 70, ai: 20, total: 88 };
    json!(Live { readers, views: TOTALS, minutes: vec![point(); 30], pages: vec![page] })
}

fn forgotten() -> Value {
    json!(RemovalResult { views: 1_234, pages: 56, next: None })
}

fn reclassified() -> Value {
    json!(ReclassifyResult { events: 500_000, changed: 12, table: "2026-11-15".into(), next: None })
}
