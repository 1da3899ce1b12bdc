//! Shows the members of the organization. Owners invite and remove members and end sessions; every member can change
//! their own password.

use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Redirect, Response};
use store::{
    ApiKey, Invite, InviteId, KeyRef, LinkSession, MemberKeys, NewInvite, Person, PersonId, Removal, Role,
    SessionId,
};

use super::session::{FormFields, SignedInUser, set_session_cookie};
use super::view::{
    FormMessage, InviteRow, LinkSessionRow, MemberForm, MemberRow, MembersPage, Section, SignedInMember,
};
use super::{PageError, display_time, failed_sign_ins, not_found_page, page, page_with};
use app::App;
use app::address::ClientAddress;
use app::path::{query_value, segment};
use app::sign_in_limit::SignInTry;

/// The position of the id in a path: `/people/{id}/remove`.
const MEMBER_SEGMENT: usize = 2;
/// The position of the id in a path: `/people/invitations/{id}/withdraw`, `/people/sessions/{id}/end`.
const NESTED_SEGMENT: usize = 3;
const LAST_OWNER: &str = "is the only owner. An organization needs an owner to invite members and change settings. \
    Invite another owner first.";
const OTHER_OWNER: &str = "You can't take over your own API keys. Revoke them, or ask another owner to remove you and take them over.";

/// `GET /people`
pub(crate) async fn list(
    State(app): State<App>,
    user: SignedInUser,
    uri: Uri,
) -> Result<Response, PageError> {
    let mut members = members_page(&app, &user).await?;
    if query_value(&uri, "saved") == "password" {
        let sentence = "Your password was changed. All your other browsers were signed out.";
        members.message = Some(FormMessage::success(MemberForm::Password, sentence));
    }
    Ok(page(&members))
}

/// The page with an error in one of its forms.
async fn refuse(
    app: &App,
    user: &SignedInUser,
    status: StatusCode,
    form: MemberForm,
    sentence: String,
) -> Result<Response, PageError> {
    let message = Some(FormMessage::error(form, sentence));
    Ok(page_with(status, &MembersPage { message, ..members_page(app, user).await? }))
}

/// `POST /people/invite`: responds with the page itself, because the link is shown only once.
pub(crate) async fn invite(
    State(app): State<App>,
    user: SignedInUser,
    fields: FormFields,
) -> Result<Response, PageError> {
    user.require_owner()?;
    let role: Role = match fields.get("role").parse() {
        Ok(role) => role,
        Err(sentence) => {
            return refuse(&app, &user, StatusCode::BAD_REQUEST, MemberForm::Invite, sentence).await;
        }
    };
    let new = NewInvite { organization: user.organization.clone(), role, creator: user.display_name() };
    let link = app.people.create_invite(&new).await?;
    user.record_audit(&app, "invited", &format!("somebody as {}", role.as_str())).await?;
    let link = Some(format!("{}/join?token={}", app.public_url, link.reveal()));
    Ok(page(&MembersPage { link, ..members_page(&app, &user).await? }))
}

/// `POST /people/invitations/{id}/withdraw`
pub(crate) async fn withdraw_invite(
    State(app): State<App>,
    user: SignedInUser,
    uri: Uri,
    _csrf_checked: FormFields,
) -> Result<Response, PageError> {
    user.require_owner()?;
    let id = InviteId(segment(&uri, NESTED_SEGMENT).unwrap_or_default());
    let Some(invite) = app.people.withdraw_invite(&user.organization, &id).await? else {
        return Ok(not_found_page("invitation"));
    };
    let about = format!("as {}", invite.role.as_str());
    record_and_return(&app, &user, "withdrew an invitation", &about).await
}

/// `POST /people/sessions/{id}/end`: ends a session that began with a login link.
pub(crate) async fn end_session(
    State(app): State<App>,
    user: SignedInUser,
    uri: Uri,
    _csrf_checked: FormFields,
) -> Result<Response, PageError> {
    user.require_owner()?;
    let id = SessionId(segment(&uri, NESTED_SEGMENT).unwrap_or_default());
    let Some(ended) = app.sessions.end_link_session(&user.organization, &id).await? else {
        return Ok(not_found_page("session"));
    };
    record_and_return(&app, &user, "ended the session", &ended.name.unwrap_or(ended.id.0)).await
}

async fn record_and_return(
    app: &App,
    user: &SignedInUser,
    what: &str,
    about: &str,
) -> Result<Response, PageError> {
    user.record_audit(app, what, about).await?;
    Ok(Redirect::to("/people").into_response())
}

/// `POST /people/{id}/remove`: also revokes the member's API keys, unless `keys` is `take_over`.
pub(crate) async fn remove(
    State(app): State<App>,
    user: SignedInUser,
    uri: Uri,
    fields: FormFields,
) -> Result<Response, PageError> {
    user.require_owner()?;
    let id = PersonId(segment(&uri, MEMBER_SEGMENT).unwrap_or_default());
    let people = app.people.people(Some(&user.organization)).await?;
    let Some(person) = people.into_iter().find(|person| person.id == id) else {
        return Ok(not_found_page("member"));
    };
    let keys = match fields.get("keys") {
        "take_over" => MemberKeys::TakeOver { owner: user.display_name() },
        _ => MemberKeys::Revoke,
    };
    let (removal, ended) = app.people.remove_person(&user.organization, &id, &keys).await?;
    let refusal = match removal {
        Removal::NoSuchPerson => return Ok(not_found_page("member")),
        Removal::LastOwner => format!("{} {LAST_OWNER}", person.name),
        Removal::NoSuchOwner => OTHER_OWNER.into(),
        Removal::Done => {
            record_removal(&app, &user, &person, &keys, &ended).await?;
            return Ok(Redirect::to("/people").into_response());
        }
    };
    refuse(&app, &user, StatusCode::CONFLICT, MemberForm::Remove, refusal).await
}

