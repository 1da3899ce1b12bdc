//! The API keys page: the project's id to copy; keys made, listed and revoked.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use jiff::{SignedDuration, Timestamp};
use store::{Allow, ApiKey, KeyId, Limit, NewKey, Project, ProjectId, Usage, parse_name};

use super::session::{Fields, InProject, Named};
use super::view::{self, Expiry, ExpiryKind, KeyForm, KeyRow, Keys, OtherProject, Section};
use super::{Oops, missing, page_with, when};
use app::App;
use app::time::relative;

/// Keys that an organization can make on its pages.
const AN_HOUR: u32 = 10;
const SOON: SignedDuration = SignedDuration::from_hours(24 * 7);

/// `GET /p/{projectId}/keys`
pub(crate) async fn list(State(app): State<App>, at: InProject) -> Result<Response, Oops> {
    show(&app, &at, Shown::default()).await
}

/// `POST /p/{projectId}/keys`: answers the page itself, since the secret is on it this once.
pub(crate) async fn create(State(app): State<App>, at: InProject, fields: Fields) -> Result<Response, Oops> {
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
    let past = |new: &NewKey| new.expiry.moment(now).is_some_and(|end| end <= now);
    let others = others(&app, &at.project).await?;
    let new = match parse(&form, &at, &others) {
        Ok(new) if past(&new) => Err("that date is in the past".to_owned()),
        parsed => parsed,
    };
    let new = match new {
        Ok(new) => new,
        Err(error) => return show(&app, &at, Shown { error: Some(error), form, ..Shown::default() }).await,
    };
    if let Err(usage) = app.rates.count(&limit(&at.project)).await? {
        let (error, status) = (Some(too_many(usage)), StatusCode::TOO_MANY_REQUESTS);
        return show(&app, &at, Shown { error, form, status, created: None }).await;
    }
    let (key, text) = app.accounts.create_key(&new).await?;
    at.visitor.note(&app, "made the key", &key.to_ref().to_string()).await?;
    let created =
        view::NewKey { curl: curl(&app, &at.project, &new, text.reveal()), secret: text.reveal().into() };
    show(&app, &at, Shown { created: Some(created), ..Shown::default() }).await
}

/// `POST /p/{projectId}/keys/{id}/revoke`
pub(crate) async fn revoke(
    State(app): State<App>,
    at: InProject,
    Named(id): Named,
    _checked: Fields,
) -> Result<Response, Oops> {
    let id = KeyId(id);
    let keys = app.accounts.keys(Some(&at.project.organization)).await?;
    let Some(key) = keys.into_iter().find(|key| key.id == id) else { return Ok(missing("key")) };
    if app.accounts.revoke_key(&at.project.organization, &id).await? {
        at.visitor.note(&app, "revoked the key", &key.to_ref().to_string()).await?;
    }
    Ok(Redirect::to(&format!("{}/keys", at.root())).into_response())
}

/// Who can make keys without end can fill any page with them.
fn limit(project: &Project) -> Limit {
    Limit { bucket: format!("keys {}", project.organization), max: AN_HOUR }
}

fn too_many(usage: Usage) -> String {
    let minutes = usage.left_for.as_secs() / 60 + 1;
    format!(
        "at most {AN_HOUR} keys an hour are made here: try again in {minutes} min, or run `docwright key create`"
    )
}

struct Shown {
    created: Option<view::NewKey>,
    error: Option<String>,
    form: KeyForm,
    /// Of a refusal.
    status: StatusCode,
}

impl Default for Shown {
    fn default() -> Self {
        Self { created: None, error: None, form: KeyForm::default(), status: StatusCode::BAD_REQUEST }
    }
}

async fn others(app: &App, project: &Project) -> Result<Vec<Project>, Oops> {
    let all = app.accounts.projects(Some(&project.organization)).await?;
    Ok(all.into_iter().filter(|one| one.id != project.id).collect())
}

async fn show(app: &App, at: &InProject, shown: Shown) -> Result<Response, Oops> {
    let now = app.clock.now();
    let keys = app.accounts.keys(Some(&at.project.organization)).await?;
    let here = keys.into_iter().filter(|key| key.reaches(&at.project.id));
    let status = if shown.error.is_some() { shown.status } else { StatusCode::OK };
    let others = others(app, &at.project).await?;
    let keys = Keys {
        shell: at.shell("API keys", Section::Keys),
        project_id: at.project.id.0.clone(),
        keys: here.map(|key| row(&key, &at.project, &others, now)).collect(),
        others: others.iter().map(|one| other(one, &shown.form)).collect(),
        created: shown.created,
        error: shown.error,
        form: shown.form,
    };
    Ok(page_with(status, &keys))
}

fn other(project: &Project, form: &KeyForm) -> OtherProject {
    let id = project.id.0.clone();
    OtherProject { name: project.name.clone(), chosen: form.also.contains(&id), id }
}

fn parse(form: &KeyForm, at: &InProject, others: &[Project]) -> Result<NewKey, String> {
    let project = &at.project;
    if form.also.iter().any(|id| !others.iter().any(|one| one.id.0 == *id)) {
        return Err("a key is for projects of this organization".into());
    }
    if !form.also.is_empty() && !form.only_this_project {
        return Err(
            "check `Only for this project`, too, or no other project: without it the key is for all".into()
        );
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
        creator: Some(at.visitor.who()),
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
                let also = others.iter().filter(|one| some.contains(&one.id));
                let names = [project].into_iter().chain(also).map(|one| one.name.as_str());
                format!("only {}", names.collect::<Vec<_>>().join(", "))
            }
        },
        allow: key.allow.entries().collect::<Vec<_>>().join(", "),
        expiry: expiry(key, now),
        last_used: key.last_used_at.map(|at| when(at, now)),
        created: when(key.created_at, now),
        creator: key.creator.clone(),
    }
}

fn expiry(key: &ApiKey, now: Timestamp) -> Expiry {
    let (kind, text) = match (key.revoked_at, key.expires_at) {
        (Some(at), _) => (ExpiryKind::Revoked, format!("revoked {}", relative(at, now))),
        (None, None) => (ExpiryKind::Never, "never expires".into()),
        (None, Some(end)) if end <= now => (ExpiryKind::Expired, format!("expired {}", relative(end, now))),
        (None, Some(end)) if end.duration_since(now) < SOON => {
            (ExpiryKind::Soon, format!("expires {}", relative(end, now)))
        }
        (None, Some(end)) => (ExpiryKind::Good, format!("expires {}", relative(end, now))),
    };
    Expiry { text, kind }
}

/// A command that works with this very key: one that may only read is shown how to read.
pub(super) fn curl(app: &App, project: &Project, key: &NewKey, secret: &str) -> String {
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
