//! Runs `docwright user` and `docwright audit`: members and the audit log.

mod invitations;
mod sessions;

use std::path::Path;

use anyhow::{Context, anyhow, bail};
use serde_json::{Value, json};
use server::{Admin, Passwords, parse_password};
use store::{AuditEntry, KeyRef, MemberKeys, NewInvite, PasswordHash, Person, Removal};

use super::{
    COMMAND_LINE, filter_organization, open, open_or_create, organization, record_audit, server_url,
};
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
    let people = admin.people.people(filter_organization(&admin, &args).await?.as_ref()).await?;
    if args.json {
        return output::print_json(&people.iter().map(to_json).collect::<Vec<_>>());
    }
    if people.is_empty() {
        output::print_message("No members yet. To invite one: docwright user invite");
        return Ok(());
    }
    let row = |person: Person| {
        [
            person.name,
            person.role.as_str().into(),
            person.organization.0,
            output::format_timestamp(person.created_at),
        ]
    };
    output::print_table(["NAME", "ROLE", "ORGANIZATION", "SINCE"], people.into_iter().map(row))
}

async fn invite(sources: &Sources, args: InviteUser) -> anyhow::Result<()> {
    let admin = open_or_create(sources, &args.data, args.organization.is_some()).await?;
    let organization = organization(&admin, args.organization.as_deref()).await?;
    let base = server_url(sources, args.public_url.as_deref(), &admin)?;
    let new =
        NewInvite { organization: organization.id.clone(), role: args.role, creator: COMMAND_LINE.into() };
    let link = admin.people.create_invite(&new).await?;
    let role = args.role.as_str();
    record_audit(&admin, &organization.id, "invited", &format!("somebody as {role}")).await?;
    let url = format!("{base}/join?token={}", link.reveal());
    if args.json {
        return output::print_json(&json!({ "inviteUrl": url }));
    }
    output::print_message(format!(
        "The first person who opens this link can join {} as {role}. It works once, within seven days:",
        organization.name
    ));
    output::print_line(url)
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
        Removal::NoSuchPerson => bail!("{} was already removed", person.name),
        Removal::LastOwner => bail!(
            "{} is the only owner: invite another owner first, with `docwright user invite --role owner`",
            person.name
        ),
        Removal::NoSuchOwner => {
            bail!("--keys-to must name another owner of the same organization; see `docwright user list`")
        }
    }
    record_audit(&admin, &person.organization, "removed", &person.name).await?;
    output::print_message(format!("Removed {} and ended their sessions.", person.name));
    report_ended_keys(&admin, &person, &keys, &ended).await
}

/// Records and prints which API keys of a removed member were revoked or transferred.
async fn report_ended_keys(
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
        record_audit(admin, &person.organization, what, &about).await?;
        match keys {
            MemberKeys::Revoke => output::print_message(format!("Revoked the API key {key}.")),
            MemberKeys::TakeOver { owner } => {
                output::print_message(format!("Transferred the API key {key} to {owner}."))
            }
        }
    }
    Ok(())
}

async fn password(sources: &Sources, args: UserPassword) -> anyhow::Result<()> {
    let admin = open(sources, &args.data).await?;
    let (person, others) = find(&admin, &args.name, args.organization.as_deref()).await?;
    let text = read_password(&args.password_file)?;
    let text = text.trim_end_matches(['\n', '\r']);
    let password = parse_password(text, &person.name).map_err(|error| anyhow!(error))?;
    let hash = Passwords::new().hash_with_shared_salt(password, &others).await?;
    admin.people.set_password(&person.id, &hash).await?;
    record_audit(&admin, &person.organization, "set the password of", &person.name).await?;
    output::print_message(format!("Set a new password for {} and ended their sessions.", person.name));
    Ok(())
}

fn read_password(path: &Path) -> anyhow::Result<String> {
    match path == Path::new("-") {
        true => Ok(std::io::read_to_string(std::io::stdin())?),
        false => std::fs::read_to_string(path).with_context(|| format!("--password-file {}", path.display())),
    }
}

/// Finds a member by name, with the password hashes of members of the same name in other organizations.
async fn find(
    admin: &Admin,
    name: &str,
    organization_name: Option<&str>,
) -> anyhow::Result<(Person, Vec<PasswordHash>)> {
    let wanted = match organization_name {
        Some(name) => Some(organization(admin, Some(name)).await?.id),
        None => None,
    };
    let all = admin.people.people_named(name).await?;
    let (mut matching, others): (Vec<_>, Vec<_>) = all
        .into_iter()
        .partition(|(person, _)| wanted.as_ref().is_none_or(|wanted| person.organization == *wanted));
    if matching.len() > 1 {
        bail!("several organizations have a member with the name {name}: set --organization");
    }
    let found =
        matching.pop().map(|(person, _)| (person, others.into_iter().map(|(_, hash)| hash).collect()));
    found.with_context(|| format!("there is no member with the name {name}; see `docwright user list`"))
}

/// Runs `docwright audit`.
pub(crate) async fn audit(sources: &Sources, args: Audit) -> anyhow::Result<()> {
    let admin = open(sources, &args.data).await?;
    let organization = organization(&admin, args.organization.as_deref()).await?;
    let entries = admin.people.audit_log(&organization.id, None, args.limit).await?;
    if args.json {
        let to_json = |entry: &AuditEntry| json!({ "at": output::format_timestamp(entry.at), "who": entry.who, "what": entry.what, "about": entry.about });
        return output::print_json(&entries.iter().map(to_json).collect::<Vec<_>>());
    }
    let row = |entry: AuditEntry| {
        [output::format_timestamp(entry.at), entry.who, format!("{} {}", entry.what, entry.about)]
    };
    output::print_table(["WHEN", "WHO", "WHAT"], entries.into_iter().map(row))
}

fn to_json(person: &Person) -> Value {
    json!({
        "id": person.id.0,
        "name": person.name,
        "organization": person.organization.0,
        "role": person.role.as_str(),
        "createdAt": output::format_timestamp(person.created_at),
    })
}
