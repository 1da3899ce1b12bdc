//! `docwright project delete`, `docwright org delete`

use anyhow::ensure;

use super::{note, open};
use crate::args::{DeleteOrganization, DeleteProject};
use crate::output;
use crate::settings::Sources;

const LATER: &str =
    "What it had is removed by the server that keeps page views, within minutes, or after its next start.";

pub(crate) async fn project(sources: &Sources, args: DeleteProject) -> anyhow::Result<()> {
    let admin = open(sources, &args.data).await?;
    let project = super::project(&admin, &args.id).await?;
    ensure!(
        args.yes,
        "this deletes the project {} with its jobs, page views, secrets and the keys for it alone, for good; its repository stays: say --yes",
        project.name
    );
    admin.upkeep.delete_project(&project.id).await?;
    note(&admin, &project.organization, "deleted the project", &project.name).await?;
    output::say(format!("Deleted the project {}. {LATER}", project.name));
    Ok(())
}

pub(crate) async fn organization(sources: &Sources, args: DeleteOrganization) -> anyhow::Result<()> {
    let admin = open(sources, &args.data).await?;
    let organization = super::organization(&admin, Some(&args.name)).await?;
    let projects = admin.accounts.projects(Some(&organization.id)).await?.len();
    ensure!(
        args.yes,
        "this deletes the organization {} with its keys, sessions and projects ({projects}), for good; repositories stay: say --yes",
        organization.name
    );
    admin.upkeep.delete_organization(&organization.id).await?;
    output::say(format!("Deleted the organization {}. {LATER}", organization.name));
    Ok(())
}
