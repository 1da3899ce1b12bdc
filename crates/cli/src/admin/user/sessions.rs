//! Runs `docwright user sessions` and `docwright user end-session`, for sessions that began with a login link.

use anyhow::Context;
use serde_json::{Value, json};
use store::LinkSession;

use super::{filter_organization, open, record_audit};
use crate::args::{EndSession, List};
use crate::output;
use crate::settings::Sources;

pub(super) async fn list(sources: &Sources, args: List) -> anyhow::Result<()> {
    let admin = open(sources, &args.data).await?;
    let sessions = admin.sessions.link_sessions(filter_organization(&admin, &args).await?.as_ref()).await?;
    if args.json {
        return output::print_json(&sessions.iter().map(to_json).collect::<Vec<_>>());
    }
    if sessions.is_empty() {
        output::print_message(
            "No sessions that began with a login link. To create a link: docwright login --name \"My laptop\"",
        );
        return Ok(());
    }
    let row = |session: LinkSession| {
        let (since, until) =
            (output::format_timestamp(session.created_at), output::format_timestamp(session.expires_at));
        let name = session.name.unwrap_or_else(|| "(no name)".into());
        [session.id.0, name, session.organization.0, session.member.unwrap_or_default(), since, until]
    };
    output::print_table(
        ["ID", "NAME", "ORGANIZATION", "MEMBER", "SINCE", "UNTIL"],
        sessions.into_iter().map(row),
    )
}

pub(super) async fn end(sources: &Sources, args: EndSession) -> anyhow::Result<()> {
    let admin = open(sources, &args.data).await?;
    let live = admin.sessions.link_sessions(None).await?;
    let ended = match live.into_iter().find(|session| session.id.0 == args.id) {
        Some(session) => admin.sessions.end_link_session(&session.organization, &session.id).await?,
        None => None,
    };
    let ended =
        ended.with_context(|| format!("there is no session {}; see `docwright user sessions`", args.id))?;
    let name = ended.name.unwrap_or(ended.id.0);
    record_audit(&admin, &ended.organization, "ended the session", &name).await?;
    output::print_message(format!("Ended the session {name}."));
    Ok(())
}

fn to_json(session: &LinkSession) -> Value {
    json!({
        "id": session.id.0,
        "name": session.name,
        "organization": session.organization.0,
        "member": session.member,
        "createdAt": output::format_timestamp(session.created_at),
        "expiresAt": output::format_timestamp(session.expires_at),
    })
}
