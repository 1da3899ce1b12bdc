//! Runs `docwright org`.

use serde_json::{Value, json};
use store::Organization;

use super::{delete, open, open_or_create};
use crate::args::{CreateOrganization, ListOrganizations, OrgCommand};
use crate::output;
use crate::settings::Sources;

pub(crate) async fn run(sources: &Sources, command: OrgCommand) -> anyhow::Result<()> {
    match command {
        OrgCommand::Create(args) => create(sources, args).await,
        OrgCommand::List(args) => list(sources, args).await,
        OrgCommand::Delete(args) => delete::organization(sources, args).await,
    }
}

async fn create(sources: &Sources, args: CreateOrganization) -> anyhow::Result<()> {
    let admin = open_or_create(sources, &args.data, false).await?;
    let organization = admin.accounts.create_organization(&args.name).await?;
    if args.json {
        return output::print_json(&to_json(&organization));
    }
    output::print_message(format!(
        "Created the organization {}. To create a project: docwright project create --organization {} --name \"My docs\" --repository URL{}",
        organization.name,
        organization.id,
        sources.repeat_flags(&args.data)
    ));
    output::print_line(organization.id)
}

async fn list(sources: &Sources, args: ListOrganizations) -> anyhow::Result<()> {
    let admin = open(sources, &args.data).await?;
    let all = admin.accounts.organizations().await?;
    if args.json {
        return output::print_json(&all.iter().map(to_json).collect::<Vec<_>>());
    }
    if all.is_empty() {
        output::print_message(
            "No organizations yet. The first project, API key or server creates one with the name Default.",
        );
        return Ok(());
    }
    let row = |organization: Organization| {
        [organization.id.0, organization.name, output::format_timestamp(organization.created_at)]
    };
    output::print_table(["ID", "NAME", "CREATED"], all.into_iter().map(row))
}

fn to_json(organization: &Organization) -> Value {
    json!({
        "id": organization.id.0,
        "name": organization.name,
        "createdAt": output::format_timestamp(organization.created_at),
    })
}
