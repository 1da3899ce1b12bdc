//! Shows the project's id, and lists, creates and revokes API keys.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use jiff::{SignedDuration, Timestamp};
use store::{Allow, ApiKey, KeyId, Limit, NewKey, Project, ProjectId, Usage, parse_name};

use super::jobs::minutes_left;
use super::session::{FormFields, ProjectContext, ResourceId};
use super::view::{self, Expiry, ExpiryKind, KeyForm, KeyRow, Keys, OtherProject, Section};
use super::{PageError, display_time, not_found_page, page_with};
use app::App;
use app::time::relative;

/// How many keys an organization can create per hour in the dashboard.
const MAX_KEYS_PER_HOUR: u32 = 10;
const EXPIRES_SOON: SignedDuration = SignedDuration::from_hours(24 * 7);

/// `GET /p/{projectId}/keys`
pub(crate) async fn list(State(app): State<App>, ctx: ProjectContext) -> Result<Response, PageError> {
    keys_page(&app, &ctx, PageState::default()).await
}

/// `POST /p/{projectId}/keys`: responds with the page itself, because the secret is shown only once.
pub(crate) async fn create(
    State(app): State<App>,
    ctx: ProjectContext,
    fields: FormFields,
) -> Result<Response, PageError> {
    let form = KeyForm {
        name: fields.get("name").into(),
        scope: fields.get("scope").into(),
        expires: fields.get("expires").into(),
        only_this_project: fields.get("only_this_project") == "true",
        also: fields.all("also"),
        until: fields.get("until").into(),
        allow: fields.get("allow").into(),
    };
    let now = app.clock.now();
    let is_past = |new: &NewKey| new.expiry.moment(now).is_some_and(|end| end <= now);
    let others = other_projects(&app, &ctx.project).await?;
    let new = match parse(&form, &ctx, &others) {
        Ok(new) if is_past(&new) => Err("The expiry date is in the past. Choose a later date.".to_owned()),
        parsed => parsed,
    };
    let new = match new {
        Ok(new) => new,
        Err(error) => {
            let error = Some((StatusCode::BAD_REQUEST, error));
            return keys_page(&app, &ctx, PageState { error, form, created: None }).await;
        }
    };
    if let Err(usage) = app.rates.count(&hourly_limit(&ctx.project)).await? {
        let error = Some((StatusCode::TOO_MANY_REQUESTS, limit_sentence(usage)));
        return keys_page(&app, &ctx, PageState { error, form, created: None }).await;
    }
    let (key, text) = app.accounts.create_key(&new).await?;
    ctx.user.record_audit(&app, "made the key", &key.to_ref().to_string()).await?;
    let created = view::NewKey {
        curl: curl_example(&app, &ctx.project, &new, text.reveal()),
        secret: text.reveal().into(),
    };
    keys_page(&app, &ctx, PageState { created: Some(created), ..PageState::default() }).await
}

/// `POST /p/{projectId}/keys/{id}/revoke`
pub(crate) async fn revoke(
    State(app): State<App>,
    ctx: ProjectContext,
    ResourceId(id): ResourceId,
    _csrf_checked: FormFields,
) -> Result<Response, PageError> {
    let id = KeyId(id);
    let keys = app.accounts.keys(Some(&ctx.project.organization)).await?;
    let Some(key) = keys.into_iter().find(|key| key.id == id) else { return Ok(not_found_page("API key")) };
    if app.accounts.revoke_key(&ctx.project.organization, &id).await? {
        ctx.user.record_audit(&app, "revoked the key", &key.to_ref().to_string()).await?;
    }
    Ok(Redirect::to(&format!("{}/keys", ctx.root())).into_response())
}

/// Without a limit, the list of keys could become too long for a page.
fn hourly_limit(project: &Project) -> Limit {
    Limit { bucket: format!("keys {}", project.organization), max: MAX_KEYS_PER_HOUR }
}

fn limit_sentence(usage: Usage) -> String {
    let minutes = minutes_left(&usage);
    format!(
        "You can create at most {MAX_KEYS_PER_HOUR} API keys per hour in the dashboard. Try again in {minutes}, or run docwright key create on the server."
    )
}

/// What the page shows beside the list of keys.
#[derive(Default)]
struct PageState {
    created: Option<view::NewKey>,
    /// The status of the response and a sentence. Without an error, the status is 200.
    error: Option<(StatusCode, String)>,
    form: KeyForm,
}

async fn other_projects(app: &App, project: &Project) -> Result<Vec<Project>, PageError> {
    let all = app.accounts.projects(Some(&project.organization)).await?;
    Ok(all.into_iter().filter(|other| other.id != project.id).collect())
}

