//! Checks the repositories of all projects, and looks for leftovers of a crash in the repositories on this machine.

use server::{Admin, FetchMode, is_token_refused};
use store::{DataDir, Project};

use super::machine;
use super::report::Report;

pub(super) async fn check(report: &mut Report, admin: &Admin, dir: &DataDir, projects: &[Project]) {
    for project in projects {
        check_repository(report, admin, project).await;
        check_refused_files(report, admin, project).await;
    }
    let on_this_machine = || projects.iter().filter(|project| project.hosting.kind.is_none());
    for project in on_this_machine() {
        check_leftovers(report, admin, project).await;
    }
    machine::check_repository_disks(report, dir.path(), on_this_machine());
}

/// Warns about files that recent jobs changed or tried to change, and that the guard refuses now.
async fn check_refused_files(report: &mut Report, admin: &Admin, project: &Project) {
    // Another check reports a database that cannot be read.
    for file in admin.refused_files(project).await.unwrap_or_default() {
        report.warn(
            "paths",
            format!(
                "{}: a recent job changed {} or tried to, and the guard refuses it now, because {}",
                project.name, file.path, file.why
            ),
            format!(
                "to let jobs change it: docwright project update {} --allow-path '{}'{}; repeat --allow-path for the globs that are already allowed",
                project.id, file.glob, report.repeat_flags
            ),
        );
    }
}

/// Warns about stale lock files, empty refs, and branches of jobs that cannot be read.
async fn check_leftovers(report: &mut Report, admin: &Admin, project: &Project) {
    // `check_repository` reports a repository that cannot be opened.
    let Ok(problems) = admin.inspect_repository(project).await else { return };
    for problem in problems {
        report.warn("repository", format!("{}: {}", project.name, problem.message), problem.advice);
    }
}

/// Says how the files of a repository are fetched, unless the cache simply has all of them.
fn report_fetches(report: &mut Report, admin: &Admin, project: &Project) {
    let Some(state) = admin.fetch_state(project) else { return };
    let (megabytes, batches, files) = (state.bytes as f64 / 1e6, state.batches, state.files);
    let count =
        |number: u64, one: &str, many: &str| format!("{number} {}", if number == 1 { one } else { many });
    let how = match state.mode {
        FetchMode::OnDemand => format!(
            "files are fetched when a job reads them: {} in {} so far, {megabytes:.1} MB with the folders",
            count(files, "file", "files"),
            count(batches, "request", "requests"),
        ),
        FetchMode::NoFilter => {
            format!("all files are fetched, because the host cannot omit them: {megabytes:.1} MB so far")
        }
        FetchMode::RefusesIds => {
            format!(
                "all files are fetched, because the host does not send files by their ids: {megabytes:.1} MB so far"
            )
        }
    };
    report.ok("fetch", format!("{}: {how}", project.name));
}

async fn check_repository(report: &mut Report, admin: &Admin, project: &Project) {
    match admin.check_project(project).await {
        Ok(found) => {
            report.ok("repository", format!("{}: {} of {}", project.name, found.branch, found.location));
            report_fetches(report, admin, project);
        }
        Err(error) if is_token_refused(&error) => report.fail(
            "repository",
            format!("{}: the token for {} is revoked or expired", project.name, project.repository),
            format!(
                "create a new token on the host, and store it: docwright project update {} --token-file FILE{}",
                project.id, report.repeat_flags
            ),
        ),
        Err(error) => report.fail(
            "repository",
            format!("{}: {error:#}", project.name),
            match project.hosting.kind {
                Some(_) => format!(
                    "fix what the error says; to set another token: docwright project update {} --token-file FILE{}",
                    project.id, report.repeat_flags
                ),
                None => format!(
                    "fix it, or set its new path: docwright project update {} --repository PATH{}",
                    project.id, report.repeat_flags
                ),
            },
        ),
    }
}
