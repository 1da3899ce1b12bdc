//! Checks that there is a backup to go back to: it is complete, of this data directory, and has the newest writes.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use server::Settings;
use store::DataDir;

use super::duration::format_duration;
use super::plan::{BackupFacts, Plan};
use crate::args::quote;
use crate::backup::verify::{TemporaryDirectoryError, VerifiedBackup, verify};
use crate::backup::{last, postgres};
use crate::doctor::report::Report;
use crate::output;

const BACKUP: &str = "backup";
const DUMP: &str = "database dump";

/// Checks that a backup exists, if something changes that it must have.
pub(super) async fn check(report: &mut Report, plan: &mut Plan, dir: &DataDir, named: Option<&Path>) {
    // Backups have milliseconds.
    let newest = dir.newest_write().and_then(|at| Timestamp::try_from(at).ok());
    plan.newest_write = newest.and_then(|at| Timestamp::from_millisecond(at.as_millisecond()).ok());
    if named.is_none() && plan.changed_files().next().is_none() {
        return report.ok(BACKUP, "not needed: nothing changes in the data directory");
    }
    let advice = format!(
        "{}docwright backup FILE.tar.zst{}",
        if dir.is_locked() { "after you stopped the server: " } else { "" },
        report.repeat_flags
    );
    let Some(path) = find(dir, named) else {
        let message = "the data directory has no record of a backup";
        return report.fail(BACKUP, message, format!("{advice}; or name a backup with --backup"));
    };
    if named.is_none() && std::fs::metadata(&path).is_err() {
        let message = format!("the last backup, {}, is no longer there", quote(&path.to_string_lossy()));
        return report.fail(BACKUP, message, advice);
    }
    match verify(&path).await {
        Ok(backup) => check_content(report, plan, dir, (path, backup), &advice),
        Err(error) => report_unverified(report, &error, &advice),
    }
}

/// Verifies the last backup of data that this version cannot upgrade. A backup of damaged data would not help.
pub(super) async fn check_restorable(report: &mut Report, dir: &DataDir, named: Option<&Path>) {
    let Some(path) = find(dir, named) else { return };
    match verify(&path).await {
        Ok(backup) => report.ok(BACKUP, describe(&path, &backup)),
        Err(error) => report_unverified(report, &error, "use another backup"),
    }
}

fn find(dir: &DataDir, named: Option<&Path>) -> Option<PathBuf> {
    named.map(Path::to_owned).or_else(|| last::find(dir).map(|last| last.path))
}

fn report_unverified(report: &mut Report, error: &anyhow::Error, advice: &str) {
    let advice = match error.is::<TemporaryDirectoryError>() {
        true => "set TMPDIR to a directory with enough free space, and check again",
        false => advice,
    };
    report.fail(BACKUP, output::error_sentence(error), advice);
}

fn describe(path: &Path, backup: &VerifiedBackup) -> String {
    let (name, version) = (quote(&path.to_string_lossy()), backup.docwright());
    format!("{name} of {} (by Docwright {version}) is complete", backup.created_at())
}

fn check_content(
    report: &mut Report,
    plan: &mut Plan,
    dir: &DataDir,
    (path, backup): (PathBuf, VerifiedBackup),
    advice: &str,
) {
    let (name, described) = (quote(&path.to_string_lossy()), describe(&path, &backup));
    if let (Some(this), Some(other)) = (dir.known_id(), &backup.directory_id)
        && this != *other
    {
        return report.fail(BACKUP, format!("{name} is a backup of another data directory"), advice);
    }
    if let Some(missing) = plan.changed_files().find(|database| !backup.has(database.name)) {
        return report.fail(BACKUP, format!("{name} does not have {}", missing.name), advice);
    }
    let lag = plan.newest_write.map_or(0, |newest| newest.as_second() - backup.as_of.as_second());
    let is_newest = plan.newest_write.is_none_or(|newest| newest <= backup.as_of);
    plan.backup = Some(BackupFacts {
        path,
        created_at: backup.created_at().to_owned(),
        docwright: backup.docwright().to_owned(),
        includes_newest_write: is_newest,
    });
    match is_newest {
        true => report.ok(BACKUP, format!("{described}, and nothing was written since")),
        false => report.fail(
            BACKUP,
            format!("{described}, but the newest write is {} newer", format_duration(lag)),
            advice,
        ),
    }
}

/// With PostgreSQL, `docwright backup` does not copy the database, and this check cannot find a dump of it.
pub(super) fn check_dump(report: &mut Report, plan: &Plan, settings: &Settings) {
    let changes = plan.databases.iter().any(|database| !database.is_file && !database.changes.is_empty());
    if let Some(url) = settings.database_url.as_ref().filter(|_| changes) {
        let message = "this check cannot see whether you have a dump of the PostgreSQL database";
        report.warn(DUMP, message, postgres::dump_command(url));
    }
}
