//! Who is in the organization: invited and removed by owners. And one's own password.

use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Redirect, Response};
use store::{
    ApiKey, Invite, InviteId, KeyRef, LinkSession, MemberKeys, NewInvite, Person, PersonId, Removal, Role,
    SessionId,
};

use super::session::{Fields, SignedIn, set_cookie};
use super::view::{Form, InviteRow, LinkSessionRow, Me, Outcome, PeoplePage, PersonRow, Section};
use super::{Oops, missing, page, page_with, when, wrong};
use app::App;
use app::address::ClientAddress;
use app::path::{query_value, segment};
use app::sign_in_limit::SignInTry;

/// Where a person's id stands: `/people/{id}/remove`.
const PERSON: usize = 2;
/// Where an invitation's stands: `/people/invitations/{id}/withdraw`.
const INVITATION: usize = 3;
/// Where a session's stands: `/people/sessions/{id}/end`.
const SESSION: usize = 3;
const LAST_OWNER: &str = "is the only owner, and an organization needs one who can invite people and \
    change settings: make somebody else an owner first, by an invitation.";

/// `GET /people`
pub(crate) async fn list(State(app): State<App>, visitor: SignedIn, uri: Uri) -> Result<Response, Oops> {
    let mut people = people_page(&app, &visitor).await?;
    if query_value(&uri, "saved") == "password" {
        let sentence = "Your password is changed, and every other browser is signed out.".into();
        people.outcome = Some(Outcome { form: Form::Password, good: true, sentence });
    }
    Ok(page(&people))
}

/// `POST /people/invite`: answers the page itself, since the link is on it this once.
pub(crate) async fn invite(
    State(app): State<App>,
    visitor: SignedIn,
    fields: Fields,
) -> Result<Response, Oops> {
    visitor.must_own()?;
    let role: Role = match fields.get("role").parse() {
        Ok(role) => role,
        Err(sentence) => {
            let outcome = Some(Outcome { form: Form::Invite, good: false, sentence });
            let refused = PeoplePage { outcome, ..people_page(&app, &visitor).await? };
            return Ok(page_with(StatusCode::BAD_REQUEST, &refused));
        }
    };
    let new = NewInvite { organization: visitor.organization.clone(), role, creator: visitor.who() };
    let link = app.people.create_invite(&new).await?;
    visitor.note(&app, "invited", &format!("somebody as {}", role.as_str())).await?;
    let link = Some(format!("{}/join?token={}", app.public_url, link.reveal()));
    Ok(page(&PeoplePage { link, ..people_page(&app, &visitor).await? }))
}

/// `POST /people/invitations/{id}/withdraw`
pub(crate) async fn withdraw(
    State(app): State<App>,
    visitor: SignedIn,
    uri: Uri,
    _checked: Fields,
) -> Result<Response, Oops> {
    visitor.must_own()?;
    let id = InviteId(segment(&uri, INVITATION).unwrap_or_default());
    let Some(invite) = app.people.withdraw_invite(&visitor.organization, &id).await? else {
        return Ok(missing("invitation"));
    };
    visitor.note(&app, "withdrew an invitation", &format!("as {}", invite.role.as_str())).await?;
    Ok(Redirect::to("/people").into_response())
}

/// `POST /people/sessions/{id}/end`: one that began with a login link.
pub(crate) async fn end_session(
    State(app): State<App>,
    visitor: SignedIn,
    uri: Uri,
    _checked: Fields,
) -> Result<Response, Oops> {
    visitor.must_own()?;
    let id = SessionId(segment(&uri, SESSION).unwrap_or_default());
    let Some(ended) = app.sessions.end_link_session(&visitor.organization, &id).await? else {
        return Ok(missing("session"));
    };
    visitor.note(&app, "ended the session", &ended.name.unwrap_or(ended.id.0)).await?;
    Ok(Redirect::to("/people").into_response())
}

/// `POST /people/{id}/remove`: with the person's API keys, unless `keys` says to take them over.
pub(crate) async fn remove(
    State(app): State<App>,
    visitor: SignedIn,
    uri: Uri,
    fields: Fields,
) -> Result<Response, Oops> {
    visitor.must_own()?;
    let id = PersonId(segment(&uri, PERSON).unwrap_or_default());
    let people = app.people.people(Some(&visitor.organization)).await?;
    let Some(person) = people.into_iter().find(|person| person.id == id) else {
        return Ok(missing("person"));
    };
    let keys = match fields.get("keys") {
        "take_over" => MemberKeys::TakeOver { owner: visitor.who() },
        _ => MemberKeys::Revoke,
    };
    let (removal, ended) = app.people.remove_person(&visitor.organization, &id, &keys).await?;
    let refusal = match removal {
        Removal::NoSuchPerson => return Ok(missing("person")),
        Removal::LastOwner => format!("{} {LAST_OWNER}", person.name),
        Removal::NoSuchOwner => "Keys are taken over by another owner: have one of them remove you.".into(),
        Removal::Done => {
            note_removal(&app, &visitor, &person, &keys, &ended).await?;
            return Ok(Redirect::to("/people").into_response());
        }
    };
    let outcome = Some(Outcome { form: Form::Remove, good: false, sentence: refusal });
    let refused = PeoplePage { outcome, ..people_page(&app, &visitor).await? };
    Ok(page_with(StatusCode::CONFLICT, &refused))
}

