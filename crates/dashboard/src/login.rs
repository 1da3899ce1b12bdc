//! Signing in, by a one-time link or with a name and a password; and out.

use std::net::IpAddr;

use axum::extract::{FromRequestParts, Request, State};
use axum::http::header::{HeaderValue, RETRY_AFTER};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Redirect, Response};
use store::{Actor, NewAuditEntry, PasswordHash, Person, PersonId, Session, Token, parse_person_name};

use super::next::Next;
use super::session::{Fields, SignedIn, cookie, outside, set_cookie, sign_in_page};
use super::view::Login;
use super::wrong::{self, network};
use super::{Oops, notice, page};
use app::App;
use app::address::ClientAddress;
use app::address_limit::TooOften;
use app::path::query_value;
use app::proxy_hint::Suspicion;
use app::sign_in_limit::SignInTry;

/// Nobody is signed in here, so nobody may send much.
pub(super) const MAX_FORM: usize = 4096;

/// `GET /login?token=…`: a button, since a GET, as link previews make it, must use nothing up. Without a
/// token: where to type a name and a password.
pub(crate) async fn show(State(app): State<App>, uri: Uri) -> Result<Response, Oops> {
    let token = query_value(&uri, "token");
    if token.is_empty() {
        return Ok(sign_in_page(StatusCode::OK, "", None, None));
    }
    if !app.sessions.login_works(&Token::received(&token)).await? {
        return Ok(used_up());
    }
    Ok(page(&Login { shell: outside("Sign in"), token }))
}

/// `POST /login`: uses the link up, or tries the password.
pub(crate) async fn enter(State(app): State<App>, request: Request) -> Result<Response, Oops> {
    let (mut parts, body) = request.into_parts();
    let Ok(ClientAddress(address)) = ClientAddress::from_request_parts(&mut parts, &app).await;
    let (before, kept) = (cookie(&parts.headers, &app), Next::kept(&parts.headers));
    let suspicion = Suspicion::of(&parts, &app);
    let fields = Fields::read(&app, Request::from_parts(parts, body), MAX_FORM).await.map_err(Oops)?;
    if let Some(suspicion) = suspicion {
        suspicion.note_name(&app, fields.get("name"));
    }
    let session = match fields.get("token") {
        "" => match by_password(&app, &fields, address).await? {
            Ok(session) => session,
            Err(refused) => return Ok(refused),
        },
        token => match app.sessions.use_login(&Token::received(token)).await? {
            Some(session) => session,
            None => return Ok(used_up()),
        },
    };
    // The form is of the page that was asked for; a link has nothing but what was kept.
    let next = Next::parse(fields.get("next")).or(kept);
    let mut response = begin(&app, before, &session, next.as_ref()).await?;
    Next::forget(&mut response, &app);
    Ok(response)
}

/// The answer that a session begins with. One that the browser had before is over.
pub(super) async fn begin(
    app: &App,
    before: Option<Token>,
    session: &Token,
    next: Option<&Next>,
) -> Result<Response, Oops> {
    if let Some(before) = before {
        app.sessions.end_session(&before).await?;
    }
    let mut place = next.map_or("/", Next::as_str);
    let anywhere = next.is_none();
    if let Some(begun) = app.sessions.session(session).await? {
        note(app, &begun, "signed in").await?;
        if anywhere && begun.is_owner() && app.accounts.projects(Some(&begun.organization)).await?.is_empty()
        {
            place = "/welcome";
        }
    }
    let mut response = Redirect::to(place).into_response();
    set_cookie(&mut response, app, Some(session));
    Ok(response)
}

async fn note(app: &App, session: &Session, what: &str) -> Result<(), Oops> {
    let (organization, who) = (session.organization.clone(), Actor::of_session(session).to_string());
    let deed = NewAuditEntry { organization, who, what: what.into(), about: String::new() };
    Ok(app.people.record_audit(&deed).await?)
}

