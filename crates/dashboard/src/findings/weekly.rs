//! Shows the weekly summary: what was found, what was resolved, and what merges did.

use axum::extract::State as Extract;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use jiff::ToSpan;
use jiff::civil::Date;
use store::Finding;

use super::{effect, link};
use crate::readers::{ViewsStoredHere, day_of};
use crate::session::ProjectContext;
use crate::view::{Link, Section, Tile, WeekList, WeekMerge, WeekRow, WeekTile, Weekly, with_commas};
use crate::{PageError, jobs, page_with};
use app::App;
use app::findings::{
    JobEffect, Summary, WeekCount, WeekFindings, counted, last_week, week_of, weekly_summary,
};
use app::path::query_value;

/// Views have no other years.
const YEARS: std::ops::Range<i16> = 2000..2100;

/// `GET /p/{projectId}/weekly?week=YYYY-MM-DD`: the week that contains the day, or the last week that is over.
pub(crate) async fn show(
    Extract(app): Extract<App>,
    ctx: ProjectContext,
    _: ViewsStoredHere,
    uri: Uri,
) -> Result<Response, PageError> {
    let latest = last_week(&app);
    let (first, error) = match &*query_value(&uri, "week") {
        "" => (latest, None),
        text => match text.parse::<Date>().ok().filter(|day| YEARS.contains(&day.year())) {
            Some(day) => (week_of(day), None),
            None => {
                (latest, Some("Enter a day of the week as YYYY-MM-DD. Showing the last week.".to_owned()))
            }
        },
    };
    let status = if error.is_some() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    let summary = weekly_summary(&app, &ctx.project, first).await?;
    let settings = app.findings.finding_settings(&ctx.project.id).await?;
    Ok(page_with(status, &Weekly { error, ..weekly_page(&ctx, summary, latest, settings.window_days) }))
}

fn weekly_page(ctx: &ProjectContext, summary: Summary, latest: Date, window_days: u32) -> Weekly {
    let (root, first) = (ctx.root(), summary.first);
    let week = |day: Date| format!("{root}/weekly?week={day}");
    let list = |id, title, empty, findings: &WeekFindings| WeekList {
        id,
        title,
        empty,
        rows: findings.first.iter().map(|finding| row(ctx, finding)).collect(),
        more: more(findings),
    };
    Weekly {
        shell: ctx.shell("Weekly summary", Section::Findings),
        days: format!("{} – {}", first.strftime("%b %-d"), effect::day(summary.last)),
        tiles: vec![
            tile("week-views", "Views", summary.views, false),
            tile("week-not-found", "Not found", summary.not_found, true),
        ],
        lists: vec![
            list("new", "New findings", "Nothing new was found in this week.", &summary.new),
            list("resolved", "Resolved", "No finding was resolved in this week.", &summary.resolved),
            list(
                "persisting",
                "Persisting",
                "No finding began to persist in this week.",
                &summary.persisting,
            ),
        ],
        merges: summary.merges.into_iter().map(|merge| merge_of(ctx, merge)).collect(),
        open: with_commas(summary.open),
        window_days,
        findings: format!("{root}/findings"),
        previous: Some(week(first.saturating_sub(7.days()))),
        next: (first < latest).then(|| week(first.saturating_add(7.days()))),
        error: None,
    }
}

fn tile(id: &'static str, name: &'static str, week: WeekCount, is_fault: bool) -> WeekTile {
    let (count, number) = (week.count, Some(week.count.total()));
    WeekTile {
        tile: Tile { id, name, number, previous: week.before, days: 7, note: "", is_fault },
        split: format!("{} human, {} AI", with_commas(count.human), with_commas(count.ai)),
    }
}

/// Such as "12 more", if the list is cut.
fn more(findings: &WeekFindings) -> Option<String> {
    let more = findings.total.saturating_sub(findings.first.len() as u64);
    (more > 0).then(|| format!("{} more", with_commas(more)))
}

fn row(ctx: &ProjectContext, finding: &Finding) -> WeekRow {
    let (human, ai) = (with_commas(finding.human), with_commas(finding.ai));
    WeekRow { link: link(&ctx.project, finding), counted: counted(finding.kind), human, ai }
}

fn merge_of(ctx: &ProjectContext, merge: JobEffect) -> WeekMerge {
    let label = if merge.title.is_empty() { "Pull request".to_owned() } else { merge.title };
    WeekMerge {
        job: Link { href: jobs::href(&ctx.project, &merge.job), label },
        day: effect::day(day_of(merge.merged_at)),
        effect: merge.effect.as_ref().map(effect::summary),
    }
}
