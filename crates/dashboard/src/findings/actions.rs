//! Creates jobs for findings, and dismisses findings.

use std::cmp::Reverse;

use anyhow::anyhow;
use axum::extract::State as Extract;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use findings::Kind;
use store::{Finding, FindingId, MAX_FINDINGS_PER_JOB, NewJob, Prompt};

use super::list_query::FindingsQuery;
use super::{detail, findings_page};
use crate::jobs::start_once;
use crate::session::{FormFields, ProjectContext, ResourceId};
use crate::view::{self, sentence};
use crate::{PageError, not_found_page, page_with};
use app::App;
use app::findings::{FixError, parse_reason, quotations, suggested_prompt, validate_selection};
use app::models::OFFLINE;

/// `POST /p/{projectId}/findings/job`: creates one job for the selected findings, or for the finding `only`.
pub(crate) async fn create_job(
    Extract(app): Extract<App>,
    ctx: ProjectContext,
    fields: FormFields,
) -> Result<Response, PageError> {
    let ids = selected(&fields);
    let mut found = app.findings.findings_by_id(&ctx.project.id, &ids).await?;
    if ids.iter().any(|id| found.iter().all(|finding| finding.id != *id)) {
        return Ok(not_found_page("finding"));
    }
    found.sort_by_key(|finding| (Reverse(finding.score), finding.id.0.clone()));
    // The store refuses findings that don't wait for a job. A form that is sent again must lead to its job.
    let new = match validate_selection(&found) {
        Ok(()) | Err(FixError::NoneWaiting) => new_job(&app, &ctx, &fields, found).await?,
        Err(error) => Err(sentence(&error.to_string())),
    };
    let new = match new {
        Ok(new) => new,
        Err(refusal) => return refused_page(&app, &ctx, &fields, StatusCode::BAD_REQUEST, refusal).await,
    };
    match start_once(&app, &ctx, &new, ("findings", fields.get("once"))).await? {
        Ok(response) => Ok(response),
        Err(refusal) => {
            let page = refused_page(&app, &ctx, &fields, refusal.status(), refusal.sentence()).await?;
            Ok(refusal.set_retry_after(page))
        }
    }
}

fn selected(fields: &FormFields) -> Vec<FindingId> {
    let mut ids = match (fields.trimmed("only"), fields.trimmed("shown")) {
        (Some(only), _) => vec![only],
        // The button for all findings of a list has their ids.
        (None, Some(shown)) => shown.split(' ').map(str::to_owned).collect(),
        (None, None) => fields.all("finding"),
    };
    ids.sort_unstable();
    ids.dedup();
    // One more shows that there are too many.
    ids.truncate(MAX_FINDINGS_PER_JOB + 1);
    ids.into_iter().map(FindingId).collect()
}

/// The error is a sentence for the person.
async fn new_job(
    app: &App,
    ctx: &ProjectContext,
    fields: &FormFields,
    found: Vec<Finding>,
) -> Result<Result<NewJob, String>, PageError> {
    let project = &ctx.project;
    let kind = found.first().map_or(Kind::NotFound, |finding| finding.kind);
    let prompt = match fields.trimmed("prompt") {
        Some(typed) => Ok(typed),
        None => suggested_prompt(kind, project.model != OFFLINE).map(str::to_owned),
    };
    let prompt = match prompt {
        Ok(prompt) => Prompt::with_context(&prompt, quotations(app, project, &found).await?)
            .map_err(|error| sentence(&error.to_string())),
        Err(error) => Err(sentence(&error.to_string())),
    };
    Ok(prompt.map(|prompt| NewJob {
        project: project.id.clone(),
        prompt,
        model: project.model.clone(),
        base_ref: None,
        branch: None,
        draft: false,
        findings: found.into_iter().map(|finding| finding.id).collect(),
    }))
}

async fn refused_page(
    app: &App,
    ctx: &ProjectContext,
    fields: &FormFields,
    status: StatusCode,
    error: String,
) -> Result<Response, PageError> {
    let mut findings = findings_page(app, ctx, &FindingsQuery::parse_text(fields.get("list"))).await?;
    findings.error = Some(error);
    Ok(page_with(status, &findings))
}

/// `POST /p/{projectId}/findings/{id}/dismiss`
pub(crate) async fn dismiss(
    Extract(app): Extract<App>,
    ctx: ProjectContext,
    ResourceId(id): ResourceId,
    fields: FormFields,
) -> Result<Response, PageError> {
    let (id, reason) = (FindingId(id), fields.get("reason").trim());
    let Some(finding) = app.findings.finding(&ctx.project.id, &id).await? else {
        return Ok(not_found_page("finding"));
    };
    if let Err(why) = parse_reason(reason) {
        let error = format!("A reason must {why}. Nothing was dismissed.");
        let page = detail::finding_page(&app, &ctx, finding).await?;
        let refused = view::Finding { error: Some(error), reason: reason.into(), ..page };
        return Ok(page_with(StatusCode::BAD_REQUEST, &refused));
    }
    let dismissed = app.findings.dismiss_finding(&ctx.project.id, &id, reason, &ctx.user.actor()).await?;
    dismissed.ok_or_else(|| anyhow!("the finding was removed meanwhile"))?;
    let list = FindingsQuery::parse_text(fields.get("list")).href(&ctx.root());
    let separator = if list.contains('?') { '&' } else { '?' };
    Ok(Redirect::to(&format!("{list}{separator}dismissed=1")).into_response())
}
