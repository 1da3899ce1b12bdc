//! Runs `docwright user invitations` and `docwright user withdraw`.

use anyhow::Context;
use serde_json::{Value, json};
use store::Invite;

use super::{filter_organization, open, record_audit};
use crate::args::{List, WithdrawInvitation};
use crate::output;
use crate::settings::Sources;

pub(super) async fn list(sources: &Sources, args: List) -> anyhow::Result<()> {
    let admin = open(sources, &args.data).await?;
    let invites = admin.people.invites(filter_organization(&admin, &args).await?.as_ref()).await?;
    if args.json {
        return output::print_json(&invites.iter().map(to_json).collect::<Vec<_>>());
    }
    if invites.is_empty() {
        output::print_message("No unused invitations. To create one: docwright user invite");
        return Ok(());
    }
    let row = |invite: Invite| {
        let creator = invite.creator.unwrap_or_default();
        let until = output::format_timestamp(invite.expires_at);
        [invite.id.0, invite.role.as_str().into(), invite.organization.0, creator, until]
    };
    output::print_table(["ID", "ROLE", "ORGANIZATION", "BY", "UNTIL"], invites.into_iter().map(row))
}

pub(super) async fn withdraw(sources: &Sources, args: WithdrawInvitation) -> anyhow::Result<()> {
    let admin = open(sources, &args.data).await?;
    let unused = admin.people.invites(None).await?;
    let invite = unused.into_iter().find(|invite| invite.id.0 == args.id);
    let withdrawn = match invite {
        Some(invite) => admin.people.withdraw_invite(&invite.organization, &invite.id).await?,
        None => None,
    };
    let invite = withdrawn.with_context(|| {
        format!("there is no unused invitation {}; see `docwright user invitations`", args.id)
    })?;
    let role = invite.role.as_str();
    record_audit(&admin, &invite.organization, "withdrew an invitation", &format!("as {role}")).await?;
    output::print_message(format!("Withdrew the invitation as {role}. Its link no longer works."));
    Ok(())
}

fn to_json(invite: &Invite) -> Value {
    json!({
        "id": invite.id.0,
        "organization": invite.organization.0,
        "role": invite.role.as_str(),
        "creator": invite.creator,
        "expiresAt": output::format_timestamp(invite.expires_at),
    })
}
