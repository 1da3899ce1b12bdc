//! Checks whether the deletion of old data is paused, because a clock cannot be trusted, and confirms clocks.

use std::sync::Arc;

use base::SystemClock;
use server::{Admin, Settings};
use store::DataDir;

use super::report::Report;

const DELETION: &str = "deletion";
const MILLISECONDS_PER_HOUR: i64 = 60 * 60 * 1000;

/// Records that the clocks are right.
pub(super) async fn confirm(report: &mut Report, settings: &Settings) {
    let dir = DataDir::at(&settings.data);
    let confirming = async {
        // The read-only open refuses a database of another version, which the doctor must not upgrade. It must be closed
        // before the write: SQLite shares the index of the write-ahead log within a process, and here it is read-only.
        Admin::open_read_only(settings, &dir, Arc::new(SystemClock)).await?.upkeep.close().await;
        let admin = Admin::open_existing(settings, Arc::new(SystemClock)).await?;
        admin.clocks.confirm_clocks(dir.known_id().as_deref()).await?;
        admin.upkeep.close().await;
        anyhow::Ok(())
    };
    match confirming.await {
        Ok(()) => report.ok(DELETION, "the clock is confirmed"),
        Err(error) => report.fail(
            DELETION,
            format!("the clock is not confirmed: {error:#}"),
            "see the check of the database below, or set --data to the data directory",
        ),
    }
}

pub(super) async fn check(report: &mut Report, admin: &Admin, dir: &DataDir) {
    let paused = match admin.clocks.paused_clocks(dir.known_id().as_deref()).await {
        Ok(paused) => paused,
        Err(error) => return report.fail(DELETION, error.to_string(), "restore a backup of the database"),
    };
    for (clock, pause) in &paused {
        report.warn(
            DELETION,
            format!(
                "is paused: {clock} {}. It has been steady for {} of 24 hours",
                pause.cause,
                pause.steady / MILLISECONDS_PER_HOUR
            ),
            format!(
                "if the clock is right: docwright doctor --confirm-clock{}; if it is wrong, set it",
                report.repeat_flags
            ),
        );
    }
    if paused.is_empty() {
        report.ok(DELETION, "is active: the server deletes data that is too old");
    }
}
