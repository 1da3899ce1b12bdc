//! Checks what is kept: the master key and the database.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use base::SystemClock;
use base::sqlite::OpenError;
use jiff::{SignedDuration, Timestamp};
use server::{Admin, Settings};
use store::{DataDir, DataDirError, MasterKey, SecretError, StoreError};

use super::report::Report;
use super::{deletion, repositories};

/// What a clock may be off without anybody being wrong.
const A_LITTLE: SignedDuration = SignedDuration::from_mins(1);
const RESTORE: &str = "restore it from its backup, or point DOCWRIGHT_MASTER_KEY_FILE at it: sealed secrets are lost without it";

const LOOK_AGAIN: &str = "then look again: docwright doctor";

pub(super) fn master_key(report: &mut Report, settings: &Settings, dir: &DataDir) {
    if settings.database_url.is_some() && settings.master_key_file.is_none() {
        return report.fail("master key", SecretError::NotNamed.to_string(), LOOK_AGAIN);
    }
    let path = settings.master_key_file.clone().unwrap_or_else(|| dir.master_key());
    let shown = path.display();
    let Ok(found) = std::fs::metadata(&path) else {
        return match settings.database_url.is_some() || dir.has_database() {
            true => report.fail("master key", format!("{shown} is missing"), RESTORE),
            false => report.warn(
                "master key",
                format!("{shown} is not there"),
                "`docwright serve` makes it; back it up then",
            ),
        };
    };
    if let Err(error) = MasterKey::load(&path) {
        return report.fail("master key", error.to_string(), RESTORE);
    }
    match found.permissions().mode() & 0o077 {
        0 => report.ok("master key", shown.to_string()),
        _ => report.fail(
            "master key",
            format!("{shown} can be read by other users"),
            format!("chmod 600 {shown}"),
        ),
    }
}

pub(super) async fn database(report: &mut Report, settings: &Settings, dir: &DataDir) {
    let path = dir.database();
    if settings.database_url.is_none() && !dir.has_database() {
        if let Err(missing) = dir.refuse_missing_database() {
            return report.fail("database", missing.to_string(), LOOK_AGAIN);
        }
        let told = format!("{} is not there", path.display());
        return report.warn(
            "database",
            told,
            "`docwright serve` or the first `docwright project create` makes it",
        );
    }
    let key = settings.master_key_file.clone().unwrap_or_else(|| dir.master_key());
    if !key.exists() {
        return; // said above
    }
    match Admin::look(settings, dir, Arc::new(SystemClock)).await {
        Ok(admin) => {
            crate::admin::close_at_end(&admin);
            report.ok("database", "can be read, and is of this version");
            deletion::check(report, &admin, dir).await;
            views_home(report, &admin, dir).await;
            contents(report, &admin, dir).await;
        }
        Err(error) => unreadable(report, error, dir.is_locked()),
    }
}

fn unreadable(report: &mut Report, error: StoreError, held: bool) {
    match error {
        StoreError::Open(OpenError::Older { found: 0, .. }) => {
            report.warn("database", "has no tables yet", "`docwright serve` makes them");
        }
        StoreError::Open(error @ OpenError::Unrecovered { .. }) => {
            report.warn("database", error.to_string(), LOOK_AGAIN);
        }
        StoreError::Open(OpenError::Older { found, known, .. }) if !held => report.warn(
            "database",
            format!("is of an older version (schema {found}; this one needs {known})"),
            "back it up; the next start of `docwright serve` brings it up to date",
        ),
        // Said above, and the database is none the worse for it.
        StoreError::Secret(SecretError::BadFile { .. } | SecretError::Missing(_) | SecretError::NotNamed) => {
        }
        // These say what to do themselves.
        error @ (StoreError::Open(OpenError::Older { .. } | OpenError::Newer { .. })
        | StoreError::Secret(SecretError::WrongKey)) => {
            report.fail("database", error.to_string(), LOOK_AGAIN);
        }
        error => {
            report.fail("database", error.to_string(), "check its files or its address, or restore a backup")
        }
    }
}

/// On PostgreSQL: page views that are at home here need their file.
async fn views_home(report: &mut Report, admin: &Admin, dir: &DataDir) {
    let Some(id) = dir.known_id().filter(|_| !dir.has_views()) else { return };
    match admin.is_views_directory(&id).await {
        Ok(true) => {
            let missing = DataDirError::ViewsMissing(dir.views());
            report.fail("page views", missing.to_string(), LOOK_AGAIN);
        }
        Ok(false) => {}
        Err(error) => report.fail("page views", error.to_string(), LOOK_AGAIN),
    }
}

async fn contents(report: &mut Report, admin: &Admin, dir: &DataDir) {
    let projects = match admin.accounts.projects(None).await {
        Ok(projects) => projects,
        Err(error) => return report.fail("projects", error.to_string(), "restore a backup of the database"),
    };
    let newest = projects.iter().map(|project| project.created_at).max();
    if newest.is_some_and(|newest| newest > Timestamp::now() + A_LITTLE) {
        report.warn("clock", "the database knows of later times", "set the clock: it has gone back");
    }
    if projects.is_empty() {
        let advice = format!("docwright project create --name Docs --repository PATH{}", report.again);
        report.warn("projects", "there are none yet", advice);
    }
    repositories::check(report, admin, dir, &projects).await;
}
