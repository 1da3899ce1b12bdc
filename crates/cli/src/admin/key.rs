//! `docwright key …`

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use server::Admin;
use store::{Allow, ApiKey, NewKey, ProjectId};

use super::{note, open, open_or_create, organization, project};
use crate::args::{CreateKey, KeyCommand, List, RevokeKey};
use crate::output;
use crate::settings::Sources;

pub(crate) async fn run(sources: &Sources, command: KeyCommand) -> anyhow::Result<()> {
    match command {
        KeyCommand::Create(args) => create(sources, args).await,
        KeyCommand::List(args) => list(sources, args).await,
        KeyCommand::Revoke(args) => revoke(sources, args).await,
    }
}

async fn create(sources: &Sources, args: CreateKey) -> anyhow::Result<()> {
    let names_existing = args.organization.is_some() || !args.project.is_empty();
    let admin = open_or_create(sources, &args.data, names_existing).await?;
    let (organization, projects) = owner(&admin, &args).await?;
    let new = NewKey {
        organization,
        name: args.name.clone(),
        scope: args.scope,
        projects,
        allow: Allow::parse(args.allow.iter().map(String::as_str))?,
        expiry: args.expires,
        creator: Some(super::COMMAND_LINE.into()),
    };
    let (key, text) = admin.accounts.create_key(&new).await?;
    note(&admin, &key.organization, "made the key", &key.to_ref().to_string()).await?;
    if let Err(error) = show(sources, &args, &key, text.reveal()) {
        // A key that nobody has seen must not be left to work.
        admin.accounts.revoke_key(&key.organization, &key.id).await?;
        return Err(error.context("the key could not be shown, so it was revoked"));
    }
    Ok(())
}

fn show(sources: &Sources, args: &CreateKey, key: &ApiKey, secret: &str) -> anyhow::Result<()> {
    if args.json {
        let mut object = shown(key);
        object["key"] = secret.into();
        return output::json(&object);
    }
    output::say(format!(
        "The key is shown this once; keep it as DOCWRIGHT_API_KEY. To end it: docwright key revoke {}{}",
        key.id,
        sources.again(&args.data)
    ));
    output::line(secret)
}

/// The projects that were named say whose key it is; otherwise the organization does.
async fn owner(
    admin: &Admin,
    args: &CreateKey,
) -> anyhow::Result<(store::OrganizationId, Option<Vec<ProjectId>>)> {
    if args.project.is_empty() {
        return Ok((organization(admin, args.organization.as_deref()).await?.id, None));
    }
    let mut projects = Vec::new();
    for id in &args.project {
        projects.push(project(admin, id).await?);
    }
    let owner = match &args.organization {
        Some(name) => organization(admin, Some(name)).await?.id,
        None => projects[0].organization.clone(),
    };
    let ours = projects.iter().all(|project| project.organization == owner);
    ensure!(ours, "a key works in one organization: the projects are of several");
    Ok((owner, Some(projects.into_iter().map(|project| project.id).collect())))
}

async fn list(sources: &Sources, args: List) -> anyhow::Result<()> {
    let admin = open(sources, &args.data).await?;
    let owner = match &args.organization {
        Some(name) => Some(organization(&admin, Some(name)).await?.id),
        None => None,
    };
    let keys = admin.accounts.keys(owner.as_ref()).await?;
    if args.json {
        return output::json(&keys.iter().map(shown).collect::<Vec<_>>());
    }
    if keys.is_empty() {
        output::say(format!(
            "No keys yet. Make one: docwright key create --name CI{}",
            sources.again(&args.data)
        ));
        return Ok(());
    }
    let row = |key: ApiKey| {
        let moment = |at: Option<jiff::Timestamp>| at.map_or_else(|| "never".into(), output::moment);
        let state = if key.is_live { "live" } else { "ended" };
        [
            key.id.0.clone(),
            key.name.clone(),
            format!("{}…", key.hint),
            key.scope.as_str().into(),
            state.into(),
            moment(key.expires_at),
            moment(key.last_used_at),
        ]
    };
    output::table(["ID", "NAME", "KEY", "SCOPE", "STATE", "EXPIRES", "LAST USED"], keys.into_iter().map(row))
}

async fn revoke(sources: &Sources, args: RevokeKey) -> anyhow::Result<()> {
    let admin = open(sources, &args.data).await?;
    let find = async || {
        let keys = admin.accounts.keys(None).await?.into_iter();
        keys.into_iter()
            .find(|key| key.id.0 == args.id)
            .with_context(|| format!("there is no key with the id {}; see `docwright key list`", args.id))
    };
    let key = find().await?;
    let revoked = admin.accounts.revoke_key(&key.organization, &key.id).await?;
    if revoked {
        note(&admin, &key.organization, "revoked the key", &key.to_ref().to_string()).await?;
    }
    if args.json {
        return output::json(&shown(&find().await?));
    }
    match revoked {
        true => output::say(format!("Revoked {}: the next request with it is refused.", key.name)),
        false => output::say(format!("{} was revoked before.", key.name)),
    }
    Ok(())
}

fn shown(key: &ApiKey) -> Value {
    json!({
        "id": key.id.0,
        "name": key.name,
        "organization": key.organization.0,
        "hint": key.hint,
        "scope": key.scope.as_str(),
        "projects": key.projects.as_ref().map(|all| all.iter().map(|id| id.0.clone()).collect::<Vec<_>>()),
        "allow": key.allow.entries().collect::<Vec<_>>(),
        "creator": key.creator,
        "createdAt": output::moment(key.created_at),
        "expiresAt": key.expires_at.map(output::moment),
        "lastUsedAt": key.last_used_at.map(output::moment),
        "revokedAt": key.revoked_at.map(output::moment),
    })
}
