//! What is kept: the master key, the database, and the repositories that it names.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use base::SystemClock;
use base::sqlite::OpenError;
use jiff::{SignedDuration, Timestamp};
use server::{Admin, Settings};
use store::{DataDir, MasterKey, Project, SecretError, StoreError};

use super::report::Report;

/// What a clock may be off without anybody being wrong.
const A_LITTLE: SignedDuration = SignedDuration::from_mins(1);
const RESTORE: &str = "restore it from its backup, or point DOCWRIGHT_MASTER_KEY_FILE at it: sealed secrets are lost without it";

const DELETION: &str = "deletion";
const MILLISECONDS_PER_HOUR: i64 = 60 * 60 * 1000;
const LOOK_AGAIN: &str = "then look again: docwright doctor";

pub(super) fn master_key(report: &mut Report, settings: &Settings, dir: &DataDir) {
    if settings.database_url.is_some() && settings.master_key_file.is_none() {
        return report.fail("master key", SecretError::NotNamed.to_string(), LOOK_AGAIN);
    }
    let path = settings.master_key_file.clone().unwrap_or_else(|| dir.master_key());
    let shown = path.display();
    let Ok(found) = std::fs::metadata(&path) else {
        let told = format!("{shown} is not there");
        return match settings.database_url.is_some() || dir.database().exists() {
            true => report.fail("master key", told, RESTORE),
            false => report.warn("master key", told, "`docwright serve` makes it; back it up then"),
        };
    };
    if let Err(error) = MasterKey::load_or_create(&path) {
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

pub(super) async fn database(report: &mut Report, settings: &Settings, dir: &DataDir, confirm_clock: bool) {
    let path = dir.database();
    if settings.database_url.is_none() && !path.exists() {
        let told = format!("{} is not there", path.display());
        return report.warn(
            "database",
            told,
            "`docwright serve` or the first `docwright project create` makes it",
        );
    }
    let key = settings.master_key_file.clone().unwrap_or_else(|| dir.master_key());
    if !key.exists() {
        return; // said above, and opening it would make one
    }
    match Admin::look(settings, dir, Arc::new(SystemClock)).await {
        Ok(admin) => {
            report.ok("database", "can be read, and is of this version");
            deletion(report, &admin, dir, confirm_clock).await;
            contents(report, &admin).await;
        }
        Err(error) => unreadable(report, error, dir.is_held()),
    }
}

fn unreadable(report: &mut Report, error: StoreError, held: bool) {
    match error {
        StoreError::Open(OpenError::Older { found, known, .. }) if !held => report.warn(
            "database",
            format!("is of an older version (schema {found}; this one needs {known})"),
            "back it up; the next start of `docwright serve` brings it up to date",
        ),
        // Said above, and the database is none the worse for it.
        StoreError::Secret(SecretError::BadFile { .. } | SecretError::NotNamed) => {}
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

/// Whether what is too old is deleted, which it is not while a clock cannot be trusted.
async fn deletion(report: &mut Report, admin: &Admin, dir: &DataDir, confirm_clock: bool) {
    let server = dir.known_id();
    if confirm_clock && let Err(error) = admin.clocks.confirm_clocks(server.as_deref()).await {
        return report.fail(DELETION, format!("the clock is not confirmed: {error}"), "try again");
    }
    let paused = match admin.clocks.paused_clocks(server.as_deref()).await {
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
                report.again
            ),
        );
    }
    if paused.is_empty() {
        let confirmed = if confirm_clock { "the clock is confirmed, and " } else { "" };
        report.ok(DELETION, format!("{confirmed}what is too old is deleted"));
    }
}

/// Says so when there was nothing to confirm the clock of.
pub(super) fn check_confirmed(report: &mut Report) {
    if !report.has(DELETION) {
        let advice = "see above why the database cannot be used, and name the data directory with --data";
        report.fail(DELETION, "the clock is not confirmed: there is no database to record it in", advice);
    }
}

async fn contents(report: &mut Report, admin: &Admin) {
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
    for project in projects {
        repository(report, admin, &project).await;
    }
}

async fn repository(report: &mut Report, admin: &Admin, project: &Project) {
    match admin.check_project(project).await {
        Ok(found) => {
            report.ok("repository", format!("{}: {} of {}", project.name, found.branch, found.place));
        }
        Err(error) => report.fail(
            "repository",
            format!("{}: {error:#}", project.name),
            match project.hosting.kind {
                Some(_) => format!(
                    "mend what it says; for another token: docwright project update {} --token-file FILE{}",
                    project.id, report.again
                ),
                None => format!(
                    "mend it, or say where it is: docwright project update {} --repository PATH{}",
                    project.id, report.again
                ),
            },
        ),
    }
}
