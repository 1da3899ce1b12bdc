//! Reads the schema of each database, and looks for damage.

use std::path::Path;
use std::time::Duration;

use base::SchemaChange;
use base::sqlite::{OpenError, inspect};
use server::Settings;
use store::{DATABASE_SCHEMA, DataDir, DatabaseUrl, POSTGRES_SCHEMA, StoreError};
use traffic::VIEWS_SCHEMA;

use super::plan::{DatabasePlan, Plan};
use crate::doctor::data::check_shared_views;
use crate::doctor::report::Report;
use crate::output;

/// Per file. Page views can be many gigabytes, and a person waits for the result.
const CHECK_TIMEOUT: Duration = Duration::from_secs(10);
const DATABASE: &str = "docwright.db";
const VIEWS: &str = "views.db";
/// SQLite's result codes SQLITE_BUSY, SQLITE_CORRUPT, and SQLITE_NOTADB.
const BUSY: &str = "5";
const CORRUPT: &str = "11";
const NOT_A_DATABASE: &str = "26";
const POSTGRES: &str = "PostgreSQL";
const RUN_NEWER: &str = "run the newer version, or restore a backup from before the upgrade";
const RESTORE: &str = "restore a backup with the version that you ran until now, then check again";

pub(super) async fn check(report: &mut Report, plan: &mut Plan, settings: &Settings, dir: Option<&DataDir>) {
    match (&settings.database_url, dir) {
        (Some(url), _) => check_postgres(report, plan, url).await,
        (None, Some(dir)) => {
            let pending = store::pending_sqlite_changes;
            check_file(report, plan, DATABASE, &dir.database(), DATABASE_SCHEMA, pending).await;
        }
        (None, None) => {}
    }
    match dir {
        Some(dir) if settings.views_url.is_some() => check_shared_views(report, settings, dir).await,
        Some(dir) if dir.has_views() => {
            check_file(report, plan, VIEWS, &dir.views(), VIEWS_SCHEMA, traffic::pending_views_changes).await;
        }
        Some(dir) if settings.database_url.is_none() && dir.known_id().is_some() => report.warn(
            VIEWS,
            format!("{} is missing, although a server has used this directory", dir.views().display()),
            "restore it from a backup; the next start creates an empty one",
        ),
        Some(_) => report.ok(VIEWS, "does not exist yet; the first start creates it"),
        None => report.warn(
            VIEWS,
            format!("{} does not exist, so this check covers only PostgreSQL", settings.data.display()),
            "run it on each server, with its data directory",
        ),
    }
}

async fn check_file(
    report: &mut Report,
    plan: &mut Plan,
    name: &'static str,
    path: &Path,
    needed: usize,
    pending: fn(usize) -> Vec<SchemaChange>,
) {
    if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return report.fail(name, format!("{} is not a file", path.display()), RESTORE);
    }
    let found = match inspect(path, CHECK_TIMEOUT).await {
        Ok(found) => found,
        Err(error) => return report_open_error(report, name, path, error),
    };
    if let Some(problem) = found.problems.first() {
        return report.fail(name, format!("is damaged: {}", problem.replace('\n', " ")), RESTORE);
    }
    if !check_schema(report, name, found.schema, needed) {
        return;
    }
    match found.is_complete {
        true => report.ok(name, "no damage found"),
        false => report.warn(
            name,
            format!("no damage found within {} seconds; the rest was not read", CHECK_TIMEOUT.as_secs()),
            "the backup verifies all of it",
        ),
    }
    let bytes = std::fs::metadata(path).map_or(0, |found| found.len());
    let changes = pending(found.schema);
    plan.databases.push(DatabasePlan {
        name,
        is_file: true,
        schema: found.schema,
        needed,
        changes,
        bytes,
        users: 0,
    });
}

fn report_open_error(report: &mut Report, name: &'static str, path: &Path, error: OpenError) {
    let source = match error {
        OpenError::Unusable { source, .. } => source,
        OpenError::Unrecovered { .. } => {
            return report.fail(
                name,
                "was not closed, and its newest writes cannot be read without changing the file",
                "end the program that uses it; if none does, start the version that you ran until now, stop it, and check again",
            );
        }
        error => return report.fail(name, error.to_string(), RESTORE),
    };
    let (path, cause) = (path.display(), output::root_cause(&source));
    let code = source.as_database_error().and_then(|error| error.code());
    match code.as_deref() {
        Some(CORRUPT | NOT_A_DATABASE) => {
            report.fail(name, format!("{path} is damaged, or is not a database: {cause}"), RESTORE);
        }
        Some(BUSY) => {
            let message = format!("{path} is locked by another program: {cause}");
            report.fail(name, message, "end that program, and check again");
        }
        _ => {
            let advice = "run docwright as the user that the server runs as";
            report.fail(name, format!("{path} cannot be read: {cause}"), advice);
        }
    }
}

async fn check_postgres(report: &mut Report, plan: &mut Plan, url: &DatabaseUrl) {
    let found = match store::inspect_postgres(url).await {
        Ok(found) => found,
        Err(error) => return report.fail(POSTGRES, error.to_string(), postgres_advice(&error)),
    };
    if check_schema(report, POSTGRES, found.schema, POSTGRES_SCHEMA) {
        report.ok(POSTGRES, format!("answers ({url})"));
        plan.databases.push(DatabasePlan {
            name: POSTGRES,
            is_file: false,
            schema: found.schema,
            needed: POSTGRES_SCHEMA,
            changes: store::pending_postgres_changes(found.schema),
            bytes: found.bytes,
            users: found.users,
        });
    }
}

/// By PostgreSQL's error codes of a statement that took too long, and of a missing permission.
fn postgres_advice(error: &StoreError) -> &'static str {
    let code = match error {
        StoreError::Open(OpenError::Unusable { source, .. }) => {
            source.as_database_error().and_then(|error| error.code())
        }
        _ => None,
    };
    match code.as_deref() {
        Some("57014") => {
            "a server may be upgrading it, or another session locks its tables: check again later"
        }
        Some("42501") => "name the database user of the server in DOCWRIGHT_DATABASE_URL",
        _ => {
            error.retry_hint().unwrap_or("check that DOCWRIGHT_DATABASE_URL names the database of Docwright")
        }
    }
}

/// Whether this version can upgrade a database of this schema.
fn check_schema(report: &mut Report, name: &'static str, found: usize, needed: usize) -> bool {
    if found > needed {
        let message = format!(
            "was written by a newer version of Docwright (schema {found}; this version knows {needed})"
        );
        report.fail(name, message, RUN_NEWER);
    } else if found == 0 {
        let advice =
            "check that --data or DOCWRIGHT_DATABASE_URL is right; a new installation needs no upgrade";
        report.fail(name, "has no tables of Docwright", advice);
    }
    (1..=needed).contains(&found)
}
