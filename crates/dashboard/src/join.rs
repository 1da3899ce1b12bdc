//! Accepts an invitation: creates an account with a name and a password, and signs in.

use axum::extract::{FromRequestParts, Request, State};
use axum::http::header::{HeaderValue, RETRY_AFTER};
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use store::{Invite, NewAuditEntry, Person, StoreError, Token, parse_person_name};

use super::failed_sign_ins::network;
use super::login::{MAX_SIGNED_OUT_FORM_BYTES, begin_session};
use super::session::{FormFields, session_cookie};
use super::view::{Join, Shell, count};
use super::{PageError, notice_page, page_with};
use app::App;
use app::address::ClientAddress;
use app::address_limit::TooOften;
use app::path::query_value;

/// `GET /join?token=…`: doesn't use up the invitation.
pub(crate) async fn show(State(app): State<App>, uri: Uri) -> Result<Response, PageError> {
    let token = query_value(&uri, "token");
    match app.people.invite(&Token::received(&token)).await? {
        Some(invite) => join_page(&app, &invite, (&token, ""), None).await,
        None => Ok(expired_invitation_page()),
    }
}

/// `POST /join`
pub(crate) async fn accept(State(app): State<App>, request: Request) -> Result<Response, PageError> {
    let (mut parts, body) = request.into_parts();
    let Ok(ClientAddress(address)) = ClientAddress::from_request_parts(&mut parts, &app).await;
    let previous = session_cookie(&parts.headers, &app);
    let request = Request::from_parts(parts, body);
    let fields = FormFields::read(&app, request, MAX_SIGNED_OUT_FORM_BYTES).await.map_err(PageError)?;
    if let Err(too_often) = app.sign_in_limit.count_join(address, fields.get("token")) {
        return Ok(too_many_tries_page(too_often));
    }
    let link = Token::received(fields.get("token"));
    // Checked before the password is hashed, which is expensive.
    let Some(invite) = app.people.invite(&link).await? else { return Ok(expired_invitation_page()) };
    let typed = (fields.get("token"), fields.get("name"));
    let parsed = parse_person_name(fields.get("name"));
    let password = fields.get("password");
    let parsed = match parsed {
        Ok(name) => app.passwords.parse(password, &name).await?.map(|()| name),
        refused => refused,
    };
    let name = match parsed {
        Ok(name) => name,
        Err(sentence) => return join_page(&app, &invite, typed, Some(sentence)).await,
    };
    // An account with this name in another organization changes neither the response nor its time.
    let others = app.people.people_named(&name).await?.into_iter().map(|(_, hash)| hash);
    let hash = app.passwords.hash_with_shared_salt(password, &others.collect::<Vec<_>>()).await?;
    let person = match app.people.accept_invite(&link, &name, &hash).await {
        Err(StoreError::Taken(sentence)) => return join_page(&app, &invite, typed, Some(sentence)).await,
        accepted => accepted?,
    };
    let Some(person) = person else { return Ok(expired_invitation_page()) };
    record_join(&app, &person, &invite).await?;
    if let Some(address) = address {
        app.people.note_network(&person.id, &network(address)).await?;
    }
    match app.sessions.start_session(&person.id).await? {
        Some(session) => begin_session(&app, previous, &session, None).await,
        None => Ok(expired_invitation_page()),
    }
}

async fn record_join(app: &App, person: &Person, invite: &Invite) -> Result<(), PageError> {
    let entry = NewAuditEntry {
        organization: person.organization.clone(),
        who: person.name.clone(),
        what: format!("joined as {} by the invitation of", person.role.as_str()),
        about: invite.creator.clone().unwrap_or_else(|| "somebody".into()),
    };
    Ok(app.people.record_audit(&entry).await?)
}

async fn join_page(
    app: &App,
    invite: &Invite,
    (token, name): (&str, &str),
    error: Option<String>,
) -> Result<Response, PageError> {
    let all = app.accounts.organizations().await?;
    let organization = all.into_iter().find(|organization| organization.id == invite.organization);
    let status = if error.is_some() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    let join = Join {
        shell: Shell::signed_out("Join"),
        organization: organization.map(|organization| organization.name).unwrap_or_default(),
        role: invite.role.as_str(),
        token: token.into(),
        name: name.into(),
        error,
    };
    Ok(page_with(status, &join))
}

fn too_many_tries_page(too_often: TooOften) -> Response {
    let seconds = too_often.wait.as_secs() + 1;
    let message = format!("Nothing was changed. Try again in {}.", count(seconds, "second"));
    let mut response = notice_page(StatusCode::TOO_MANY_REQUESTS, "Too many attempts", &message);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    response
}

fn expired_invitation_page() -> Response {
    let message = "An invitation works once, and for 7 days. Ask an owner of the organization for a new one.";
    notice_page(StatusCode::GONE, "This invitation no longer works", message)
}
