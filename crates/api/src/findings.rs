//! Lists findings, starts jobs that fix them, and dismisses them.

use std::collections::BTreeSet;

use axum::Json as JsonResponse;
use axum::extract::State;
use axum::http::{HeaderMap, Uri};
use axum::response::{IntoResponse, Response};
use findings::{Kind, State as FindingStatus};
use store::{Finding, FindingFilter, FindingId, FindingSort, HurtReaders, NewJob, Project, Prompt};
use wire::{
    DismissFinding, Evidence, EvidenceDay, EvidencePath, EvidenceReferrer, FindingCount, FindingJob,
    FindingList, FixFindings, RedirectCandidate,
};

use super::body::Json;
use super::caller::{Caller, FindingPath};
use super::effects;
use super::error::ApiError;
use super::jobs;
use super::limits::JobLimitCheck;
use super::query::Query;
use app::App;
use app::findings::{
    effect_of_finding, find_candidates, parse_reason, quotations, suggested_prompt, validate_selection,
};
use app::models::OFFLINE;
use app::time::rfc3339;

const MAX_ROWS: i64 = 100;
const DEFAULT_ROWS: i64 = 50;

/// `GET /v1/findings/{projectId}?state&kind&class&sort&limit&offset`
pub(super) async fn list(State(app): State<App>, caller: Caller, uri: Uri) -> Result<Response, ApiError> {
    let mut query = Query::new(&uri);
    let limit = query.integer("limit", 1, MAX_ROWS, DEFAULT_ROWS);
    let offset = query.integer("offset", 0, i64::MAX, 0);
    let state = query.one_of("state", &FindingStatus::ALL.map(FindingStatus::as_str));
    let kind = query.one_of("kind", &Kind::ALL.map(Kind::as_str));
    let class = query.one_of("class", &["human", "ai"]);
    let sort = query.one_of("sort", &FindingSort::NAMES).and_then(FindingSort::from_name);
    query.finish()?;
    let filter = FindingFilter {
        state: state.and_then(FindingStatus::parse),
        kind: kind.and_then(Kind::parse),
        readers: class.map(|class| if class == "ai" { HurtReaders::Ai } else { HurtReaders::Human }),
        period: None,
        sort: sort.unwrap_or_default(),
        limit: limit as u32,
        offset: offset.unsigned_abs(),
    };
    let project = &caller.project.id;
    let page = app.findings.findings(project, &filter).await?;
    let count = |count: store::FindingCount| FindingCount {
        kind: count.kind.as_str().into(),
        state: count.state.as_str().into(),
        count: count.count,
    };
    let counts = app.findings.finding_counts(project).await?.into_iter().map(count).collect();
    let findings = page.items.iter().map(finding).collect();
    let list = FindingList { findings, has_more: page.has_more, counts };
    let mut response = JsonResponse(list).into_response();
    query.set_link_header(response.headers_mut(), limit, offset, page.has_more);
    Ok(response)
}

/// `GET /v1/findings/{projectId}/{finding}`
pub(super) async fn show(
    State(app): State<App>,
    caller: Caller,
    FindingPath(id): FindingPath,
) -> Result<JsonResponse<wire::Finding>, ApiError> {
    let found = find(&app, &caller.project, &id).await?;
    let effect = effect_of_finding(&app, &caller.project, &found).await?;
    let candidates = find_candidates(&app, &caller.project, &found).await?;
    let candidate = |candidate: app::findings::FindingCandidate| RedirectCandidate {
        path: candidate.path,
        reason: candidate.reason,
    };
    Ok(JsonResponse(wire::Finding {
        evidence: Some(evidence(&found.evidence)),
        candidates: Some(candidates.into_iter().map(candidate).collect()),
        effect: effect.as_ref().map(effects::effect),
        ..finding(&found)
    }))
}

/// `POST /v1/findings/{projectId}/{finding}/job`: starts a job that fixes the finding.
pub(super) async fn fix_one(
    State(app): State<App>,
    caller: Caller,
    FindingPath(id): FindingPath,
    _: JobLimitCheck,
    headers: HeaderMap,
    Json(body, bytes): Json<FixFindings>,
) -> Result<Response, ApiError> {
    let found = find(&app, &caller.project, &id).await?;
    start_job(&app, &caller, &headers, (body, &bytes), vec![found]).await
}

