//! Moves page views to ClickHouse, or lets them stay in the data directory.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use base::{ClockGuard, SystemClock};
use failpoints::with_failpoints;
use store::{PostgresStore, SHARED_VIEWS, ViewsChoice, ViewsDirectory, ViewsHome};
use traffic::{
    AddressRanges, RemoteLimits, RemoteSettings, RemoteViews, SqliteViews, Views, ViewsToMove, ViewsTransfer,
    ViewsUrl, compare_reports,
};

use super::preparation::Preparation;
use super::report;
use crate::output;

/// Random questions that both sides are asked about page views, over all projects.
const QUESTIONS: u32 = 200;
/// At least, for each project.
const MIN_QUESTIONS: u32 = 8;
const PROGRESS_INTERVAL: Duration = Duration::from_secs(10);

/// What became of the page views.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MovedViews {
    pub(super) events: u64,
    pub(super) questions: u32,
}

impl Preparation {
    /// `None`: they stay, or there are none.
    pub(super) async fn views_to_move(&self) -> anyhow::Result<Option<ViewsToMove>> {
        match (&self.views, &self.views_url) {
            (Some(views), Some(_)) => Ok(Some(views.count_for_move().await?)),
            _ => Ok(None),
        }
    }
}

pub(super) async fn move_to_clickhouse(
    preparation: &Preparation,
    target: &PostgresStore,
    url: &ViewsUrl,
) -> anyhow::Result<MovedViews> {
    // From now on, a server on the target that isn't connected to ClickHouse doesn't start.
    claim(target, SHARED_VIEWS).await?;
    let Some(old) = &preparation.views else { return Ok(MovedViews::default()) };
    let clock = Arc::new(SystemClock);
    let new = RemoteViews::open(RemoteSettings {
        ledger: Arc::new(target.views_ledger()),
        url: url.clone(),
        cluster: preparation.views_cluster.clone(),
        // Nothing is deleted by age meanwhile: the guard watches no clock.
        guard: ClockGuard::new(clock.clone()),
        clock,
        limits: preparation.settings.views,
        remote: RemoteLimits { in_background: false, ..RemoteLimits::default() },
        ranges: AddressRanges::shipped(),
        may_begin_anew: false,
    })?;
    let moved = move_and_compare(old, &new, url).await;
    new.close().await;
    moved
}

async fn move_and_compare(
    old: &SqliteViews,
    new: &RemoteViews,
    url: &ViewsUrl,
) -> anyhow::Result<MovedViews> {
    let mut transfer = ViewsTransfer::open(old, new).await.with_context(|| format!("ClickHouse ({url})"))?;
    if transfer.has_other_views().await? {
        bail!(
            "the ClickHouse database {url} already has page views: create empty databases and name them instead"
        );
    }
    let (mut events, mut printed) = (0, Instant::now());
    while let Some(part) = with_failpoints("move-views", transfer.step()).await? {
        events += part.events;
        if part.events > 0 && printed.elapsed() > PROGRESS_INTERVAL {
            output::print_message(format!("Moved {} so far.", report::count(events, "page view")));
            printed = Instant::now();
        }
    }
    let difference = match transfer.compare_events().await? {
        None => transfer.compare_ledger().await?,
        difference => difference,
    };
    if let Some(difference) = difference {
        bail!(
            "the page views differ after the move: {difference}. Nothing was changed in the data directory"
        );
    }
    let events = transfer.moved_events().await?;
    output::print_message(format!(
        "Copied {}. Asks both sides the same questions.",
        report::count(events, "page view")
    ));
    let questions = compare(old, new, &transfer.projects()).await?;
    Ok(MovedViews { events, questions })
}

/// Asks both sides the same questions. Answers how many.
async fn compare(old: &SqliteViews, new: &RemoteViews, projects: &[String]) -> anyhow::Result<u32> {
    let each = QUESTIONS.div_ceil(u32::try_from(projects.len().max(1))?).max(MIN_QUESTIONS);
    let mut questions = 0;
    for (project, seed) in projects.iter().zip(1..) {
        let comparison = compare_reports(old, new, project, each, seed).await?;
        if let Some(difference) = comparison.difference {
            bail!(
                "a report differs after the move, so the move isn't complete: {difference}. Nothing was changed in the data directory. If an older version stored these views, their reports can be outdated: delete the file `moved`, start the server, run `docwright reclassify` for each project, stop the server, and move to empty databases"
            );
        }
        questions += comparison.questions;
    }
    Ok(questions)
}

/// Claims the page views for this data directory, and records that beside them: a server on the target that starts with
/// this directory keeps them, and no other one.
pub(super) async fn keep_in_directory(
    preparation: &Preparation,
    target: &PostgresStore,
) -> anyhow::Result<MovedViews> {
    let Some(views) = &preparation.views else { return Ok(MovedViews::default()) };
    let id = preparation.dir.id(&preparation.lock)?;
    let epoch = claim(target, &id).await?;
    with_failpoints("move-epoch", views.set_epoch(epoch)).await?;
    Ok(MovedViews::default())
}

async fn claim(target: &PostgresStore, home: &str) -> anyhow::Result<i64> {
    let claimed = with_failpoints("move-claim", target.claim_views(home, ViewsChoice::IfFree)).await?;
    let ViewsHome::Here { epoch } = claimed else {
        bail!(
            "another server claimed the page views of the new database: stop it, and run this command again"
        );
    };
    Ok(epoch)
}
