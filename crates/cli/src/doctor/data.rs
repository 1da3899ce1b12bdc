//! Checks the master key and the database.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use base::SystemClock;
use base::sqlite::OpenError;
use jiff::{SignedDuration, Timestamp};
use server::{Admin, MAX_SILENCE, Settings, silent_sentence};
use store::{DataDir, DataDirError, MasterKey, SecretError, StoreError, ViewsHome};

use super::report::Report;
use super::{deletion, repositories};
use crate::output;

/// How far clocks of several machines may differ.
const CLOCK_TOLERANCE: SignedDuration = SignedDuration::from_mins(1);
const RESTORE_KEY: &str = "restore it from its backup, or set DOCWRIGHT_MASTER_KEY_FILE to its path: without it, stored secrets are lost";

const CHECK_AGAIN: &str = "then check again: docwright doctor";

pub(super) fn check_master_key(report: &mut Report, settings: &Settings, dir: &DataDir) {
    if settings.database_url.is_some() && settings.master_key_file.is_none() {
        return report.fail("master key", SecretError::NotNamed.to_string(), CHECK_AGAIN);
    }
    let path = settings.master_key_file.clone().unwrap_or_else(|| dir.master_key());
    let name = path.display();
    let Ok(found) = std::fs::metadata(&path) else {
        return match settings.database_url.is_some() || dir.has_database() {
            true => report.fail("master key", format!("{name} is missing"), RESTORE_KEY),
            false => report.warn(
                "master key",
                format!("{name} does not exist"),
                "`docwright serve` creates it; back it up then",
            ),
        };
    };
    if let Err(error) = MasterKey::load(&path) {
        return report.fail("master key", error.to_string(), RESTORE_KEY);
    }
    match found.permissions().mode() & 0o077 {
        0 => report.ok("master key", name.to_string()),
        _ => report.fail(
            "master key",
            format!("{name} can be read by other users"),
            format!("chmod 600 {name}"),
        ),
    }
}

pub(super) async fn check_database(report: &mut Report, settings: &Settings, dir: &DataDir) {
    let path = dir.database();
    if settings.database_url.is_none() && !dir.has_database() {
        if let Err(missing) = dir.refuse_missing_database() {
            return report.fail("database", missing.to_string(), CHECK_AGAIN);
        }
        return report.warn(
            "database",
            format!("{} does not exist", path.display()),
            "`docwright serve` or the first `docwright project create` creates it",
        );
    }
    if settings.database_url.is_none()
        && let Err(moved) = dir.refuse_moved()
    {
        return report.fail("database", moved.to_string(), CHECK_AGAIN);
    }
    let key = settings.master_key_file.clone().unwrap_or_else(|| dir.master_key());
    if !key.exists() {
        return; // The check of the master key reports it.
    }
    match Admin::open_read_only(settings, dir, Arc::new(SystemClock)).await {
        Ok(admin) => {
            crate::admin::close_at_end(&admin);
            report.ok("database", "can be read, and has the schema of this version");
            deletion::check(report, &admin, dir).await;
            match settings.views_url {
                Some(_) => check_shared_views(report, settings, dir).await,
                None => check_views(report, &admin, dir).await,
            }
            check_projects(report, &admin, dir).await;
        }
        Err(error) => report_open_error(report, error, dir.is_locked()),
    }
}

fn report_open_error(report: &mut Report, error: StoreError, is_locked: bool) {
    match error {
        StoreError::Open(OpenError::Older { found: 0, .. }) => {
            report.warn("database", "has no tables yet", "`docwright serve` creates them");
        }
        StoreError::Open(error @ OpenError::Unrecovered { .. }) => {
            report.warn("database", error.to_string(), CHECK_AGAIN);
        }
        StoreError::Open(OpenError::Older { found, known, .. }) if !is_locked => report.warn(
            "database",
            format!("has the schema of an older version ({found}; this version needs {known})"),
            "back it up; the next start of `docwright serve` upgrades it",
        ),
        // The check of the master key reports these. They say nothing about the database.
        StoreError::Secret(SecretError::BadFile { .. } | SecretError::Missing(_) | SecretError::NotNamed) => {
        }
        // These errors say what to do.
        error @ (StoreError::Open(
            OpenError::Older { .. } | OpenError::Newer { .. } | OpenError::Incomplete { .. },
        )
        | StoreError::Secret(SecretError::WrongKey)) => {
            report.fail("database", error.to_string(), CHECK_AGAIN);
        }
        error => {
            let advice = error.retry_hint().unwrap_or("check its files or its address, or restore a backup");
            report.fail("database", error.to_string(), advice);
        }
    }
}

/// With PostgreSQL, checks that the directory that stores page views has their file, and that its server runs.
async fn check_views(report: &mut Report, admin: &Admin, dir: &DataDir) {
    let Some(id) = dir.known_id() else { return };
    match admin.views_home(&id).await {
        Ok(ViewsHome::Here { .. }) if !dir.has_views() => {
            let missing = DataDirError::ViewsMissing(dir.views());
            report.fail("page views", missing.to_string(), CHECK_AGAIN);
        }
        Ok(ViewsHome::Elsewhere { silent_for }) if silent_for > MAX_SILENCE => {
            report.fail("page views", silent_sentence(silent_for), CHECK_AGAIN);
        }
        Ok(ViewsHome::Shared) => report.warn(
            "page views",
            "the servers store them in ClickHouse, and views_url isn't set here",
            "set DOCWRIGHT_VIEWS_URL, unless this is a worker",
        ),
        Ok(_) => {}
        Err(error) => report.fail("page views", error.to_string(), CHECK_AGAIN),
    }
}

/// Checks ClickHouse: its version, its tables, and what waits for it.
pub(crate) async fn check_shared_views(report: &mut Report, settings: &Settings, dir: &DataDir) {
    let found = match server::inspect_shared_views(settings, dir, Arc::new(SystemClock)).await {
        Ok(Some(found)) => found,
        Ok(None) => return,
        Err(error) => {
            let cause = output::root_cause(&*error);
            return report.fail("page views", cause, CHECK_AGAIN);
        }
    };
    if let Some(sentence) = server::lag_sentence(&found.lag) {
        return report.fail("page views", sentence, CHECK_AGAIN);
    }
    match found.has_tables {
        true => report.ok("page views", format!("ClickHouse {} answers", found.version)),
        false => report.warn(
            "page views",
            format!("ClickHouse {} has no tables yet", found.version),
            "`docwright serve` creates them",
        ),
    }
}

async fn check_projects(report: &mut Report, admin: &Admin, dir: &DataDir) {
    let projects = match admin.accounts.projects(None).await {
        Ok(projects) => projects,
        Err(error) => return report.fail("projects", error.to_string(), "restore a backup of the database"),
    };
    let newest = projects.iter().map(|project| project.created_at).max();
    if newest.is_some_and(|newest| newest > Timestamp::now() + CLOCK_TOLERANCE) {
        report.warn(
            "clock",
            "the database has later times than the clock",
            "set the clock: it seems to be behind",
        );
    }
    if projects.is_empty() {
        let advice = format!("docwright project create --name Docs --repository PATH{}", report.repeat_flags);
        report.warn("projects", "there are none yet", advice);
    }
    repositories::check(report, admin, dir, &projects).await;
}
