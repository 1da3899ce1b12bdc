//! Who is in the organization: invited and removed by owners. And one's own password.

use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Redirect, Response};
use store::{Invite, InviteId, NewInvite, Person, PersonId, Removal, Role};

use super::session::{Fields, SignedIn, set_cookie};
use super::view::{Form, InviteRow, Me, Outcome, PeoplePage, PersonRow, Section};
use super::{Oops, missing, page, page_with, when, wrong};
use crate::address::ClientAddress;
use crate::app::App;
use crate::passwords::parse_password;
use crate::path::{query_value, segment};

/// Where a person's id stands: `/people/{id}/remove`.
const PERSON: usize = 2;
/// Where an invitation's stands: `/people/invitations/{id}/withdraw`.
const INVITATION: usize = 3;
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

/// `POST /people/{id}/remove`
pub(crate) async fn remove(
    State(app): State<App>,
    visitor: SignedIn,
    uri: Uri,
    _checked: Fields,
) -> Result<Response, Oops> {
    visitor.must_own()?;
    let id = PersonId(segment(&uri, PERSON).unwrap_or_default());
    let people = app.people.people(Some(&visitor.organization)).await?;
    let Some(person) = people.into_iter().find(|person| person.id == id) else {
        return Ok(missing("person"));
    };
    match app.people.remove_person(&visitor.organization, &id).await? {
        Removal::NoSuchPerson => Ok(missing("person")),
        Removal::LastOwner => {
            let sentence = format!("{} {LAST_OWNER}", person.name);
            let outcome = Some(Outcome { form: Form::Remove, good: false, sentence });
            let refused = PeoplePage { outcome, ..people_page(&app, &visitor).await? };
            Ok(page_with(StatusCode::CONFLICT, &refused))
        }
        Removal::Done => {
            visitor.note(&app, "removed", &person.name).await?;
            Ok(Redirect::to("/people").into_response())
        }
    }
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
    let new = match parse_password(fields.get("new")) {
        Ok(new) => new,
        Err(sentence) => return refused(sentence).await,
    };
    if app.tries.count(address, &person.name).is_err() {
        return refused("That was tried too often. Try again in a minute.".into()).await;
    }
    let kept = app.people.person_named(&person.name).await?.map(|(_, hash)| hash);
    if !app.passwords.fits(fields.get("current"), kept.as_ref()).await? {
        wrong::tell(&app, &person, address);
        return refused("That is not your password as it is now.".into()).await;
    }
    let hash = app.passwords.hash(new).await?;
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
    let row = |person: Person| PersonRow {
        stays: person.role == Role::Owner && owners == 1,
        is_me: me.is_some_and(|me| me.id == person.id),
        id: person.id.0,
        name: person.name,
        role: person.role.as_str(),
        since: when(person.created_at, now),
    };
    let invites = match visitor.session.is_owner() {
        true => app.people.invites(Some(&visitor.organization)).await?,
        false => Vec::new(),
    };
    let invite = |invite: Invite| InviteRow {
        id: invite.id.0,
        role: invite.role.as_str(),
        creator: invite.creator,
        until: when(invite.expires_at, now),
    };
    Ok(PeoplePage {
        invites: invites.into_iter().map(invite).collect(),
        shell: visitor.shell("People", Section::People),
        me: me.map(|me| Me { name: me.name.clone(), role: me.role.as_str() }),
        owner: visitor.session.is_owner(),
        people: people.into_iter().map(row).collect(),
        link: None,
        outcome: None,
    })
}
