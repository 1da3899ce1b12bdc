//! Extracts from a request who is signed in, in which project, and the fields of a form with a valid CSRF token.

use std::convert::Infallible;

use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use sha2::{Digest, Sha256};
use store::{Actor, NewAuditEntry, OrganizationId, Project, ProjectId, Session, Token};
use subtle::ConstantTimeEq;

use super::cookies;
use super::return_path::ReturnPath;
use super::view::{LoginRequired, ProjectNav, Section, Shell};
use super::{PageError, internal_error_page, not_found_page, notice_page, page_with};
use app::App;
use app::bodies::{BodyError, Owner};
use app::path::segment;

/// The position of the project's id in a path: `/p/{projectId}/…`.
const PROJECT_SEGMENT: usize = 2;
/// The position of the id of a job, key and so on: `/p/{projectId}/jobs/{id}`.
const RESOURCE_SEGMENT: usize = 4;
/// Fits the longest prompt in its longest encoding.
const MAX_FORM_BYTES: usize = 2 * 1024 * 1024;
/// 14 days.
const SESSION_COOKIE_SECONDS: u32 = 1_209_600;

/// Extractor: a person with a valid session. Other requests get the sign-in page.
pub(crate) struct SignedInUser {
    pub(super) organization: OrganizationId,
    pub(super) session: Session,
    pub(super) token: Token,
    csrf: String,
}

impl SignedInUser {
    pub(super) fn shell(&self, title: &str, current: Section) -> Shell {
        Shell { title: title.into(), project: None, current, signed_in: true, csrf: self.csrf.clone() }
    }

    pub(super) fn actor(&self) -> Actor {
        Actor::of_session(&self.session)
    }

    /// Identifies the person even if another person gets the same name later.
    pub(super) fn identity(&self) -> String {
        self.session.person.as_ref().map_or_else(|| self.display_name(), |person| person.id.0.clone())
    }

    /// The name that other members see.
    pub(super) fn display_name(&self) -> String {
        self.actor().to_string()
    }

    #[expect(clippy::result_large_err, reason = "the error is a whole page, and rare")]
    pub(super) fn require_owner(&self) -> Result<(), PageError> {
        let message = "Nothing was changed. Ask an owner of the organization to do this.";
        let refusal = || PageError(notice_page(StatusCode::FORBIDDEN, "Only owners can do this", message));
        if self.session.is_owner() { Ok(()) } else { Err(refusal()) }
    }

    pub(super) async fn record_audit(&self, app: &App, what: &str, about: &str) -> Result<(), PageError> {
        Ok(app.people.record_audit(&self.audit_entry(what, about)).await?)
    }

    pub(super) fn audit_entry(&self, what: &str, about: &str) -> NewAuditEntry {
        let (organization, who) = (self.organization.clone(), self.display_name());
        NewAuditEntry { organization, who, what: what.into(), about: about.into() }
    }
}

impl FromRequestParts<App> for SignedInUser {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Response> {
        let refusal = || login_required(app, ReturnPath::from_request(parts));
        let token = session_cookie(&parts.headers, app).ok_or_else(refusal)?;
        let found = app.sessions.session(&token).await.map_err(|error| internal_error_page(&error.into()))?;
        let session = found.ok_or_else(refusal)?;
        let organization = session.organization.clone();
        parts.extensions.insert(Owner::Organization(organization.clone()));
        parts.extensions.insert(session.clone());
        Ok(Self { organization, session, csrf: csrf_token(&token), token })
    }
}

/// Extractor: a signed-in person and the project of their organization that the path names.
pub(crate) struct ProjectContext {
    pub(super) user: SignedInUser,
    pub(super) project: Project,
}

impl ProjectContext {
    pub(super) fn shell(&self, title: &str, current: Section) -> Shell {
        Shell { project: Some(nav(&self.project)), ..self.user.shell(title, current) }
    }

    pub(super) fn root(&self) -> String {
        nav(&self.project).root()
    }
}

pub(super) fn nav(project: &Project) -> ProjectNav {
    ProjectNav {
        id: project.id.0.clone(),
        name: project.name.clone(),
        repository: project.repository.clone(),
        branch: project.base_ref.clone(),
    }
}

impl FromRequestParts<App> for ProjectContext {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Response> {
        let user = SignedInUser::from_request_parts(parts, app).await?;
        let id = ProjectId(segment(&parts.uri, PROJECT_SEGMENT).ok_or_else(|| not_found_page("project"))?);
        let found = app.accounts.project(&id).await.map_err(|error| internal_error_page(&error.into()))?;
        let project = found.filter(|project| project.organization == user.organization);
        Ok(Self { project: project.ok_or_else(|| not_found_page("project"))?, user })
    }
}

/// Extractor: the id of a job, a key and so on in the path. Empty if it isn't valid UTF-8.
pub(crate) struct ResourceId(pub(super) String);

impl FromRequestParts<App> for ResourceId {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Infallible> {
        Ok(Self(segment(&parts.uri, RESOURCE_SEGMENT).unwrap_or_default()))
    }
}