async fn keys_page(app: &App, ctx: &ProjectContext, state: PageState) -> Result<Response, PageError> {
    let now = app.clock.now();
    let keys = app.accounts.keys(Some(&ctx.project.organization)).await?;
    let of_project = keys.into_iter().filter(|key| key.reaches(&ctx.project.id));
    let (status, error) = match state.error {
        Some((status, sentence)) => (status, Some(sentence)),
        None => (StatusCode::OK, None),
    };
    let others = other_projects(app, &ctx.project).await?;
    let keys = Keys {
        shell: ctx.shell("API keys", Section::Keys),
        project_id: ctx.project.id.0.clone(),
        keys: of_project.map(|key| row(&key, &ctx.project, &others, now)).collect(),
        others: others.iter().map(|other| project_choice(other, &state.form)).collect(),
        created: state.created,
        error,
        form: state.form,
    };
    Ok(page_with(status, &keys))
}

fn project_choice(project: &Project, form: &KeyForm) -> OtherProject {
    let id = project.id.0.clone();
    OtherProject { name: project.name.clone(), chosen: form.also.contains(&id), id }
}

fn parse(form: &KeyForm, ctx: &ProjectContext, others: &[Project]) -> Result<NewKey, String> {
    let project = &ctx.project;
    if form.also.iter().any(|id| !others.iter().any(|other| other.id.0 == *id)) {
        return Err("An API key can only have access to projects of this organization. Reload the page, and choose again.".into());
    }
    if !form.also.is_empty() && !form.only_this_project {
        return Err("To limit the API key to the selected projects, also select Only this project. To give it access to all projects, clear the other projects.".into());
    }
    let also = form.also.iter().cloned().map(ProjectId);
    let until = if form.until.is_empty() { &form.expires } else { &form.until };
    Ok(NewKey {
        organization: project.organization.clone(),
        name: parse_name("a key", &form.name)?,
        scope: form.scope.parse()?,
        projects: form.only_this_project.then(|| [project.id.clone()].into_iter().chain(also).collect()),
        allow: Allow::parse(
            form.allow.split([',', '\n', ' ']).map(str::trim).filter(|entry| !entry.is_empty()),
        )
        .map_err(|error| error.to_string())?,
        expiry: until.parse()?,
        creator: Some(ctx.user.display_name()),
    })
}

fn row(key: &ApiKey, project: &Project, others: &[Project], now: Timestamp) -> KeyRow {
    KeyRow {
        id: key.id.0.clone(),
        name: key.name.clone(),
        masked: format!("{}…", key.hint),
        scope: key.scope.as_str().into(),
        projects: match &key.projects {
            None => "all projects".into(),
            Some(some) => {
                let also = others.iter().filter(|other| some.contains(&other.id));
                let names = [project].into_iter().chain(also).map(|project| project.name.as_str());
                format!("only {}", names.collect::<Vec<_>>().join(", "))
            }
        },
        allow: key.allow.entries().collect::<Vec<_>>().join(", "),
        expiry: expiry(key, now),
        last_used: key.last_used_at.map(|at| display_time(at, now)),
        created: display_time(key.created_at, now),
        creator: key.creator.clone(),
    }
}

fn expiry(key: &ApiKey, now: Timestamp) -> Expiry {
    let (kind, text) = match (key.revoked_at, key.expires_at) {
        (Some(at), _) => (ExpiryKind::Revoked, format!("revoked {}", relative(at, now))),
        (None, None) => (ExpiryKind::Never, "never expires".into()),
        (None, Some(end)) if end <= now => (ExpiryKind::Expired, format!("expired {}", relative(end, now))),
        (None, Some(end)) if end.duration_since(now) < EXPIRES_SOON => {
            (ExpiryKind::Soon, format!("expires {}", relative(end, now)))
        }
        (None, Some(end)) => (ExpiryKind::Good, format!("expires {}", relative(end, now))),
    };
    Expiry { text, kind }
}

/// A command that works with this key: it reads with a key of the scope `read`, and creates a job otherwise.
pub(super) fn curl_example(app: &App, project: &Project, key: &NewKey, secret: &str) -> String {
    let (base, id) = (&app.public_url, &project.id);
    match key.scope {
        store::Scope::Read => {
            format!("curl {base}/v1/analytics/{id}/views -H \"Authorization: Bearer {secret}\"")
        }
        store::Scope::Write => format!(
            "curl -X POST {base}/v2/agent/{id}/job -H \"Authorization: Bearer {secret}\" \
             -H \"Content-Type: application/json\" -d '{{\"prompt\":\"Fix broken links\"}}'"
        ),
    }
}
