//! The audit log: who did what, for owners.

use axum::extract::State;
use axum::http::Uri;
use axum::response::Response;
use store::AuditEntry;

use super::session::SignedIn;
use super::view::{DeedRow, Deeds, Section};
use super::{Oops, page, when};
use app::App;
use app::path::query_value;

const PER_PAGE: u32 = 50;

/// `GET /audit`
pub(crate) async fn list(State(app): State<App>, visitor: SignedIn, uri: Uri) -> Result<Response, Oops> {
    visitor.must_own()?;
    // Only our own links have one; what is no number is the first page.
    let before = query_value(&uri, "before").parse().ok();
    let mut deeds = app.people.audit_log(&visitor.organization, before, PER_PAGE + 1).await?;
    let has_more = deeds.len() > PER_PAGE as usize;
    deeds.truncate(PER_PAGE as usize);
    let now = app.clock.now();
    let older = deeds.last().filter(|_| has_more).map(|deed| format!("/audit?before={}", deed.number));
    let row = |deed: AuditEntry| DeedRow {
        when: when(deed.at, now),
        who: deed.who,
        what: deed.what,
        about: deed.about,
    };
    Ok(page(&Deeds {
        shell: visitor.shell("Audit log", Section::People),
        rows: deeds.into_iter().map(row).collect(),
        newer: before.map(|_| "/audit".to_owned()),
        older,
    }))
}