/// Extractor: the fields of a form that carries the session's CSRF token, which other sites don't know.
pub(crate) struct FormFields(Vec<(String, String)>);

impl FormFields {
    pub(super) fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
    }

    /// The trimmed value of a field. `None` if it's empty.
    pub(super) fn trimmed(&self, name: &str) -> Option<String> {
        Some(self.get(name).trim().to_owned()).filter(|text| !text.is_empty())
    }

    /// All values of a field that can occur more than once.
    pub(super) fn all(&self, name: &str) -> Vec<String> {
        self.0.iter().filter(|(key, _)| key == name).map(|(_, value)| value.clone()).collect()
    }

    /// The lines of a field: trimmed, without empty lines and duplicates.
    pub(super) fn lines(&self, name: &str) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for line in self.get(name).lines().map(str::trim).filter(|line| !line.is_empty()) {
            if !lines.iter().any(|known| known == line) {
                lines.push(line.to_owned());
            }
        }
        lines
    }

    /// Reads a form within limits of size and time, without checking the CSRF token.
    pub(super) async fn read(app: &App, request: Request, limit: usize) -> Result<Self, Response> {
        let (parts, body) = request.into_parts();
        let bytes = app.bodies.read(Owner::of(&parts, app), body, limit).await.map_err(unread_form_page)?;
        let pairs = form_urlencoded::parse(&bytes);
        Ok(Self(pairs.map(|(name, value)| (name.into_owned(), value.into_owned())).collect()))
    }
}

impl FromRequest<App> for FormFields {
    type Rejection = Response;

    async fn from_request(request: Request, app: &App) -> Result<Self, Response> {
        let token = session_cookie(request.headers(), app).ok_or_else(|| login_required(app, None))?;
        let before = request.extensions().get::<Session>().cloned();
        let fields = Self::read(app, request, MAX_FORM_BYTES).await?;
        if !bool::from(fields.get("csrf").as_bytes().ct_eq(csrf_token(&token).as_bytes())) {
            return Err(stale_form_page());
        }
        // A slow form can take half a minute to arrive. The session may have ended, or its role changed, meanwhile.
        let now = app.sessions.session(&token).await.map_err(|error| internal_error_page(&error.into()))?;
        match before.is_none() || before == now {
            true => Ok(fields),
            false => Err(login_required(app, None)),
        }
    }
}

fn unread_form_page(why: BodyError) -> Response {
    let (status, title, message) = match why {
        BodyError::TooLarge => (
            StatusCode::PAYLOAD_TOO_LARGE,
            "The form is too large",
            "Shorten the text, and submit the form again.",
        ),
        BodyError::TooSlow => {
            (StatusCode::REQUEST_TIMEOUT, "The form took too long to arrive", "Submit the form again.")
        }
        BodyError::Disconnected => {
            (StatusCode::BAD_REQUEST, "The form arrived incomplete", "Submit the form again.")
        }
        BodyError::OverBudget => {
            (StatusCode::SERVICE_UNAVAILABLE, "The server is overloaded", "Submit the form again later.")
        }
    };
    notice_page(status, title, &format!("Nothing was changed. {message}"))
}

fn stale_form_page() -> Response {
    let message = "Nothing was changed, because the form belongs to an earlier session. Reload the page, and submit the form again.";
    notice_page(StatusCode::FORBIDDEN, "The form is out of date", message)
}

fn login_required(app: &App, next: Option<ReturnPath>) -> Response {
    let mut response = sign_in_page(StatusCode::UNAUTHORIZED, "", None, next.as_ref());
    if let Some(next) = next {
        next.set_cookie(&mut response, app);
    }
    response
}

pub(super) fn sign_in_page(
    status: StatusCode,
    name: &str,
    error: Option<&str>,
    next: Option<&ReturnPath>,
) -> Response {
    let (error, next) = (error.map(str::to_owned), next.map(|next| next.as_str().to_owned()));
    page_with(status, &LoginRequired { shell: Shell::signed_out("Sign in"), name: name.into(), error, next })
}

fn csrf_token(session: &Token) -> String {
    let digest = Sha256::new().chain_update("form of session ").chain_update(session.reveal()).finalize();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Over HTTPS, the prefix `__Host-` keeps other hosts of the domain from setting the cookie.
fn cookie_name(app: &App) -> &'static str {
    if cookies::is_https(app) { "__Host-docwright" } else { "docwright" }
}

pub(super) fn session_cookie(headers: &HeaderMap, app: &App) -> Option<Token> {
    cookies::find(headers, cookie_name(app)).map(|value| Token::received(&value))
}

/// Sets the session's cookie, or removes it if there is no session.
pub(super) fn set_session_cookie(response: &mut Response, app: &App, session: Option<&Token>) {
    let value = session.map(Token::reveal);
    cookies::append(response, app, cookie_name(app), value, "/", SESSION_COOKIE_SECONDS);
}