/// A name that nobody has is answered like a wrong password, and as late.
async fn by_password(
    app: &App,
    fields: &Fields,
    address: Option<IpAddr>,
) -> Result<Result<Token, Response>, Oops> {
    let (typed, next) = (fields.get("name"), Next::parse(fields.get("next")));
    let name = parse_person_name(typed).unwrap_or_default();
    if let Err(too_often) = app.tries.count_address(address) {
        return Ok(Err(wait(typed, too_often, next.as_ref())));
    }
    let mut accounts = app.people.people_named(&name).await?;
    let known = known_accounts(app, &name, address).await?;
    let is_known = |(person, _): &(Person, PasswordHash)| known.contains(&person.id);
    let this = SignInTry { address, name: &name, is_known: accounts.iter().any(is_known) };
    if let Err(too_often) = app.tries.count(&this) {
        return Ok(Err(wait(typed, too_often, next.as_ref())));
    }
    // Anybody can have an account of any name, in an organization of their own: strangers' tries at one account lock
    // nobody out of another, and being known for one gives no more tries at another.
    if this.is_known && !accounts.iter().all(is_known) && app.tries.count_name(&name).is_err() {
        accounts.retain(is_known);
    }
    let session = match fitting(app, &accounts, fields.get("password")).await? {
        Some(person) => {
            app.tries.give_back(&this);
            if let Some(address) = address {
                app.people.note_network(&person.id, &network(address)).await?;
            }
            app.sessions.start_session(&person.id).await?
        }
        None => {
            // Who mistypes at home is no news for an organization that does not know them from there.
            let told: Vec<_> = match this.is_known {
                true => accounts.iter().filter(|one| is_known(one)).cloned().collect(),
                false => accounts.clone(),
            };
            wrong::tell(app, &told, address);
            None
        }
    };
    let sentence = "The name or the password is wrong.";
    let refused = || sign_in_page(StatusCode::UNAUTHORIZED, typed, Some(sentence), next.as_ref());
    Ok(session.ok_or_else(refused))
}

/// The accounts of that name that have signed in from this network before.
async fn known_accounts(app: &App, name: &str, address: Option<IpAddr>) -> Result<Vec<PersonId>, Oops> {
    let Some(address) = address else { return Ok(Vec::new()) };
    Ok(app.people.accounts_seen_from(name, &network(address)).await?)
}

/// The account that the password is of; of several the oldest.
async fn fitting<'a>(
    app: &App,
    accounts: &'a [(Person, PasswordHash)],
    password: &str,
) -> Result<Option<&'a Person>, Oops> {
    let hashes: Vec<_> = accounts.iter().map(|(_, hash)| hash.clone()).collect();
    let fits = app.passwords.fitting(password, &hashes).await?;
    Ok(accounts.iter().zip(fits).find(|(_, fits)| *fits).map(|((person, _), _)| person))
}

fn wait(name: &str, too_often: TooOften, next: Option<&Next>) -> Response {
    let seconds = too_often.wait.as_secs() + 1;
    let sentence = format!("That was tried too often. Try again in {seconds} seconds.");
    let mut response = sign_in_page(StatusCode::TOO_MANY_REQUESTS, name, Some(&sentence), next);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    response
}

/// `POST /logout`
pub(crate) async fn leave(
    State(app): State<App>,
    who: SignedIn,
    headers: HeaderMap,
    _checked: Fields,
) -> Result<Response, Oops> {
    if let Some(session) = cookie(&headers, &app) {
        app.sessions.end_session(&session).await?;
        who.note(&app, "signed out", "").await?;
    }
    Ok(left(&app))
}

/// `POST /logout/everywhere`
pub(crate) async fn leave_everywhere(
    State(app): State<App>,
    who: SignedIn,
    _checked: Fields,
) -> Result<Response, Oops> {
    app.sessions.end_sessions(&who.session).await?;
    who.note(&app, "signed out everywhere", "").await?;
    Ok(left(&app))
}

fn left(app: &App) -> Response {
    let mut response = Redirect::to("/").into_response();
    set_cookie(&mut response, app, None);
    response
}

fn used_up() -> Response {
    let message = "A link works once, for 15 minutes. Run `docwright login` on the server for a new one.";
    notice(StatusCode::GONE, "That link does not work any more", message)
}
