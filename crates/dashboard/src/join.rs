//! Where an invitation leads: a name and a password, and one is in.

use axum::extract::{FromRequestParts, Request, State};
use axum::http::header::{HeaderValue, RETRY_AFTER};
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use store::{Invite, NewAuditEntry, Person, StoreError, Token, parse_person_name};

use super::login::{MAX_FORM, begin};
use super::session::{Fields, cookie, outside};
use super::view::Join;
use super::wrong::network;
use super::{Oops, notice, page_with};
use app::App;
use app::address::ClientAddress;
use app::address_limit::TooOften;
use app::path::query_value;

/// `GET /join?token=…`: uses nothing up.
pub(crate) async fn show(State(app): State<App>, uri: Uri) -> Result<Response, Oops> {
    let token = query_value(&uri, "token");
    match app.people.invite(&Token::received(&token)).await? {
        Some(invite) => join_page(&app, &invite, (&token, ""), None).await,
        None => Ok(used_up()),
    }
}

/// `POST /join`
pub(crate) async fn enter(State(app): State<App>, request: Request) -> Result<Response, Oops> {
    let (mut parts, body) = request.into_parts();
    let Ok(ClientAddress(address)) = ClientAddress::from_request_parts(&mut parts, &app).await;
    let before = cookie(&parts.headers, &app);
    let fields = Fields::read(&app, Request::from_parts(parts, body), MAX_FORM).await.map_err(Oops)?;
    if let Err(too_often) = app.tries.count_join(address, fields.get("token")) {
        return Ok(wait(too_often));
    }
    let link = Token::received(fields.get("token"));
    // Before the password costs us anything.
    let Some(invite) = app.people.invite(&link).await? else { return Ok(used_up()) };
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
    // An account of that name in another organization changes neither the answer nor how long it takes.
    let others = app.people.people_named(&name).await?.into_iter().map(|(_, hash)| hash);
    let hash = app.passwords.hash_beside(password, &others.collect::<Vec<_>>()).await?;
    let person = match app.people.accept_invite(&link, &name, &hash).await {
        Err(StoreError::Taken(sentence)) => return join_page(&app, &invite, typed, Some(sentence)).await,
        accepted => accepted?,
    };
    let Some(person) = person else { return Ok(used_up()) };
    note(&app, &person, &invite).await?;
    if let Some(address) = address {
        app.people.note_network(&person.id, &network(address)).await?;
    }
    match app.sessions.start_session(&person.id).await? {
        Some(session) => begin(&app, before, &session, None).await,
        None => Ok(used_up()),
    }
}

async fn note(app: &App, person: &Person, invite: &Invite) -> Result<(), Oops> {
    let deed = NewAuditEntry {
        organization: person.organization.clone(),
        who: person.name.clone(),
        what: format!("joined as {} by the invitation of", person.role.as_str()),
        about: invite.creator.clone().unwrap_or_else(|| "somebody".into()),
    };
    Ok(app.people.record_audit(&deed).await?)
}

async fn join_page(
    app: &App,
    invite: &Invite,
    (token, name): (&str, &str),
    error: Option<String>,
) -> Result<Response, Oops> {
    let all = app.accounts.organizations().await?;
    let organization = all.into_iter().find(|one| one.id == invite.organization);
    let status = if error.is_some() { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    let join = Join {
        shell: outside("Join"),
        organization: organization.map(|one| one.name).unwrap_or_default(),
        role: invite.role.as_str(),
        token: token.into(),
        name: name.into(),
        error,
    };
    Ok(page_with(status, &join))
}

fn wait(too_often: TooOften) -> Response {
    let seconds = too_often.wait.as_secs() + 1;
    let message = format!("Nothing was changed. Try again in {seconds} seconds.");
    let mut response = notice(StatusCode::TOO_MANY_REQUESTS, "That was tried too often", &message);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    response
}

fn used_up() -> Response {
    let message = "An invitation works once, for seven days. Ask an owner of the organization for a new one.";
    notice(StatusCode::GONE, "That invitation does not work any more", message)
}