/// `POST /v1/findings/{projectId}/job`: starts a job that fixes several findings.
pub(super) async fn fix_many(
    State(app): State<App>,
    caller: Caller,
    _: JobLimitCheck,
    headers: HeaderMap,
    Json(body, bytes): Json<FixFindings>,
) -> Result<Response, ApiError> {
    let distinct: BTreeSet<&String> = body.findings.iter().collect();
    // One more shows that there are too many.
    let ids: Vec<FindingId> =
        distinct.into_iter().take(store::MAX_FINDINGS_PER_JOB + 1).cloned().map(FindingId).collect();
    let found = app.findings.findings_by_id(&caller.project.id, &ids).await?;
    let is_unknown = |id: &FindingId| found.iter().all(|finding| finding.id != *id);
    if ids.iter().any(is_unknown) {
        return Err(ApiError::NoSuchFinding);
    }
    start_job(&app, &caller, &headers, (body, &bytes), found).await
}

/// `POST /v1/findings/{projectId}/{finding}/dismiss`
pub(super) async fn dismiss(
    State(app): State<App>,
    caller: Caller,
    FindingPath(id): FindingPath,
    Json(body, _): Json<DismissFinding>,
) -> Result<JsonResponse<wire::Finding>, ApiError> {
    find(&app, &caller.project, &id).await?;
    let reason = parse_reason(&body.reason)
        .map_err(|why| ApiError::invalid("invalid_reason", format!("reason must {why}")))?;
    let dismissed = app.findings.dismiss_finding(&caller.project.id, &id, reason, &caller.actor).await?;
    Ok(JsonResponse(finding(&dismissed.ok_or(ApiError::NoSuchFinding)?)))
}

async fn find(app: &App, project: &Project, id: &FindingId) -> Result<Finding, ApiError> {
    app.findings.finding(&project.id, id).await?.ok_or(ApiError::NoSuchFinding)
}

async fn start_job(
    app: &App,
    caller: &Caller,
    headers: &HeaderMap,
    (body, bytes): (FixFindings, &[u8]),
    found: Vec<Finding>,
) -> Result<Response, ApiError> {
    let project = &caller.project;
    let model = jobs::allowed_model(app, project, body.model)?;
    let terms = jobs::job_terms(app, caller, headers, bytes)?;
    // The store refuses findings that don't wait for a job. A repeated request must get its first answer.
    let refusal = |error: app::findings::FixError| ApiError::invalid("invalid_findings", error.to_string());
    match validate_selection(&found) {
        Ok(()) | Err(app::findings::FixError::NoneWaiting) => {}
        Err(error) => return Err(refusal(error)),
    }
    let kind = found.first().map_or(Kind::NotFound, |finding| finding.kind);
    let text = match body.prompt {
        Some(text) => text,
        None => suggested_prompt(kind, model != OFFLINE).map_err(refusal)?.to_owned(),
    };
    let context = quotations(app, project, &found).await?;
    let new = NewJob {
        project: project.id.clone(),
        prompt: Prompt::with_context(&text, context)?,
        model,
        base_ref: None,
        branch: None,
        draft: false,
        findings: found.into_iter().map(|finding| finding.id).collect(),
    };
    jobs::insert(app, project, &new, &terms).await
}

pub(super) fn finding(found: &Finding) -> wire::Finding {
    let day = |day: Option<jiff::civil::Date>| day.map(|day| day.to_string());
    wire::Finding {
        id: found.id.0.clone(),
        kind: found.kind.as_str().into(),
        subject: found.subject.clone(),
        target: found.target.clone(),
        state: found.lifecycle.state.as_str().into(),
        note: app::findings::note_sentence(&found.lifecycle),
        score: found.score as f64 / 1_000.0,
        human: found.human,
        ai: found.ai,
        total: found.human + found.ai,
        first_seen: day(found.evidence.first_seen),
        last_seen: day(found.evidence.last_seen),
        job: found.job.as_ref().map(|job| FindingJob {
            id: job.id.0.clone(),
            status: job.status.as_str().into(),
            pr_link: job.pr_link.clone(),
            pr_state: job.pr_state.map(|state| state.as_str().into()),
        }),
        merged_on: day(found.lifecycle.merged_on),
        shipped_on: day(found.lifecycle.shipped_on),
        found_at: rfc3339(found.found_at),
        changed_at: rfc3339(found.changed_at),
        evidence: None,
        candidates: None,
        effect: None,
    }
}

fn evidence(evidence: &findings::Evidence) -> Evidence {
    let day = |day: &findings::Day| EvidenceDay { day: day.day.to_string(), human: day.human, ai: day.ai };
    let path =
        |path: &findings::Member| EvidencePath { path: path.path.clone(), human: path.human, ai: path.ai };
    let referrer = |(referrer, requests): &(String, u64)| EvidenceReferrer {
        referrer: referrer.clone(),
        requests: *requests,
    };
    Evidence {
        days: evidence.days.iter().map(day).collect(),
        paths: evidence.members.iter().map(path).collect(),
        more_paths: evidence.more_members,
        referrers: evidence.referrers.iter().map(referrer).collect(),
        pages: evidence.pages.clone(),
        more_pages: evidence.more_pages,
    }
}
