//! Shows the audit log to owners.

use axum::extract::State;
use axum::http::Uri;
use axum::response::Response;
use store::AuditEntry;

use super::session::SignedInUser;
use super::view::{AuditPage, AuditRow, Section};
use super::{PageError, display_time, page};
use app::App;
use app::path::query_value;

const PER_PAGE: u32 = 50;

/// `GET /audit`
pub(crate) async fn list(
    State(app): State<App>,
    user: SignedInUser,
    uri: Uri,
) -> Result<Response, PageError> {
    user.require_owner()?;
    // Anything but a number shows the first page.
    let before = query_value(&uri, "before").parse().ok();
    let mut entries = app.people.audit_log(&user.organization, before, PER_PAGE + 1).await?;
    let has_more = entries.len() > PER_PAGE as usize;
    entries.truncate(PER_PAGE as usize);
    let now = app.clock.now();
    let older = entries.last().filter(|_| has_more).map(|entry| format!("/audit?before={}", entry.number));
    let row = |entry: AuditEntry| AuditRow {
        when: display_time(entry.at, now),
        who: entry.who,
        what: entry.what,
        about: entry.about,
    };
    Ok(page(&AuditPage {
        shell: user.shell("Audit log", Section::Members),
        rows: entries.into_iter().map(row).collect(),
        newer: before.map(|_| "/audit".to_owned()),
        older,
    }))
}
