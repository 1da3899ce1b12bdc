//! `docwright user …`, `docwright audit`: people, and what they did.

mod invitations;

use std::path::Path;

use anyhow::{Context, anyhow, bail};
use serde_json::{Value, json};
use server::{Admin, Passwords, parse_password};
use store::{Deed, NewInvite, OrganizationId, PasswordHash, Person, Removal};

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
    let (person, _) = find(&admin, &args.name).await?;
    match admin.people.remove_person(&person.organization, &person.id).await? {
        Removal::Done => {}
        Removal::NoSuchPerson => bail!("{} was removed already", person.name),
        Removal::LastOwner => bail!(
            "{} is the only owner: invite another first, with `docwright user invite --role owner`",
            person.name
        ),
    }
    note(&admin, &person.organization, "removed", &person.name).await?;
    output::say(format!("Removed {}, who is signed out everywhere.", person.name));
    Ok(())
}

async fn password(sources: &Sources, args: UserPassword) -> anyhow::Result<()> {
    let admin = open(sources, &args.data).await?;
    let (person, _) = find(&admin, &args.name).await?;
    let text = read(&args.password_file)?;
    let password = parse_password(text.trim_end_matches(['\n', '\r'])).map_err(|why| anyhow!(why))?;
    admin.people.set_password(&person.id, &Passwords::new().hash(password).await?).await?;
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

async fn find(admin: &Admin, name: &str) -> anyhow::Result<(Person, PasswordHash)> {
    let found = admin.people.person_named(name).await?;
    found.with_context(|| format!("nobody has the name {name}; see `docwright user list`"))
}

/// `docwright audit`
pub(crate) async fn audit(sources: &Sources, args: Audit) -> anyhow::Result<()> {
    let admin = open(sources, &args.data).await?;
    let organization = organization(&admin, args.organization.as_deref()).await?;
    let deeds = admin.people.deeds(&organization.id, None, args.limit).await?;
    if args.json {
        let shown = |deed: &Deed| json!({ "at": output::moment(deed.at), "who": deed.who, "what": deed.what, "about": deed.about });
        return output::json(&deeds.iter().map(shown).collect::<Vec<_>>());
    }
    let row = |deed: Deed| [output::moment(deed.at), deed.who, format!("{} {}", deed.what, deed.about)];
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
