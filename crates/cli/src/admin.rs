//! Runs the commands on the data directory, which also work while a server runs.

mod delete;
mod host;
pub(crate) mod key;
pub(crate) mod org;
pub(crate) mod project;
pub(crate) mod pull;
pub(crate) mod user;

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, bail};
use base::SystemClock;
use serde_json::json;
use server::Admin;
use store::{DataDir, NewAuditEntry, Organization, OrganizationId, Project, ProjectId, StoreError, Upkeep};

use crate::args::{Data, List, Login};
use crate::output;
use crate::settings::Sources;

/// `docwright login`
pub(crate) async fn login(sources: &Sources, args: Login) -> anyhow::Result<()> {
    let admin = open_or_create(sources, &args.data, args.organization.is_some()).await?;
    let organization = organization(&admin, args.organization.as_deref()).await?;
    if admin.url.is_none() {
        let repeat_flags = sources.repeat_flags(&args.data);
        output::print_message(format!(
            "No server has used this data directory yet. To start one, run: docwright serve{repeat_flags}"
        ));
    }
    let base = server_url(sources, args.public_url.as_deref(), &admin)?;
    let link = admin.sessions.create_named_login(&organization.id, &args.name).await?;
    record_audit(&admin, &organization.id, "made a login link", &args.name).await?;
    let url = format!("{base}/login?token={}", link.reveal());
    if args.json {
        return output::print_json(&json!({ "loginUrl": url }));
    }
    output::print_message(format!(
        "To sign in to {}, open this link. It works once, within 15 minutes:",
        organization.name
    ));
    output::print_line(url)
}

/// The name of these commands in the audit log.
const COMMAND_LINE: &str = "command line";

async fn record_audit(
    admin: &Admin,
    organization: &OrganizationId,
    what: &str,
    about: &str,
) -> anyhow::Result<()> {
    let (who, what, about) = (COMMAND_LINE.into(), what.into(), about.into());
    let entry = NewAuditEntry { organization: organization.clone(), who, what, about };
    Ok(admin.people.record_audit(&entry).await?)
}

/// The URL of the server, for links: from the settings, else where the server was last reached, else the default.
fn server_url(sources: &Sources, flag: Option<&str>, admin: &Admin) -> anyhow::Result<String> {
    let url = sources.public_url(flag)?.or(admin.url.clone());
    Ok(url.unwrap_or_else(|| server::DEFAULT_URL.into()))
}

/// Opens the data for a command that may be the first one of an installation. Creates what is missing, unless the
/// command names something that a new installation cannot have.
pub(crate) async fn open_or_create(
    sources: &Sources,
    data: &Data,
    names_existing: bool,
) -> anyhow::Result<Admin> {
    if names_existing {
        return open(sources, data).await;
    }
    let settings = sources.admin_settings(data)?;
    let has_directory = settings.data.exists();
    let has_database = settings.database_url.is_some() || DataDir::at(&settings.data).has_database();
    let admin = Admin::open(&settings, Arc::new(SystemClock)).await?;
    close_at_end(&admin);
    // Without this message, nobody would notice a mistyped path.
    let path = settings.data.display();
    match (has_directory, has_database) {
        (false, _) => output::print_message(format!("Created a new data directory: {path}")),
        (true, false) => output::print_message(format!("Created a new database in {path}")),
        (true, true) => {}
    }
    Ok(admin)
}

/// Opens the data for every other command, and creates nothing.
pub(crate) async fn open(sources: &Sources, data: &Data) -> anyhow::Result<Admin> {
    let admin = Admin::open_existing(&sources.admin_settings(data)?, Arc::new(SystemClock)).await?;
    close_at_end(&admin);
    Ok(admin)
}

/// Stores that this process opened. `close_all` closes them, because a command can fail anywhere.
static OPEN_STORES: Mutex<Vec<Arc<dyn Upkeep>>> = Mutex::new(Vec::new());

/// Without a close, the writes of a command stay in SQLite's write-ahead log, and a copy of the database file alone misses
/// them.
pub(crate) fn close_at_end(admin: &Admin) {
    OPEN_STORES.lock().unwrap_or_else(PoisonError::into_inner).push(admin.upkeep.clone());
}

pub(crate) async fn close_all() {
    let stores = std::mem::take(&mut *OPEN_STORES.lock().unwrap_or_else(PoisonError::into_inner));
    for store in stores {
        store.close().await;
    }
}

async fn project(admin: &Admin, id: &str) -> anyhow::Result<Project> {
    let found = admin.accounts.project(&ProjectId(id.to_owned())).await?;
    found.with_context(|| format!("there is no project {id}; see `docwright project list`"))
}

/// If two first commands run at once, both use the organization that one of them creates.
async fn first_organization(admin: &Admin) -> anyhow::Result<Organization> {
    match admin.accounts.create_organization("Default").await {
        Err(StoreError::Taken(_)) => {
            let existing = admin.accounts.organizations().await?.into_iter().next();
            existing.context("the first organization was just deleted: try again")
        }
        created => Ok(created?),
    }
}

/// Finds the organization by its name or ID. Without a name, returns the only one, or creates the first.
async fn organization(admin: &Admin, name: Option<&str>) -> anyhow::Result<Organization> {
    let mut all = admin.accounts.organizations().await?;
    if let Some(name) = name {
        let found =
            all.into_iter().find(|organization| organization.name == name || organization.id.0 == name);
        return found.with_context(|| {
            format!(
                "there is no organization {name}: see `docwright org list`, or create it with `docwright org create --name {name}`"
            )
        });
    }
    match all.len() {
        0 => first_organization(admin).await,
        1 => Ok(all.remove(0)),
        _ => {
            let names: Vec<_> = all.into_iter().map(|organization| organization.name).collect();
            bail!("there are several organizations: set --organization to one of {}", names.join(", "))
        }
    }
}

/// The organization that a list is restricted to.
async fn filter_organization(admin: &Admin, args: &List) -> anyhow::Result<Option<OrganizationId>> {
    match &args.organization {
        Some(name) => Ok(Some(organization(admin, Some(name)).await?.id)),
        None => Ok(None),
    }
}
