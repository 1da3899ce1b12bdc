//! Brings the findings of projects up to date. Any server that has the page views does it, one project at a time and in
//! small transactions. Every round computes from the counts, so a round that was killed is simply repeated.

use std::collections::HashSet;
use std::time::Duration;

use findings::{Kind, Settings};
use store::{Chore, ChoreLease, FindingUpdate};
use traffic::{ListQuery, Range};

use super::counts::{ViewCounts, day_of, start_of};
use super::effect::load_scan;
use super::known::{KnownFindings, Round};
use super::observations::Observer;
use crate::App;

const INTERVAL: Duration = Duration::from_secs(5 * 60);
const RETRY_DELAY: Duration = Duration::from_secs(60);
/// The findings that one transaction stores.
const BATCH: usize = 200;

/// Refreshes the findings of every project that is due.
pub async fn refresh_due_findings(app: &App) -> anyhow::Result<()> {
    if !app.stores_views() {
        return Ok(());
    }
    while let Some(lease) = app.findings.next_chore(Chore::RefreshFindings).await? {
        let refreshed = refresh(app, &lease).await;
        let wait = if refreshed.is_ok() { INTERVAL } else { RETRY_DELAY };
        app.findings.finish_chore(&lease, wait).await?;
        refreshed?;
    }
    Ok(())
}

async fn refresh(app: &App, lease: &ChoreLease) -> anyhow::Result<()> {
    if !has_readers(app, lease).await? {
        return Ok(());
    }
    app.findings.request_scan(&lease.project).await?;
    let settings = app.findings.finding_settings(&lease.project).await?;
    let (scan, _) = load_scan(app, &lease.project).await?;
    let today = day_of(app.clock.now());
    let counts =
        ViewCounts { reports: &*app.reports, project: &lease.project.0, range: range(today, &settings) };
    let observer = Observer::new(counts, &*app.views, scan, today, &settings).await?;
    let mut missing = HashSet::new();
    for kind in Kind::ALL {
        if !refresh_kind(app, lease, &observer, kind, &mut missing).await? {
            return Ok(()); // another server took over
        }
    }
    Ok(())
}

/// Whether anybody read the docs, or asked for a page that wasn't found.
async fn has_readers(app: &App, lease: &ChoreLease) -> anyhow::Result<bool> {
    let (project, all, none) = (&lease.project.0, Range::default(), ListQuery::new(0, 0));
    let views = app.views.count(project, &all, &none).await?.totals.total();
    Ok(views > 0 || app.reports.not_found(project, &all, &none).await?.totals.total() > 0)
}

/// False when another server took the chore.
async fn refresh_kind(
    app: &App,
    lease: &ChoreLease,
    observer: &Observer<'_>,
    kind: Kind,
    missing: &mut HashSet<String>,
) -> anyhow::Result<bool> {
    let known = KnownFindings::load(&*app.findings, &lease.project, kind).await?;
    if let Some(project) = app.accounts.project(&lease.project).await? {
        // Not every host sends webhooks.
        app.hosts.refresh_open_pulls(&project, known.pulls());
    }
    let mut observations = observer.observe(kind, &known).await?;
    let mut candidates = std::mem::take(&mut observations.candidates);
    match kind {
        Kind::NotFound => {
            // A page that moved is a finding already, as long as its old path leads nowhere.
            let moved = KnownFindings::load(&*app.findings, &lease.project, Kind::Moved).await?;
            candidates.retain(|candidate| known.contains(&candidate.key) || !moved.has_member(candidate));
            let members = candidates.iter().filter(|candidate| candidate.is_present);
            let members = members.flat_map(|candidate| &candidate.evidence.members);
            missing.extend(members.map(|member| member.path.clone()));
        }
        // So is one whose old path readers asked for before the docs were scanned.
        Kind::Moved => candidates
            .retain(|candidate| known.contains(&candidate.key) || !missing.contains(&candidate.subject)),
        Kind::DeadLink | Kind::Stale => {}
    }
    let answered = |path: &str| observations.answered(path);
    let round = Round {
        today: observer.today,
        settings: observer.settings,
        has_every_dead_link: observer.scan.has_every_dead_link(),
        answered: &answered,
    };
    let updates: Vec<FindingUpdate> = round.updates(known, candidates);
    for updates in updates.chunks(BATCH) {
        if !app.findings.save_findings(lease, updates).await? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Enough days to judge a merge: its days before, the delay until it shipped, and its days after.
fn range(today: jiff::civil::Date, settings: &Settings) -> Range {
    let around_merge = 3 * settings.judge_days + settings.shipped_delay_days + 2;
    let days = i64::from(settings.window_days.max(around_merge));
    let first = today.saturating_sub(jiff::Span::new().days(days));
    Range::new(Some(start_of(first)), None).unwrap_or_default()
}