async fn note_removal(
    app: &App,
    visitor: &SignedIn,
    person: &Person,
    keys: &MemberKeys,
    ended: &[KeyRef],
) -> Result<(), Oops> {
    visitor.note(app, "removed", &person.name).await?;
    let what = match keys {
        MemberKeys::Revoke => "revoked the key",
        MemberKeys::TakeOver { .. } => "took over the key",
    };
    for key in ended {
        visitor.note(app, what, &format!("{key} of {}", person.name)).await?;
    }
    Ok(())
}

/// `POST /people/password`: one's own, by who knows the one before.
pub(crate) async fn password(
    State(app): State<App>,
    visitor: SignedIn,
    ClientAddress(address): ClientAddress,
    fields: Fields,
) -> Result<Response, Oops> {
    let Some(person) = visitor.session.person.clone() else { return Ok(missing("person")) };
    let refused = async |sentence: String| {
        let outcome = Some(Outcome { form: Form::Password, good: false, sentence });
        let refused = PeoplePage { outcome, ..people_page(&app, &visitor).await? };
        Ok(page_with(StatusCode::BAD_REQUEST, &refused))
    };
    // Who has a session is known, whatever the network is.
    let this = SignInTry { address, name: &person.name, is_known: true };
    if app.tries.count_address(address).and_then(|()| app.tries.count(&this)).is_err() {
        return refused("That was tried too often. Try again in a minute.".into()).await;
    }
    let new = fields.get("new");
    if let Err(sentence) = app.passwords.parse(new, &person.name).await? {
        app.tries.give_back(&this);
        return refused(sentence).await;
    }
    let accounts = app.people.people_named(&person.name).await?;
    let (own, others): (Vec<_>, Vec<_>) = accounts.into_iter().partition(|(one, _)| one.id == person.id);
    if !app.passwords.fits(fields.get("current"), own.first().map(|(_, hash)| hash)).await? {
        wrong::tell(&app, &own, address);
        return refused("That is not your password as it is now.".into()).await;
    }
    app.tries.give_back(&this);
    let others: Vec<_> = others.into_iter().map(|(_, hash)| hash).collect();
    let hash = app.passwords.hash_beside(new, &others).await?;
    app.people.set_password(&person.id, &hash).await?;
    visitor.note(&app, "changed their password", "").await?;
    let session = app.sessions.start_session(&person.id).await?;
    let mut response = Redirect::to("/people?saved=password").into_response();
    set_cookie(&mut response, &app, session.as_ref());
    Ok(response)
}

async fn people_page(app: &App, visitor: &SignedIn) -> Result<PeoplePage, Oops> {
    let now = app.clock.now();
    let me = visitor.session.person.as_ref();
    let people = app.people.people(Some(&visitor.organization)).await?;
    let owners = people.iter().filter(|person| person.role == Role::Owner).count();
    let is_owner = visitor.session.is_owner();
    let keys = if is_owner { app.accounts.keys(Some(&visitor.organization)).await? } else { Vec::new() };
    let row = |person: Person| PersonRow {
        keys: keys_of(&keys, &person),
        stays: person.role == Role::Owner && owners == 1,
        is_me: me.is_some_and(|me| me.id == person.id),
        id: person.id.0,
        name: person.name,
        role: person.role.as_str(),
        since: when(person.created_at, now),
    };
    let invites = if is_owner { app.people.invites(Some(&visitor.organization)).await? } else { Vec::new() };
    let links =
        if is_owner { app.sessions.link_sessions(Some(&visitor.organization)).await? } else { Vec::new() };
    let link = |link: LinkSession| LinkSessionRow {
        id: link.id.0,
        name: link.name,
        member: link.member,
        since: when(link.created_at, now),
        until: when(link.expires_at, now),
    };
    let invite = |invite: Invite| InviteRow {
        id: invite.id.0,
        role: invite.role.as_str(),
        creator: invite.creator,
        until: when(invite.expires_at, now),
    };
    Ok(PeoplePage {
        invites: invites.into_iter().map(invite).collect(),
        links: links.into_iter().map(link).collect(),
        shell: visitor.shell("People", Section::People),
        me: me.map(|me| Me { name: me.name.clone(), role: me.role.as_str() }),
        owner: is_owner,
        people: people.into_iter().map(row).collect(),
        link: None,
        outcome: None,
    })
}

/// The keys that the person made and that still work.
fn keys_of(keys: &[ApiKey], person: &Person) -> Vec<String> {
    let own = keys.iter().filter(|key| key.is_live && key.creator.as_deref() == Some(&*person.name));
    own.map(|key| key.to_ref().to_string()).collect()
}
