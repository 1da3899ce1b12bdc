//! Reads and saves the thresholds of a project's findings.

use std::str::FromStr;

use axum::extract::State;
use axum::response::Response;
use findings::{Settings as Thresholds, SettingsError, StaleTier};

use super::{check_list_length, page_with_message, record_and_redirect, settings_page};
use crate::PageError;
use crate::session::{FormFields, ProjectContext};
use crate::view::{FindingsForm, FormMessage, Settings, SettingsForm, sentence};
use app::App;

/// The fields of the form with their names in the API and their labels.
const LABELS: [(&str, &str, &str); 8] = [
    ("min_requests", "minRequests", "Requests that make a finding"),
    ("window_days", "windowDays", "Days that are counted"),
    ("stale_days", "staleDays", "Days until a page is stale"),
    ("stale_tiers", "staleTiers.days", "Days of a line"),
    ("stale_min_views", "staleMinViews", "Views that make a stale page a finding"),
    ("shipped_delay_days", "shippedDelayDays", "Days until a merge counts as shipped"),
    ("judge_days", "judgeDays", "Days until a merge is judged"),
    ("reopen_factor", "reopenFactor", "Growth that opens a finding again"),
];

/// `POST /p/{projectId}/settings/findings`
pub(crate) async fn save_findings(
    State(app): State<App>,
    ctx: ProjectContext,
    fields: FormFields,
) -> Result<Response, PageError> {
    ctx.user.require_owner()?;
    let saved = app.findings.finding_settings(&ctx.project.id).await?;
    match parse(&fields, saved) {
        Ok(thresholds) => {
            app.findings.set_finding_settings(&ctx.project.id, &thresholds).await?;
            record_and_redirect(&app, &ctx, "findings").await
        }
        Err(refusal) => {
            let settings = Settings { findings: typed(&fields), ..settings_page(&app, &ctx).await? };
            Ok(page_with_message(settings, FormMessage::error(SettingsForm::Findings, refusal)))
        }
    }
}

/// The thresholds that the form has. The other settings keep their values.
fn parse(fields: &FormFields, saved: Thresholds) -> Result<Thresholds, String> {
    let window_days = number(fields, "window_days")?;
    let thresholds = Thresholds {
        min_requests: number(fields, "min_requests")?,
        // The form doesn't have it, and it can't exceed the window.
        min_days: saved.min_days.min(window_days).max(1),
        window_days,
        stale_days: number(fields, "stale_days")?,
        stale_tiers: parse_tiers(fields)?,
        stale_min_views: number(fields, "stale_min_views")?,
        shipped_delay_days: number(fields, "shipped_delay_days")?,
        judge_days: number(fields, "judge_days")?,
        reopen_factor: number(fields, "reopen_factor")?,
        max_findings: saved.max_findings,
    };
    thresholds.validate().map_err(|error| describe(&error))
}

fn number<T: FromStr>(fields: &FormFields, field: &str) -> Result<T, String> {
    let label = LABELS.iter().find(|(name, ..)| *name == field).map_or(field, |(_, _, label)| label);
    fields.get(field).trim().parse().map_err(|_| format!("{label} must be a number."))
}

fn parse_tiers(fields: &FormFields) -> Result<Vec<StaleTier>, String> {
    let tier = |line: String| {
        let parts = line.rsplit_once(char::is_whitespace);
        let tier = parts.and_then(|(glob, days)| Some((glob.trim(), days.parse().ok()?)));
        let (glob, days) = tier.ok_or_else(|| {
            format!("`{line}` is not a glob and a number of days. Enter a line such as `/guides/** 180`.")
        })?;
        Ok(StaleTier { glob: glob.to_owned(), days })
    };
    check_list_length(fields.lines("stale_tiers"))?.into_iter().map(tier).collect()
}

/// The error with the label of the field instead of its name in the API.
fn describe(error: &SettingsError) -> String {
    let mut message = error.to_string();
    for (_, name, label) in LABELS {
        message = message.replace(&format!("`{name}`"), label);
    }
    sentence(&message.replace("`staleTiers`", "the list of pages"))
}

pub(super) fn form(thresholds: &Thresholds) -> FindingsForm {
    let tier = |tier: &StaleTier| format!("{} {}", tier.glob, tier.days);
    FindingsForm {
        min_requests: thresholds.min_requests.to_string(),
        window_days: thresholds.window_days.to_string(),
        stale_days: thresholds.stale_days.to_string(),
        stale_tiers: thresholds.stale_tiers.iter().map(tier).collect::<Vec<_>>().join("\n"),
        stale_min_views: thresholds.stale_min_views.to_string(),
        shipped_delay_days: thresholds.shipped_delay_days.to_string(),
        judge_days: thresholds.judge_days.to_string(),
        reopen_factor: thresholds.reopen_factor.to_string(),
    }
}

fn typed(fields: &FormFields) -> FindingsForm {
    let value = |name| fields.get(name).to_owned();
    FindingsForm {
        min_requests: value("min_requests"),
        window_days: value("window_days"),
        stale_days: value("stale_days"),
        stale_tiers: value("stale_tiers"),
        stale_min_views: value("stale_min_views"),
        shipped_delay_days: value("shipped_delay_days"),
        judge_days: value("judge_days"),
        reopen_factor: value("reopen_factor"),
    }
}
