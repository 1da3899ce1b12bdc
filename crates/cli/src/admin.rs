//! Commands on the data directory itself; they work beside a running server.

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

use crate::args::{Data, Login};
use crate::output;
use crate::settings::Sources;

/// `docwright login`
pub(crate) async fn login(sources: &Sources, args: Login) -> anyhow::Result<()> {
    let admin = open_or_create(sources, &args.data, args.organization.is_some()).await?;
    let organization = organization(&admin, args.organization.as_deref()).await?;
    if admin.url.is_none() {
        let again = sources.again(&args.data);
        output::say(format!(
            "No server has used this data directory yet: start one with `docwright serve{again}`."
        ));
    }
    let told = sources.public_url(args.public_url.as_deref())?;
    let base = told.or(admin.url.clone()).unwrap_or_else(|| server::USUAL_URL.into());
    let link = admin.sessions.create_named_login(&organization.id, &args.name).await?;
    note(&admin, &organization.id, "made a login link", &args.name).await?;
    let url = format!("{base}/login?token={}", link.reveal());
    if args.json {
        return output::json(&json!({ "loginUrl": url }));
    }
    output::say(format!("This link signs in to {}, once, within 15 minutes:", organization.name));
    output::line(url)
}

/// As whom the audit log knows these commands.
const COMMAND_LINE: &str = "command line";

async fn note(admin: &Admin, organization: &OrganizationId, what: &str, about: &str) -> anyhow::Result<()> {
    let (who, what, about) = (COMMAND_LINE.into(), what.into(), about.into());
    let deed = NewAuditEntry { organization: organization.clone(), who, what, about };
    Ok(admin.people.record_audit(&deed).await?)
}

/// For a command that may be the first one: it makes what is missing, unless it names something that a
/// new installation does not have.
pub(crate) async fn open_or_create(
    sources: &Sources,
    data: &Data,
    names_existing: bool,
) -> anyhow::Result<Admin> {
    if names_existing {
        return open(sources, data).await;
    }
    let settings = sources.data(data)?;
    let has_directory = settings.data.exists();
    let has_database = settings.database_url.is_some() || DataDir::at(&settings.data).has_database();
    let admin = Admin::open(&settings, Arc::new(SystemClock)).await?;
    close_at_end(&admin);
    // Whoever mistyped it would look for their projects in vain.
    let shown = settings.data.display();
    match (has_directory, has_database) {
        (false, _) => output::say(format!("Made a new data directory: {shown}")),
        (true, false) => output::say(format!("Made a new database in {shown}")),
        (true, true) => {}
    }
    Ok(admin)
}

/// For every other command: where there is nothing, nothing is made.
pub(crate) async fn open(sources: &Sources, data: &Data) -> anyhow::Result<Admin> {
    let admin = Admin::open_existing(&sources.data(data)?, Arc::new(SystemClock)).await?;
    close_at_end(&admin);
    Ok(admin)
}

/// Stores that this process opened. A command may fail anywhere, so they are closed in one place.
static OPENED: Mutex<Vec<Arc<dyn Upkeep>>> = Mutex::new(Vec::new());

/// Without a close, what a command wrote stays in SQLite's log, and who copies the database file alone misses it.
pub(crate) fn close_at_end(admin: &Admin) {
    OPENED.lock().unwrap_or_else(PoisonError::into_inner).push(admin.upkeep.clone());
}

pub(crate) async fn close_all() {
    let opened = std::mem::take(&mut *OPENED.lock().unwrap_or_else(PoisonError::into_inner));
    for store in opened {
        store.close().await;
    }
}

async fn project(admin: &Admin, id: &str) -> anyhow::Result<Project> {
    let found = admin.accounts.project(&ProjectId(id.to_owned())).await?;
    found.with_context(|| format!("there is no project {id}; see `docwright project list`"))
}

/// Two first commands at once make one organization.
async fn first_organization(admin: &Admin) -> anyhow::Result<Organization> {
    match admin.accounts.create_organization("Default").await {
        Err(StoreError::Taken(_)) => {
            let made = admin.accounts.organizations().await?.into_iter().next();
            made.context("the first organization is gone again; try once more")
        }
        made => Ok(made?),
    }
}

/// The organization of that name, or the only one there is; a new installation gets its first.
async fn organization(admin: &Admin, name: Option<&str>) -> anyhow::Result<Organization> {
    let mut all = admin.accounts.organizations().await?;
    if let Some(name) = name {
        let found = all.into_iter().find(|one| one.name == name || one.id.0 == name);
        return found.with_context(|| {
            format!(
                "there is no organization {name}: see `docwright org list`, or make it with `docwright org create --name {name}`"
            )
        });
    }
    match all.len() {
        0 => first_organization(admin).await,
        1 => Ok(all.remove(0)),
        _ => {
            let names: Vec<_> = all.into_iter().map(|one| one.name).collect();
            bail!("there are several organizations: say --organization, one of {}", names.join(", "))
        }
    }
}
