//! Reports the effect of merges, and the weekly summary.

use app::App;
use app::findings::{
    JobEffect, WeekCount, WeekFindings, effects_of_merges, last_week, week_of, weekly_summary,
};
use app::time::rfc3339;
use axum::Json as JsonResponse;
use axum::extract::State;
use axum::http::Uri;
use axum::response::{IntoResponse, Response};
use findings::{Change, Measure, Measured};
use jiff::Timestamp;
use serde::Serialize;
use store::{Project, Usage};
use wire::{
    Effect, EffectChange, EffectMeasures, MergeEffect, MergeEffects, Period, SummaryCount, WeeklySummary,
};

use super::caller::Caller;
use super::error::ApiError;
use super::findings::finding;
use super::limits;
use super::query::Query;

const MAX_MERGES: i64 = 50;
const DEFAULT_MERGES: i64 = 20;

/// `GET /v1/analytics/{projectId}/effect?dateFrom&dateTo&limit&offset`: merges, the latest first.
pub(super) async fn merges(State(app): State<App>, caller: Caller, uri: Uri) -> Result<Response, ApiError> {
    let rate_limit = limits::read_limit(&app, &caller.project);
    limits::check_limit(&app, &rate_limit).await?;
    let mut query = Query::new(&uri);
    let limit = query.integer("limit", 1, MAX_MERGES, DEFAULT_MERGES);
    let offset = query.integer("offset", 0, i64::MAX, 0);
    let range = super::report_query::parse_range(&mut query)?;
    let usage = limits::count_request(&app, &rate_limit).await?;
    let moment = |at: Option<i64>, open: Timestamp| {
        at.map_or(open, |at| Timestamp::from_millisecond(at).unwrap_or(open))
    };
    let range = (moment(range.from(), Timestamp::MIN), moment(range.to(), Timestamp::MAX));
    let (page, has_more) =
        effects_of_merges(&app, &caller.project, range, (limit as u32, offset.unsigned_abs())).await?;
    let merges = merge_effects(&app, &caller.project, page).await?;
    let mut response = respond(MergeEffects { merges, has_more }, usage);
    query.set_link_header(response.headers_mut(), limit, offset, has_more);
    Ok(response)
}

/// `GET /v1/analytics/{projectId}/weekly?week`
pub(super) async fn weekly(State(app): State<App>, caller: Caller, uri: Uri) -> Result<Response, ApiError> {
    let rate_limit = limits::read_limit(&app, &caller.project);
    limits::check_limit(&app, &rate_limit).await?;
    let mut query = Query::new(&uri);
    let day = query.get("week").map(str::parse::<jiff::civil::Date>).transpose();
    if day.is_err() {
        query.add_problem("week must be a day of the week, as YYYY-MM-DD".into());
    }
    query.finish()?;
    let usage = limits::count_request(&app, &rate_limit).await?;
    let first = day.ok().flatten().map_or_else(|| last_week(&app), week_of);
    let summary = weekly_summary(&app, &caller.project, first).await?;
    let findings = |listed: &WeekFindings| listed.first.iter().map(finding).collect();
    let summary = WeeklySummary {
        week: Period { first: summary.first.to_string(), last: summary.last.to_string() },
        views: count(summary.views),
        not_found: count(summary.not_found),
        new: findings(&summary.new),
        resolved: findings(&summary.resolved),
        persisting: findings(&summary.persisting),
        new_total: summary.new.total,
        resolved_total: summary.resolved.total,
        persisting_total: summary.persisting.total,
        open: summary.open,
        merges: merge_effects(&app, &caller.project, summary.merges).await?,
    };
    Ok(respond(summary, usage))
}

fn respond(body: impl Serialize, usage: Option<Usage>) -> Response {
    let mut response = JsonResponse(body).into_response();
    if let Some(usage) = usage {
        limits::set_rate_limit_headers(response.headers_mut(), &usage);
    }
    response
}

async fn merge_effects(
    app: &App,
    project: &Project,
    merges: Vec<JobEffect>,
) -> Result<Vec<MergeEffect>, ApiError> {
    let mut effects = Vec::new();
    for merge in merges {
        let findings = app.findings.findings_of_job(&project.id, &merge.job).await?;
        effects.push(MergeEffect {
            job: merge.job.0,
            title: merge.title,
            pr_link: merge.link,
            merged_at: rfc3339(merge.merged_at),
            findings: findings.into_iter().map(|finding| finding.id.0).collect(),
            effect: merge.effect.as_ref().map(effect),
        });
    }
    Ok(effects)
}

pub(super) fn effect(merge: &app::findings::MergeEffect) -> Effect {
    let period =
        |period: findings::Period| Period { first: period.first.to_string(), last: period.last.to_string() };
    Effect {
        paths: merge.paths.clone(),
        days: merge.days,
        before: period(merge.effect.before),
        after: period(merge.effect.after),
        human: measures(&merge.effect.human),
        ai: measures(&merge.effect.ai),
        total: measures(&merge.effect.total),
        summary: merge.sentences(),
    }
}

fn measures(measured: &Measured) -> EffectMeasures {
    let change = |measure| change(measured.get(measure));
    EffectMeasures {
        not_found: change(Measure::NotFound),
        views: change(Measure::Views),
        visitors: change(Measure::Visitors),
    }
}

fn change(change: &Change) -> EffectChange {
    EffectChange {
        before: change.before,
        after: change.after,
        site_before: change.site_before,
        site_after: change.site_after,
        ratio: change.rate.map(|rate| rate.ratio),
        ratio_low: change.rate.map(|rate| rate.low),
        ratio_high: change.rate.map(|rate| rate.high),
        verdict: change.verdict.as_str().into(),
    }
}

fn count(week: WeekCount) -> SummaryCount {
    SummaryCount {
        human: week.count.human,
        ai: week.count.ai,
        total: week.count.total(),
        total_before: week.before,
    }
}
