//! Describes the reports of page views, and the operations that change stored views.

use serde_json::{Value, json};
use wire::{
    AgentViews, Agents, AiReferrals, ClassViews, ForgetPaths, LinkingPage, Live, MissingPage, NotFound,
    OperatorReferrals, PageView, Point, ReclassifyResult, Redirected, Referrer, Referrers, RemovalResult,
    Series, Totals,
};

use super::agent::{invalid_limit, limit_reached};
use super::analytics::{TAG, date_schema, end_date_schema};
use super::operation::Operation;
use super::parameters::{paging, query};
use super::response::Response;

const FROM: &str = "Include views from this time on. A date means midnight in UTC.";
const TO: &str = "Include views before this time. It must not be before `dateFrom`.";
const TOTALS: Totals = Totals { human: 120, ai: 45, total: 165 };

pub(crate) fn get_series() -> Operation {
    let interval = json!({ "type": "string", "enum": traffic::Interval::NAMES, "default": "day" });
    let response = Response::json::<Series>(200, "The totals of the range, and its intervals.", series())
        .csv("at,human,ai,total\r\n\"2026-03-01T00:00:00.000Z\",120,45,165\r\n")
        .rate_limited();
    report("getSeries", "Get views over time", response)
        .description("The views by hour, day, week, or month, in UTC. There can be at most 10,000 intervals. If you leave out `dateFrom` or `dateTo`, the first or the last view sets that end.")
        .parameter(query("interval", interval, "The length of an interval."))
        .parameter(path_parameter())
        .parameter(format_parameter())
}

pub(crate) fn get_agents() -> Operation {
    let response =
        Response::json::<Agents>(200, "All classes, and the products with the most views first.", agents())
            .csv("operator,product,class,views\r\n\"OpenAI\",\"ChatGPT-User\",\"assistant\",30\r\n");
    with_paging(report("getAgents", "Get views by agent", response.header("Link").rate_limited()))
        .description("The views by product and class, including crawlers and search engines, and whether their addresses are those that the operator publishes. Where raw views were deleted, the counts are exact only to the day.")
}

pub(crate) fn get_referrers() -> Operation {
    let response = Response::json::<Referrers>(
        200,
        "The totals of the range, and the hosts with the most views first.",
        referrers(),
    )
    .csv("host,human,ai,total\r\n\"chatgpt.com\",80,30,110\r\n");
    with_paging(report("getReferrers", "Get views by referrer", response.header("Link").rate_limited()))
        .description("The views by the host that linked to the page, or that `utm_source` of the page's URL names, if it's an AI assistant. Where raw views were deleted, the counts are exact only to the day.")
}

pub(crate) fn get_ai_referrals() -> Operation {
    let response =
        Response::json::<AiReferrals>(200, "The operators with the most referrals first.", ai_referrals())
            .csv("operator,views,referrals\r\n\"OpenAI\",450,90\r\n")
            .rate_limited();
    report("getAiReferrals", "Get views per AI referral", response)
        .description("For each operator of AI assistants: the views by its assistants and AI crawlers, and the human views that came from its assistants. Where raw views were deleted, the counts are exact only to the day.")
        .parameter(format_parameter())
}

pub(crate) fn get_not_found() -> Operation {
    let response = Response::json::<NotFound>(
        200,
        "The totals of the range, and the pages with the most requests first.",
        not_found(),
    )
    .csv("path,human,ai,total,referrers\r\n\"/setup\",8,3,11,\"chatgpt.com/c/1\"\r\n");
    with_paging(report("getNotFound", "Get pages that were not found", response.header("Link").rate_limited()))
        .description("The requests that got 404 or 410, and the pages that linked there. Where raw views were deleted, the counts are exact only to the day.")
        .parameter(path_parameter())
        .parameter(sort_parameter())
}

pub(crate) fn get_redirected() -> Operation {
    let response = Response::json::<Redirected>(
        200,
        "The totals of the range, and the paths with the most requests first.",
        redirected(),
    )
    .csv("path,human,ai,total\r\n\"/old-guide\",8,3,11\r\n");
    with_paging(report("getRedirected", "Get paths that were redirected", response.header("Link").rate_limited()))
        .description("The requests that got 301, 302, 303, 307 or 308. They aren't views. Where raw views were deleted, the counts are exact only to the day.")
        .parameter(path_parameter())
        .parameter(sort_parameter())
}

pub(crate) fn get_live() -> Operation {
    let response = Response::json::<Live>(200, "The last 30 minutes.", live())
        .csv("at,human,ai,total\r\n\"2026-11-15T12:00:00.000Z\",2,1,3\r\n")
        .rate_limited();
    Operation::new(TAG, "getLive", "Get current readers")
        .description("The readers and views of the last 30 minutes, by minute, and the pages with the most views. CSV has only the minutes.")
        .needs_key()
        .parameter(format_parameter())
        .response(response)
        .errors([invalid_limit(250), limit_reached(1_000)])
}

