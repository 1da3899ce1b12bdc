//! Shows a finding: its evidence, what happened since, and how to fix it.

use std::collections::HashMap;

use axum::extract::State as Extract;
use axum::response::Response;
use findings::{Day, Note, State};
use jiff::ToSpan;
use jiff::civil::Date;
use store::{Finding, FindingId};
use traffic::{Interval, Point, Tally};

use super::{chip, effect, meaning};
use crate::jobs::{self, new_form_token};
use crate::readers::{day_of, day_start};
use crate::session::{ProjectContext, ResourceId};
use crate::view::{self, Chart, CountedPath, FindingStep, Fix, PullRef, Section, Target, count, with_commas};
use crate::{PageError, not_found_page, page};
use app::App;
use app::findings::{
    counted, effect_of_finding, find_candidates, kind_label, note_sentence, suggested_prompt,
};
use app::models::OFFLINE;

/// The days that the chart shows at most.
const MAX_CHART_DAYS: i64 = 90;

/// `GET /p/{projectId}/findings/{id}`
pub(crate) async fn show(
    Extract(app): Extract<App>,
    ctx: ProjectContext,
    ResourceId(id): ResourceId,
) -> Result<Response, PageError> {
    match app.findings.finding(&ctx.project.id, &FindingId(id)).await? {
        Some(finding) => Ok(page(&finding_page(&app, &ctx, finding).await?)),
        None => Ok(not_found_page("finding")),
    }
}

pub(super) async fn finding_page(
    app: &App,
    ctx: &ProjectContext,
    finding: Finding,
) -> Result<view::Finding, PageError> {
    let settings = app.findings.finding_settings(&ctx.project.id).await?;
    let effect = effect_of_finding(app, &ctx.project, &finding).await?;
    let candidates = find_candidates(app, &ctx.project, &finding).await?;
    let lifecycle = &finding.lifecycle;
    let (steps, fix) = (steps(app, ctx, &finding), fix(ctx, &finding));
    let chart = chart(app, &finding, settings.window_days);
    let evidence = finding.evidence;
    let referrer = |(referrer, requests): (String, u64)| (referrer, with_commas(requests));
    let path = |member: findings::Member| CountedPath {
        figures: [member.human, member.ai].map(with_commas),
        path: member.path,
    };
    Ok(view::Finding {
        shell: ctx.shell(&finding.subject, Section::Findings),
        id: finding.id.0,
        kind: kind_label(finding.kind),
        meaning: meaning(finding.kind),
        state: chip(lifecycle.state),
        note: note_sentence(lifecycle),
        counted: counted(finding.kind),
        human: finding.human,
        ai: finding.ai,
        window_days: settings.window_days,
        steps,
        awaits_effect: app.stores_views() && lifecycle.merged_on.is_some() && effect.is_none(),
        effect: effect.as_ref().map(effect::summary),
        candidates: candidates
            .into_iter()
            .map(|found| Target { path: found.path, reason: found.reason })
            .collect(),
        chart,
        paths: evidence.members.into_iter().map(path).collect(),
        more_paths: evidence.more_members,
        referrers: evidence.referrers.into_iter().map(referrer).collect(),
        pages: evidence.pages,
        more_pages: evidence.more_pages,
        fix,
        can_dismiss: lifecycle.state != State::Dismissed,
        reason: String::new(),
        once: new_form_token(),
        error: None,
    })
}

/// What happened to the finding, oldest first.
fn steps(app: &App, ctx: &ProjectContext, finding: &Finding) -> Vec<FindingStep> {
    let step = |what, day: Option<Date>| FindingStep {
        day: day.map(effect::day).unwrap_or_default(),
        what,
        job: None,
        pull: None,
    };
    let (evidence, lifecycle) = (&finding.evidence, &finding.lifecycle);
    let pull: Option<PullRef> =
        finding.job.as_ref().and_then(|job| jobs::pull_link(app, job.pr_link.as_deref(), job.pr_state));
    let job = finding
        .job
        .as_ref()
        .map(|job| FindingStep { job: Some(jobs::href(&ctx.project, &job.id)), ..step("Job created", None) });
    let shipped = match is_assumed_live(finding) {
        true => "Counts as live, because no view showed the change",
        false => "Shipped",
    };
    let last = match lifecycle.state {
        State::Resolved => Some("Resolved"),
        State::Persists => Some("Persists"),
        State::Dismissed => Some("Dismissed"),
        _ => None,
    };
    [
        evidence.first_seen.map(|day| step("First seen", Some(day))),
        evidence.last_seen.map(|day| step("Last seen", Some(day))),
        Some(step("Found", Some(day_of(finding.found_at)))),
        job,
        pull.map(|pull| FindingStep { pull: Some(pull), ..step("Pull request", None) }),
        lifecycle.merged_on.map(|day| step("Merged", Some(day))),
        lifecycle.shipped_on.map(|day| step(shipped, Some(day))),
        last.map(|what| step(what, Some(lifecycle.since))),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Whether it counts as live because the delay passed, and not because a view showed the change.
fn is_assumed_live(finding: &Finding) -> bool {
    matches!(finding.lifecycle.note, Some(Note::NotSeenLive))
}

fn fix(ctx: &ProjectContext, finding: &Finding) -> Fix {
    if !finding.waits_for_job() {
        return Fix::Taken;
    }
    match suggested_prompt(finding.kind, ctx.project.model != OFFLINE) {
        Ok(prompt) => Fix::Prompt(prompt.to_owned()),
        Err(_) => Fix::NeedsModel,
    }
}

/// The requests per day, at least of the days that are counted. `None` if the evidence has no days.
fn chart(app: &App, finding: &Finding, window_days: u32) -> Option<Chart> {
    let days: HashMap<Date, &Day> = finding.evidence.days.iter().map(|day| (day.day, day)).collect();
    let first = finding.evidence.days.first()?.day;
    let (now, today) = (app.clock.now(), day_of(app.clock.now()));
    let back = |days: i64| today.saturating_sub((days - 1).days());
    let first = first.min(back(i64::from(window_days))).max(back(MAX_CHART_DAYS));
    let mut points = Vec::new();
    let mut day = first;
    while day <= today {
        let reads = days.get(&day).map_or(Tally::default(), |day| Tally { human: day.human, ai: day.ai });
        points.push(Point { at: day_start(day).as_millisecond(), reads });
        day = day.saturating_add(1.day());
    }
    let live = if is_assumed_live(finding) { "counts as live" } else { "shipped" };
    let marks: Vec<_> = [(finding.lifecycle.merged_on, "merged"), (finding.lifecycle.shipped_on, live)]
        .into_iter()
        .filter_map(|(day, label)| Some((day_start(day?), label.to_owned())))
        .collect();
    let sum = |part: fn(&Tally) -> u64| points.iter().map(|point| part(&point.reads)).sum::<u64>();
    let (title, noun) = match finding.kind.counts_failures() {
        true => ("Requests per day", "request"),
        false => ("Views per day", "view"),
    };
    let description = format!(
        "{} and {} in {}. The table below has the same numbers.",
        count(sum(|reads| reads.human), &format!("human {noun}")),
        count(sum(|reads| reads.ai), &format!("AI {noun}")),
        count(points.len() as u64, "day")
    );
    let end = day_start(today.saturating_add(1.day()));
    Some(Chart { title, description, ..Chart::new(&points, Interval::Day, (end, now), &marks) })
}
