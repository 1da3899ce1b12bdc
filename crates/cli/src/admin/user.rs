//! `docwright user …`, `docwright audit`: people, and what they did.

mod invitations;
mod sessions;

use std::path::Path;

use anyhow::{Context, anyhow, bail};
use serde_json::{Value, json};
use server::{Admin, Passwords, parse_password};
use store::{AuditEntry, KeyRef, MemberKeys, NewInvite, OrganizationId, PasswordHash, Person, Removal};

use super::{COMMAND_LINE, note, open, open_or_create, organization};
use crate::args::{Audit, InviteUser, List, RemoveUser, UserCommand, UserPassword};
use crate::output;
use crate::settings::Sources;

pub(crate) async fn run(sources: &Sources, command: UserCommand) -> anyhow::Result<()> {
    match command {
        UserCommand::List(args) => list(sources, args).await,
        UserCommand::Invite(args) => invite(sources, args).await,
        UserCommand::Invitations(args) => invitations::list(sources, args).await,
        UserCommand::Withdraw(args) => invitations::withdraw(sources, args).await,
        UserCommand::Remove(args) => remove(sources, args).await,
        UserCommand::Password(args) => password(sources, args).await,
        UserCommand::Sessions(args) => sessions::list(sources, args).await,
        UserCommand::EndSession(args) => sessions::end(sources, args).await,
    }
}

async fn list(sources: &Sources, args: List) -> anyhow::Result<()> {
    let admin = open(sources, &args.data).await?;
    let people = admin.people.people(of(&admin, &args).await?.as_ref()).await?;
    if args.json {
        return output::json(&people.iter().map(shown).collect::<Vec<_>>());
    }
    if people.is_empty() {
        output::say("Nobody has an account yet. Invite somebody: docwright user invite");
        return Ok(());
    }
    let row = |person: Person| {
        [person.name, person.role.as_str().into(), person.organization.0, output::moment(person.created_at)]
    };
    output::table(["NAME", "ROLE", "ORGANIZATION", "SINCE"], people.into_iter().map(row))
}

/// The organization that a list is narrowed to.
async fn of(admin: &Admin, args: &List) -> anyhow::Result<Option<OrganizationId>> {
    match &args.organization {
        Some(name) => Ok(Some(organization(admin, Some(name)).await?.id)),
        None => Ok(None),
    }
}

async fn invite(sources: &Sources, args: InviteUser) -> anyhow::Result<()> {
    let admin = open_or_create(sources, &args.data, args.organization.is_some()).await?;
    let organization = organization(&admin, args.organization.as_deref()).await?;
    let told = sources.public_url(args.public_url.as_deref())?;
    let base = told.or(admin.url.clone()).unwrap_or_else(|| server::USUAL_URL.into());
    let new =
        NewInvite { organization: organization.id.clone(), role: args.role, creator: COMMAND_LINE.into() };
    let link = admin.people.create_invite(&new).await?;
    let role = args.role.as_str();
    note(&admin, &organization.id, "invited", &format!("somebody as {role}")).await?;
    let url = format!("{base}/join?token={}", link.reveal());
    if args.json {
        return output::json(&json!({ "inviteUrl": url }));
    }
    output::say(format!(
        "Whoever opens this link first joins {} as {role}. It works once, within seven days:",
        organization.name
    ));
    output::line(url)
}

async fn remove(sources: &Sources, args: RemoveUser) -> anyhow::Result<()> {
    let admin = open(sources, &args.data).await?;
    let (person, _) = find(&admin, &args.name, args.organization.as_deref()).await?;
    let keys = match args.keys_to {
        Some(owner) => MemberKeys::TakeOver { owner },
        None => MemberKeys::Revoke,
    };
    let (removal, ended) = admin.people.remove_person(&person.organization, &person.id, &keys).await?;
    match removal {
        Removal::Done => {}
        Removal::NoSuchPerson => bail!("{} was removed already", person.name),
        Removal::LastOwner => bail!(
            "{} is the only owner: invite another first, with `docwright user invite --role owner`",
            person.name
        ),
        Removal::NoSuchOwner => {
            bail!("--keys-to names an owner of the same organization who stays; see `docwright user list`")
        }
    }
    note(&admin, &person.organization, "removed", &person.name).await?;
    output::say(format!("Removed {}, who is signed out everywhere.", person.name));
    keys_ended(&admin, &person, &keys, &ended).await
}

