//! Signs people in, with a one-time link or with a name and a password, and out.

use std::net::IpAddr;

use axum::extract::{FromRequestParts, Request, State};
use axum::http::header::{HeaderValue, RETRY_AFTER};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Redirect, Response};
use store::{Actor, NewAuditEntry, PasswordHash, Person, PersonId, Session, Token, parse_person_name};

use super::failed_sign_ins::{self, network};
use super::return_path::ReturnPath;
use super::session::{FormFields, SignedInUser, session_cookie, set_session_cookie, sign_in_page};
use super::view::{Login, Shell, count};
use super::{PageError, notice_page, page};
use app::App;
use app::address::ClientAddress;
use app::address_limit::TooOften;
use app::path::query_value;
use app::proxy_hint::Suspicion;
use app::sign_in_limit::SignInTry;

/// The limit of forms that people send without a session.
pub(super) const MAX_SIGNED_OUT_FORM_BYTES: usize = 4096;

/// `GET /login?token=…`: shows a button, because link previews send a GET and must not use up the link. Without a
/// token, shows the form for a name and a password.
pub(crate) async fn show(State(app): State<App>, uri: Uri) -> Result<Response, PageError> {
    let token = query_value(&uri, "token");
    if token.is_empty() {
        return Ok(sign_in_page(StatusCode::OK, "", None, None));
    }
    if !app.sessions.login_works(&Token::received(&token)).await? {
        return Ok(expired_link_page());
    }
    Ok(page(&Login { shell: Shell::signed_out("Sign in"), token }))
}

/// `POST /login`: uses up the link, or checks the password.
pub(crate) async fn sign_in(State(app): State<App>, request: Request) -> Result<Response, PageError> {
    let (mut parts, body) = request.into_parts();
    let Ok(ClientAddress(address)) = ClientAddress::from_request_parts(&mut parts, &app).await;
    let previous = session_cookie(&parts.headers, &app);
    let remembered = ReturnPath::from_cookie(&parts.headers);
    let suspicion = Suspicion::of(&parts, &app);
    let request = Request::from_parts(parts, body);
    let fields = FormFields::read(&app, request, MAX_SIGNED_OUT_FORM_BYTES).await.map_err(PageError)?;
    if let Some(suspicion) = suspicion {
        suspicion.note_name(&app, fields.get("name"));
    }
    let session = match fields.get("token") {
        "" => match sign_in_with_password(&app, &fields, address).await? {
            Ok(session) => session,
            Err(refusal) => return Ok(refusal),
        },
        token => match app.sessions.use_login(&Token::received(token)).await? {
            Some(session) => session,
            None => return Ok(expired_link_page()),
        },
    };
    // The form's field is about the page that was requested last. A login link only has the cookie.
    let next = ReturnPath::parse(fields.get("next")).or(remembered);
    let mut response = begin_session(&app, previous, &session, next.as_ref()).await?;
    ReturnPath::clear_cookie(&mut response, &app);
    Ok(response)
}

/// Sets the cookie of a new session, and ends the previous session of the browser.
pub(super) async fn begin_session(
    app: &App,
    previous: Option<Token>,
    session: &Token,
    next: Option<&ReturnPath>,
) -> Result<Response, PageError> {
    if let Some(previous) = previous {
        app.sessions.end_session(&previous).await?;
    }
    let mut target = next.map_or("/", ReturnPath::as_str);
    if let Some(started) = app.sessions.session(session).await? {
        record_sign_in(app, &started).await?;
        let is_first_run = next.is_none()
            && started.is_owner()
            && app.accounts.projects(Some(&started.organization)).await?.is_empty();
        if is_first_run {
            target = "/welcome";
        }
    }
    let mut response = Redirect::to(target).into_response();
    set_session_cookie(&mut response, app, Some(session));
    Ok(response)
}

async fn record_sign_in(app: &App, session: &Session) -> Result<(), PageError> {
    let (organization, who) = (session.organization.clone(), Actor::of_session(session).to_string());
    let entry = NewAuditEntry { organization, who, what: "signed in".into(), about: String::new() };
    Ok(app.people.record_audit(&entry).await?)
}