pub(crate) fn reclassify() -> Operation {
    let response =
        Response::json::<ReclassifyResult>(200, "A part is done.", reclassify_result()).rate_limited();
    Operation::new(TAG, "reclassify", "Reclassify views")
        .description("Classifies the stored raw views with the table of agents of this version, and counts their days again. Each request processes a part. If `next` isn't null, send the request again with `next` as `dateFrom`. It's safe to interrupt.")
        .needs_key()
        .needs_write_scope()
        .parameter(query("dateFrom", date_schema(), "Begin with the day of this time."))
        .response(response)
        .errors([invalid_limit(250), limit_reached(1_000)])
}

pub(crate) fn forget_paths() -> Operation {
    let response = Response::json::<RemovalResult>(200, "A part is done.", removal_result()).rate_limited();
    Operation::new(TAG, "forgetPaths", "Remove the views of junk paths")
        .description("Removes the views of all matching paths from every report. Each request processes some days. If `next` isn't null, send the request again with `next` as `dateFrom`. It's safe to interrupt and to repeat. The server keeps the event ids, so a view that is sent again isn't counted again. For days whose raw views were deleted, the views by product and by host and the visitors of the whole site stay.")
        .needs_key()
        .needs_write_scope()
        .parameter(query("dateFrom", date_schema(), "Begin with the day of this time."))
        .body::<ForgetPaths>(json!({ "path": "/junk/**", "dryRun": true }))
        .response(response)
        .errors([invalid_limit(250), limit_reached(1_000)])
}

fn report(id: &'static str, summary: &'static str, response: Response) -> Operation {
    Operation::new(TAG, id, summary)
        .needs_key()
        .parameter(query("dateFrom", date_schema(), FROM))
        .parameter(query("dateTo", end_date_schema(), TO))
        .response(response)
        .errors([invalid_limit(250), limit_reached(1_000)])
}

fn with_paging(report: Operation) -> Operation {
    let [limit, offset] = paging(250, 50);
    report.parameter(limit).parameter(offset).parameter(format_parameter())
}

/// `format`
pub(super) fn format_parameter() -> Value {
    let schema = json!({ "type": "string", "enum": ["json", "csv"], "default": "json" });
    query(
        "format",
        schema,
        "The format of the response. You can also send `Accept: text/csv`. Without `limit`, CSV has all rows.",
    )
}

/// `path`
pub(super) fn path_parameter() -> Value {
    query("path", json!({ "type": "string", "pattern": "^/" }), "Include pages whose path begins with this.")
}

/// `sort`
pub(super) fn sort_parameter() -> Value {
    let schema = json!({ "type": "string", "enum": traffic::Sort::NAMES, "default": "total" });
    query("sort", schema, "The count to sort by, largest first, or `path`.")
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
        agents: vec![AgentViews {
            operator,
            product: "ChatGPT-User".into(),
            class,
            views: 30,
            verified: 21,
            claimed: 1,
            unknown: 8,
        }],
        has_more: true,
    })
}

fn referrers() -> Value {
    let referrers = vec![Referrer {
        host: "chatgpt.com".into(),
        ai_referral: Some("OpenAI".into()),
        human: 80,
        ai: 30,
        total: 110,
    }];
    json!(Referrers { totals: TOTALS, referrers, has_more: true })
}

fn ai_referrals() -> Value {
    let (operator, views_per_referral) = ("OpenAI".into(), Some(5.0));
    json!(AiReferrals {
        operators: vec![OperatorReferrals { operator, views: 450, referrals: 90, views_per_referral }],
    })
}

fn not_found() -> Value {
    let referrers = vec![LinkingPage { referrer: "chatgpt.com/c/1".into(), views: 7 }];
    let page = MissingPage { path: "/setup".into(), human: 8, ai: 3, total: 11, referrers };
    json!(NotFound { totals: TOTALS, not_found: vec![page], has_more: true })
}

fn redirected() -> Value {
    let page = PageView { path: "/old-guide".into(), human: 8, ai: 3, total: 11 };
    json!(Redirected { totals: TOTALS, redirected: vec![page], has_more: true })
}

fn live() -> Value {
    let page = PageView { path: "/guide".into(), human: 80, ai: 30, total: 110 };
    let readers = Totals { human: 70, ai: 20, total: 88 };
    json!(Live { readers, views: TOTALS, minutes: vec![point(); 30], pages: vec![page] })
}

fn removal_result() -> Value {
    json!(RemovalResult { views: 1_234, pages: 56, next: None })
}

fn reclassify_result() -> Value {
    json!(ReclassifyResult { events: 500_000, changed: 12, table: "2026-11-15".into(), next: None })
}
