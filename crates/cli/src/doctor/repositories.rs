//! Checks the repositories of all projects, and what a killed program or a power cut left in those on this machine.

use server::Admin;
use store::{DataDir, Project};

use super::machine;
use super::report::Report;

pub(super) async fn check(report: &mut Report, admin: &Admin, dir: &DataDir, projects: &[Project]) {
    for project in projects {
        repository(report, admin, project).await;
        refused_files(report, admin, project).await;
    }
    let on_this_machine = || projects.iter().filter(|project| project.hosting.kind.is_none());
    for project in on_this_machine() {
        leftovers(report, admin, project).await;
    }
    machine::repository_disks(report, dir.path(), on_this_machine());
}

/// Files that jobs of the past changed, or meant to, and that jobs may not change now.
async fn refused_files(report: &mut Report, admin: &Admin, project: &Project) {
    // A database that cannot be read is named elsewhere.
    for file in admin.refused_files(project).await.unwrap_or_default() {
        report.warn(
            "paths",
            format!(
                "{}: a recent job changed {}, or tried to; jobs may not, because {}",
                project.name, file.path, file.why
            ),
            format!(
                "to let jobs change it: docwright project update {} --allow-path '{}'{}; name the globs that are allowed already as well",
                project.id, file.glob, report.again
            ),
        );
    }
}

/// Lock files, empty refs and branches of ours that cannot be read.
async fn leftovers(report: &mut Report, admin: &Admin, project: &Project) {
    // One that cannot be opened is named by `repository`.
    let Ok(problems) = admin.inspect_repository(project).await else { return };
    for problem in problems {
        report.warn("repository", format!("{}: {}", project.name, problem.message), problem.advice);
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