/// An unknown name gets the same response as a wrong password, after the same time.
async fn sign_in_with_password(
    app: &App,
    fields: &FormFields,
    address: Option<IpAddr>,
) -> Result<Result<Token, Response>, PageError> {
    let (typed, next) = (fields.get("name"), ReturnPath::parse(fields.get("next")));
    let name = parse_person_name(typed).unwrap_or_default();
    if let Err(too_often) = app.sign_in_limit.count_address(address) {
        return Ok(Err(too_many_tries_page(typed, too_often, next.as_ref())));
    }
    let mut accounts = app.people.people_named(&name).await?;
    let known = known_accounts(app, &name, address).await?;
    let is_known = |(person, _): &(Person, PasswordHash)| known.contains(&person.id);
    let this_try = SignInTry { address, name: &name, is_known: accounts.iter().any(is_known) };
    if let Err(too_often) = app.sign_in_limit.count(&this_try) {
        return Ok(Err(too_many_tries_page(typed, too_often, next.as_ref())));
    }
    // Accounts of different organizations can have the same name. Tries at one account must not lock out the others,
    // and a known network of one account must not give more tries at the others.
    if this_try.is_known && !accounts.iter().all(is_known) && app.sign_in_limit.count_name(&name).is_err() {
        accounts.retain(is_known);
    }
    let session = match account_with_password(app, &accounts, fields.get("password")).await? {
        Some(person) => {
            app.sign_in_limit.refund(&this_try);
            if let Some(address) = address {
                app.people.note_network(&person.id, &network(address)).await?;
            }
            app.sessions.start_session(&person.id).await?
        }
        None => {
            // If one account knows this network, its owner probably mistyped. The other organizations needn't know.
            let tried: Vec<_> = match this_try.is_known {
                true => accounts.iter().filter(|account| is_known(account)).cloned().collect(),
                false => accounts.clone(),
            };
            failed_sign_ins::record(app, &tried, address);
            None
        }
    };
    let sentence = "The email address or the password is wrong.";
    let refusal = || sign_in_page(StatusCode::UNAUTHORIZED, typed, Some(sentence), next.as_ref());
    Ok(session.ok_or_else(refusal))
}

/// The accounts with this name that signed in from this network before.
async fn known_accounts(app: &App, name: &str, address: Option<IpAddr>) -> Result<Vec<PersonId>, PageError> {
    let Some(address) = address else { return Ok(Vec::new()) };
    Ok(app.people.accounts_seen_from(name, &network(address)).await?)
}

/// The account that has this password. If there are several, the oldest.
async fn account_with_password<'a>(
    app: &App,
    accounts: &'a [(Person, PasswordHash)],
    password: &str,
) -> Result<Option<&'a Person>, PageError> {
    let hashes: Vec<_> = accounts.iter().map(|(_, hash)| hash.clone()).collect();
    let matches = app.passwords.verify_each(password, &hashes).await?;
    Ok(accounts.iter().zip(matches).find(|(_, matches)| *matches).map(|((person, _), _)| person))
}

fn too_many_tries_page(name: &str, too_often: TooOften, next: Option<&ReturnPath>) -> Response {
    let seconds = too_often.wait.as_secs() + 1;
    let sentence = format!("Too many attempts to sign in. Try again in {}.", count(seconds, "second"));
    let mut response = sign_in_page(StatusCode::TOO_MANY_REQUESTS, name, Some(&sentence), next);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    response
}

/// `POST /logout`
pub(crate) async fn sign_out(
    State(app): State<App>,
    user: SignedInUser,
    headers: HeaderMap,
    _csrf_checked: FormFields,
) -> Result<Response, PageError> {
    if let Some(session) = session_cookie(&headers, &app) {
        app.sessions.end_session(&session).await?;
        user.record_audit(&app, "signed out", "").await?;
    }
    Ok(signed_out_response(&app))
}

/// `POST /logout/everywhere`
pub(crate) async fn sign_out_everywhere(
    State(app): State<App>,
    user: SignedInUser,
    _csrf_checked: FormFields,
) -> Result<Response, PageError> {
    app.sessions.end_sessions(&user.session).await?;
    user.record_audit(&app, "signed out everywhere", "").await?;
    Ok(signed_out_response(&app))
}

fn signed_out_response(app: &App) -> Response {
    let mut response = Redirect::to("/").into_response();
    set_session_cookie(&mut response, app, None);
    response
}

fn expired_link_page() -> Response {
    let message =
        "A login link works once, and for 15 minutes. To get a new one, run docwright login on the server.";
    notice_page(StatusCode::GONE, "This login link no longer works", message)
}
