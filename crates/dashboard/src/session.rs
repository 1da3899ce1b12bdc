//! Who looks at a page, and in which project.

use std::convert::Infallible;

use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::header::{COOKIE, SET_COOKIE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use sha2::{Digest, Sha256};
use store::{Actor, NewAuditEntry, OrganizationId, Project, ProjectId, Session, Token};
use subtle::ConstantTimeEq;

use super::next::Next;
use super::view::{LoginNeeded, ProjectNav, Section, Shell};
use super::{Oops, broken, missing, notice, page_with};
use app::App;
use app::bodies::{Owner, Unread};
use app::path::segment;

/// Where the project's id stands: `/p/{projectId}/…`.
const PROJECT: usize = 2;
/// Where the thing's own name stands: `/p/{projectId}/jobs/{id}`.
const NAMED: usize = 4;
/// The longest prompt, each character encoded the longest way.
const MAX_FORM: usize = 2 * 1024 * 1024;
const FORTNIGHT: &str = "1209600";

/// Somebody with a live session.
pub(crate) struct SignedIn {
    pub(super) organization: OrganizationId,
    pub(super) session: Session,
    pub(super) token: Token,
    csrf: String,
}

impl SignedIn {
    pub(super) fn shell(&self, title: &str, current: Section) -> Shell {
        Shell { title: title.into(), project: None, current, signed_in: true, csrf: self.csrf.clone() }
    }

    pub(super) fn actor(&self) -> Actor {
        Actor::of_session(&self.session)
    }

    /// Who it is, also when another person gets the same name.
    pub(super) fn identity(&self) -> String {
        self.session.person.as_ref().map_or_else(|| self.who(), |person| person.id.0.clone())
    }

    /// As it is told to others.
    pub(super) fn who(&self) -> String {
        self.actor().to_string()
    }

    #[expect(clippy::result_large_err, reason = "the refusal is a whole page, made once")]
    pub(super) fn must_own(&self) -> Result<(), Oops> {
        let message = "Nothing was changed. Ask an owner of the organization to do it.";
        let refused = || Oops(notice(StatusCode::FORBIDDEN, "Only an owner may do that", message));
        if self.session.is_owner() { Ok(()) } else { Err(refused()) }
    }

    /// For those who ask later who it was.
    pub(super) async fn note(&self, app: &App, what: &str, about: &str) -> Result<(), Oops> {
        Ok(app.people.record_audit(&self.deed(what, about)).await?)
    }

    pub(super) fn deed(&self, what: &str, about: &str) -> NewAuditEntry {
        let (organization, who) = (self.organization.clone(), self.who());
        NewAuditEntry { organization, who, what: what.into(), about: about.into() }
    }
}

impl FromRequestParts<App> for SignedIn {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Response> {
        let refused = || login_needed(app, Next::asked(parts));
        let token = cookie(&parts.headers, app).ok_or_else(refused)?;
        let found = app.sessions.session(&token).await.map_err(|error| broken(&error.into()))?;
        let session = found.ok_or_else(refused)?;
        let organization = session.organization.clone();
        parts.extensions.insert(Owner::Organization(organization.clone()));
        parts.extensions.insert(session.clone());
        Ok(Self { organization, session, csrf: csrf(&token), token })
    }
}

/// Somebody with a live session, at a page of a project of their organization.
pub(crate) struct InProject {
    pub(super) visitor: SignedIn,
    pub(super) project: Project,
}

impl InProject {
    pub(super) fn shell(&self, title: &str, current: Section) -> Shell {
        Shell { project: Some(nav(&self.project)), ..self.visitor.shell(title, current) }
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

impl FromRequestParts<App> for InProject {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Response> {
        let visitor = SignedIn::from_request_parts(parts, app).await?;
        let id = ProjectId(segment(&parts.uri, PROJECT).ok_or_else(|| missing("project"))?);
        let found = app.accounts.project(&id).await.map_err(|error| broken(&error.into()))?;
        let mine = found.filter(|project| project.organization == visitor.organization);
        Ok(Self { project: mine.ok_or_else(|| missing("project"))?, visitor })
    }
}

/// A segment of a page's path that names something, such as a key or a job; empty for junk.
pub(crate) struct Named(pub(super) String);

impl FromRequestParts<App> for Named {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Infallible> {
        Ok(Self(segment(&parts.uri, NAMED).unwrap_or_default()))
    }
}

/// The fields of a form of ours: it carries the session's token, which no other site can know.
pub(crate) struct Fields(Vec<(String, String)>);

impl Fields {
    pub(super) fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
    }

    /// Every value of a field that can be given more than once.
    pub(super) fn all(&self, name: &str) -> Vec<String> {
        self.0.iter().filter(|(key, _)| key == name).map(|(_, value)| value.clone()).collect()
    }

    /// The lines of a field, trimmed, each once; empty ones are none.
    pub(super) fn lines(&self, name: &str) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for line in self.get(name).lines().map(str::trim).filter(|line| !line.is_empty()) {
            if !lines.iter().any(|known| known == line) {
                lines.push(line.to_owned());
            }
        }
        lines
    }
}

impl Fields {
    /// Of a form that anybody may send: read within a bound of size and time.
    pub(super) async fn read(app: &App, request: Request, limit: usize) -> Result<Self, Response> {
        let (parts, body) = request.into_parts();
        let bytes = app.bodies.read(Owner::of(&parts, app), body, limit).await.map_err(unread)?;
        let pairs = form_urlencoded::parse(&bytes);
        Ok(Self(pairs.map(|(name, value)| (name.into_owned(), value.into_owned())).collect()))
    }
}

impl FromRequest<App> for Fields {
    type Rejection = Response;

    async fn from_request(request: Request, app: &App) -> Result<Self, Response> {
        let token = cookie(request.headers(), app).ok_or_else(|| login_needed(app, None))?;
        let before = request.extensions().get::<Session>().cloned();
        let fields = Self::read(app, request, MAX_FORM).await?;
        if !bool::from(fields.get("csrf").as_bytes().ct_eq(csrf(&token).as_bytes())) {
            return Err(stale());
        }
        // A form can take half a minute to come. Whoever lost the session or the role meanwhile sends it in vain.
        let now = app.sessions.session(&token).await.map_err(|error| broken(&error.into()))?;
        match before.is_none() || before == now {
            true => Ok(fields),
            false => Err(login_needed(app, None)),
        }
    }
}

fn unread(why: Unread) -> Response {
    let (status, title, message) = match why {
        Unread::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "That form is too large", "Send less."),
        Unread::TooSlow => (StatusCode::REQUEST_TIMEOUT, "That form came too slowly", "Send it again."),
        Unread::CutOff => (StatusCode::BAD_REQUEST, "That form did not come whole", "Send it again."),
        Unread::NoRoom => {
            (StatusCode::SERVICE_UNAVAILABLE, "The server cannot keep up", "Send it again a little later.")
        }
    };
    notice(status, title, &format!("Nothing was changed. {message}"))
}

