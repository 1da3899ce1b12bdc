//! `docwright user invitations`, `docwright user withdraw`: what is out, and back in.

use anyhow::Context;
use serde_json::{Value, json};
use store::Invite;

use super::{note, of, open};
use crate::args::{List, WithdrawInvitation};
use crate::output;
use crate::settings::Sources;

pub(super) async fn list(sources: &Sources, args: List) -> anyhow::Result<()> {
    let admin = open(sources, &args.data).await?;
    let invites = admin.people.invites(of(&admin, &args).await?.as_ref()).await?;
    if args.json {
        return output::json(&invites.iter().map(shown).collect::<Vec<_>>());
    }
    if invites.is_empty() {
        output::say("No invitation is open. Make one: docwright user invite");
        return Ok(());
    }
    let row = |invite: Invite| {
        let creator = invite.creator.unwrap_or_default();
        let until = output::moment(invite.expires_at);
        [invite.id.0, invite.role.as_str().into(), invite.organization.0, creator, until]
    };
    output::table(["ID", "ROLE", "ORGANIZATION", "BY", "UNTIL"], invites.into_iter().map(row))
}

pub(super) async fn withdraw(sources: &Sources, args: WithdrawInvitation) -> anyhow::Result<()> {
    let admin = open(sources, &args.data).await?;
    let open = admin.people.invites(None).await?;
    let known = open.into_iter().find(|invite| invite.id.0 == args.id);
    let gone = match known {
        Some(invite) => admin.people.withdraw_invite(&invite.organization, &invite.id).await?,
        None => None,
    };
    let invite =
        gone.with_context(|| format!("no invitation {} is open; see `docwright user invitations`", args.id))?;
    let role = invite.role.as_str();
    note(&admin, &invite.organization, "withdrew an invitation", &format!("as {role}")).await?;
    output::say(format!("Withdrew the invitation as {role}: its link works no more."));
    Ok(())
}

fn shown(invite: &Invite) -> Value {
    json!({
        "id": invite.id.0,
        "organization": invite.organization.0,
        "role": invite.role.as_str(),
        "creator": invite.creator,
        "expiresAt": output::moment(invite.expires_at),
    })
}
