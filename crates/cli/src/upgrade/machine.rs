//! Checks whether servers use the data, and whether the disk has space for the changes.

use std::path::Path;

use store::DataDir;

use super::plan::{DatabasePlan, Plan};
use crate::doctor::report::Report;

const MIB: u64 = 1024 * 1024;
/// What the tables and the write-ahead log of a small change take.
const MIN_FREE_BYTES: u64 = 64 * MIB;
const REWRITE_FACTOR: u64 = 4;
/// Measured when all migrations ran on a database that was mostly jobs and sessions.
const POSTGRES_REWRITE_FACTOR: u64 = 6;

/// Checks the data directory's lock, and with PostgreSQL the locks of all servers. `is_known` is false if the database
/// did not say who uses it.
pub(super) fn check_servers(report: &mut Report, plan: &Plan, dir: Option<&DataDir>, is_known: bool) {
    let is_locked = dir.is_some_and(DataDir::is_locked);
    let users: u64 = plan.databases.iter().map(|database| database.users).sum();
    let who = match (is_locked, users) {
        (false, 0) if !is_known => return,
        (false, 0) => return report.ok("server", "no server uses the data"),
        (true, 0 | 1) => "a server uses this data directory".to_owned(),
        (false, 1) => "1 server, worker, or command uses the database".to_owned(),
        (_, users) => format!("{users} servers, workers, or commands use the database"),
    };
    match plan.changes_something() {
        true if users > 1 => report.fail("server", who, "stop all of them first, on every machine"),
        true => report.fail("server", who, "stop it first"),
        false => report.ok("server", format!("{who}; restart to run this version")),
    }
}

/// Checks the free space for the files in the data directory.
pub(super) fn check_disk(report: &mut Report, plan: &Plan, path: &Path) {
    let Ok(stats) = rustix::fs::statvfs(path) else {
        return report.warn("disk space", "is unknown", "check it with `df`");
    };
    let free = stats.f_bavail.saturating_mul(stats.f_frsize);
    let needed = plan.changed_files().map(needed_bytes).fold(0, u64::saturating_add);
    let message = format!("{} MiB free, and the changes need up to {} MiB", free / MIB, needed.div_ceil(MIB));
    match free >= needed {
        true if needed == 0 => report.ok("disk space", format!("{} MiB free", free / MIB)),
        true => report.ok("disk space", message),
        false => report.fail("disk space", message, "free some space on the disk of the data directory"),
    }
}

/// Says how much space the PostgreSQL server needs. Its disks cannot be seen from here.
pub(super) fn check_database_disk(report: &mut Report, plan: &Plan) {
    let is_rewritten = |database: &&DatabasePlan| !database.is_file && rewrites_rows(database);
    let Some(database) = plan.databases.iter().find(is_rewritten) else { return };
    let size = database.bytes.div_ceil(MIB);
    report.warn(
        "database disk",
        format!("the PostgreSQL database has {size} MiB, and the changes rewrite rows"),
        format!(
            "have up to {} MiB free on its server, for the tables and the write-ahead log",
            size * POSTGRES_REWRITE_FACTOR
        ),
    );
}

/// A change that rewrites rows needs space for the write-ahead log and for a file that grows. The most that was measured
/// is 3.5 times the size of the file, when it consists of one table that is copied.
fn needed_bytes(database: &DatabasePlan) -> u64 {
    let rewritten = if rewrites_rows(database) { database.bytes.saturating_mul(REWRITE_FACTOR) } else { 0 };
    rewritten.saturating_add(MIN_FREE_BYTES)
}

fn rewrites_rows(database: &DatabasePlan) -> bool {
    database.changes.iter().any(|change| change.rewrites_rows)
}