/// Lists the person's API keys, and what became of them.
async fn keys_ended(
    admin: &Admin,
    person: &Person,
    keys: &MemberKeys,
    ended: &[KeyRef],
) -> anyhow::Result<()> {
    for key in ended {
        let (what, about) = match keys {
            MemberKeys::Revoke => ("revoked the key", format!("{key} of {}", person.name)),
            MemberKeys::TakeOver { owner } => {
                ("handed over the key", format!("{key} of {} to {owner}", person.name))
            }
        };
        note(admin, &person.organization, what, &about).await?;
        match keys {
            MemberKeys::Revoke => output::say(format!("Revoked the API key {key}.")),
            MemberKeys::TakeOver { owner } => output::say(format!("The API key {key} is {owner}'s now.")),
        }
    }
    Ok(())
}

async fn password(sources: &Sources, args: UserPassword) -> anyhow::Result<()> {
    let admin = open(sources, &args.data).await?;
    let (person, others) = find(&admin, &args.name, args.organization.as_deref()).await?;
    let text = read(&args.password_file)?;
    let text = text.trim_end_matches(['\n', '\r']);
    let password = parse_password(text, &person.name).map_err(|why| anyhow!(why))?;
    let hash = Passwords::new().hash_beside(password, &others).await?;
    admin.people.set_password(&person.id, &hash).await?;
    note(&admin, &person.organization, "set the password of", &person.name).await?;
    output::say(format!("{} has a new password, and is signed out everywhere.", person.name));
    Ok(())
}

fn read(path: &Path) -> anyhow::Result<String> {
    match path == Path::new("-") {
        true => Ok(std::io::read_to_string(std::io::stdin())?),
        false => std::fs::read_to_string(path).with_context(|| format!("--password-file {}", path.display())),
    }
}

/// The person of that name, with the passwords that others of the same name have.
async fn find(
    admin: &Admin,
    name: &str,
    organization_name: Option<&str>,
) -> anyhow::Result<(Person, Vec<PasswordHash>)> {
    let named = match organization_name {
        Some(name) => Some(organization(admin, Some(name)).await?.id),
        None => None,
    };
    let all = admin.people.people_named(name).await?;
    let (mut fitting, others): (Vec<_>, Vec<_>) = all
        .into_iter()
        .partition(|(person, _)| named.as_ref().is_none_or(|named| person.organization == *named));
    if fitting.len() > 1 {
        bail!("several organizations have somebody named {name}: say --organization");
    }
    let found = fitting.pop().map(|(person, _)| (person, others.into_iter().map(|(_, hash)| hash).collect()));
    found.with_context(|| format!("nobody has the name {name}; see `docwright user list`"))
}

/// `docwright audit`
pub(crate) async fn audit(sources: &Sources, args: Audit) -> anyhow::Result<()> {
    let admin = open(sources, &args.data).await?;
    let organization = organization(&admin, args.organization.as_deref()).await?;
    let deeds = admin.people.audit_log(&organization.id, None, args.limit).await?;
    if args.json {
        let shown = |deed: &AuditEntry| json!({ "at": output::moment(deed.at), "who": deed.who, "what": deed.what, "about": deed.about });
        return output::json(&deeds.iter().map(shown).collect::<Vec<_>>());
    }
    let row = |deed: AuditEntry| [output::moment(deed.at), deed.who, format!("{} {}", deed.what, deed.about)];
    output::table(["WHEN", "WHO", "WHAT"], deeds.into_iter().map(row))
}

fn shown(person: &Person) -> Value {
    json!({
        "id": person.id.0,
        "name": person.name,
        "organization": person.organization.0,
        "role": person.role.as_str(),
        "createdAt": output::moment(person.created_at),
    })
}
