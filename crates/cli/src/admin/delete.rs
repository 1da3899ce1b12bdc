//! Runs `docwright project delete` and `docwright org delete`.

use anyhow::ensure;

use super::{open, record_audit};
use crate::args::{DeleteOrganization, DeleteProject};
use crate::output;
use crate::settings::Sources;

const DELETED_LATER: &str =
    "The server that stores page views deletes its data within minutes, or after its next start.";

pub(crate) async fn project(sources: &Sources, args: DeleteProject) -> anyhow::Result<()> {
    let admin = open(sources, &args.data).await?;
    let project = super::project(&admin, &args.id).await?;
    ensure!(
        args.yes,
        "this deletes the project {} with its jobs, page views, secrets and the API keys that only it has, for good; its repository stays: add --yes to confirm",
        project.name
    );
    admin.upkeep.delete_project(&project.id).await?;
    record_audit(&admin, &project.organization, "deleted the project", &project.name).await?;
    output::print_message(format!("Deleted the project {}. {DELETED_LATER}", project.name));
    Ok(())
}

pub(crate) async fn organization(sources: &Sources, args: DeleteOrganization) -> anyhow::Result<()> {
    let admin = open(sources, &args.data).await?;
    let organization = super::organization(&admin, Some(&args.name)).await?;
    let projects = admin.accounts.projects(Some(&organization.id)).await?.len();
    ensure!(
        args.yes,
        "this deletes the organization {} with its API keys, sessions and projects ({projects}), for good; repositories stay: add --yes to confirm",
        organization.name
    );
    admin.upkeep.delete_organization(&organization.id).await?;
    output::print_message(format!("Deleted the organization {}. {DELETED_LATER}", organization.name));
    Ok(())
}
