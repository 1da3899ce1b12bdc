//! The API keys page: the project's id to copy; keys made, listed and revoked.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use jiff::{SignedDuration, Timestamp};
use store::{Allow, ApiKey, KeyId, NewKey, Project, parse_name};

use super::session::{Fields, InProject, Named};
use super::view::{self, Expiry, ExpiryKind, KeyForm, KeyRow, Keys, Section};
use super::{Oops, missing, page_with, when};
use crate::app::App;
use crate::time::relative;

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
        allow: fields.get("allow").into(),
    };
    let now = app.clock.now();
    let past = |new: &NewKey| new.expiry.moment(now).is_some_and(|end| end <= now);
    let new = match parse(&form, &at.project) {
        Ok(new) if past(&new) => Err("that date is in the past".to_owned()),
        parsed => parsed,
    };
    let new = match new {
        Ok(new) => new,
        Err(error) => return show(&app, &at, Shown { error: Some(error), form, created: None }).await,
    };
    let (_, text) = app.accounts.create_key(&new).await?;
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
    match app.accounts.revoke_key(&at.project.organization, &KeyId(id)).await? {
        true => Ok(Redirect::to(&format!("{}/keys", at.root())).into_response()),
        false => Ok(missing("key")),
    }
}

#[derive(Default)]
struct Shown {
    created: Option<view::NewKey>,
    error: Option<String>,
    form: KeyForm,
}

async fn show(app: &App, at: &InProject, shown: Shown) -> Result<Response, Oops> {
    let now = app.clock.now();
    let keys = app.accounts.keys(Some(&at.project.organization)).await?;
    let here = keys.into_iter().filter(|key| key.reaches(&at.project.id));
    let status = if shown.error.is_some() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    let keys = Keys {
        shell: at.shell("API keys", Section::Keys),
        project_id: at.project.id.0.clone(),
        keys: here.map(|key| row(&key, &at.project, now)).collect(),
        created: shown.created,
        error: shown.error,
        form: shown.form,
    };
    Ok(page_with(status, &keys))
}

fn parse(form: &KeyForm, project: &Project) -> Result<NewKey, String> {
    Ok(NewKey {
        organization: project.organization.clone(),
        name: parse_name("a key", &form.name)?,
        scope: form.scope.parse()?,
        projects: form.only_this_project.then(|| vec![project.id.clone()]),
        allow: Allow::parse(
            form.allow.split([',', '\n', ' ']).map(str::trim).filter(|entry| !entry.is_empty()),
        )
        .map_err(|error| error.to_string())?,
        expiry: form.expires.parse()?,
    })
}

fn row(key: &ApiKey, project: &Project, now: Timestamp) -> KeyRow {
    KeyRow {
        id: key.id.0.clone(),
        name: key.name.clone(),
        masked: format!("{}…", key.hint),
        scope: key.scope.as_str().into(),
        projects: match &key.projects {
            None => "all projects".into(),
            Some(some) if some.len() == 1 => format!("only {}", project.name),
            Some(some) => format!("{} projects", some.len()),
        },
        allow: key.allow.entries().collect::<Vec<_>>().join(", "),
        expiry: expiry(key, now),
        last_used: key.last_used_at.map(|at| when(at, now)),
        created: when(key.created_at, now),
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
fn curl(app: &App, project: &Project, key: &NewKey, secret: &str) -> String {
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
