//! Runs `docwright move`: copies an installation from SQLite to PostgreSQL, and its page views to ClickHouse.
//!
//! The command has the lock of the data directory, so no server uses it. The file `moved` refuses new commands on it. Each
//! step has one lasting effect, and the target records it. So a move that was interrupted continues after its last step.

mod page_views;
mod preparation;
mod report;
mod urls;

use std::time::Instant;

use anyhow::{Context, bail};
use failpoints::with_failpoints;
use jiff::Timestamp;
use store::{CopiedTable, Transfer, TransferState, Upkeep};

use crate::args::Move;
use crate::output;
use crate::settings::Sources;
use page_views::MovedViews;
use preparation::Preparation;
use report::{Summary, print_complete, print_plan};

pub(crate) async fn run(sources: &Sources, args: Move) -> anyhow::Result<()> {
    let preparation = Preparation::new(sources, &args).await?;
    let moved = run_prepared(&preparation, args.json).await;
    // Without a close, what was written to page views stays in their write-ahead log.
    preparation.close().await;
    moved
}

async fn run_prepared(preparation: &Preparation, is_json: bool) -> anyhow::Result<()> {
    let began = Instant::now();
    let (mut transfer, state) = preparation.connect().await?;
    if state == TransferState::Complete {
        preparation.mark_as_moved()?;
        transfer.close().await;
        return print_complete(preparation, is_json);
    }
    preparation.refuse_lost_target(state)?;
    let (views, tables) = (preparation.views_to_move().await?, transfer.source_rows().await?);
    preparation.refuse_used_clickhouse(state, &mut transfer).await?;
    print_plan(preparation, &tables, views, state);
    let (tables, views) = move_everything(preparation, transfer).await?;
    let summary =
        Summary { tables, views, took: began.elapsed(), is_resumed: state == TransferState::Interrupted };
    summary.print(preparation, is_json)
}

/// Copies, compares, and then lets servers open the target.
async fn move_everything(
    preparation: &Preparation,
    mut transfer: Transfer,
) -> anyhow::Result<(Vec<CopiedTable>, MovedViews)> {
    preparation.mark_as_moving()?;
    with_failpoints("move-begin", transfer.begin()).await?;
    copy_tables(&mut transfer).await?;
    let target = transfer.target_store().await?;
    let moved = match &preparation.views_url {
        Some(url) => page_views::move_to_clickhouse(preparation, &target, url).await,
        None => page_views::keep_in_directory(preparation, &target).await,
    };
    let compared = transfer.compare().await;
    target.close().await;
    let (moved, compared) = (moved?, compared?);
    with_failpoints("move-finish", transfer.finish()).await?;
    transfer.close().await;
    preparation.mark_as_moved()?;
    Ok((compared, moved))
}

async fn copy_tables(transfer: &mut Transfer) -> anyhow::Result<()> {
    let mut current: Option<CopiedTable> = None;
    let print = |table: &Option<CopiedTable>| {
        if let Some(CopiedTable { name, rows }) = table.filter(|table| table.rows > 0) {
            output::print_message(format!("Copied {} of {name}.", report::count(rows, "row")));
        }
    };
    while let Some(piece) = with_failpoints("move-rows", transfer.copy_piece()).await? {
        match &mut current {
            Some(table) if table.name == piece.name => table.rows += piece.rows,
            _ => {
                print(&current);
                current = Some(piece);
            }
        }
    }
    print(&current);
    Ok(())
}

impl Preparation {
    /// Before the first row is copied: from now on, no server and no command uses the old database.
    fn mark_as_moving(&self) -> anyhow::Result<()> {
        if self.dir.move_marker()?.is_none_or(|marker| marker.id != self.marker.id) {
            self.dir.write_move_marker(&self.lock, &self.marker)?;
        }
        Ok(())
    }

    fn mark_as_moved(&self) -> anyhow::Result<()> {
        let mut marker = self.marker.clone();
        if marker.finished_at.is_none() {
            marker.finished_at = Some(Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
            self.dir.write_move_marker(&self.lock, &marker)?;
        }
        Ok(())
    }

    /// After a complete move, an empty target has lost everything that happened since.
    fn refuse_lost_target(&self, state: TransferState) -> anyhow::Result<()> {
        if let (Some(at), TransferState::New) = (&self.marker.finished_at, state) {
            bail!(
                "this installation was moved to PostgreSQL ({}) at {at}, and that database is empty now: restore it from a backup. To move the old data again, without anything that happened since then, delete {}",
                self.url,
                self.dir.move_marker_path().display()
            );
        }
        Ok(())
    }

    async fn refuse_used_clickhouse(
        &self,
        state: TransferState,
        transfer: &mut Transfer,
    ) -> anyhow::Result<()> {
        let (Some(url), TransferState::New) = (&self.views_url, state) else { return Ok(()) };
        let found = traffic::find_page_views(url.clone(), self.views_cluster.clone()).await;
        let found = found.with_context(|| format!("ClickHouse ({url})"))?;
        if found.has_views {
            bail!(
                "the ClickHouse database {url} already has page views: create an empty database and name it instead"
            );
        }
        // A server that only started on both databases bound them to each other.
        let own = transfer.views_id().await?;
        if found.ids.iter().any(|id| Some(id) != own.as_ref()) {
            bail!(
                "the ClickHouse database {url} belongs to another installation of Docwright, or to an earlier move: drop it and create it again, or name another one"
            );
        }
        Ok(())
    }
}
