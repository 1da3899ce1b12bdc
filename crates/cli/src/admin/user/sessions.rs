//! `docwright user sessions`, `docwright user end-session`: sessions that began with a login link.

use anyhow::Context;
use serde_json::{Value, json};
use store::LinkSession;

use super::{note, of, open};
use crate::args::{EndSession, List};
use crate::output;
use crate::settings::Sources;

pub(super) async fn list(sources: &Sources, args: List) -> anyhow::Result<()> {
    let admin = open(sources, &args.data).await?;
    let sessions = admin.sessions.link_sessions(of(&admin, &args).await?.as_ref()).await?;
    if args.json {
        return output::json(&sessions.iter().map(shown).collect::<Vec<_>>());
    }
    if sessions.is_empty() {
        output::say("No session began with a login link. Make a link: docwright login --name \"My laptop\"");
        return Ok(());
    }
    let row = |session: LinkSession| {
        let (since, until) = (output::moment(session.created_at), output::moment(session.expires_at));
        let name = session.name.unwrap_or_else(|| "(no name)".into());
        [session.id.0, name, session.organization.0, session.member.unwrap_or_default(), since, until]
    };
    output::table(["ID", "NAME", "ORGANIZATION", "MEMBER", "SINCE", "UNTIL"], sessions.into_iter().map(row))
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
    note(&admin, &ended.organization, "ended the session", &name).await?;
    output::say(format!("Ended the session {name}."));
    Ok(())
}

fn shown(session: &LinkSession) -> Value {
    json!({
        "id": session.id.0,
        "name": session.name,
        "organization": session.organization.0,
        "member": session.member,
        "createdAt": output::moment(session.created_at),
        "expiresAt": output::moment(session.expires_at),
    })
}
