//! Runs `docwright key`.

use anyhow::{Context, ensure};
use serde_json::{Value, json};
use server::Admin;
use store::{Allow, ApiKey, DataDir, NewKey, ProjectId, Scope};

use super::{filter_organization, open, open_or_create, organization, project, record_audit};
use crate::args::{CreateKey, KeyCommand, List, RevokeKey, quote};
use crate::settings::Sources;
use crate::{client, output};

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
    record_audit(&admin, &key.organization, "made the key", &key.to_ref().to_string()).await?;
    if let Err(error) = print_key(sources, &args, &key, text.reveal()) {
        // A key that nobody has seen must not stay valid.
        admin.accounts.revoke_key(&key.organization, &key.id).await?;
        return Err(error.context("the key could not be printed, so it was revoked"));
    }
    Ok(())
}

fn print_key(sources: &Sources, args: &CreateKey, key: &ApiKey, secret: &str) -> anyhow::Result<()> {
    if args.json {
        let mut object = to_json(key);
        object["key"] = secret.into();
        return output::print_json(&object);
    }
    output::print_message(format!(
        "Copy the API key now: you can't see it again. To revoke it: docwright key revoke {}{}",
        key.id,
        sources.repeat_flags(&args.data)
    ));
    if args.scope == Scope::Write {
        let project = args.project.first().map_or("PROJECT", String::as_str);
        output::print_message(format!(
            "To start a job with it:\n  export {}DOCWRIGHT_API_KEY=dw_…\n  docwright job create {project} \"Fix broken links.\" --watch",
            server_variable(sources, args)
        ));
    }
    output::print_line(secret)
}

/// `DOCWRIGHT_URL=… ` if commands over HTTP would not find the server of this data directory by themselves.
fn server_variable(sources: &Sources, args: &CreateKey) -> String {
    let url = || DataDir::find(&sources.admin_settings(&args.data).ok()?.data).ok()?.url();
    let is_found = |url: &String| *url == client::local_url(sources);
    url()
        .filter(|url| !is_found(url))
        .map(|url| format!("DOCWRIGHT_URL={} ", quote(&url)))
        .unwrap_or_default()
}

/// The organization of the key, and the projects that it is restricted to. The projects determine the organization.
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
    let in_one = projects.iter().all(|project| project.organization == owner);
    ensure!(
        in_one,
        "an API key belongs to one organization, but the projects are in several: create one key for each"
    );
    Ok((owner, Some(projects.into_iter().map(|project| project.id).collect())))
}

async fn list(sources: &Sources, args: List) -> anyhow::Result<()> {
    let admin = open(sources, &args.data).await?;
    let keys = admin.accounts.keys(filter_organization(&admin, &args).await?.as_ref()).await?;
    if args.json {
        return output::print_json(&keys.iter().map(to_json).collect::<Vec<_>>());
    }
    if keys.is_empty() {
        output::print_message(format!(
            "No API keys yet. To create one: docwright key create --name CI{}",
            sources.repeat_flags(&args.data)
        ));
        return Ok(());
    }
    let row = |key: ApiKey| {
        let moment =
            |at: Option<jiff::Timestamp>| at.map_or_else(|| "never".into(), output::format_timestamp);
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
    output::print_table(
        ["ID", "NAME", "KEY", "SCOPE", "STATE", "EXPIRES", "LAST USED"],
        keys.into_iter().map(row),
    )
}

async fn revoke(sources: &Sources, args: RevokeKey) -> anyhow::Result<()> {
    let admin = open(sources, &args.data).await?;
    let find = async || {
        let keys = admin.accounts.keys(None).await?.into_iter();
        keys.into_iter()
            .find(|key| key.id.0 == args.id)
            .with_context(|| format!("there is no API key with the ID {}; see `docwright key list`", args.id))
    };
    let key = find().await?;
    let revoked = admin.accounts.revoke_key(&key.organization, &key.id).await?;
    if revoked {
        record_audit(&admin, &key.organization, "revoked the key", &key.to_ref().to_string()).await?;
    }
    if args.json {
        return output::print_json(&to_json(&find().await?));
    }
    match revoked {
        true => output::print_message(format!(
            "Revoked the API key {}. The server refuses the next request with it.",
            key.name
        )),
        false => output::print_message(format!("The API key {} was already revoked.", key.name)),
    }
    Ok(())
}

fn to_json(key: &ApiKey) -> Value {
    json!({
        "id": key.id.0,
        "name": key.name,
        "organization": key.organization.0,
        "hint": key.hint,
        "scope": key.scope.as_str(),
        "projects": key.projects.as_ref().map(|all| all.iter().map(|id| id.0.clone()).collect::<Vec<_>>()),
        "allow": key.allow.entries().collect::<Vec<_>>(),
        "creator": key.creator,
        "createdAt": output::format_timestamp(key.created_at),
        "expiresAt": key.expires_at.map(output::format_timestamp),
        "lastUsedAt": key.last_used_at.map(output::format_timestamp),
        "revokedAt": key.revoked_at.map(output::format_timestamp),
    })
}
