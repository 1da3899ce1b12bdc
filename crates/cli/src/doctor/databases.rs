//! Checks the database files for damage (`PRAGMA quick_check`), and the schema version of the page views.

use std::path::Path;
use std::time::Duration;

use base::sqlite::{Inspection, OpenError, inspect};
use server::Settings;
use store::DataDir;
use traffic::VIEWS_SCHEMA;

use super::report::Report;

/// Per file. Page views can be many gigabytes, and a person waits for the result.
const CHECK_TIMEOUT: Duration = Duration::from_secs(10);
const RESTORE: &str = "stop the server, keep a copy of the file with its -wal and -shm, and restore a backup";

pub(super) async fn check_files(report: &mut Report, settings: &Settings, dir: &DataDir) {
    if settings.database_url.is_none() && dir.has_database() {
        quick_check(report, &dir.database()).await;
    }
    if dir.has_views() {
        if let Some(found) = quick_check(report, &dir.views()).await {
            check_views_schema(report, found.schema);
        }
    } else if settings.database_url.is_none() && dir.known_id().is_some() {
        let message =
            format!("{} is missing, although a server has used this directory", dir.views().display());
        report.warn("page views", message, "restore it from a backup; the next start creates an empty one");
    }
}

async fn quick_check(report: &mut Report, path: &Path) -> Option<Inspection> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let found = match inspect(path, CHECK_TIMEOUT).await {
        Ok(found) => found,
        Err(error @ OpenError::Unrecovered { .. }) => {
            report.warn("integrity", error.to_string(), "then check again: docwright doctor");
            return None;
        }
        Err(error) => {
            report.fail("integrity", error.to_string(), RESTORE);
            return None;
        }
    };
    match (found.problems.as_slice(), found.is_complete) {
        ([], true) => report.ok("integrity", format!("{name}: no damage found")),
        ([], false) => report.warn(
            "integrity",
            format!(
                "{name}: no damage found within {} seconds; the rest was not read",
                CHECK_TIMEOUT.as_secs()
            ),
            format!("to read all of it: sqlite3 -readonly {} 'PRAGMA quick_check'", path.display()),
        ),
        ([first, others @ ..], _) => {
            let more =
                if others.is_empty() { String::new() } else { format!(" (and {} more)", others.len()) };
            report.fail(
                "integrity",
                format!("{name} is damaged: {}{more}", first.replace('\n', " ")),
                RESTORE,
            );
        }
    }
    Some(found)
}

fn check_views_schema(report: &mut Report, found: usize) {
    match found {
        VIEWS_SCHEMA => report.ok("page views", "views.db has the schema of this version"),
        ..VIEWS_SCHEMA => report.warn(
            "page views",
            format!("views.db has the schema of an older version ({found}; this version needs {VIEWS_SCHEMA})"),
            "back it up; the next start of `docwright serve` upgrades it",
        ),
        _ => report.fail(
            "page views",
            format!("views.db was written by a newer version of Docwright (schema {found}; this version knows {VIEWS_SCHEMA})"),
            "run the newer version, or restore a backup from before the upgrade",
        ),
    }
}