fn stale() -> Response {
    let message = "Nothing was changed. Open the page again and send the form from there.";
    notice(StatusCode::FORBIDDEN, "That form is out of date", message)
}

fn login_needed(app: &App, next: Option<Next>) -> Response {
    let mut response = sign_in_page(StatusCode::UNAUTHORIZED, "", None, next.as_ref());
    if let Some(next) = next {
        next.keep(&mut response, app);
    }
    response
}

pub(super) fn sign_in_page(
    status: StatusCode,
    name: &str,
    error: Option<&str>,
    next: Option<&Next>,
) -> Response {
    let (error, next) = (error.map(str::to_owned), next.map(|next| next.as_str().to_owned()));
    page_with(status, &LoginNeeded { shell: outside("Sign in"), name: name.into(), error, next })
}

/// Around a page for whoever is not signed in.
pub(super) fn outside(title: &str) -> Shell {
    Shell {
        title: title.into(),
        project: None,
        current: Section::Elsewhere,
        signed_in: false,
        csrf: String::new(),
    }
}

fn csrf(session: &Token) -> String {
    let digest = Sha256::new().chain_update("form of session ").chain_update(session.reveal()).finalize();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Over https the name has the prefix that keeps other hosts of the domain from setting it.
fn cookie_name(app: &App) -> &'static str {
    if app.public_url.starts_with("https://") { "__Host-docwright" } else { "docwright" }
}

pub(super) fn cookie(headers: &HeaderMap, app: &App) -> Option<Token> {
    let all = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = all.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == cookie_name(app)).map(|(_, value)| Token::received(value))
}

/// What a cookie has there in addition.
pub(super) fn over_https(app: &App) -> &'static str {
    if app.public_url.starts_with("https://") { "; Secure" } else { "" }
}

/// Sets the session's cookie, or takes it away when there is none.
pub(super) fn set_cookie(response: &mut Response, app: &App, session: Option<&Token>) {
    let (value, age) = session.map_or(("", "0"), |token| (token.reveal(), FORTNIGHT));
    let secure = over_https(app);
    let cookie =
        format!("{}={value}; Path=/; Max-Age={age}; HttpOnly; SameSite=Lax{secure}", cookie_name(app));
    if let Ok(cookie) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(SET_COOKIE, cookie);
    }
}