async fn record_removal(
    app: &App,
    user: &SignedInUser,
    person: &Person,
    keys: &MemberKeys,
    ended: &[KeyRef],
) -> Result<(), PageError> {
    user.record_audit(app, "removed", &person.name).await?;
    let what = match keys {
        MemberKeys::Revoke => "revoked the key",
        MemberKeys::TakeOver { .. } => "took over the key",
    };
    for key in ended {
        user.record_audit(app, what, &format!("{key} of {}", person.name)).await?;
    }
    Ok(())
}

/// `POST /people/password`: changes the member's own password, if they know the current one.
pub(crate) async fn change_password(
    State(app): State<App>,
    user: SignedInUser,
    ClientAddress(address): ClientAddress,
    fields: FormFields,
) -> Result<Response, PageError> {
    let Some(person) = user.session.person.clone() else { return Ok(not_found_page("member")) };
    let refuse = async |sentence: String| {
        refuse(&app, &user, StatusCode::BAD_REQUEST, MemberForm::Password, sentence).await
    };
    // A session identifies the member, whatever the network is.
    let this_try = SignInTry { address, name: &person.name, is_known: true };
    if app.sign_in_limit.count_address(address).and_then(|()| app.sign_in_limit.count(&this_try)).is_err() {
        return refuse("Too many attempts. Try again in a minute.".into()).await;
    }
    let new = fields.get("new");
    if let Err(sentence) = app.passwords.parse(new, &person.name).await? {
        app.sign_in_limit.refund(&this_try);
        return refuse(sentence).await;
    }
    let accounts = app.people.people_named(&person.name).await?;
    let (own, others): (Vec<_>, Vec<_>) =
        accounts.into_iter().partition(|(account, _)| account.id == person.id);
    if !app.passwords.verify(fields.get("current"), own.first().map(|(_, hash)| hash)).await? {
        failed_sign_ins::record(&app, &own, address);
        return refuse("The current password is wrong. Your password was not changed.".into()).await;
    }
    app.sign_in_limit.refund(&this_try);
    let others: Vec<_> = others.into_iter().map(|(_, hash)| hash).collect();
    let hash = app.passwords.hash_with_shared_salt(new, &others).await?;
    app.people.set_password(&person.id, &hash).await?;
    user.record_audit(&app, "changed their password", "").await?;
    let session = app.sessions.start_session(&person.id).await?;
    let mut response = Redirect::to("/people?saved=password").into_response();
    set_session_cookie(&mut response, &app, session.as_ref());
    Ok(response)
}

async fn members_page(app: &App, user: &SignedInUser) -> Result<MembersPage, PageError> {
    let now = app.clock.now();
    let me = user.session.person.as_ref();
    let people = app.people.people(Some(&user.organization)).await?;
    let owners = people.iter().filter(|person| person.role == Role::Owner).count();
    let is_owner = user.session.is_owner();
    let keys = if is_owner { app.accounts.keys(Some(&user.organization)).await? } else { Vec::new() };
    let row = |person: Person| MemberRow {
        keys: keys_of(&keys, &person),
        is_last_owner: person.role == Role::Owner && owners == 1,
        is_me: me.is_some_and(|me| me.id == person.id),
        id: person.id.0,
        name: person.name,
        role: person.role.as_str(),
        since: display_time(person.created_at, now),
    };
    let invites = if is_owner { app.people.invites(Some(&user.organization)).await? } else { Vec::new() };
    let links =
        if is_owner { app.sessions.link_sessions(Some(&user.organization)).await? } else { Vec::new() };
    let link = |link: LinkSession| LinkSessionRow {
        id: link.id.0,
        name: link.name,
        member: link.member,
        since: display_time(link.created_at, now),
        until: display_time(link.expires_at, now),
    };
    let invite = |invite: Invite| InviteRow {
        id: invite.id.0,
        role: invite.role.as_str(),
        creator: invite.creator,
        until: display_time(invite.expires_at, now),
    };
    Ok(MembersPage {
        invites: invites.into_iter().map(invite).collect(),
        link_sessions: links.into_iter().map(link).collect(),
        shell: user.shell("Members", Section::Members),
        me: me.map(|me| SignedInMember { name: me.name.clone(), role: me.role.as_str() }),
        is_owner,
        members: people.into_iter().map(row).collect(),
        link: None,
        message: None,
    })
}

/// The API keys that the member created and that are still valid.
fn keys_of(keys: &[ApiKey], person: &Person) -> Vec<String> {
    let own = keys.iter().filter(|key| key.is_live && key.creator.as_deref() == Some(&*person.name));
    own.map(|key| key.to_ref().to_string()).collect()
}
