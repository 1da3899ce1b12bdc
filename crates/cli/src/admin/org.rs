//! `docwright org …`

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
    let made = admin.accounts.create_organization(&args.name).await?;
    if args.json {
        return output::json(&shown(&made));
    }
    output::say(format!(
        "Made the organization {}. Next: docwright project create --organization {} --name \"My docs\" --repository URL{}",
        made.name,
        made.id,
        sources.again(&args.data)
    ));
    output::line(made.id)
}

async fn list(sources: &Sources, args: ListOrganizations) -> anyhow::Result<()> {
    let admin = open(sources, &args.data).await?;
    let all = admin.accounts.organizations().await?;
    if args.json {
        return output::json(&all.iter().map(shown).collect::<Vec<_>>());
    }
    if all.is_empty() {
        output::say("No organizations yet: the first project, key or server makes one named Default.");
        return Ok(());
    }
    let row = |one: Organization| [one.id.0, one.name, output::moment(one.created_at)];
    output::table(["ID", "NAME", "CREATED"], all.into_iter().map(row))
}

fn shown(one: &Organization) -> Value {
    json!({ "id": one.id.0, "name": one.name, "createdAt": output::moment(one.created_at) })
}
